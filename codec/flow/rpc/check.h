/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_CHECK_H
#define RPCRDMA_FLOW_RPC_CHECK_H

/* What a Call and its Reply break between them: check_call.c, check_reply.c; and RDMA to memory
 * whose time is over: retired.c. */

#include "flow/rpc/reconstruct_chunks.h"

/* Once a Call is whole, or will not be more. */
void rpc_check_call(struct flow_rpcs *rpcs, struct rpc_transaction *t);

/* verdict: of the binding, UNKNOWN where it was not asked. */
void rpc_check_reply(struct reconstruct *m, const struct rpcrdma_rpc_stream *reply,
                     enum rpcrdma_binding_verdict verdict);

/* A Reply's Send with Invalidate. */
void rpc_check_invalidate(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                          const struct flow_send *send);

/* Where in its Send a byte of a Call's stream is; -1: a chunk carried it, or it came in parts. */
int64_t rpc_call_place(const struct rpc_transaction *t, uint32_t off);

/* The transaction ends without an answer. */
void rpc_check_unanswered(struct flow_rpcs *rpcs, struct rpc_transaction *t);

/* The regions of a transaction that was answered are no more: RDMA to them comes too late. */
void rpc_retire(struct flow_rpcs *rpcs, const struct rpc_transaction *t);
/* RDMA to memory that nobody offers for that (any more). True: it was reported, or is known to be
 * offered. */
bool rpc_check_astray(struct flow_rpcs *rpcs, struct flow_conn *conn,
                      const struct rpc_astray *astray);
/* A Call offers this: RDMA may have gone there before. */
void rpc_check_before_call(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                           const struct flow_region *region);

#endif
