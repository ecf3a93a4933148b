/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/flow_state.h"

#include <stdlib.h>

#include "base/sized.h"
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

enum { NFS_RDMA_PORT = 20049, BOTH = 2 };
#define LOOK_NS UINT64_C(1000000000)
#define DEFAULT_MEMORY ((size_t)64 << 20)

static bool start_stages(struct rpcrdma_flow *flow, const struct rpcrdma_flow_config *config)
{
    static const uint16_t port = NFS_RDMA_PORT;
    struct flow_context *context = &flow->context;
    const struct rpcrdma_flow_sink *sink = &context->sink;
    const struct flow_selection selection = {.qpns = config->qpns,
                                             .n_qpns = config->n_qpns,
                                             .tcp_ports = config->tcp_ports,
                                             .n_tcp_ports = config->n_tcp_ports,
                                             .all = config->all};
    struct flow_conns_config conns = {.ports = config->ports ? config->ports : &port,
                                      .n_ports = config->ports ? config->n_ports : 1,
                                      .dialect = config->dialect,
                                      .above = flow_messages_above()};
    bool rpcs = sink->rpc || sink->partial || sink->transaction || sink->payload_stream ||
                sink->data_transfer;
    bool credits = config->credits || (rpcs && config->delivery); /* what they hold up */

    conns.messages_only = !rpcs && !config->credits;
    flow->streams = flow_streams_new(context, &selection);
    if (flow->streams)
        flow->conns = flow_conns_new(context, flow->streams, &conns);
    if (flow->conns)
        flow->messages =
            flow_messages_new(context, flow->conns, config->dialect, config->unordered);
    if (!flow->messages)
        return false;
    if (!rpcs && !sink->message)
        flow_messages_unseen(flow->messages);
    if (rpcs)
        flow->rpcs = flow_rpcs_new(context, flow->messages);
    if (credits)
        flow->credits = flow_credits_new(context, flow->messages, !config->credits);
    return !rpcs == !flow->rpcs && credits == (flow->credits != NULL);
}

struct rpcrdma_flow *rpcrdma_flow_new(const struct rpcrdma_flow_config *config,
                                      const struct rpcrdma_flow_sink *sink)
{
    struct rpcrdma_flow *flow = calloc(1, sizeof(*flow));
    struct rpcrdma_flow_config own = {0};
    struct rpcrdma_flow_sink *to;

    if (!flow)
        return NULL;
    to = &flow->context.sink;
    if (config)
        rpcrdma_copy_sized(&own, sizeof(own), config, sizeof(own));
    rpcrdma_copy_sized(to, sizeof(*to), sink, sizeof(*to));
    flow->context.delivery = own.delivery;
    flow->context.memory.limit = own.max_memory ? (size_t)own.max_memory : DEFAULT_MEMORY;
    flow->context.memory.shared = (size_t)own.shared_memory;
    flow->context.memory.shared_used = own.shared_used;
    flow->context.memory.sparing = true;
    if (!start_stages(flow, &own)) {
        rpcrdma_flow_free(flow);
        return NULL;
    }
    return flow;
}

/* Connections: their end, and what it brings. */

static void pump(struct rpcrdma_flow *flow, struct flow_direction *dir, bool last);
static inline void drain(struct rpcrdma_flow *flow, struct flow_conn *conn);

/* What is held of it is given out; nothing more will come. */
static void release_held(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    for (int i = 0; i < 2; i++) {
        struct flow_direction *dir = flow_conn_direction(conn, i);

        if (dir) {
            flow_stream_review(dir, true);
            pump(flow, dir, true);
        }
    }
    if (flow_conn_is_rpcrdma(conn)) {
        flow_admission_open(flow->conns, conn);
        flow_message_settle(flow->messages, conn);
        drain(flow, conn);
        flow_message_end(flow->messages, conn);
    }
    flow_admission_drop(flow->conns, conn);
    flow_admission_open(flow->conns, conn);
}

/* `ended`: because the capture did. The memory that is spared is for this: none other ends for it.
 */
static void finish(struct rpcrdma_flow *flow, struct flow_conn *conn, bool ended)
{
    const struct rpcrdma_connection *pub = flow_conn_public(conn);
    const struct rpcrdma_flow_sink *sink = &flow->context.sink;
    bool sparing = flow->context.memory.sparing;

    flow->context.memory.sparing = false;
    release_held(flow, conn);
    if (pub->number != 0) {
        flow_message_flush(flow->messages, true); /* its messages come before its end */
        flow_life_end(flow, conn);
        flow_transport_findings(flow, conn);
        if (flow->rpcs)
            flow_rpc_close(flow->rpcs, conn);
        if (flow->credits)
            flow_credit_close(flow->credits, conn, ended);
        if (sink->connection)
            sink->connection(sink->context, pub);
        if (!ended)
            flow_life_past(flow, conn);
    }
    flow_message_close(flow->messages, conn);
    flow_conn_free(flow->conns, conn);
    flow->context.memory.sparing = sparing;
}

RPCRDMA_RARE static void finish_overdue(struct rpcrdma_flow *flow)
{
    struct flow_conn *conn, *into;
    bool swapped;

    while ((conn = flow_conn_overdue(flow->conns, &into, &swapped))) {
        if (into)
            flow_message_merge(flow->messages, into, conn, swapped);
        finish(flow, conn, false);
    }
}

/* Connections whose time is over: merged into another, or disconnected long ago. */
static inline void reap(struct rpcrdma_flow *flow)
{
    if (flow_conns_any_overdue(flow->conns))
        finish_overdue(flow);
}

/* Something is left out; of no connection: NULL. */
RPCRDMA_RARE static void report_limit(const struct rpcrdma_flow *flow,
                                      const struct rpcrdma_connection *connection)
{
    flow_report(&flow->context, connection,
                &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_MEMORY_LIMIT,
                                          .frame = flow->context.frame,
                                          .offset = -1,
                                          .arg = {flow_memory_limit(&flow->context.memory)}});
}

/* The memory limit was reached: the connection that was silent longest goes, with what is held of
 * it, but not the one in hand. False: there is none that may, or one goes already. */
RPCRDMA_RARE static bool evict(struct rpcrdma_flow *flow, struct flow_conn *in_hand)
{
    struct flow_memory *memory = &flow->context.memory;
    struct flow_conn *victim =
        memory->failed || !memory->sparing ? NULL : flow_conn_victim(flow->conns, in_hand);

    if (!victim)
        return false;
    memory->sparing = false;
    release_held(flow, victim);
    if (flow_conn_public(victim)->number != 0)
        report_limit(flow, flow_conn_public(victim));
    finish(flow, victim, false);
    flow_message_trim(flow->messages);
    if (flow->rpcs)
        flow_rpc_trim(flow->rpcs);
    memory->sparing = true;
    return true;
}

/* A direction without connection goes first, but not one of the `spare` youngest. */
static bool make_room(struct rpcrdma_flow *flow, uint32_t spare)
{
    struct flow_direction *dir = flow_direction_unowned(flow->streams, spare);

    if (!dir)
        return evict(flow, NULL);
    flow_direction_free(flow->streams, dir);
    return true;
}

/* A response to no Read that is known: more than one asks for? */
static void check_response(struct rpcrdma_flow *flow, const struct flow_conn *conn,
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

        if (read && flow->rpcs)
            flow_rpc_read_request(flow->rpcs, conn, sender, read, flow_read_capacity(asks));
        break;
    }
    case RPCRDMA_OP_READ_RESPONSE: {
        struct flow_direction *asked = flow_conn_direction(conn, sender);
        uint64_t offset = 0;
        struct flow_read *read = asked ? flow_read_find(asked, op, &offset) : NULL;

        if (asked && !read)
            check_response(flow, conn, asked, op);
        if (flow->rpcs)
            flow_rpc_read_response(flow->rpcs, conn, sender, read, offset, op);
        /* it acknowledges what was sent before the request */
        if (flow->credits && op->carrier != RPCRDMA_CARRIER_IWARP)
            flow_credit_ack(flow->credits, conn, sender, op);
        break;
    }
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

/* A Call is not followed any more: every stage is notified, once. */
RPCRDMA_RARE static void give_up_call(struct rpcrdma_flow *flow, struct flow_conn *conn,
                                      struct flow_call *call)
{
    if (flow->rpcs)
        flow_rpc_give_up(flow->rpcs, call);
    if (flow->credits)
        flow_credit_give_up(flow->credits, conn, call);
    flow_call_drop(flow->messages, conn, call);
}

/* More Calls are outstanding than are kept. */
static inline void give_up_calls(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    struct flow_call *call;

    while ((call = flow_call_excess(conn)))
        give_up_call(flow, conn, call);
}

/* Memory for a Call: of the connection's oldest, or of another connection. */
RPCRDMA_RARE static bool make_room_for_call(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    struct flow_call *call = flow_call_oldest(conn);

    if (call)
        give_up_call(flow, conn, call);
    return call || ((flow->rpcs || flow->credits) && evict(flow, conn));
}

RPCRDMA_HOT static void deliver_send(struct rpcrdma_flow *flow, struct flow_conn *conn,
                                     const struct flow_direction *dir, const struct flow_send *send)
{
    struct flow_making making;

    while (flow->rpcs && !flow_rpc_ready(flow->rpcs, conn) && evict(flow, conn))
        ;
    while (flow->credits && !flow_credit_ready(flow->credits, conn) && evict(flow, conn))
        ;
    while (!flow_calls_ready(flow->messages) && make_room_for_call(flow, conn))
        ;
    flow_message_make(flow->messages, conn, dir, send, &making);
    if (making.event.call)
        give_up_calls(flow, conn);
    flow_conn_public(conn)->invalidations[1 - dir->index] += send->has_invalidate;
    if (flow->context.delivery && making.event.message->sender == RPCRDMA_ROLE_CLIENT &&
        making.event.message->direction == RPCRDMA_DIRECTION_CALL)
        flow_life_call(flow, conn, making.event.message->message->xid, send->time_ns);
    if (flow->credits && making.out.part > 1)
        making.event.was_held = flow_credit_held(conn, making.event.sender, &making.event.held);
    if (flow->rpcs)
        flow_rpc_message(flow->rpcs, conn, &making.event);
    if (flow->rpcs && flow->context.delivery && making.out.n_findings > 0)
        flow_rpc_transmissions(flow->rpcs, conn, &making.event, making.findings.at,
                               making.findings.count);
    if (flow->credits)
        flow_credit_message(flow->credits, conn, &making.event);
    flow_message_done(flow->messages, &making);
    flow_message_emit(flow->messages, conn, &making.out);
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
        deliver_send(flow, conn, dir, &event->send);
        break;
    case FLOW_STREAM_WRITE:
        if (flow->rpcs)
            flow_rpc_write(flow->rpcs, conn, sender, event->op, &event->write);
        break;
    case FLOW_STREAM_GAP:
        flow_message_gap(flow->messages, conn, sender, &event->gap);
        if (flow->credits)
            flow_credit_gap(flow->credits, conn, sender, &event->gap);
        break;
    default:
        deliver_op(flow, conn, dir, event->op);
        break;
    }
}

RPCRDMA_RARE static void deliver_kept(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    struct flow_kept *kept;

    while ((kept = flow_admission_next(flow->conns, conn))) {
        deliver(flow, conn, kept->dir, &kept->event);
        flow_admission_free(flow->conns, kept);
    }
}

/* What was kept of a connection that waits for nothing any more. */
static inline void drain(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    if (flow_admission_holds(conn) && flow_conn_waiting(conn) == 0)
        deliver_kept(flow, conn);
}

/* Gives up waiting where the bounds say so. */
RPCRDMA_RARE static void review(struct rpcrdma_flow *flow, struct flow_direction *dir)
{
    struct flow_conn *conn = dir->conn;

    switch (flow_admission_review(flow->conns, conn)) {
    case FLOW_PATIENCE_LEFT:
    case FLOW_PATIENCE_NEVER:
        return;
    case FLOW_PATIENCE_PAIRED:
        reap(flow);
        break;
    case FLOW_PATIENCE_FULL:
        flow->overfull = true;
        flow_message_settle(flow->messages, conn);
        break;
    case FLOW_PATIENCE_OVER:
        flow_message_settle(flow->messages, conn);
        break;
    }
    drain(flow, dir->conn);
}

/* Of a connection that is known to be RPC-over-RDMA and waits for nothing: what is sent there shows
 * nothing more of it. */
static inline bool is_plain(const struct rpcrdma_flow *flow, const struct flow_direction *dir)
{
    return dir->classified && dir->paired && dir->conn && !flow_conn_keeps(dir->conn) &&
           !flow_conns_any_overdue(flow->conns);
}

/* What an event shows of its connection: it may be another one after. NULL: nobody wants it. */
RPCRDMA_RARE static struct flow_conn *admit(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                            const struct flow_stream_event *event, bool last)
{
    struct flow_conn *conn = flow_conn_event(flow->conns, dir, event, last);

    while (!conn && flow_conns_lacked_memory(flow->conns) && evict(flow, dir->conn))
        conn = flow_conn_event(flow->conns, dir, event, last);
    if (!last)
        reap(flow);
    if (dir->conn)
        drain(flow, dir->conn);
    return conn;
}

/* A Send whose turn it is not yet. */
RPCRDMA_RARE static void preview(struct rpcrdma_flow *flow, struct flow_conn *conn,
                                 const struct flow_direction *dir, const struct flow_send *send)
{
    struct flow_making making;

    if (flow->context.sink.partial &&
        flow_message_preview(flow->messages, conn, dir, send, &making))
        flow_rpc_partial(flow->rpcs, conn, &making.event);
}

static RPCRDMA_INLINE void event_of(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                    const struct flow_stream_event *event, bool last)
{
    struct flow_conn *conn;

    if (event->kind == FLOW_STREAM_SEND && is_plain(flow, dir))
        conn = dir->conn;
    else if ((event->kind == FLOW_STREAM_WRITE || event->kind == FLOW_STREAM_OP) &&
             is_plain(flow, dir))
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
        drain(flow, conn);
    }
    if (!flow_conn_keeps(conn)) {
        deliver(flow, conn, dir, event);
        return;
    }
    if (event->kind == FLOW_STREAM_SEND && !event->waited)
        preview(flow, conn, dir, &event->send);
    while (!flow_admission_keep(flow->conns, conn, dir, event))
        if (!evict(flow, conn))
            return;
    if (!last)
        review(flow, dir);
}

/* A QP number belongs to another connection now: all that was known under it ends. */
RPCRDMA_RARE static void forget(struct rpcrdma_flow *flow, struct flow_direction *dir)
{
    if (dir->conn)
        finish(flow, dir->conn, false);
    else
        flow_direction_free(flow->streams, dir);
}

/* There is no memory for its direction. */
RPCRDMA_RARE static struct flow_direction *find_with_room(struct rpcrdma_flow *flow,
                                                          const struct rpcrdma_op *op)
{
    struct flow_direction *dir = NULL;

    while (!dir && !flow->context.memory.failed && make_room(flow, 0))
        dir = flow_direction_find(flow->streams, op);
    return dir;
}

static inline struct flow_direction *find(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    struct flow_direction *dir = flow_direction_find(flow->streams, op);

    return dir ? dir : find_with_room(flow, op);
}

/* All that comes out of a stream now; not after an operation was given, which may renew it. */
RPCRDMA_RARE static void pump(struct rpcrdma_flow *flow, struct flow_direction *dir, bool last)
{
    struct flow_stream_events events;
    const struct flow_stream_event *event;

    events.count = events.emitted = 0;
    while ((event = flow_stream_next(flow->streams, dir, &events)))
        event_of(flow, dir, event, last);
}

/* The connection keeps as much as it may. What is given out may pair the direction, and its
 * connection be another one then. */
RPCRDMA_RARE static void give_up_gaps(struct rpcrdma_flow *flow, struct flow_direction *dir)
{
    for (int i = 0; dir->conn && i < 2; i++) {
        struct flow_direction *each = flow_conn_direction(dir->conn, i);

        if (each) {
            flow_stream_review(each, true);
            pump(flow, each, false);
        }
    }
    flow->overfull = false;
    if (dir->conn)
        drain(flow, dir->conn);
}

/* A Send whose turn it is, whole, of a plain connection, is a message at once: as `request` does
 * it, without an event. False: it is not one of those. */
RPCRDMA_APART static bool send_at_once(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                       const struct rpcrdma_op *op)
{
    struct flow_send send;

    if (op->kind != RPCRDMA_OP_SEND || !is_plain(flow, dir) ||
        !flow_message_decided(flow->messages, dir->conn, op) ||
        !flow_stream_whole_send(dir, op, &send))
        return false;
    flow_conn_number(flow->conns, dir->conn);
    deliver_send(flow, dir->conn, dir, &send);
    return true;
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
        give_up_gaps(flow, dir);
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
        give_up_gaps(flow, dir);
}

static RPCRDMA_INLINE void response(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                    const struct rpcrdma_op *op)
{
    flow_conn_response(flow->conns, dir, op);
    if (is_plain(flow, dir)) {
        if (flow_conns_messages_only(flow->conns))
            return;
        flow_conn_number(flow->conns, dir->conn);
        if (op->kind != RPCRDMA_OP_ACK)
            deliver_op(flow, dir->conn, dir, op);
        else if (flow->credits)
            flow_credit_ack(flow->credits, dir->conn, 1 - dir->index, op);
    } else {
        other_response(flow, dir, op);
    }
}

/* What time and later packets decide. */
RPCRDMA_RARE static void check(struct rpcrdma_flow *flow, struct flow_direction *dir)
{
    /* what is given out may pair the direction, and its connection be another one then */
    for (int i = 0; i < 2; i++) {
        struct flow_direction *each = flow_conn_direction(dir->conn, i);

        if (each && flow_stream_waits(each, NULL, NULL)) {
            flow_stream_review(each, false);
            pump(flow, each, false);
        }
    }
    if (flow_conn_waiting(dir->conn) != 0)
        review(flow, dir);
    if (flow->overfull)
        give_up_gaps(flow, dir);
}

/* Connections that hold something back and are silent now: time decides for them, too. */
RPCRDMA_RARE static void check_silent(struct rpcrdma_flow *flow)
{
    struct flow_conn *conn;

    while ((conn = flow_admission_silent(flow->conns))) {
        struct flow_direction *dir = flow_conn_direction(conn, 0);

        check(flow, dir ? dir : flow_conn_direction(conn, 1));
    }
}

/* What becomes of it shows in what its direction is then. */
RPCRDMA_RARE static void other_request(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                       const struct rpcrdma_op *op)
{
    uint64_t id = dir->id;

    request(flow, dir, op);
    dir = flow_direction_seen(flow->streams, op);
    if (dir && dir->id != id)
        flow_follow_request(flow, dir, op);
}

static RPCRDMA_INLINE void data(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    struct flow_direction *dir = find(flow, op);

    if (!dir || dir->foreign)
        return;
    if (dir->conn) {
        flow_conn_touch(flow->conns, dir->conn);
        if (flow_conn_waiting(dir->conn) != 0)
            check(flow, dir);
    }
    dir->last_frame = flow->context.frame;
    switch (op->kind) {
    case RPCRDMA_OP_SEND:
    case RPCRDMA_OP_WRITE:
    case RPCRDMA_OP_READ_REQUEST:
    case RPCRDMA_OP_ATOMIC:
    case RPCRDMA_OP_LOST:
        if (flow->context.delivery && flow_stream_is_other(dir, op)) {
            other_request(flow, dir, op);
            break;
        }
        if (flow->context.delivery)
            flow_follow_request(flow, dir, op);
        if (!send_at_once(flow, dir, op))
            request(flow, dir, op);
        break;
    default:
        if (flow->context.delivery)
            flow_follow_answer(flow, dir, op);
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
            finish(flow, conn, false);
        conn = flow_setup(flow->conns, op);
    } while (!conn && flow_conns_lacked_memory(flow->conns) && make_room(flow, BOTH));
    reap(flow);
    if (conn) {
        flow_life_set_up(flow, conn, (enum rpcrdma_op_kind)op->kind);
        drain(flow, conn);
    }
}

/* Once: that something was left out. */
RPCRDMA_RARE static void say_limit(struct rpcrdma_flow *flow)
{
    flow->said_limit = true;
    report_limit(flow, NULL);
}

void rpcrdma_flow_time(struct rpcrdma_flow *flow, int64_t now_ns)
{
    flow->looked_ns = now_ns;
    if (flow->rpcs && !flow->context.memory.failed)
        flow_rpc_time(flow->rpcs, now_ns);
}

RPCRDMA_HOT bool rpcrdma_flow_op(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    struct flow_context *context = &flow->context;

    if (context->memory.failed)
        return false;
    context->frame = op->frame;
    context->time_ns = op->time_ns;
    if (flow_admission_any(flow->conns))
        check_silent(flow);
    /* likewise where the clock was set back */
    if (context->delivery && (uint64_t)(op->time_ns - flow->looked_ns) > LOOK_NS)
        rpcrdma_flow_time(flow, op->time_ns);
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
    if (flow_messages_any_queued(flow->messages))
        flow_message_flush(flow->messages, false);
    if (context->memory.refused > 0 && !flow->said_limit)
        say_limit(flow);
    return !context->memory.failed;
}

bool rpcrdma_flow_crowded(const struct rpcrdma_flow *flow)
{
    enum { CROWD = 1024 }; /* of fewer directions much stays in the cache */

    return flow_directions_count(flow->streams) >= CROWD;
}

/* Step by step for all of them: what one step asked for is there when the next goes on from it. */
void rpcrdma_flow_ahead(struct rpcrdma_flow *flow, const struct rpcrdma_op *ops, size_t n)
{
    struct flow_conn *conns[RPCRDMA_FLOW_AHEAD], *last = NULL;
    struct flow_direction *dirs[RPCRDMA_FLOW_AHEAD];
    size_t n_conns = 0;

    n = flow_directions_ahead(flow->streams, ops, n, dirs);
    for (size_t i = 0; i < n; i++) {
        if (!dirs[i]->conn || dirs[i]->conn == last)
            continue;
        last = conns[n_conns++] = dirs[i]->conn;
        flow_conn_fetch(flow->conns, last);
    }
    if (!flow->credits)
        return;
    for (size_t i = 0; i < n_conns; i++)
        flow_credit_fetch(conns[i]);
    for (size_t i = 0; i < n_conns; i++)
        flow_credit_fetch_accounts(conns[i]);
    for (size_t i = 0; i < n_conns; i++)
        flow_credit_fetch_levels(conns[i]);
}

const struct rpcrdma_connection *rpcrdma_flow_connection(struct rpcrdma_flow *flow,
                                                         const struct rpcrdma_op *op)
{
    const struct flow_direction *dir = flow_direction_seen(flow->streams, op);

    if (!dir || !dir->conn || !flow_conn_is_rpcrdma(dir->conn))
        return NULL;
    return flow_conn_public(dir->conn);
}

const struct rpcrdma_connection *rpcrdma_flow_setup_connection(struct rpcrdma_flow *flow,
                                                               const struct rpcrdma_op *op)
{
    const struct flow_conn *conn;

    if (op->carrier == RPCRDMA_CARRIER_IWARP || !op->connect)
        return rpcrdma_flow_connection(flow, op);
    conn = flow_setup_conn(flow->conns, op);
    return conn && flow_conn_is_rpcrdma(conn) ? flow_conn_public_const(conn) : NULL;
}

uint64_t rpcrdma_flow_stream(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    const struct flow_direction *dir;
    const struct flow_conn *conn;

    if (op->carrier != RPCRDMA_CARRIER_IWARP && op->connect) {
        const struct rpcrdma_connection *pub;

        conn = flow_setup_conn(flow->conns, op);
        if (!conn)
            return 0;
        pub = flow_conn_public_const(conn);
        return pub->stream[0] ? pub->stream[0] : pub->stream[1];
    }
    dir = flow_direction_seen(flow->streams, op);
    return dir ? dir->id : 0;
}

bool rpcrdma_flow_undecided(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    const struct flow_direction *dir = flow_direction_seen(flow->streams, op);

    if (!dir || dir->foreign)
        return false;
    if (dir->conn && !flow_conn_is_undecided(dir->conn))
        return false;
    return (dir->conn && flow_admission_holds(dir->conn)) ||
           flow->context.time_ns - dir->first_time_ns <= FLOW_ADMISSION_NS;
}

/* Those before `until`, oldest first. */
static void finish_until(struct rpcrdma_flow *flow, const struct flow_conn *until)
{
    struct flow_conn *conn;

    while ((conn = flow_conns_oldest(flow->conns)) != until)
        finish(flow, conn, true);
}

bool rpcrdma_flow_end(struct rpcrdma_flow *flow)
{
    struct flow_memory *memory = &flow->context.memory;
    struct flow_conn *conn = flow_conns_oldest(flow->conns), *next;
    size_t limit;

    memory->sparing = false;
    for (; conn; conn = next) {
        next = flow_conn_newer(conn);
        limit = flow_memory_limit(memory);
        release_held(flow, conn);
        /* what is given out takes memory until its connection ends: then not in order, but all */
        if (memory->used > limit - limit / 16)
            finish_until(flow, next);
    }
    flow_message_flush(flow->messages, true);
    finish_until(flow, NULL);
    if (memory->refused > 0 && !flow->said_limit)
        say_limit(flow);
    return !memory->failed;
}

void rpcrdma_flow_stop(struct rpcrdma_flow *flow)
{
    struct rpcrdma_flow_sink *sink = &flow->context.sink;

    *sink = (struct rpcrdma_flow_sink){.connection = sink->connection, .context = sink->context};
}

void rpcrdma_connection_set_user(const struct rpcrdma_connection *connection, void *user)
{
    /* ours, and what we made of it is no constant */
    ((struct rpcrdma_connection *)connection)->user = user;
}

void rpcrdma_flow_credits(struct rpcrdma_flow *flow, bool restart)
{
    if (flow->credits)
        flow_credits_report(flow->credits, restart);
}

/* Ends every connection without reporting them. */
static void discard(struct rpcrdma_flow *flow)
{
    struct flow_conn *conn;
    struct flow_direction *dir;

    flow->context.sink = (struct rpcrdma_flow_sink){0};
    flow->context.memory.sparing = false;
    while ((conn = flow_conns_oldest(flow->conns)))
        finish(flow, conn, true);
    flow_message_flush(flow->messages, true);
    while ((dir = flow_direction_unowned(flow->streams, 0)))
        flow_direction_free(flow->streams, dir);
}

void rpcrdma_flow_free(struct rpcrdma_flow *flow)
{
    if (!flow)
        return;
    if (flow->messages)
        discard(flow);
    flow_credits_free(flow->credits);
    flow_life_free(flow);
    flow_rpcs_free(flow->rpcs);
    flow_messages_free(flow->messages);
    flow_conns_free(flow->conns);
    flow_streams_free(flow->streams);
    free(flow);
}
