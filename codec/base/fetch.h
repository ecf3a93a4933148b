/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_FETCH_H
#define RPCRDMA_BASE_FETCH_H

/*
 * Has memory that is soon looked at brought into the processor's cache: of many connections it is
 * not there. Prefetches, which nothing waits for: behind a load that does not come the processor
 * soon takes no more.
 */

#include <stddef.h>

/* GCC takes a function that only prefetches for one without effect, and drops calls of it:
 * optimised across files, half of the prefetches were missing. An asm statement, even an empty one,
 * is an effect. */
static inline void flow_fetch_line(const void *memory)
{
    __builtin_prefetch(memory);
    __asm__ volatile("");
}

static inline void flow_fetch(const void *memory, size_t size)
{
    enum { LINE = 64 };
    const char *bytes = memory;

    for (size_t at = 0; at < size; at += LINE)
        __builtin_prefetch(bytes + at);
    flow_fetch_line(bytes + size - 1);
}

#endif
