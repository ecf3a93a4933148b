/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/delivery.h"
#include "flow/flow_state.h"
#include "wire/hot.h"

/* The pump's part in delivery/: which direction a packet belongs to, and what an answer is about.
 * What belongs to no connection yet is not followed. */

RPCRDMA_RARE static void repeated(struct rpcrdma_flow *flow, struct flow_delivery *delivery,
                                  const struct rpcrdma_op *op, bool response)
{
    const struct rpcrdma_flow_sink *sink = &flow->context.sink;
    struct rpcrdma_repeated repeated;

    if (flow_delivery_repeated(&flow->context.memory, delivery, op, response, &repeated))
        sink->repeated(sink->context, &repeated);
}

/* A Read request that was captured at another place before. */
RPCRDMA_RARE static void read_arrived(struct flow_direction *dir, const struct rpcrdma_op *op)
{
    struct flow_read *read;
    uint64_t offset;
    int64_t sent_ns;

    if (!flow_delivery_copied(dir->delivery, op->frame, &sent_ns))
        return;
    read = flow_read_find(dir, op, &offset);
    if (!read)
        return;
    read->arrived_ns = op->time_ns;
    flow_rpc_read_arrived(dir->conn, 1 - dir->index, read, sent_ns, op->time_ns);
}

/* What was sent to this end again is not answered: whatever it sends next ends its silence. */
RPCRDMA_RARE static void unheard(struct flow_direction *dir)
{
    struct flow_direction *back = flow_conn_direction(dir->conn, 1 - dir->index);

    if (!back)
        return;
    back->ends_silence = true;
    if (back->delivery)
        flow_delivery_unheard(dir->delivery, flow_delivery_sent_ns(back->delivery));
}

RPCRDMA_RARE static void heard(struct flow_direction *dir, int64_t time_ns)
{
    struct flow_direction *back = flow_conn_direction(dir->conn, 1 - dir->index);

    dir->ends_silence = false;
    if (back && back->delivery)
        flow_delivery_heard(back->delivery, time_ns);
}

void flow_follow_request(struct rpcrdma_flow *flow, struct flow_direction *dir,
                         const struct rpcrdma_op *op)
{
    uint32_t packets = 1, psn;

    if (op->carrier == RPCRDMA_CARRIER_IWARP || !dir->conn)
        return;
    if (!dir->delivery)
        dir->delivery = flow_delivery_new(&flow->context.memory);
    if (!dir->delivery)
        return;
    if (flow->context.tap)
        flow_delivery_tap(dir->delivery, flow->context.tap);
    if (flow_stream_begins(dir, op->seq, &psn))
        flow_delivery_begins(dir->delivery, psn, op->seq);
    if (RPCRDMA_SELDOM(!dir->paired) && op->kind != RPCRDMA_OP_WRITE)
        flow_conn_asks_again(flow->conns, dir, op->seq);
    if (op->kind == RPCRDMA_OP_READ_REQUEST)
        packets = flow_read_packets(dir, op);
    if (RPCRDMA_SELDOM(dir->ends_silence))
        heard(dir, op->time_ns);
    if (RPCRDMA_SELDOM(flow_delivery_request(&flow->context.memory, dir->delivery, op, packets)))
        unheard(dir);
    if (RPCRDMA_SELDOM(flow->halts_at_unusual))
        flow->halt |= flow_delivery_disturbed(dir->delivery);
    if (op->kind == RPCRDMA_OP_READ_REQUEST && flow->rpcs)
        read_arrived(dir, op);
    if (flow->context.sink.repeated && op->kind != RPCRDMA_OP_LOST)
        repeated(flow, dir->delivery, op, false);
}

RPCRDMA_RARE void flow_follow_first(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                    const struct flow_stream_event *event)
{
    const struct rpcrdma_op *op = flow->unfollowed.op;
    const struct flow_send *send = event && event->kind == FLOW_STREAM_SEND ? &event->send : NULL;

    if (!dir->conn || dir->id == flow->unfollowed.other ||
        flow_direction_seen(flow->streams, op) != dir)
        return;
    flow->unfollowed.op = NULL;
    flow_follow_request(flow, dir, op);
    if (dir->delivery && send && send->last_seq == op->seq && send->first_seq != op->seq)
        flow_delivery_began(dir->delivery, send->first_seq, send->first_frame, send->first_time_ns);
}

static void delivered(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    if (flow->rpcs && conn)
        flow_rpc_delivered(flow->rpcs, conn);
}

/* TCP's acknowledgements are no operations that reach the stages. */
static void tcp_delivered(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    delivered(flow, conn);
    if (flow->credits && conn)
        flow_credit_delivered(flow->credits, conn);
}

/* An Ack of the first packets, which the set-up shows, may stand before them. */
RPCRDMA_RARE static bool acked_first(struct rpcrdma_flow *flow, struct flow_direction *asked,
                                     const struct rpcrdma_op *op)
{
    uint32_t psn;

    if (op->kind != RPCRDMA_OP_ACK || op->flags & RPCRDMA_OP_ACK_OR_NAK ||
        !flow_stream_begins(asked, op->seq, &psn) || !flow_delivery_ack_early(op->seq, psn))
        return false;
    asked->delivery = flow_delivery_new(&flow->context.memory);
    return asked->delivery != NULL;
}

/* Nothing that it answers was captured: the capture has one direction, as of one port of a tap, or
 * begins here. NULL: no memory. */
RPCRDMA_RARE static struct flow_delivery *
answered_alone(struct rpcrdma_flow *flow, struct flow_conn *conn, struct flow_direction *asked)
{
    if (!asked)
        return flow_conn_unseen(conn, &flow->context.memory);
    asked->delivery = flow_delivery_new_alone(&flow->context.memory);
    return asked->delivery;
}

void flow_follow_answer(struct rpcrdma_flow *flow, struct flow_direction *dir,
                        const struct rpcrdma_op *op)
{
    struct flow_direction *asked =
        dir->conn ? flow_conn_direction(dir->conn, 1 - dir->index) : NULL;
    struct flow_delivery *d;

    if (op->carrier == RPCRDMA_CARRIER_IWARP || !dir->conn)
        return;
    d = asked ? asked->delivery : NULL;
    if (RPCRDMA_SELDOM(!d))
        d = asked && acked_first(flow, asked, op) ? asked->delivery
                                                  : answered_alone(flow, dir->conn, asked);
    if (!d)
        return;
    if (!dir->delivery)
        dir->delivery = flow_delivery_new(&flow->context.memory);
    if (dir->delivery && flow->context.tap)
        flow_delivery_tap(dir->delivery, flow->context.tap);
    if (RPCRDMA_SELDOM(dir->ends_silence))
        heard(dir, op->time_ns);
    if (flow_delivery_answer(&flow->context.memory, d, dir->delivery, op))
        delivered(flow, dir->conn);
    if (RPCRDMA_SELDOM(flow->halts_at_unusual))
        flow->halt |= dir->delivery && flow_delivery_disturbed(dir->delivery);
    if (flow->context.sink.repeated && op->kind == RPCRDMA_OP_READ_RESPONSE)
        repeated(flow, d, op, true);
}

RPCRDMA_RARE void flow_follow_guess(struct rpcrdma_flow *flow, struct flow_direction *dir)
{
    struct flow_direction *asked = flow_conn_direction(dir->conn, 1 - dir->index);
    const struct flow_guess guess = *dir->guess;

    flow_release(&flow->context.memory, dir->guess, sizeof(*dir->guess));
    dir->guess = NULL;
    if (guess.frame != 0 && asked->id == guess.id && asked->delivery &&
        flow_delivery_acked(asked->delivery, guess.seq, guess.frame, guess.ns))
        delivered(flow, dir->conn);
}

const struct rpcrdma_path *rpcrdma_flow_path(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    const struct flow_direction *dir = flow_direction_seen(flow->streams, op);

    return dir && dir->delivery ? flow_delivery_path(dir->delivery, &flow->plain[0]) : NULL;
}

void flow_follow_congestion(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    struct flow_direction *dir = flow_direction_seen(flow->streams, op);
    struct flow_direction *marked =
        dir && dir->conn ? flow_conn_direction(dir->conn, 1 - dir->index) : NULL;

    if (marked && marked->delivery)
        flow_delivery_congestion(&flow->context.memory, marked->delivery);
}

void rpcrdma_flow_tap(struct rpcrdma_flow *flow, uint8_t tap)
{
    struct flow_context *context = &flow->context;

    context->several_taps |= context->tapped && tap != context->tap;
    context->tapped = true;
    context->tap = tap;
}

bool rpcrdma_flow_segment(struct rpcrdma_flow *flow, const struct rpcrdma_tcp_segment *segment)
{
    struct flow_context *context = &flow->context;
    struct rpcrdma_op op = {.carrier = RPCRDMA_CARRIER_IWARP,
                            .kind = segment->begins,
                            .src = segment->src,
                            .dst = segment->dst,
                            .src_port = segment->src_port,
                            .dst_port = segment->dst_port};
    struct flow_direction *dir, *back;
    struct flow_conn *conn;

    if (context->memory.failed)
        return false;
    if (!context->delivery && !flow->credits)
        return true;
    flow->changes++;
    context->frame = segment->frame;
    context->time_ns = segment->time_ns;
    dir = flow_direction_find(flow->streams, &op);
    if (dir && dir->conn && flow_conn_behind_reset(dir->conn, segment) &&
        (!dir->delivery || flow_delivery_goes_on(dir->delivery, segment->seq))) {
        back = flow_conn_direction(dir->conn, 1 - dir->index);
        if (!dir->delivery ||
            flow_delivery_is_new(dir->delivery, back ? back->delivery : NULL, segment))
            flow_conn_deny_reset(dir->conn, 1 - dir->index, segment);
        return !context->memory.failed;
    }
    /* the ports are used again: nothing of this is the connection's that had them */
    while (segment->begins != 0 && (conn = flow_setup_obstacle(flow->conns, &op)))
        flow_finish_replaced(flow, conn);
    if (segment->begins != 0)
        dir = flow_direction_find(flow->streams, &op);
    if (!dir || dir->foreign)
        return !context->memory.failed;
    if (!dir->delivery)
        dir->delivery = flow_delivery_new(&context->memory);
    if (dir->delivery && context->tap)
        flow_delivery_tap(dir->delivery, context->tap);
    op.src = segment->dst;
    op.dst = segment->src;
    op.src_port = segment->dst_port;
    op.dst_port = segment->src_port;
    back = flow_direction_seen(flow->streams, &op);
    if (dir->delivery && flow_delivery_segment(&context->memory, dir->delivery,
                                               back ? back->delivery : NULL, segment))
        tcp_delivered(flow, dir->conn);
    return !context->memory.failed;
}
