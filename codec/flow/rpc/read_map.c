/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_state.h"

/*
 * Where the Read requests of one end go: by the request's id, in a table that is as large as the
 * ring of requests that flow/ keeps. Most connections have few of them, or none.
 */

static bool grow(struct flow_rpcs *rpcs, struct rpc_read_map *read_map, uint32_t size)
{
    struct flow_memory *memory = &rpcs->context->memory;
    struct rpc_read *bigger = flow_alloc(memory, size * sizeof(*bigger));

    if (!bigger)
        return false;
    for (uint32_t i = 0; i < read_map->size; i++)
        if (read_map->at[i].id != 0) /* an empty one is not to take another's place */
            bigger[read_map->at[i].id % size] = read_map->at[i];
    flow_release(memory, read_map->at, read_map->size * sizeof(*bigger));
    read_map->at = bigger;
    read_map->size = size;
    return true;
}

void rpc_read_map_add(struct flow_rpcs *rpcs, struct rpc_read_map *read_map, uint32_t ring,
                      uint32_t id, struct flow_region *region)
{
    if (read_map->size < ring && !grow(rpcs, read_map, ring) && read_map->size == 0)
        return;
    read_map->at[id % read_map->size] = (struct rpc_read){id, region};
}

struct flow_region *rpc_read_map_find(const struct rpc_read_map *read_map, uint32_t id)
{
    const struct rpc_read *read = read_map->size > 0 ? &read_map->at[id % read_map->size] : NULL;

    return read && read->id == id ? read->region : NULL;
}

void rpc_read_map_forget(struct rpc_read_map *read_map, uint32_t first, uint32_t last,
                         const struct rpc_transaction *owner)
{
    uint32_t n = last - first + 1;

    for (uint32_t i = 0; i < n && i < read_map->size; i++) {
        struct rpc_read *read = &read_map->at[(last - i) % read_map->size];

        if (read->region && read->region->owner == owner)
            read->region = NULL;
    }
}

void rpc_read_map_free(struct flow_rpcs *rpcs, struct rpc_read_map *read_map)
{
    flow_release(&rpcs->context->memory, read_map->at, read_map->size * sizeof(*read_map->at));
    *read_map = (struct rpc_read_map){0};
}
