/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_MEMORY_H
#define RPCRDMA_BASE_MEMORY_H

/*
 * Accounted memory. Everything flow/ keeps is taken here, so that max_memory is a bound and not a
 * wish. NULL has two reasons: the limit was reached (over_limit: the caller drops what it wanted to
 * keep, and says so), or malloc failed (failed: sticky, rpcrdma_flow_op returns false).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_memory {
    size_t used, limit; /* bytes */
    size_t shared;      /* bytes besides limit, less what somebody else has of them */
    const uint64_t *shared_used;
    bool sparing; /* an eighth of the limit is not given now: it is for what must end */
    bool failed;
    uint64_t refused;    /* allocations the limit refused */
    uint64_t fail_after; /* tests: malloc "fails" once this many allocations were made; 0: never */
    uint64_t count;
    uintptr_t highest; /* small memory was taken so far: see memory.c */
};

/* Bytes that may be used now. */
size_t flow_memory_limit(const struct flow_memory *memory);

/* Zeroed memory, or NULL. */
void *flow_alloc(struct flow_memory *memory, size_t size);

/* Likewise, and not subject to the limit: small things without which nothing can be said. */
void *flow_alloc_always(struct flow_memory *memory, size_t size);

/* Whether flow_alloc would give that much. */
bool flow_memory_fits(const struct flow_memory *memory, size_t size);

/* NULL is fine. `size` is what was asked for. */
void flow_release(struct flow_memory *memory, void *p, size_t size);

#endif
