/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_CHUNK_MAP_H
#define RPCRDMA_FLOW_RPC_CHUNK_MAP_H

/* The chunk lists of a message as regions. */

#include "flow/rpc/region.h"
#include "wire/message.h"

struct flow_rpcs;
struct rpc_transaction;

enum { RPC_SEGMENTS = 4096 }; /* of one message; Linux offers at most a few dozen */

/* A run of segments with one meaning. */
struct rpc_chunk {
    uint32_t position;     /* read chunks */
    uint32_t first, count; /* in the offer's regions */
    uint32_t off;          /* of its count word in the message; of its first segment: Read chunks */
    uint64_t length;       /* offered */
};

enum rpc_use {
    RPC_CALL_READ,  /* read chunks of a Call: the Responder pulls them */
    RPC_REPLY_READ, /* of a Reply: the Requester does (RFC 5666's Read-Read model) */
    RPC_WRITE,      /* write chunks and reply chunk */
};

/* The chunk lists of one message. */
struct rpc_chunk_map {
    size_t size; /* of the allocation */
    bool has_base, has_reply;
    bool cut;              /* segments are left out */
    struct rpc_chunk base; /* Position-Zero Read chunk, or version 2's Call chunk */
    struct rpc_chunk reply;
    struct rpc_chunk *reads, *writes; /* reads by position */
    uint32_t n_reads, n_writes, n_regions;
    struct flow_region *regions;
};

/* Opens what `end` offers in `message`: a Call everything, a Reply (reads:
 * RPC_REPLY_READ) its read list. NULL when that is nothing, or memory is short (t->dropped). */
struct rpc_chunk_map *rpc_chunk_map_open(struct flow_rpcs *rpcs, struct rpc_transaction *t, int end,
                                         enum rpc_use reads, const struct rpcrdma_message *message);
/* Its read list alone, as regions that are not open: no data finds them. */
struct rpc_chunk_map *rpc_chunk_map_lay_out(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                                            const struct rpcrdma_message *message);
void rpc_chunk_map_free(struct flow_rpcs *rpcs, struct rpc_chunk_map *chunk_map);
/* Bytes of its read chunks that have not passed. */
uint64_t rpc_chunk_map_pending(const struct rpc_chunk_map *chunk_map);
/* Bytes of them that have. */
uint64_t rpc_chunk_map_read(const struct rpc_chunk_map *chunk_map);

#endif
