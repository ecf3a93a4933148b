/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/memory.h"

#include <stdlib.h>

void *flow_alloc_always(struct flow_memory *memory, size_t size)
{
    void *p = NULL;

    if (memory->fail_after == 0 || memory->count < memory->fail_after)
        p = calloc(1, size);
    memory->count++;
    if (!p) {
        memory->failed = true;
        return NULL;
    }
    memory->used += size;
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
