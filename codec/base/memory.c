/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/memory.h"

#include <stdlib.h>

#include "base/fetch.h"

/* Where the heap grows, the next piece lies behind this one. malloc writes there how much is left,
 * and would wait for memory that is not in the cache yet. */
static void fetch_behind(struct flow_memory *memory, uintptr_t end)
{
    enum { NEXT = 1024 };

    if (end <= memory->highest)
        return;
    memory->highest = end;
    flow_fetch((const void *)end, NEXT);
}

void *flow_alloc_always(struct flow_memory *memory, size_t size)
{
    enum { SMALL = 4096 };
    void *p = NULL;

    if (memory->fail_after == 0 || memory->count < memory->fail_after)
        p = calloc(1, size);
    memory->count++;
    if (!p) {
        memory->failed = true;
        return NULL;
    }
    memory->used += size;
    if (size <= SMALL) /* what is large is elsewhere */
        fetch_behind(memory, (uintptr_t)p + size);
    return p;
}

size_t flow_memory_limit(const struct flow_memory *memory)
{
    uint64_t theirs = memory->shared_used ? *memory->shared_used : 0;

    return memory->limit + (memory->shared > theirs ? memory->shared - (size_t)theirs : 0);
}

bool flow_memory_fits(const struct flow_memory *memory, size_t size)
{
    size_t limit = flow_memory_limit(memory);
    size_t most = memory->sparing ? limit - limit / 8 : limit;

    return size <= most && memory->used <= most - size;
}

void *flow_alloc(struct flow_memory *memory, size_t size)
{
    if (!flow_memory_fits(memory, size)) {
        memory->refused++;
        return NULL;
    }
    return flow_alloc_always(memory, size);
}

void flow_release(struct flow_memory *memory, void *p, size_t size)
{
    if (!p)
        return;
    memory->used -= size;
    free(p);
}
