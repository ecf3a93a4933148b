/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/flow_state.h"

#include "wire/hot.h"

/*
 * The pump: takes events out of one stage and gives them to the next, and is the only one that ends
 * and frees connections, between events. No stage calls one above it: it answers, or it appends an
 * event that is taken out here.
 *
 *     operation -> streams -> conns -> [admission queue] -> messages -> rpcs, credits -> sink
 *
 * Where nothing is kept back, an event goes through all stages by reference and nothing is copied.
 */

enum { BOTH = 2 };

RPCRDMA_RARE void flow_check_response(struct rpcrdma_flow *flow, const struct flow_conn *conn,
                                      struct flow_direction *asked, const struct rpcrdma_op *op)
{
    uint64_t end;
    const struct flow_read *read = flow_read_exceeded(asked, op, &end);
    bool iwarp = op->carrier == RPCRDMA_CARRIER_IWARP;

    if (read)
        flow_report(&flow->context, flow_conn_public_const(conn),
                    &(struct rpcrdma_finding){.rule = iwarp ? RPCRDMA_RULE_READ_RESPONSE_LONG_IWARP
                                                            : RPCRDMA_RULE_READ_RESPONSE_LONG,
                                              .frame = op->frame,
                                              .offset = -1,
                                              .arg = {end, read->length, read->frame}});
}

/* Events, on their way up. */

RPCRDMA_APART static void deliver_op(struct rpcrdma_flow *flow, struct flow_conn *conn,
                                     const struct flow_direction *dir, const struct rpcrdma_op *op)
{
    int sender = 1 - dir->index;

    switch (op->kind) {
    case RPCRDMA_OP_READ_REQUEST: {
        struct flow_direction *asks = flow_conn_direction(conn, dir->index);
        struct flow_read *read = flow_read_add(flow->streams, asks, op);

        if (flow->rpcs && read && !read->unknown)
            flow_rpc_read_request(flow->rpcs, conn, sender, read, flow_read_capacity(asks));
        else if (flow->rpcs)
            flow_rpc_read_cut(flow->rpcs, conn, sender, op);
        break;
    }
    case RPCRDMA_OP_READ_RESPONSE:
        flow_deliver_response(flow, conn, dir, op);
        break;
    case RPCRDMA_OP_ACK:
        if (flow->credits)
            flow_credit_ack(flow->credits, conn, sender, op);
        break;
    case RPCRDMA_OP_NAK:
    case RPCRDMA_OP_TERMINATE:
        if (op->kind == RPCRDMA_OP_TERMINATE)
            flow_conn_ended(flow->conns, conn, RPCRDMA_ENDED_TERMINATED, sender);
        if (flow->rpcs)
            flow_rpc_nak(flow->rpcs, conn, sender, op);
        if (flow->credits)
            flow_credit_nak(flow->credits, conn, sender, op);
        break;
    default:
        break;
    }
}

RPCRDMA_HOT void flow_deliver_send(struct rpcrdma_flow *flow, struct flow_conn *conn,
                                   const struct flow_direction *dir, const struct flow_send *send)
{
    struct flow_making *making = &flow->making;

    while (flow->rpcs && !flow_rpc_ready(flow->rpcs, conn) && flow_evict(flow, conn))
        ;
    while (flow->credits && !flow_credit_ready(flow->credits, conn) && flow_evict(flow, conn))
        ;
    while (!flow_calls_ready(flow->messages) && flow_make_room_for_call(flow, conn))
        ;
    flow_message_make(flow->messages, conn, dir, send, making);
    if (making->event.call)
        flow_give_up_calls(flow, conn);
    if (send->has_invalidate)
        flow_conn_public(conn)->invalidations[1 - dir->index]++;
    if (flow->context.delivery && making->event.message->sender == RPCRDMA_ROLE_CLIENT &&
        making->event.message->direction == RPCRDMA_DIRECTION_CALL)
        flow_life_call(flow, conn, making->event.message->message->xid, send->time_ns);
    if (flow->credits && making->out.part > 1)
        making->event.was_held = flow_credit_held(conn, making->event.sender, &making->event.held);
    if (flow->rpcs)
        flow_rpc_message(flow->rpcs, conn, &making->event);
    if (making->out.n_findings > 0 && flow->rpcs && flow->context.delivery)
        flow_rpc_transmissions(flow->rpcs, conn, &making->event, making->findings.at,
                               making->findings.count);
    if (flow->credits)
        flow_credit_message(flow->credits, conn, &making->event);
    flow_message_done(flow->messages, making->event.call);
    flow_message_emit(flow->messages, conn, &making->out);
}

/* An event whose turn it is. */
static RPCRDMA_INLINE void deliver(struct rpcrdma_flow *flow, struct flow_conn *conn,
                                   const struct flow_direction *dir,
                                   const struct flow_stream_event *event)
{
    int sender = 1 - dir->index;

    flow_conn_number(flow->conns, conn);
    switch (event->kind) {
    case FLOW_STREAM_SEND:
        flow_deliver_send(flow, conn, dir, &event->send);
        break;
    case FLOW_STREAM_WRITE:
        if (flow->rpcs)
            flow_rpc_write(flow->rpcs, conn, sender, event->op, &event->write);
        break;
    case FLOW_STREAM_GAP:
        flow_message_gap(flow->messages, conn, sender, &event->gap);
        if (flow->rpcs)
            flow_rpc_gap(flow->rpcs, conn, sender, event->gap.frame);
        if (flow->credits)
            flow_credit_gap(flow->credits, conn, sender, &event->gap);
        break;
    default:
        deliver_op(flow, conn, dir, event->op);
        break;
    }
}

RPCRDMA_RARE void flow_deliver_kept(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    struct flow_kept *kept;

    while ((kept = flow_admission_next(flow->conns, conn))) {
        deliver(flow, conn, kept->dir, &kept->event);
        flow_admission_free(flow->conns, kept);
    }
}

/* What an event shows of its connection: it may be another one after. NULL: nobody wants it. */
RPCRDMA_RARE static struct flow_conn *admit(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                            const struct flow_stream_event *event, bool last)
{
    struct flow_conn *conn = flow_conn_event(flow->conns, dir, event, last);

    while (!conn && flow_conns_lacked_memory(flow->conns) && flow_evict(flow, dir->conn))
        conn = flow_conn_event(flow->conns, dir, event, last);
    if (!last)
        flow_reap(flow);
    if (flow->unfollowed.op)
        flow_follow_first(flow, dir, event);
    if (dir->conn)
        flow_drain(flow, dir->conn);
    return conn;
}

/* A Send whose turn it is not yet. */
RPCRDMA_RARE static void preview(struct rpcrdma_flow *flow, struct flow_conn *conn,
                                 const struct flow_direction *dir, const struct flow_send *send)
{
    struct flow_making making = {0};

    if (flow->context.sink.partial &&
        flow_message_preview(flow->messages, conn, dir, send, &making))
        flow_rpc_partial(flow->rpcs, conn, &making.event);
}

static RPCRDMA_INLINE void event_of(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                    const struct flow_stream_event *event, bool last)
{
    struct flow_conn *conn;

    if (event->kind == FLOW_STREAM_SEND && flow_is_plain(flow, dir))
        conn = dir->conn;
    else if ((event->kind == FLOW_STREAM_WRITE || event->kind == FLOW_STREAM_OP) &&
             flow_is_plain(flow, dir))
        conn = flow_conns_messages_only(flow->conns) ? NULL : dir->conn;
    else
        conn = admit(flow, dir, event, last);
    if (!conn)
        return;
    if (event->kind == FLOW_STREAM_PREVIEW) {
        preview(flow, conn, dir, &event->send);
        return;
    }
    if (event->kind == FLOW_STREAM_SEND) {
        flow_message_evidence(flow->messages, conn, dir, &event->send);
        flow_drain(flow, conn);
    }
    if (!flow_conn_keeps(conn)) {
        deliver(flow, conn, dir, event);
        return;
    }
    if (event->kind == FLOW_STREAM_SEND && !event->waited)
        preview(flow, conn, dir, &event->send);
    while (!flow_admission_keep(flow->conns, conn, dir, event))
        if (!flow_evict(flow, conn))
            return;
    if (!last)
        flow_review(flow, dir);
}

/* A QP number belongs to another connection now: all that was known under it ends. */
RPCRDMA_RARE static void forget(struct rpcrdma_flow *flow, struct flow_direction *dir)
{
    if (dir->conn)
        flow_finish_replaced(flow, dir->conn);
    else
        flow_direction_free(flow->streams, dir);
}

/* There is no memory for its direction. */
RPCRDMA_RARE static struct flow_direction *find_with_room(struct rpcrdma_flow *flow,
                                                          const struct rpcrdma_op *op)
{
    struct flow_direction *dir = NULL;

    while (!dir && !flow->context.memory.failed && flow_make_room(flow, 0))
        dir = flow_direction_find(flow->streams, op);
    return dir;
}

static inline struct flow_direction *find(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    struct flow_direction *dir = flow_direction_find(flow->streams, op);

    return dir ? dir : find_with_room(flow, op);
}

RPCRDMA_RARE void flow_pump(struct rpcrdma_flow *flow, struct flow_direction *dir, bool last)
{
    struct flow_stream_events events;
    const struct flow_stream_event *event;

    events.count = events.emitted = 0;
    while ((event = flow_stream_next(flow->streams, dir, &events)))
        event_of(flow, dir, event, last);
}

/* Any request. */
RPCRDMA_APART static void request(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                  const struct rpcrdma_op *op)
{
    struct flow_stream_events events;
    const struct flow_stream_event *event = flow_stream_op(flow->streams, dir, op, &events);

    while (event) {
        if (event->kind == FLOW_STREAM_RENEWED) {
            forget(flow, dir);
            dir = find(flow, op);
            if (!dir)
                return;
            event = flow_stream_op(flow->streams, dir, op, &events);
            continue;
        }
        event_of(flow, dir, event, false);
        event = event->final ? NULL : flow_stream_next(flow->streams, dir, &events);
    }
    if (flow->overfull)
        flow_give_up_gaps(flow, dir);
}

/* Of a connection about which something is open. */
RPCRDMA_RARE static void other_response(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                        const struct rpcrdma_op *op)
{
    struct flow_stream_event event;

    event.kind = FLOW_STREAM_OP;
    event.taken = event.waited = false;
    event.order = flow->context.frame;
    event.op = op;
    event_of(flow, dir, &event, false);
    if (flow->overfull)
        flow_give_up_gaps(flow, dir);
}

static RPCRDMA_INLINE void response(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                    const struct rpcrdma_op *op)
{
    flow_conn_response(flow->conns, dir, op);
    if (flow_is_plain(flow, dir)) {
        if (flow_conns_messages_only(flow->conns))
            return;
        flow_conn_number(flow->conns, dir->conn);
        deliver_op(flow, dir->conn, dir, op);
    } else {
        other_response(flow, dir, op);
    }
}

/* What becomes of it shows in what its direction is then: another one, or the first packet of a
 * connection. */
RPCRDMA_RARE static void other_request(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                       const struct rpcrdma_op *op)
{
    flow->unfollowed = (struct flow_unfollowed){op, dir->conn ? dir->id : 0};
    request(flow, dir, op);
    dir = flow->unfollowed.op ? flow_direction_seen(flow->streams, op) : NULL;
    if (dir)
        flow_follow_first(flow, dir, NULL);
    flow->unfollowed.op = NULL;
}

/* It may show itself which requests it answers: those of a direction that was not known for the
 * other one's before. Returns what its direction is then. */
RPCRDMA_RARE static struct flow_direction *
pairing_answer(struct rpcrdma_flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op)
{
    response(flow, dir, op);
    dir = flow_direction_seen(flow->streams, op);
    if (dir && dir->paired && dir->guess)
        flow_follow_guess(flow, dir);
    return dir;
}

static void data(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    struct flow_direction *dir = find(flow, op), *from;
    bool pairs;

    if (!dir || dir->foreign)
        return;
    if (dir->conn) {
        flow_conn_touch(flow->conns, dir->conn);
        if (flow_conn_waiting(dir->conn) != 0)
            flow_check(flow, dir);
    }
    dir->last_frame = flow->context.frame;
    switch (op->kind) {
    case RPCRDMA_OP_SEND:
    case RPCRDMA_OP_WRITE:
    case RPCRDMA_OP_READ_REQUEST:
    case RPCRDMA_OP_ATOMIC:
    case RPCRDMA_OP_LOST:
        if (flow->context.delivery && (!dir->conn || flow_stream_is_other(dir, op))) {
            other_request(flow, dir, op);
            break;
        }
        if (flow->context.delivery)
            flow_follow_request(flow, dir, op);
        request(flow, dir, op);
        break;
    default:
        if (RPCRDMA_SELDOM((dir->closed || flow_conn_pair_possible(flow->conns, dir)) &&
                           flow_conn_answers_other(flow->conns, dir, op))) {
            forget(flow, dir);
            dir = find(flow, op);
            if (!dir)
                return;
            dir->last_frame = flow->context.frame;
        }
        pairs = flow->context.delivery && !dir->paired;
        from = pairs ? pairing_answer(flow, dir, op) : dir;
        if (flow->context.delivery && from)
            flow_follow_answer(flow, from, op);
        if (!pairs)
            response(flow, dir, op);
        break;
    }
}

/* Messages that set a connection up, or end it. */
RPCRDMA_RARE static void set_up(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    struct flow_conn *conn;

    do {
        while ((conn = flow_setup_obstacle(flow->conns, op)))
            flow_finish_replaced(flow, conn);
        conn = flow_setup(flow->conns, op);
    } while (!conn && flow_conns_lacked_memory(flow->conns) && flow_make_room(flow, BOTH));
    flow_reap(flow);
    if (conn) {
        flow_life_set_up(flow, conn, (enum rpcrdma_op_kind)op->kind);
        flow_drain(flow, conn);
    }
}

void flow_look(struct rpcrdma_flow *flow, int64_t now_ns)
{
    flow->changes++;
    flow->looked_ns = now_ns;
    if (flow->rpcs)
        flow_rpc_time(flow->rpcs, now_ns);
    if (flow->linger_ns > 0)
        flow_finish_lingering(flow, now_ns);
}

RPCRDMA_RARE void rpcrdma_flow_time(struct rpcrdma_flow *flow, int64_t now_ns)
{
    struct flow_context *context = &flow->context;
    int64_t last_ns = context->time_ns;

    if (context->memory.failed)
        return;
    context->passes = true;
    context->passed_ns = now_ns;
    flow_look(flow, now_ns);
    if (now_ns <= last_ns || !flow_admission_any(flow->conns))
        return;
    context->time_ns = now_ns; /* the capture's last is that of its last packet all the same */
    flow_check_silent(flow);
    flow_message_flush(flow->messages, false);
    context->time_ns = last_ns;
}

RPCRDMA_RARE void rpcrdma_flow_until(struct rpcrdma_flow *flow, int64_t end_ns)
{
    flow->until_ns = end_ns;
}

RPCRDMA_APART void flow_any(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    flow->changes++;
    if (flow->doubt.damaged && flow_is_damaged(flow, op))
        return;
    switch (op->kind) {
    case RPCRDMA_OP_CONNECT:
    case RPCRDMA_OP_ACCEPT:
    case RPCRDMA_OP_ESTABLISHED:
    case RPCRDMA_OP_REJECT:
    case RPCRDMA_OP_DISCONNECT:
    case RPCRDMA_OP_RESET:
    case RPCRDMA_OP_SYN:
    case RPCRDMA_OP_SYN_ACK:
        set_up(flow, op);
        break;
    case RPCRDMA_OP_CONGESTION:
        flow_follow_congestion(flow, op);
        break;
    default:
        data(flow, op);
        break;
    }
}

void rpcrdma_flow_stop(struct rpcrdma_flow *flow)
{
    struct rpcrdma_flow_sink *sink = &flow->context.sink;

    flow->stopped = flow->halt = true;
    *sink = (struct rpcrdma_flow_sink){.connection = sink->connection, .context = sink->context};
}

void rpcrdma_flow_credits(struct rpcrdma_flow *flow, bool restart)
{
    if (flow->credits)
        flow_credits_report(flow->credits, restart);
}
