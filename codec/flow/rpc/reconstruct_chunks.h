/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_RECONSTRUCT_CHUNKS_H
#define RPCRDMA_FLOW_RPC_RECONSTRUCT_CHUNKS_H

/* A whole RPC message in the making: reconstruct_call.c and reconstruct_reply.c say of what,
 * reconstruct_chunks.c puts it together. */

#include "flow/rpc/rpc_state.h"

struct reconstruct {
    struct flow_rpcs *rpcs;
    struct rpc_transaction *t;
    const char *what;                      /* "Call", "Reply" */
    const struct rpcrdma_message *message; /* Reply: its header */
    const struct rpc_chunk_map *reads;     /* whose read chunks were taken out; may be NULL */
    uint32_t n_writes;
    bool pad_inline;
    bool base_unknown; /* the header was not captured whole, and so not what follows it */
    bool fault;        /* the parts do not fit each other */
    bool partial;      /* nothing is found: it is put together once more, when all has come */
    uint64_t taken;    /* unreduced minus reduced length, up to here */
    size_t n_unplaced_chunks;
    size_t first_finding;
};

struct reconstruct_holes {
    bool lost; /* bytes that were not captured */
    bool any;
};

/* A finding of the transaction that names the message. */
void reconstruct_finding(struct reconstruct *m, enum rpcrdma_rule_id rule, uint64_t a, uint64_t b,
                         uint64_t c);
/* The same with its place in the message's Send; -1: none. */
void reconstruct_finding_at(struct reconstruct *m, enum rpcrdma_rule_id rule, int64_t offset,
                            uint64_t a, uint64_t b, uint64_t c);

/* Where segment `i` of a returned chunk stands. */
static inline int64_t reconstruct_segment(const struct rpcrdma_chunk *wire, uint32_t i)
{
    return (int64_t)wire->off + 4 + (int64_t)i * RPCRDMA_SEGMENT_SIZE;
}

/* What the Call offered: write chunk `index`, the reply chunk. NULL: no such. */
const struct rpc_chunk *reconstruct_offered_write(const struct rpc_transaction *t, uint32_t index);
const struct rpc_chunk *reconstruct_offered_reply(const struct rpc_transaction *t);

/* The first `length` bytes of a returned chunk, from the segments of `chunk`. */
void reconstruct_add_returned(struct reconstruct *m, struct rpc_iovec *to,
                              const struct rpc_chunk *chunk, const struct rpcrdma_chunk *wire,
                              uint64_t length);

/* Says where a returned chunk is not the one that was offered. */
void reconstruct_check_returned(struct reconstruct *m, const struct rpc_chunk *chunk,
                                const struct rpcrdma_chunk *wire);

/* By the server: its Calls go the other way. */
static inline bool reconstruct_is_reverse(const struct rpc_transaction *t)
{
    return flow_conn_public_const(t->conn)->role[t->pub.caller_end] == RPCRDMA_ROLE_SERVER;
}

/* A Call's stream that begins with that header, and the base of a Reply: caplen bytes of len at
 * data. */
static inline struct rpcrdma_rpc_stream reconstruct_call_stream(const struct rpc_transaction *t,
                                                                const struct rpcrdma_rpc *rpc,
                                                                const uint8_t *data, size_t caplen,
                                                                size_t len)
{
    return (struct rpcrdma_rpc_stream){.rpc = rpc,
                                       .call = rpc,
                                       .reverse = reconstruct_is_reverse(t),
                                       .data = data,
                                       .caplen = caplen,
                                       .len = len};
}
static inline struct rpcrdma_rpc_stream reconstruct_reply_stream(const struct rpc_transaction *t,
                                                                 const struct rpcrdma_rpc *rpc,
                                                                 const uint8_t *data, size_t caplen,
                                                                 size_t len)
{
    struct rpcrdma_rpc_stream stream = reconstruct_call_stream(t, rpc, data, caplen, len);

    stream.call = t->pub.has_program ? &t->rpc : NULL;
    return stream;
}

/* reconstruct.c. The read chunks that were taken out of a message. There is room for them. */
struct rpcrdma_reduction reconstruct_reduction(struct flow_rpcs *rpcs,
                                               const struct rpc_chunk_map *reads);
/* The RPC header of these bytes: nearly always those of the message in hand, whose header was
 * decoded before. */
const struct rpcrdma_rpc *reconstruct_header(const struct flow_rpcs *rpcs, const uint8_t *data,
                                             size_t caplen, size_t len, struct rpcrdma_rpc *own);
/* To the sink: a Payload stream; a whole RPC message. */
void reconstruct_emit_stream(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                             enum rpcrdma_rpc_direction direction,
                             const struct rpcrdma_rpc_stream *stream,
                             const struct rpcrdma_reduction *reduced);
void reconstruct_emit(struct reconstruct *m, enum rpcrdma_rpc_direction direction,
                      struct rpcrdma_rpc_message *out);
/* Takes out of the base what RDMA_MSGP put in to align the bulk. Returns the base as one run again.
 */
const uint8_t *reconstruct_unalign(struct reconstruct *m, const uint8_t *data, size_t *caplen,
                                   uint32_t align, uint32_t header);
/* The one part that the message is, captured whole, where nothing is to be put together and nobody
 * asks for its runs; else NULL. */
const struct rpc_part *reconstruct_plain(const struct flow_rpcs *rpcs,
                                         const struct rpc_parts *parts);
/* Room for n chunks in the lists of flow_rpcs; false: no memory. */
bool reconstruct_reserve(struct flow_rpcs *rpcs, size_t n);
/* Of a Call's base, as far as it was captured in one run. */
struct reconstruct_base {
    const uint8_t *data; /* NULL: nothing */
    size_t caplen, len;
};

/* Whether padding is inline: the base has a length that no XDR stream has, or its arguments end
 * with it only so (RFC 5666 left it open). */
bool reconstruct_pads_inline(struct flow_rpcs *rpcs, const struct rpc_transaction *t,
                             const struct rpc_chunk_map *reads,
                             const struct reconstruct_base *base);
/* reconstruct_reply.c. The returned write list's lengths, for the binding, and what is odd about
 * it. */
void reconstruct_returned_writes(struct reconstruct *m);
/* Asks the upper-layer binding for the places of those. */
enum rpcrdma_binding_verdict reconstruct_place(struct reconstruct *m,
                                               const struct rpcrdma_rpc_stream *reply);
/* reconstruct.c. Whose it is, and what it is made of. */
void reconstruct_describe(const struct reconstruct *m, enum rpcrdma_rpc_direction direction,
                          struct rpcrdma_rpc_message *out);

/* reconstruct_chunks.c. rpcs->base and the chunks -> rpcs->whole, in the order of their places. */
void reconstruct_compose(struct reconstruct *m);

/* Write chunks with bytes and without a place go behind the message. `why` they have none. */
void reconstruct_add_unplaced(struct reconstruct *m, const char *why);

/* Says what is missing of the first n_iovec entries, byte range by byte range. */
struct reconstruct_holes reconstruct_report_holes(struct reconstruct *m, size_t n_iovec);

#endif
