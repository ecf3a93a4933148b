/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_IOVEC_H
#define RPCRDMA_FLOW_RPC_IOVEC_H

/* An RPC message as runs of bytes, which parts and chunks hold. */

#include "flow/rpc.h"

struct flow_region;
struct flow_rpcs;
struct rpc_chunk;
struct rpc_chunk_map;
struct rpc_parts;

/* Runs of bytes, cut and joined. */
struct rpc_iovec {
    struct rpcrdma_iovec *at;
    size_t count, size;
    size_t apart; /* entries before this one are not extended */
    uint64_t length;
    bool failed; /* no memory: some are missing */
};

void rpc_iovec_reset(struct rpc_iovec *iovec);
void rpc_iovec_parts(struct flow_rpcs *rpcs, struct rpc_iovec *iovec,
                     const struct rpc_parts *parts);
/* [0, length) of a region; LOST where there is none (region NULL). */
void rpc_iovec_region(struct flow_rpcs *rpcs, struct rpc_iovec *iovec,
                      const struct flow_region *region, uint32_t length);
void rpc_iovec_chunk(struct flow_rpcs *rpcs, struct rpc_iovec *iovec,
                     const struct rpc_chunk_map *chunk_map, const struct rpc_chunk *chunk);
void rpc_iovec_fill(struct flow_rpcs *rpcs, struct rpc_iovec *iovec, enum rpcrdma_iovec_kind kind,
                    uint64_t length);

/* Reads an iovec from its beginning. */
struct rpc_reader {
    const struct rpc_iovec *from;
    size_t index;
    uint32_t used; /* of entry `index` */
    uint64_t left;
};
struct rpc_reader rpc_reader_begin(const struct rpc_iovec *from);
void rpc_reader_move(struct flow_rpcs *rpcs, struct rpc_reader *reader, struct rpc_iovec *to,
                     uint64_t length);
/* The longest captured beginning as one run. *caplen says how long. NULL where there is none. */
const uint8_t *rpc_flatten(struct flow_rpcs *rpcs, const struct rpc_iovec *iovec, size_t *caplen);
void rpc_iovec_free(struct flow_rpcs *rpcs, struct rpc_iovec *iovec);

#endif
