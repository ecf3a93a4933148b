/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

#include "flow/delivery/delivery.h"
#include "wire/cursor.h"

/*
 * The direction of a message whose RPC header is elsewhere, or was not captured.
 *
 * Where all that was sent is in the capture the Calls tell it. Where something is missing, version
 * 1 may still: a Call asks for the credits that its sender wants, a Reply grants those that it has,
 * so that what an end says in both differs; and only clients offer chunks.
 */

enum rpcrdma_role message_role_of(struct flow_conn *conn, int end)
{
    const struct flow_direction *from = flow_conn_direction(conn, 1 - end),
                                *to = flow_conn_direction(conn, end);
    enum rpcrdma_role known = flow_conn_public(conn)->role[end];
    bool moves = from && flow_stream_moves_data(from), served = to && flow_stream_moves_data(to);

    if (known != RPCRDMA_ROLE_UNKNOWN || moves == served)
        return known;
    return moves ? RPCRDMA_ROLE_SERVER : RPCRDMA_ROLE_CLIENT;
}

/* The list has an entry, or would have, had that been captured. */
static bool begins(const uint8_t *list)
{
    return list && rpcrdma_get_be32(list) != 0;
}

static bool offers_writes(const struct rpcrdma_message *msg)
{
    return (msg->present & RPCRDMA_HAS_WRITE && begins(msg->write.wire)) ||
           (msg->present & RPCRDMA_HAS_REPLY && msg->reply_present);
}

/* A message that answers no Call that was seen, though one that it answers may be missing. */
static enum rpcrdma_rpc_direction by_credits(struct flow_conn *conn, int sender,
                                             enum rpcrdma_role role,
                                             const struct rpcrdma_message *msg)
{
    const struct message_conn *mc = message_conn_of(conn);
    uint32_t asks = mc->asks[sender], grants = mc->grants[sender];

    if (msg->version != 1)
        return RPCRDMA_DIRECTION_UNKNOWN;
    if (role != RPCRDMA_ROLE_UNKNOWN && offers_writes(msg))
        return role == RPCRDMA_ROLE_CLIENT ? RPCRDMA_DIRECTION_CALL : RPCRDMA_DIRECTION_REPLY;
    if (role == RPCRDMA_ROLE_CLIENT && asks == 0)
        return mc->called[1 - sender] ? RPCRDMA_DIRECTION_UNKNOWN : RPCRDMA_DIRECTION_CALL;
    if (msg->credits == 0 || asks == grants || (msg->credits != asks && msg->credits != grants))
        return RPCRDMA_DIRECTION_UNKNOWN;
    return msg->credits == asks ? RPCRDMA_DIRECTION_CALL : RPCRDMA_DIRECTION_REPLY;
}

/* An error may pass before its Call, which in version 1 only a Responder sends: Acks show that the
 * times of the two directions do not fit, or the file has packets a few places from their own. */
static bool may_pass_before(const struct flow_direction *calls, const struct flow_direction *errors)
{
    return (calls && calls->delivery && flow_delivery_acked_early(calls->delivery)) ||
           (calls && flow_stream_disorder(calls)) || (errors && flow_stream_disorder(errors));
}

RPCRDMA_RARE enum rpcrdma_rpc_direction
message_direction_paired(const struct flow_messages *messages, struct flow_conn *conn, int sender,
                         const struct rpcrdma_message *msg)
{
    const struct flow_direction *towards = flow_conn_direction(conn, sender),
                                *from = flow_conn_direction(conn, 1 - sender);
    enum rpcrdma_role role = message_role_of(conn, sender);
    bool rpc = message_moves_rpc(msg),
         reads = msg->present & RPCRDMA_HAS_READ && begins(msg->read.wire);

    if (!(msg->present & RPCRDMA_HAS_XID) || (!rpc && msg->kind != RPCRDMA_KIND_ERROR))
        return RPCRDMA_DIRECTION_UNKNOWN;
    /* XIDs of the two directions of RPC can be the same (RFC 8167 section 4.1): what a client
     * offers to be read is a Call's, whatever its server's Call has */
    if (rpc && reads && role == RPCRDMA_ROLE_CLIENT)
        return RPCRDMA_DIRECTION_CALL;
    if (message_call_outstanding(messages, conn, 1 - sender, msg->xid))
        return RPCRDMA_DIRECTION_REPLY;
    if (!rpc)
        return msg->version == 1 && may_pass_before(towards, from) ? RPCRDMA_DIRECTION_REPLY
                                                                   : RPCRDMA_DIRECTION_UNKNOWN;
    /* Only a Call advertises what is to be read (but for RFC 5666's Read-Read Replies, which answer
     * a Call that was seen or not) */
    if (reads)
        return RPCRDMA_DIRECTION_CALL;
    /* a NOMSG without read list has its RPC message in the reply chunk; where no Call is there that
     * it could answer, it is a client's Call that lacks its Position-Zero Read chunk */
    if (msg->kind == RPCRDMA_KIND_NOMSG && msg->status == RPCRDMA_OK)
        return role == RPCRDMA_ROLE_CLIENT &&
                       (!message_conn_of(conn)->called[1 - sender] || flow_conn_saw_all(conn))
                   ? RPCRDMA_DIRECTION_CALL
                   : RPCRDMA_DIRECTION_REPLY;
    /* Of the Call that a server answers in the client's chunks the bytes may be missing, of TCP,
     * and not be known to be yet: nothing else brings them back */
    if (offers_writes(msg) && role == RPCRDMA_ROLE_SERVER)
        return RPCRDMA_DIRECTION_REPLY;
    /* It answers no Call that was seen. Where every Call would have been seen it is one itself; so
     * is what a client sends as long as its server never called. */
    if (towards && !flow_conn_lacks(conn, 1 - sender) &&
        (flow_conn_by_cm(conn) ||
         (role == RPCRDMA_ROLE_CLIENT && !message_conn_of(conn)->called[1 - sender])))
        return RPCRDMA_DIRECTION_CALL;
    return by_credits(conn, sender, role, msg);
}
