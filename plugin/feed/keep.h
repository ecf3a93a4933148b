/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_KEEP_H
#define RPCRDMA_PLUGIN_KEEP_H

/* What flow/ emits -> the store: the sink's callbacks. */

#include "net/net.h"
#include "store/store.h"

void keep_begin(const struct rpcrdma_packet *packet); /* the frame in hand */
void keep_frame_done(void);
void keep_file(void); /* a file is opened, or closed */

void keep_message(void *context, const struct rpcrdma_flow_message *message);
void keep_partial(void *context, const struct rpcrdma_flow_message *message,
                  const struct rpcrdma_rpc_message *rpc);
void keep_finding(void *context, const struct rpcrdma_connection *connection,
                  const struct rpcrdma_finding *finding);
/* Likewise of an RPC, to whose frame it goes; for keep_transaction(). */
void keep_found(uint32_t frame, uint32_t connection, const uint32_t *xid,
                const struct rpcrdma_finding *finding);
void keep_moved(void *context, const struct rpcrdma_data_transfer *moved);
void keep_transaction(void *context,
                      const struct rpcrdma_transaction *transaction); /* transactions.c */
void keep_answered(void *context, const struct rpcrdma_transaction *transaction); /* likewise */
void keep_repeated(void *context, const struct rpcrdma_repeated *repeated); /* keep_repeats.c */
void keep_rpc(void *context, const struct rpcrdma_rpc_message *message);
void keep_credits(void *context, const struct rpcrdma_connection *connection, int end,
                  const struct rpcrdma_credit_point *point); /* keep_credits.c */
void keep_credits_file(void);                                /* a file is opened */
/* Before an operation goes to flow/; NULL: after it. */
void keep_op(const struct rpcrdma_op *op);

/* keep_whole.c: what there is of an RPC message, for as long as the memory limit lets it. */
struct whole *keep_whole(const struct rpcrdma_rpc_message *m);
void keep_whole_frame_done(void);

/* keep_partial.c: what there is of it in its message, which has the bytes; NULL: that is the RPC
 * message. */
struct partial *keep_partial_new(const struct rpcrdma_rpc_message *m,
                                 const struct rpcrdma_message *message);
void keep_partial_free(struct message_note *message_note); /* it is not needed any more */

/* keep_kind.c: whose a message is; of what kind. */
const struct path *keep_path(const struct rpcrdma_flow_message *m);
const struct kind *keep_kind(const struct rpcrdma_flow_message *m);

/* keep_calls.c: Calls that are shown at later visits only. */
void keep_calls_file(void);
void keep_call(struct message_note *message_note,
               bool seen); /* seen: shown when its frame was first seen */
bool keep_call_unseen(
    const struct message_note *message_note); /* the Call of this Reply is one of them */

#endif
