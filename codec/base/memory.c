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

void *flow_alloc(struct flow_memory *memory, size_t size)
{
    if (size > memory->limit || memory->used > memory->limit - size) {
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
