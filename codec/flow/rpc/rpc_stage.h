/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_RPC_STAGE_H
#define RPCRDMA_FLOW_RPC_RPC_STAGE_H

/*
 * The stage of RPCs: from messages, Writes and Reads to whole RPC messages and transactions. A Call
 * opens a transaction and its segments, data is placed in them, a Reply ends it. Nothing is
 * allocated per packet.
 *
 * Events come per connection and in order. `sender` is an end of the connection. What comes of them
 * goes to the sink: `rpc`, `partial`, `transaction`, `data_transfer`.
 */

#include "flow/message/message.h"
#include "flow/rpc.h"

struct flow_rpcs;

/* NULL when memory is short. Both are borrowed; `messages` has had no message yet. */
struct flow_rpcs *flow_rpcs_new(struct flow_context *context, struct flow_messages *messages);
/* All connections must be closed. NULL is fine. */
void flow_rpcs_free(struct flow_rpcs *rpcs);

/* Brings into the cache what the next message of the connection looks at: see flow/ahead.c. */
void flow_rpc_fetch(const struct flow_conn *conn);

/* Whether there is memory for what a message of the connection may begin. False: something has to
 * go before, or the message is left out here. */
bool flow_rpc_ready(struct flow_rpcs *rpcs, struct flow_conn *conn);
void flow_rpc_message(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_message *m);
/* The same of a plain one, where the sink wants neither whole RPC messages nor partial ones.
 * flow_rpc_ready has said true. */
void flow_rpc_plain(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_plain *m);
/* Which transmission of the message, of how many so far, its findings are about. After it. */
void flow_rpc_transmissions(const struct flow_rpcs *rpcs, const struct flow_conn *conn,
                            const struct flow_message *m, struct rpcrdma_finding *findings,
                            size_t n);
/* What is known by now of a message that is held back goes to the sink, as `partial`. Nothing of it
 * is kept. */
void flow_rpc_partial(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_message *m);
/* The table of Calls is full, and this one goes: so does what is known of its transaction. */
void flow_rpc_give_up(struct flow_rpcs *rpcs, struct flow_call *call);
/* The memory that this Write or Read request names, from `sender`, is known: the other end
 * advertised it, for that. */
bool flow_rpc_advertised(struct flow_rpcs *rpcs, const struct flow_conn *conn, int sender,
                         const struct rpcrdma_op *op);
/* `op` is the packet; its payload goes where `write` says. */
void flow_rpc_write(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender,
                    const struct rpcrdma_op *op, const struct flow_write *write);
/* `sender` asks for data. `capacity`: flow_read_capacity. */
void flow_rpc_read_request(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender,
                           const struct flow_read *read, uint32_t capacity);
/* Likewise, where what it asks for was not captured. */
void flow_rpc_read_cut(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender,
                       const struct rpcrdma_op *op);
/* Captured at two places: it was sent at `sent_ns` and passes the second one now. */
void flow_rpc_read_arrived(struct flow_conn *conn, int sender, const struct flow_read *read,
                           int64_t sent_ns, int64_t now_ns);
/* Data that answers `read`; it goes to read->address + offset of the source. `sender` is who sends
 * the data. read NULL: the request was not captured, offset means nothing. A response retransmitted
 * comes again: same read, same offset. */
void flow_rpc_read_response(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender,
                            const struct flow_read *read, uint64_t offset,
                            const struct rpcrdma_op *op);
/* `sender` refuses a request. */
void flow_rpc_nak(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender,
                  const struct rpcrdma_op *op);
/* Messages of this connection were delivered: transactions may have waited for that. */
void flow_rpc_delivered(struct flow_rpcs *rpcs, struct flow_conn *conn);
/* It is so late now: who waited for that long waits no more. */
void flow_rpc_time(struct flow_rpcs *rpcs, int64_t now_ns);
/* Packets that `sender` sent were not captured, as this frame shows. */
void flow_rpc_gap(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender, uint64_t frame);
/* rpcrdma_flow_waiting, of one connection. */
void flow_rpc_waiting(struct flow_conn *conn,
                      void (*each)(void *context, const struct rpcrdma_waiting *waiting),
                      void *context);
/* Calls that no Reply was seen for yet. */
uint32_t flow_rpc_outstanding(const struct flow_conn *conn);
/* Frees what is kept to be used again. */
void flow_rpc_trim(struct flow_rpcs *rpcs);
/* Nothing more will come: what is outstanding is reported, and forgotten. */
void flow_rpc_close(struct flow_rpcs *rpcs, struct flow_conn *conn);

#endif
