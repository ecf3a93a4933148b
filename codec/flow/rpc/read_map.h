/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_READ_MAP_H
#define RPCRDMA_FLOW_RPC_READ_MAP_H

/* Which Read request goes to which region. */

#include <stdint.h>

struct flow_region;
struct flow_rpcs;
struct rpc_transaction;

struct rpc_read {
    uint32_t id; /* of the request; 0: none */
    struct flow_region *region;
};
struct rpc_read_map {
    struct rpc_read *at;
    uint32_t size;
};

/* `ring`: how many requests flow/ keeps. */
void rpc_read_map_add(struct flow_rpcs *rpcs, struct rpc_read_map *read_map, uint32_t ring,
                      uint32_t id, struct flow_region *region);
/* NULL: none, or it is forgotten. */
struct flow_region *rpc_read_map_find(const struct rpc_read_map *read_map, uint32_t id);
/* The regions of `owner` go; its requests are first to last. */
void rpc_read_map_forget(struct rpc_read_map *read_map, uint32_t first, uint32_t last,
                         const struct rpc_transaction *owner);
void rpc_read_map_free(struct flow_rpcs *rpcs, struct rpc_read_map *read_map);

#endif
