/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_KEEP_H
#define RPCRDMA_PLUGIN_KEEP_H

/* What flow/ tells -> the store: the sink's callbacks. */

#include "net/net.h"
#include "plugin.h"
#include "store.h"

void keep_begin(const struct rpcrdma_packet *packet); /* the frame in hand */
void keep_frame_done(void);
void keep_file(void); /* a file is opened, or closed */

void keep_message(void *context, const struct rpcrdma_flow_message *message);
void keep_early(void *context, const struct rpcrdma_flow_message *message);
void keep_finding(void *context, const struct rpcrdma_connection *connection,
                  const struct rpcrdma_finding *finding);
/* Likewise of an RPC, to whose frame it goes; for keep_transaction(). */
void keep_found(uint32_t frame, uint32_t connection, const uint32_t *xid,
                const struct rpcrdma_finding *finding);
void keep_moved(void *context, const struct rpcrdma_data_transfer *moved);
void keep_transaction(void *context,
                      const struct rpcrdma_transaction *transaction); /* transactions.c */
void keep_answered(void *context, const struct rpcrdma_transaction *transaction); /* likewise */
void keep_repeated(void *context, const struct rpcrdma_repeated *repeated); /* repeats.c */
void keep_rpc(void *context, const struct rpcrdma_rpc_message *message);
void keep_credits(void *context, const struct rpcrdma_connection *connection, int end,
                  const struct rpcrdma_credit_point *point); /* credits.c */
/* Before an operation goes to flow/; NULL: after it. */
void keep_op(const struct rpcrdma_op *op);

/* keep_whole.c: what there is of an RPC message, for as long as the memory limit lets it. */
struct whole *keep_whole(const struct rpcrdma_rpc_message *m);
void keep_whole_frame_done(void);

/* keep_sort.c: whose a message is; of what kind, as far as `told`'s Call says. */
const struct way *keep_way(const struct rpcrdma_flow_message *m);
const struct sort *keep_sort(const struct rpcrdma_flow_message *m, struct told *told);

/* keep_calls.c: Calls for Replies that come before flow/ knows them. */
void keep_calls_file(void);
void keep_call(struct told *told, bool seen); /* seen: shown when its frame was first seen */
void keep_call_find(struct told *told, struct sort *sort);

#endif
