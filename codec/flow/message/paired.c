/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

/* The direction of a message whose RPC header is elsewhere, or was not captured. */

RPCRDMA_RARE enum rpcrdma_rpc_direction
message_direction_paired(const struct flow_messages *messages, struct flow_conn *conn, int sender,
                         const struct rpcrdma_message *msg)
{
    const struct flow_direction *towards = flow_conn_direction(conn, sender);
    bool rpc = message_moves_rpc(msg),
         reads = msg->present & RPCRDMA_HAS_READ && msg->read.count > 0;

    if (!(msg->present & RPCRDMA_HAS_XID) || (!rpc && msg->kind != RPCRDMA_KIND_ERROR))
        return RPCRDMA_DIRECTION_UNKNOWN;
    /* XIDs of the two directions of RPC can be the same (RFC 8167 section 4.1): what a client
     * offers to be read is a Call's, whatever its server's Call has */
    if (rpc && reads && flow_conn_public(conn)->role[sender] == RPCRDMA_ROLE_CLIENT)
        return RPCRDMA_DIRECTION_CALL;
    if (message_call_outstanding(messages, conn, 1 - sender, msg->xid))
        return RPCRDMA_DIRECTION_REPLY;
    if (!rpc)
        return RPCRDMA_DIRECTION_UNKNOWN;
    /* Only a Call advertises what is to be read (but for RFC 5666's Read-Read Replies, which answer
     * a Call that was seen or not) */
    if (reads)
        return RPCRDMA_DIRECTION_CALL;
    /* a NOMSG without read list has its RPC message in the reply chunk; where no Call is there that
     * it could answer, it is a client's Call that lacks its Position-Zero Read chunk */
    if (msg->kind == RPCRDMA_KIND_NOMSG && msg->status == RPCRDMA_OK)
        return flow_conn_public(conn)->role[sender] == RPCRDMA_ROLE_CLIENT &&
                       (!message_conn_of(conn)->server_called || flow_conn_saw_all(conn))
                   ? RPCRDMA_DIRECTION_CALL
                   : RPCRDMA_DIRECTION_REPLY;
    /* It answers no Call that was seen. Where every Call would have been seen it is one itself; so
     * is what a client sends as long as its server never called. */
    if (!towards || towards->lost > 0)
        return RPCRDMA_DIRECTION_UNKNOWN;
    if (flow_conn_by_cm(conn) || (flow_conn_public(conn)->role[sender] == RPCRDMA_ROLE_CLIENT &&
                                  !message_conn_of(conn)->server_called))
        return RPCRDMA_DIRECTION_CALL;
    return RPCRDMA_DIRECTION_UNKNOWN;
}
