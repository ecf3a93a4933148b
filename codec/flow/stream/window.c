/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/delivery.h"
#include "flow/stream/stream_state.h"

/*
 * The requests towards one QP in PSN order (IBTA volume 1 section 9.7). A packet is the expected
 * one, or ahead (kept until the gap before it fills), or behind (sent or captured twice; or it
 * fills a gap that was given up; or the QP number is in use again). iWARP arrives in TCP's order.
 *
 * It goes in steps: each takes one packet or gives up one gap, and appends what comes of that.
 */

enum {
    REORDER_PACKETS = 16, /* capture may show an Ack this many packets early */
    REORDER_FRAMES = 10,  /* from what waits to what is missing, each five places from its own */
    BEFORE_START = 32,    /* PSNs before the first one seen that may still come */
};
#define REORDER_NS INT64_C(1000000)             /* what capture may reorder */
#define PATIENCE_NS INT64_C(8000000000)         /* for a retransmission that no Ack rules out */
#define PATIENCE_ONE_WAY_NS INT64_C(1000000000) /* likewise where Acks are not captured */

void stream_finding(struct flow_streams *streams, const struct stream *s, enum rpcrdma_rule_id rule,
                    uint64_t arg0, uint64_t arg1)
{
    if (!s->pub.classified)
        return;
    stream_event(streams, s, FLOW_STREAM_FINDING)->finding = (struct rpcrdma_finding){
        .rule = rule, .frame = streams->context->frame, .offset = -1, .arg = {arg0, arg1}};
}

uint32_t stream_packets(const struct stream *s, uint32_t length)
{
    if (length <= STREAM_LEAST_MTU)
        return 1;
    return s->pub.pmtu ? (uint32_t)(((uint64_t)length + s->pub.pmtu - 1) / s->pub.pmtu) : 0;
}

static void write_event(struct flow_streams *streams, struct stream *s, const struct rpcrdma_op *op,
                        struct flow_write write)
{
    struct flow_stream_event *event = stream_event(streams, s, FLOW_STREAM_WRITE);

    s->pub.lost += (op->flags & RPCRDMA_OP_TRUNCATED) != 0;
    event->op = op;
    event->write = write;
}

static void op_event(struct flow_streams *streams, const struct stream *s,
                     const struct rpcrdma_op *op)
{
    stream_event(streams, s, FLOW_STREAM_OP)->op = op;
}

static void gap_event(struct flow_streams *streams, const struct stream *s, uint32_t first,
                      uint32_t last, uint32_t flags)
{
    stream_event(streams, s, FLOW_STREAM_GAP)->gap =
        (struct flow_gap){.first = first,
                          .last = last,
                          .unseen = flags & RPCRDMA_OP_UNSEEN,
                          .cut = flags & RPCRDMA_OP_TRUNCATED,
                          .frame = streams->context->frame,
                          .time_ns = streams->context->time_ns};
}

/* The last event of a packet in order says so; a packet without one is reported where that matters.
 */
static void mark_taken(struct flow_streams *streams, const struct stream *s, uint32_t seq)
{
    struct flow_stream_events *events = streams->events;
    struct flow_stream_event *event = events->count > 0 ? &events->at[events->count - 1] : NULL;

    if (!event || event->kind == FLOW_STREAM_FINDING) {
        if (!s->pub.conn || s->pub.paired)
            return;
        event = stream_event(streams, s, FLOW_STREAM_PACKET);
    }
    event->taken = true;
    event->seq = seq;
}

/* The expected packet. */
static RPCRDMA_INLINE void take(struct flow_streams *streams, struct stream *s,
                                const struct rpcrdma_op *op)
{
    uint32_t packets = 1;

    if (op->kind == RPCRDMA_OP_READ_REQUEST) {
        s->moves_data = true;
        /* its response takes a PSN per packet */
        packets = op->flags & RPCRDMA_OP_RETH ? stream_packets(s, op->length) : 0;
        if (op->length > s->longest_read)
            s->longest_read = op->length;
    } else if (op->kind == RPCRDMA_OP_SEND || op->kind == RPCRDMA_OP_WRITE) {
        stream_show_mtu(s, op);
    }
    s->resync = packets == 0;
    stream_expect(s, rpcrdma_psn_add(op->seq, packets ? packets : 1));

    switch (op->kind) {
    case RPCRDMA_OP_SEND:
        stream_assemble(streams, s, op);
        break;
    case RPCRDMA_OP_WRITE:
        write_event(streams, s, op, stream_place_write(streams, s, op));
        break;
    default:
        op_event(streams, s, op);
        break;
    }
    mark_taken(streams, s, op->seq);
}

/* What waits for what was just taken, or lost: the next packet of it, or its end. */
RPCRDMA_RARE static void fill(struct flow_streams *streams, struct stream *s)
{
    const struct stream_reordered *first = stream_first_waiting(s);
    int32_t ahead = first ? rpcrdma_psn_diff(first->op.seq, s->next) : 0;

    if (first && (ahead <= 0 || s->resync)) {
        const struct rpcrdma_op *op = &stream_reorder_lend(s)->op;

        if (s->queue->order < op->frame)
            s->queue->order = op->frame;
        if (ahead > 0)
            stream_skip(streams, s, op->seq);
        if (ahead >= 0)
            take(streams, s, op);
        return;
    }
    s->filling = false;
    stream_order_own(s);
    first = stream_first_waiting(s);
    s->evident = first && s->has_acked && rpcrdma_psn_diff(s->acked, s->next) >= 0;
    if (!first && s->pub.conn)
        stream_event(streams, s, FLOW_STREAM_RESUMES);
}

/* What is before this packet was not captured. */
RPCRDMA_RARE static void lose_until(struct flow_streams *streams, struct stream *s,
                                    const struct rpcrdma_op *op)
{
    uint32_t first = s->next;
    uint32_t count = (op->seq - first) & 0xffffff;

    s->pub.lost += count;
    if (s->queue)
        s->queue->order = op->frame;
    stream_gap_add(streams, s, first, count, NULL);
    gap_event(streams, s, first, rpcrdma_psn_add(op->seq, 0xffffff), 0);
    stream_assemble_gap(streams, s, count,
                        op->kind == RPCRDMA_OP_SEND && !(op->flags & RPCRDMA_OP_FIRST));
    stream_expect(s, op->seq);
}

static void give_up(struct flow_streams *streams, struct stream *s)
{
    lose_until(streams, s, &stream_first_waiting(s)->op);
    s->filling = true;
}

/* Whether time, or what the receiver acknowledged, says that the first gap will not be filled. The
 * next packets of the capture may all the same: only where none come, time alone says it. */
static bool is_hopeless(const struct flow_streams *streams, const struct stream *s)
{
    const struct flow_context *context = streams->context;
    const struct stream_reordered *first = stream_first_waiting(s);
    int64_t now = context->time_ns;
    bool over = now - first->time_ns >= (s->pub.paired ? PATIENCE_NS : PATIENCE_ONE_WAY_NS);

    if (context->frame - first->op.frame < REORDER_FRAMES && !(over && context->passes))
        return false;
    /* where Acks stand before what they acknowledge it is a matter of time alone */
    if (s->evident && s->pub.delivery && flow_delivery_acked_early(s->pub.delivery) != 0) {
        if (now - s->queue->evident_ns > FLOW_REORDER_NS)
            return true;
    } else if (s->evident && (s->queue->evident_packets >= REORDER_PACKETS ||
                              now - s->queue->evident_ns > REORDER_NS)) {
        return true;
    }
    return over;
}

static void late(struct flow_streams *streams, struct stream *s, const struct rpcrdma_op *op)
{
    uint32_t whole = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST;

    switch (op->kind) {
    case RPCRDMA_OP_SEND:
        if ((op->flags & whole) == whole)
            stream_assemble(streams, s, op);
        break;
    case RPCRDMA_OP_WRITE:
        if (op->flags & RPCRDMA_OP_RETH) {
            write_event(streams, s, op,
                        (struct flow_write){
                            .placed = true, .rkey = op->rkey, .address = op->remote_address});
        } else {
            write_event(streams, s, op, stream_place_write(streams, s, op));
        }
        break;
    default:
        op_event(streams, s, op);
        break;
    }
}

/* What was taken for a Read's responses is a Send or a Write, which stands behind later ones. */
static bool was_skipped(struct stream *s, const struct rpcrdma_op *op)
{
    return (op->kind == RPCRDMA_OP_SEND || op->kind == RPCRDMA_OP_WRITE) &&
           stream_skipped_take(s, op->seq);
}

RPCRDMA_RARE static void behind(struct flow_streams *streams, struct stream *s,
                                const struct rpcrdma_op *op, int32_t by)
{
    if (stream_differs(s, op) || (by > STREAM_LONG_AGO && op->flags & RPCRDMA_OP_FIRST)) {
        stream_renewed(streams, s);
        return;
    }
    if (by > STREAM_LONG_AGO) {
        stream_far_off(streams, s, op);
        return;
    }
    s->in_hand = NULL;
    if (stream_gap_take(streams, s, op->seq) || was_skipped(s, op)) {
        late(streams, s, op);
        return;
    }
    if (!s->pub.repeated || rpcrdma_psn_diff(op->seq, s->pub.repeated_seq) >= 0) {
        s->pub.repeated = true;
        s->pub.repeated_seq = op->seq;
        s->pub.repeated_ns = op->time_ns;
    }
}

RPCRDMA_RARE static void ahead(struct flow_streams *streams, struct stream *s,
                               const struct rpcrdma_op *op, int32_t by)
{
    bool jump = s->pub.closed ? by > FLOW_REORDER_PACKETS : by > STREAM_OTHER_QP;
    const struct stream_reordered *first;

    if (jump && op->flags & RPCRDMA_OP_FIRST) {
        stream_renewed(streams, s);
        return;
    }
    if (by > STREAM_OTHER_QP) {
        stream_far_off(streams, s, op);
        return;
    }
    if (s->resync) {
        /* a Read request took an unknown number of PSNs: this packet shows how many */
        stream_skip(streams, s, op->seq);
        return;
    }
    if (!s->pub.conn) {
        /* nothing is known to be worth waiting for */
        stream_assemble_forget(streams, s);
        stream_expect(s, op->seq);
        return;
    }
    first = stream_first_waiting(s);
    if ((!first || !stream_reorder_full(streams, s, op->caplen)) &&
        stream_reorder_add(streams, s, op)) {
        s->in_hand = NULL;
        s->review = STREAM_REVIEW_TIME;
        return;
    }
    /* no room for it to wait in: gaps are given up until it is expected, or there is room */
    if (first && rpcrdma_psn_diff(first->op.seq, op->seq) <= 0)
        give_up(streams, s);
    else
        lose_until(streams, s, op);
}

RPCRDMA_RARE static void iwarp(struct flow_streams *streams, struct stream *s,
                               const struct rpcrdma_op *op)
{
    /* which Send it is of, and whether it begins it, is in the header that was cut off */
    bool unknown_send = op->kind == RPCRDMA_OP_SEND && op->flags & RPCRDMA_OP_TRUNCATED;

    s->in_hand = NULL;
    s->moves_data |= op->kind == RPCRDMA_OP_WRITE || op->kind == RPCRDMA_OP_READ_REQUEST;
    if (op->kind == RPCRDMA_OP_SEND && !unknown_send) {
        stream_assemble(streams, s, op);
    } else if (op->kind == RPCRDMA_OP_WRITE) {
        write_event(streams, s, op,
                    (struct flow_write){.placed = !(op->flags & RPCRDMA_OP_TRUNCATED),
                                        .rkey = op->rkey,
                                        .address = op->remote_address});
    } else if (op->kind == RPCRDMA_OP_LOST || unknown_send) {
        s->pub.lost++;
        stream_assemble_gap(streams, s, 0, false);
        gap_event(streams, s, 0, 0, op->flags);
    } else {
        op_event(streams, s, op);
    }
}

/* The first packet of the stream says where its PSNs begin. */
RPCRDMA_RARE static void first_request(struct flow_streams *streams, struct stream *s,
                                       const struct rpcrdma_op *op)
{
    int32_t by;

    if (!s->started || s->presumed) {
        flow_stream_start(&s->pub, stream_presumed(s, op->seq));
        stream_gap_add(streams, s, (s->next - BEFORE_START) & 0xffffff, BEFORE_START, NULL);
    }
    /* the CM exchange said so; where that was wrong, the wire is right */
    by = rpcrdma_psn_diff(op->seq, s->next);
    if (by > STREAM_OTHER_QP || by < -BEFORE_START)
        s->next = op->seq;
    s->fresh = false;
}

/* One that waits, further ahead than packets may wait, is damaged where what it waits for goes on
 * for long behind it: it has another PSN. */
RPCRDMA_RARE static void take_stray(struct flow_streams *streams, struct stream *s,
                                    const struct rpcrdma_op *op)
{
    const struct stream_reordered *first = stream_first_waiting(s), *stray;

    if (s->queue->count > 1 || streams->context->frame - first->op.frame < REORDER_FRAMES ||
        rpcrdma_psn_diff(first->op.seq, op->seq) <= FLOW_REORDER_PACKETS)
        return;
    stray = stream_reorder_lend(s);
    s->queue->order = stray->op.frame;
    late(streams, s, &stray->op);
}

/* What waits for this packet was captured before what came in between, unless that is long ago. */
RPCRDMA_RARE static void request_waited_for(struct flow_streams *streams, struct stream *s,
                                            const struct rpcrdma_op *op)
{
    const struct stream_reordered *first;

    take_stray(streams, s, op);
    first = stream_first_waiting(s);
    s->queue->order = 0;
    if (first && streams->context->frame - first->op.frame < REORDER_FRAMES) {
        s->queue->disorder = true;
        s->queue->order = first->op.frame;
    }
    s->filling = true;
    s->review = STREAM_REVIEW_TIME;
}

/* The operation in hand. It stays in hand where a step only made room for it. */
static RPCRDMA_INLINE void request(struct flow_streams *streams, struct stream *s)
{
    const struct rpcrdma_op *op = s->in_hand;
    int32_t by;

    if (op->carrier == RPCRDMA_CARRIER_IWARP) {
        iwarp(streams, s, op);
        return;
    }
    if (!s->started || s->fresh)
        first_request(streams, s, op);
    by = rpcrdma_psn_diff(op->seq, s->next);
    if (by == 0) {
        s->in_hand = NULL;
        if (stream_first_waiting(s))
            request_waited_for(streams, s, op);
        take(streams, s, op);
        if (!s->filling)
            stream_order_own(s);
    } else if (by > 0) {
        ahead(streams, s, op, by);
    } else {
        behind(streams, s, op, -by);
    }
}

/* One step, where there is one left to do. */
static bool step(struct flow_streams *streams, struct stream *s)
{
    if (s->filling) {
        fill(streams, s);
        return true;
    }
    if (s->in_hand) {
        request(streams, s);
        return true;
    }
    if (s->review != STREAM_REVIEW_NONE) {
        if (stream_first_waiting(s) && (s->review == STREAM_REVIEW_ALL || is_hopeless(streams, s)))
            give_up(streams, s);
        else
            s->review = STREAM_REVIEW_NONE;
        return true;
    }
    return false;
}

static void take_back(struct flow_streams *streams, struct stream *s)
{
    stream_reorder_take_back(streams, s);
    flow_release(&streams->context->memory, s->buffer, s->buffer_size);
    s->buffer = NULL;
}

/* One that is there. */
static inline const struct flow_stream_event *emit(const struct stream *s,
                                                   struct flow_stream_events *events)
{
    struct flow_stream_event *event = &events->at[events->emitted++];

    event->final = events->emitted == events->count && stream_is_done(s);
    return event;
}

const struct flow_stream_event *flow_stream_next(struct flow_streams *streams,
                                                 struct flow_direction *dir,
                                                 struct flow_stream_events *events)
{
    struct stream *s = stream_of(dir);

    while (events->emitted == events->count) {
        if (s->buffer || stream_lends(s))
            take_back(streams, s);
        events->emitted = events->count = 0;
        streams->events = events;
        if (!step(streams, s))
            return NULL;
    }
    return emit(s, events);
}

RPCRDMA_HOT const struct flow_stream_event *flow_stream_op(struct flow_streams *streams,
                                                           struct flow_direction *dir,
                                                           const struct rpcrdma_op *op,
                                                           struct flow_stream_events *events)
{
    struct stream *s = stream_of(dir);

    events->count = events->emitted = 0;
    streams->events = events;
    s->in_hand = op;
    request(streams, s);
    return events->count > 0 ? emit(s, events) : flow_stream_next(streams, dir, events);
}
