/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/context/context.h"
#include "flow/delivery/transmission.h"

#include <string.h>

#include "wire/hot.h"

/*
 * Requests of a reliable connection and what answers them: IBTA volume 1 section 9.7. A responder
 * takes requests in the order of their PSNs. An Ack for one acknowledges all before it, a response
 * likewise, and so does a Nak of a PSN sequence error: what it names, and all behind, is
 * retransmitted. An RNR Nak refuses one message, which is retransmitted after the time the Nak asks
 * for.
 */

enum { ANOTHER_QP = 1 << 20, FIRST_POSITION = 1 << 25 };
enum { FEW_MISSING = 64 }; /* not captured, at the ends of what was */

RPCRDMA_RARE static void start(struct flow_delivery *d, uint32_t psn)
{
    d->started = true;
    d->next = FIRST_POSITION + psn;
    d->through = d->served = d->next;
    d->answer_next = d->next;
}

/* Acks may stand before the first. */
RPCRDMA_RARE static void start_behind_acks(struct flow_delivery *d, uint32_t psn)
{
    uint32_t acked;

    start(d, psn);
    if (early_acked(d, &acked) && flow_delivery_ack_early(acked, psn))
        d->through = position_of_psn(d, acked) + 1;
}

void flow_delivery_begins(struct flow_delivery *d, uint32_t psn, uint32_t first)
{
    int32_t missing = rpcrdma_psn_diff(first, psn);

    if (!d->started && missing > 0 && missing <= FEW_MISSING)
        start(d, psn);
}

/* What came before, if anything, has nothing to do with this one. */
RPCRDMA_RARE static void restart(struct flow_delivery *d, uint32_t psn)
{
    struct hole *holes = delivery_holes(d);

    d->begin = d->count = d->pending = 0;
    for (int i = 0; holes && i < HOLES; i++)
        holes[i].count = 0;
    if (d->rare)
        d->rare->n_response_gaps = 0;
    if (d->extra && d->extra->early)
        d->extra->early->count = 0;
    d->naked = d->repeating = false;
    start(d, psn);
}

RPCRDMA_RARE static void ahead(struct flow_memory *memory, struct flow_delivery *d,
                               const struct rpcrdma_op *op, uint64_t at)
{
    struct transmission *newest = transmission_newest(d), *lost;

    transmission_hole(memory, d, d->next, at - d->next, op->time_ns);
    if (newest && newest->open && !(op->flags & RPCRDMA_OP_FIRST) &&
        op->kind != RPCRDMA_OP_READ_REQUEST) {
        newest->last = at - 1; /* this may be the same message: it is taken as that */
        return;
    }
    if (newest)
        newest->open = false;
    lost = transmission_add(memory, d, d->next, at - 1, op->frame, op->time_ns);
    lost->found = true;
    lost->times = 0;
}

static RPCRDMA_INLINE void new_request(struct flow_memory *memory, struct flow_delivery *d,
                                       const struct rpcrdma_op *op, uint64_t at, uint32_t packets)
{
    uint64_t last = at + (packets > 0 ? packets - 1 : 0);
    bool read = op->kind == RPCRDMA_OP_READ_REQUEST;
    bool open = !read && op->kind != RPCRDMA_OP_ATOMIC && !(op->flags & RPCRDMA_OP_LAST);
    bool asked = read || op->kind == RPCRDMA_OP_ATOMIC || op->flags & RPCRDMA_OP_ACK_REQUEST;
    struct transmission *t = op->flags & RPCRDMA_OP_FIRST || read ? NULL : transmission_newest(d);

    if (t && t->open) {
        t->last = last;
        t->at = TRANSMISSION_AT(last);
        t->last_frame = TRANSMISSION_FRAME(op->frame);
        t->last_ns = op->time_ns;
        t->read = read;
        t->open = open;
        t->asked |= asked;
    } else {
        t = transmission_room(memory, d, op->time_ns);
        *t = (struct transmission){TRANSMISSION_ONCE(at, last, op->frame, op->time_ns),
                                   .read = read, .open = open,
                                   .write = op->kind == RPCRDMA_OP_WRITE, .asked = asked};
    }
    d->next = last + 1;
    d->loose = packets == 0;
}

/* The packet in hand was seen before, at another place. */
RPCRDMA_RARE static void arrived(struct flow_memory *memory, struct flow_delivery *d,
                                 const struct rpcrdma_op *op)
{
    uint64_t at = position_of_psn(d, op->seq);
    const struct transmission *t = transmission_at(d, at);

    if (t && !t->open && at == (t->read ? t->first : t->last))
        taps_arrived(memory, d, t, op->frame, op->time_ns);
}

RPCRDMA_RARE static void congestion_mark(struct flow_memory *memory, struct flow_delivery *d,
                                         uint64_t frame)
{
    struct rpcrdma_path *path = delivery_rare(memory, d);

    if (path && path->congestion_marks++ == 0)
        path->congestion_frame = frame;
}

static void count(struct flow_memory *memory, struct flow_delivery *d, const struct rpcrdma_op *op)
{
    d->followed = true;
    d->packets++;
    d->bytes += op->len;
    if (op->len > d->largest_payload)
        d->largest_payload = op->len;
    if ((op->traffic_class & 3) == 3)
        congestion_mark(memory, d, op->frame);
    d->dscp |= UINT64_C(1) << (op->traffic_class >> 2);
}

/* It was counted where it was seen first. */
static void count_once(struct flow_delivery *d, const struct rpcrdma_op *op)
{
    if (!d->copied)
        return;
    d->packets--;
    d->bytes -= op->len;
}

static RPCRDMA_INLINE uint64_t load64(const uint8_t *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof(x));
    return x;
}

/* Of what is compared when it is retransmitted: a Send's ends, which are read anyway, and where an
 * RDMA operation goes. 0: not known. */
static uint32_t digest(const struct rpcrdma_op *op)
{
    const bool send = op->kind == RPCRDMA_OP_SEND;
    uint64_t hash = 0;

    /* the same packet may have been captured twice, each time as much of it as another tap keeps */
    if (op->flags & RPCRDMA_OP_TRUNCATED || (send && op->caplen < op->len))
        return 0;
    if (!send) {
        hash = (uint64_t)op->rkey << 32 ^ op->remote_address ^ (uint64_t)op->length << 20;
    } else if (op->caplen >= 32) {
        hash ^= load64(op->data) * 3 ^ load64(op->data + 8) * 5 ^ load64(op->data + 16) * 7 ^
                load64(op->data + 24) * 11;
        hash *= UINT64_C(0x9e3779b97f4a7c15);
        hash ^= load64(op->data + op->caplen - 8);
    }
    hash = (hash ^ op->len) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32) | 1;
}

static void remember(struct recent *r, const struct flow_delivery *d, const struct rpcrdma_op *op,
                     uint32_t digest)
{
    *r = (struct recent){.seq = op->seq,
                         .id = op->ip_id,
                         .kind = op->kind,
                         .set = true,
                         .tap = d->tap,
                         .times = 1,
                         .digest = digest,
                         .time_ns = op->time_ns};
}

/* The same, with what shows whether its bytes are the same. */
static void remember_request(struct recent *r, const struct flow_delivery *d,
                             const struct rpcrdma_op *op)
{
    remember(r, d, op, digest(op));
    r->varying = (uint8_t)((op->flags & (RPCRDMA_OP_SOLICITED | RPCRDMA_OP_ACK_REQUEST)) |
                           (op->flags / RPCRDMA_OP_ICRC & (RECENT_ICRC | RECENT_MIGRATION)));
    r->icrc = op->icrc;
    r->icrc_bytes = op->icrc_bytes;
    r->udp_port = op->udp_port;
}

/* What was not sent before. */
static RPCRDMA_INLINE void progress(struct flow_memory *memory, struct flow_delivery *d,
                                    const struct rpcrdma_op *op, uint64_t at, uint32_t packets)
{
    d->progress_tap = d->tap;
    d->repeating = false;
    d->progress_ns = op->time_ns;
    new_request(memory, d, op, at, packets);
    if (at < d->through)
        early_passed(memory, d, op, at);
}

/* Any but the next one, of which no other is remembered. */
RPCRDMA_RARE static void any_request(struct flow_memory *memory, struct flow_delivery *d,
                                     const struct rpcrdma_op *op, uint32_t packets)
{
    struct recent now;
    uint64_t at;

    remember_request(&now, d, op);
    if (!d->started)
        start_behind_acks(d, op->seq);
    d->repeats = origin_twice(memory, d, &now, op->frame);
    d->repeat = d->copied ? RPCRDMA_REPEAT_ELSEWHERE : RPCRDMA_REPEAT_DUPLICATE;
    if (d->copied)
        arrived(memory, d, op);
    if (d->repeats) {
        count_once(d, op);
        return;
    }
    at = position_of_psn(d, op->seq);
    if (at > d->next + ANOTHER_QP || at + ANOTHER_QP < d->next) {
        restart(d, op->seq);
        at = d->next;
    }
    if (at < d->next && origin_forgotten(memory, d, &now, at, true)) {
        d->repeats = true;
        d->repeat = d->copied ? RPCRDMA_REPEAT_ELSEWHERE : RPCRDMA_REPEAT_DUPLICATE;
        count_once(d, op);
        return;
    }
    if (at < d->next) {
        delivery_behind(memory, d, op, at, packets);
    } else {
        if (at > d->next && d->loose)
            d->next = at;
        else if (at > d->next)
            ahead(memory, d, op, at);
        progress(memory, d, op, at, packets);
    }
    origin_note(d, op->kind, op->seq, op->ip_id);
    d->sent_ns = op->time_ns;
}

RPCRDMA_HOT bool flow_delivery_request(struct flow_memory *memory, struct flow_delivery *d,
                                       const struct rpcrdma_op *op, uint32_t packets)
{
    struct recent *r;

    count(memory, d, op);
    r = recent_free(d, op->seq, op->time_ns);
    if (!r || !d->started || op->seq != ((uint32_t)d->next & 0xffffff)) {
        any_request(memory, d, op, packets);
        return d->unheard;
    }
    origin_new(d, op->kind, op->seq, op->ip_id);
    remember_request(r, d, op);
    d->repeats = false;
    d->repeat = RPCRDMA_REPEAT_DUPLICATE;
    progress(memory, d, op, d->next, packets);
    origin_note(d, op->kind, op->seq, op->ip_id);
    d->sent_ns = op->time_ns;
    return false;
}

/* The receiver asked for a packet that had passed here, and has acknowledged it before it passed
 * again: it came late, or in another order, and was not lost. */
static void came_late(struct flow_delivery *d, uint64_t at)
{
    struct rare *rare = d->rare;

    if (!rare->nak_counted || at < rare->nak_at)
        return;
    rare->nak_counted = false;
    rare->path.lost--;
    rare->path.lost_behind--;
    rare->path.late_naks++;
}

/* That was refused for good. */
static uint8_t kind_of(const struct transmission *t)
{
    enum rpcrdma_op_kind kind = t->read    ? RPCRDMA_OP_READ_REQUEST
                                : t->write ? RPCRDMA_OP_WRITE
                                           : RPCRDMA_OP_SEND;

    return (uint8_t)(kind + 1);
}

/* Its kind. */
static int count_nak(struct rpcrdma_path *path, const struct rpcrdma_op *op)
{
    int kind = op->nak < RPCRDMA_NAKS ? op->nak : RPCRDMA_NAK_OTHER;

    if (path->naks[kind]++ == 0)
        path->nak_frame[kind] = op->frame;
    return kind;
}

RPCRDMA_RARE static void nak(struct flow_memory *memory, struct flow_delivery *d,
                             const struct rpcrdma_op *op, uint64_t at)
{
    struct rpcrdma_path *path = delivery_rare(memory, d);
    const struct hole *holes;
    struct transmission *t;
    int kind;
    bool known = d->naked && d->rare->nak_at == at, out_of_order;

    if (!path)
        return;
    kind = count_nak(path, op);
    if (d->naked) /* of another one: all before it has arrived */
        came_late(d, at - 1);
    if (op->nak == RPCRDMA_NAK_RNR)
        path->rnr_timer = op->rnr_timer;
    d->naked = true;
    d->not_ready = op->nak == RPCRDMA_NAK_RNR;
    d->rare->nak_at = at;
    d->rare->nak_ns = op->time_ns;
    d->rare->nak_counted &= known;
    t = transmission_at(d, at);
    if (t) {
        t->refused = true;
        t->not_ready |= d->not_ready;
    }
    if (t && !t->found && kind > RPCRDMA_NAK_PSN_SEQUENCE && path->refused_request == 0)
        path->refused_request = kind_of(t);
    if (known || op->nak != RPCRDMA_NAK_PSN_SEQUENCE || at >= d->next)
        return;
    out_of_order =
        path->reordered > 0 && at >= d->rare->out_of_order && at < d->rare->out_of_order_end;
    d->rare->out_of_order = at + 1;
    d->rare->out_of_order_end = d->next;
    holes = d->rare->holes;
    for (int i = 0; holes && i < HOLES; i++)
        if (!holes[i].arrived && at >= holes[i].first && at - holes[i].first < holes[i].count)
            return; /* counted when it is retransmitted */
    if (out_of_order) {
        path->late_naks++;
        return;
    }
    path->lost++; /* it passed here */
    path->lost_behind++;
    d->rare->nak_counted = true;
    if (at < d->through) /* the Ack overtook the Nak */
        came_late(d, at);
}

/* When that response was last asked for, if more than once; else before all time. */
static int64_t asked_again_ns(const struct flow_delivery *d, uint64_t at)
{
    const struct transmission *t =
        d->rare && d->rare->path.retransmitted > 0 ? transmission_at(d, at) : NULL;

    if (!t || !t->read || t->last_frame == t->first_frame || transmission_behind_last(t, at) < 0)
        return INT64_MIN;
    return t->last_ns;
}

/* Whether a response whose place was passed over comes late, and is not retransmitted. */
static bool comes_late(const struct flow_delivery *d, const struct flow_delivery *back,
                       const struct rpcrdma_op *op, uint64_t at)
{
    int64_t skipped_ns;

    if (origin_counts(back))
        return (int16_t)(uint16_t)(op->ip_id - back->id) < 0;
    skipped_ns = delivery_extra(d)->skipped_ns;
    return response_gap_has(d, at) && op->time_ns - skipped_ns < SOON_NS &&
           asked_again_ns(d, at) < skipped_ns;
}

/* The first response before `at` that is missing; `at`: none is, as what is not a Read is answered
 * by Acks. What stands where requests were passed over may be one. */
static uint64_t first_missing(const struct flow_delivery *d, uint64_t at)
{
    const struct transmission *t = transmission_at(d, d->answer_next);

    if (!t)
        return d->answer_next; /* what it is is not known */
    while (t && t->first < at && !t->read && !t->found)
        t = transmission_after(d, t);
    if (!t || t->first >= at)
        return at;
    return t->first > d->answer_next ? t->first : d->answer_next;
}

/* Responses up to `at` did not come in order. */
static void skip(struct flow_memory *memory, struct flow_delivery *d, uint64_t at, int64_t time_ns)
{
    uint64_t first = first_missing(d, at);

    d->extra->skipped = d->answer_next;
    d->extra->skipped_end = at;
    d->extra->skipped_ns = time_ns;
    if (first < at)
        response_gap_add(memory, d, first, at, time_ns);
}

/* Responses have the PSNs of their request. */
RPCRDMA_RARE static void response(struct flow_memory *memory, struct flow_delivery *d,
                                  struct flow_delivery *back, const struct rpcrdma_op *op,
                                  uint64_t at)
{
    struct rpcrdma_path *path;
    bool late;

    if (!delivery_make_extra(memory, d))
        return;
    d->extra->responded_ns = op->time_ns;
    if (at >= d->answer_next) {
        if (at > d->answer_next)
            skip(memory, d, at, op->time_ns);
        d->answer_next = at + 1;
        return;
    }
    d->repeats = true;
    d->repeat = RPCRDMA_REPEAT_RETRANSMISSION;
    late = back && comes_late(d, back, op, at);
    response_gap_fill(d, at);
    path = back ? delivery_rare(memory, back) : NULL;
    if (!path)
        return;
    if (late) {
        d->repeat = RPCRDMA_REPEAT_OUT_OF_ORDER;
        path->reordered += op->time_ns >= d->extra->skipped_ns; /* else only in the file */
        return;
    }
    if (path->retransmitted++ == 0)
        path->retransmitted_frame = op->frame;
    path->retransmitted_bytes += op->len;
}

void flow_delivery_tail(struct flow_memory *memory, struct flow_delivery *d)
{
    struct rpcrdma_path *path;

    if (d->started)
        transmission_end(d);
    if (!d->started || d->loose || d->through <= d->next)
        return;
    /* more was not sent: the Ack is forged, or of an earlier connection */
    path = d->through - d->next <= FEW_MISSING ? delivery_rare(memory, d) : NULL;
    if (path) {
        path->uncaptured += d->through - d->next;
        path->uncaptured_reads += transmission_responded(d, d->next, d->through);
    }
    d->next = d->through;
}

void flow_delivery_congestion(struct flow_memory *memory, struct flow_delivery *d)
{
    struct rpcrdma_path *path = delivery_rare(memory, d);

    if (path)
        path->cnps++;
}

/* Acks of what is retransmitted, and responses that were asked for again, are sent once more. */
static bool may_be_again(const struct flow_delivery *d, const struct flow_delivery *back,
                         const struct rpcrdma_op *op)
{
    int64_t asked_ns;

    if (op->kind == RPCRDMA_OP_ACK)
        return d->repeating && !delivery_doubled(d);
    if (op->kind != RPCRDMA_OP_READ_RESPONSE)
        return false;
    asked_ns = asked_again_ns(d, position_of_psn(d, op->seq));
    return asked_ns > INT64_MIN && origin_passed_before(back, op->seq, asked_ns);
}

/* It repeats one that passed a moment ago. */
RPCRDMA_RARE static bool answered_twice(struct flow_memory *memory, struct flow_delivery *d,
                                        struct flow_delivery *back, const struct rpcrdma_op *op)
{
    struct recent now;

    remember(&now, back, op, 0);
    back->again = may_be_again(d, back, op);
    d->repeats = origin_twice_anywhere(memory, back, &now, op->frame);
    back->again = false;
    if (!d->repeats)
        return false;
    if (back->copied)
        d->repeat = RPCRDMA_REPEAT_ELSEWHERE;
    else if (back->rare)
        back->rare->twice_frame = op->frame;
    count_once(back, op);
    return true;
}

/* Nothing that it may answer was captured, or not yet. */
RPCRDMA_RARE static void answered_alone(struct flow_memory *memory, struct flow_delivery *d,
                                        const struct rpcrdma_op *op)
{
    if (op->kind == RPCRDMA_OP_NAK && delivery_rare(memory, d))
        count_nak(&d->rare->path, op);
    else if (op->kind == RPCRDMA_OP_ACK && !(op->flags & RPCRDMA_OP_ACK_OR_NAK) && !d->alone)
        early_ack(memory, d, op);
}

bool flow_delivery_answer(struct flow_memory *memory, struct flow_delivery *d,
                          struct flow_delivery *back, const struct rpcrdma_op *op)
{
    bool newer = back && origin_counts(back) && (int16_t)(uint16_t)(op->ip_id - back->id) > 0;
    uint64_t at;

    d->repeat = RPCRDMA_REPEAT_DUPLICATE;
    d->repeats = false;
    if (back) {
        struct recent *r;

        count(memory, back, op);
        r = recent_free(back, op->seq, op->time_ns);
        if (r) {
            origin_new(back, op->kind, op->seq, op->ip_id);
            remember(r, back, op, 0);
        } else if (answered_twice(memory, d, back, op)) {
            return false;
        }
        origin_note(back, op->kind, op->seq, op->ip_id);
    }
    if (!d->started) {
        answered_alone(memory, d, op);
        return false;
    }
    at = position_of_psn(d, op->seq);
    if (at > d->next + ANOTHER_QP || at + ANOTHER_QP < d->next)
        return false;
    if (!d->acks && op->kind != RPCRDMA_OP_READ_RESPONSE)
        transmission_first_ack(d);
    switch (op->kind) {
    case RPCRDMA_OP_NAK:
        d->acked = true;
        nak(memory, d, op, at);
        return transmission_answered(d, at - 1, op->frame, op->time_ns, INT64_MAX);
    case RPCRDMA_OP_READ_RESPONSE:
        if (at < d->answer_next && back &&
            origin_response_forgotten(memory, d, back, op, at, newer)) {
            d->repeats = true;
            d->repeat = back->copied ? RPCRDMA_REPEAT_ELSEWHERE : RPCRDMA_REPEAT_DUPLICATE;
            if (!back->copied && back->rare)
                back->rare->twice_frame = op->frame;
            count_once(back, op);
            return false;
        }
        response(memory, d, back, op, at);
        if (d->rare && d->rare->late_read.before != 0)
            delivery_both_responded(d, op, at);
        break;
    default:
        if (op->flags & RPCRDMA_OP_ACK_OR_NAK)
            at--; /* either acknowledges what is before it */
        else
            d->acked = true;
        break;
    }
    if (d->rare && d->rare->late.before != 0)
        delivery_both_acked(d, op, at);
    if (d->rare && d->naked)
        came_late(d, at);
    if (d->not_ready && d->rare && at >= d->rare->nak_at)
        d->naked = d->not_ready = false; /* what was refused was retransmitted, seen or not */
    if (at >= d->next)
        early_ack(memory, d, op);
    return transmission_answered(d, at, op->frame, op->time_ns, INT64_MAX);
}
