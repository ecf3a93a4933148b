/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_CHECK_H
#define RPCRDMA_FLOW_RPC_CHECK_H

/* What a Call and its Reply break between them: check_call.c, check_reply.c, session.c, slot.c;
 * and RDMA to memory whose time is over: retired.c. */

#include "flow/rpc/reconstruct_chunks.h"

/* Once a Call is whole, or will not be more. */
void rpc_check_call(struct flow_rpcs *rpcs, struct rpc_transaction *t);

/* verdict: of the binding, UNKNOWN where it was not asked. rpc: the Reply's header; data:
 * its reduced stream. */
void rpc_check_reply(struct reconstruct *m, const struct rpcrdma_rpc *rpc,
                     enum rpcrdma_binding_verdict verdict, const void *data, size_t caplen,
                     size_t len);

/* A Reply's Send with Invalidate. */
void rpc_check_invalidate(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                          const struct flow_send *send);

/* slot.c. A Call came, and it is not known yet what slot it uses; what was read of it since may
 * show (again: nothing happens); its end, when all is known that will be. */
void rpc_slot_expect(struct rpc_transaction *t);
void rpc_slot_call(struct flow_rpcs *rpcs, struct rpc_transaction *t);
/* Its Reply passed, whatever that waits for yet. */
void rpc_slot_answered(const struct rpc_transaction *t);
void rpc_slot_end(struct flow_rpcs *rpcs, struct rpc_transaction *t);

/* session.c. Stands for a session's name, which the wire chooses, in 64 bits that it does not: two
 * names have one key by chance alone. Never 0. */
uint64_t rpc_session_key(const struct flow_rpcs *rpcs, const uint64_t name[2]);
/* A Call of a session, once it is whole, against what CREATE_SESSION allowed; a Reply's
 * results, which say what is allowed from now on; a Reply that was put together. */
void rpc_session_call(struct flow_rpcs *rpcs, struct rpc_transaction *t);
void rpc_session_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                       const struct rpcrdma_rpc *rpc, const void *data, size_t caplen, size_t len);
void rpc_session_reply_size(struct flow_rpcs *rpcs, struct rpc_transaction *t);
/* A connection that carried sessions is closed. */
void rpc_session_close(struct flow_rpcs *rpcs, const struct flow_conn *conn);
/* Nothing is missing of the connection, and of each Call so far the slot is known. */
bool rpc_session_followed(const struct flow_conn *conn);
/* The session of the Call began in the capture, and nothing of the connections that carry it is
 * missing so far. */
bool rpc_session_whole(const struct flow_rpcs *rpcs, const struct rpc_transaction *t);
/* It has connections that are not in the capture. */
void rpc_session_elsewhere(struct flow_rpcs *rpcs, const struct rpc_transaction *t);
/* The slot of the Call is beyond those that the Responder has granted so far. */
bool rpc_session_beyond(const struct flow_rpcs *rpcs, const struct rpc_transaction *t,
                        uint32_t *slots);

/* Where in its Send a byte of a Call's stream is; -1: a chunk carried it, or it came in parts. */
int64_t rpc_call_place(const struct rpc_transaction *t, uint32_t off);

/* The transaction ends without an answer. */
void rpc_check_unanswered(struct flow_rpcs *rpcs, struct rpc_transaction *t);

/* The regions of a transaction that was answered are no more: RDMA to them comes too late. */
void rpc_retire(struct flow_rpcs *rpcs, const struct rpc_transaction *t);
/* RDMA to memory that nobody offers (any more). True: it was reported. */
bool rpc_check_astray(struct flow_rpcs *rpcs, struct flow_conn *conn,
                      const struct rpc_astray *astray);
/* A Call offers this: RDMA may have gone there before. */
void rpc_check_before_call(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                           const struct flow_region *region);

#endif
