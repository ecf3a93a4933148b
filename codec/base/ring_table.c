/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ring_table.h"

void *ring_table_add(struct ring_table *ring, struct flow_memory *memory, uint64_t key)
{
    uint64_t *member; /* where its key is */

    if (!ring->members)
        ring->members = flow_alloc(memory, (size_t)ring->most * ring->size);
    if (!ring->members || !flow_table_ready(&ring->by_key, memory))
        return NULL;
    member = (void *)((char *)ring->members + (size_t)(ring->added++ % ring->most) * ring->size);
    if (*member != 0)
        flow_table_remove(&ring->by_key, *member);
    memset(member, 0, ring->size);
    *member = key;
    flow_table_add(&ring->by_key, memory, key, member);
    return member;
}

void ring_table_free(struct ring_table *ring, struct flow_memory *memory)
{
    flow_table_free(&ring->by_key, memory);
    flow_release(memory, ring->members, (size_t)ring->most * ring->size);
    ring->members = NULL;
    ring->added = 0;
}
