/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/flow_state.h"

#include "wire/hot.h"

/*
 * The quick lane: a Send of one packet whose turn it is, or an Ack, of a connection about which
 * nothing is open. That is what most packets of small RPCs are, and they do what they would do by
 * way of events.
 *
 * Whether a direction is quiet is not asked for each packet anew. What makes it so is changed by
 * nothing that passes here; so it is as it was until an operation goes the other way, each of which
 * counts in flow->changes.
 */

static bool is_quiet(const struct rpcrdma_flow *flow, const struct flow_direction *dir)
{
    return flow_is_plain(flow, dir) && !dir->foreign &&
           flow_conn_public_const(dir->conn)->number != 0 && flow_stream_quiet(dir);
}

static RPCRDMA_INLINE void touch(struct rpcrdma_flow *flow, struct flow_direction *dir)
{
    flow_conn_touch(flow->conns, dir->conn);
    dir->last_frame = flow->context.frame;
}

static RPCRDMA_INLINE void ack(struct rpcrdma_flow *flow, struct flow_direction *dir,
                               const struct rpcrdma_op *op)
{
    touch(flow, dir);
    if (flow->context.delivery)
        flow_follow_answer(flow, dir, op);
    flow_conn_response(flow->conns, dir, op);
    if (flow->credits && !flow_conns_messages_only(flow->conns))
        flow_credit_ack(flow->credits, dir->conn, 1 - dir->index, op);
}

/* A message of which only what it counts for is wanted. False: it is not plain; nothing was done.
 */
RPCRDMA_APART static bool count_plain(struct rpcrdma_flow *flow, const struct flow_direction *dir)
{
    struct flow_plain *message = &flow->plain_message;
    struct flow_conn *conn = dir->conn;

    if (!flow_credit_ready(flow->credits, conn) || !flow_calls_ready(flow->messages) ||
        !flow_message_plain(flow->messages, conn, dir, &flow->send, message))
        return false;
    if (message->is_call)
        flow_give_up_calls(flow, conn);
    flow_credit_plain(flow->credits, conn, message);
    flow_message_done(flow->messages, message->call);
    return true;
}

static RPCRDMA_INLINE bool send(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                const struct rpcrdma_op *op)
{
    if (!flow_message_decided(flow->messages, dir->conn, op) ||
        !flow_stream_whole_send(dir, op, &flow->send))
        return false;
    touch(flow, dir);
    if (flow->context.delivery)
        flow_follow_request(flow, dir, op);
    if (!flow->counts_only || !count_plain(flow, dir))
        flow_deliver_send(flow, dir->conn, dir, &flow->send);
    return true;
}

RPCRDMA_HOT bool flow_quick(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    struct flow_direction *dir;
    uint64_t *quiet; /* when it was seen to be so, by flow->changes */

    if (op->kind != RPCRDMA_OP_SEND && op->kind != RPCRDMA_OP_ACK)
        return false;
    dir = flow_direction_cached(flow->streams, op, &quiet);
    if (!dir)
        return false;
    if (*quiet != flow->changes) {
        if (!is_quiet(flow, dir))
            return false;
        *quiet = flow->changes;
    }
    if (op->kind == RPCRDMA_OP_SEND)
        return send(flow, dir, op);
    ack(flow, dir, op);
    return true;
}
