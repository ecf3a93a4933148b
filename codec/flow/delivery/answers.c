/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/hole.h"
#include "flow/delivery/origin.h"
#include "flow/delivery/packet_in_hand.h"
#include "flow/delivery/requests.h"
#include "flow/delivery/timeouts.h"
#include "flow/delivery/transmission.h"

#include "wire/hot.h"

/*
 * What answers the requests of a reliable connection: Acks, Naks (naks.c) and responses (IBTA
 * volume 1 section 9.7). An Ack for one acknowledges all before it, a response likewise, and so
 * does a Nak of a PSN sequence error: what it names, and all behind, is retransmitted. An RNR Nak
 * refuses one message, which is retransmitted after the time the Nak asks for.
 */

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
    if (at < position_first(d)) /* asked for before what asks was captured: in its turn */
        return;
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
        if (d->rare)
            transmission_responded_late(d->rare, op->time_ns);
        return;
    }
    if (path->retransmitted++ == 0)
        path->retransmitted_frame = op->frame;
    path->retransmitted_bytes += op->len;
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

    packet_remember(&now, back, op, 0);
    back->again = may_be_again(d, back, op);
    d->repeats = origin_twice_anywhere(memory, back, &now, op->frame);
    back->again = false;
    if (!d->repeats)
        return false;
    if (back->copied)
        d->repeat = RPCRDMA_REPEAT_ELSEWHERE;
    else if (back->rare)
        back->rare->twice_frame = op->frame;
    packet_count_once(back, op);
    return true;
}

/* Nothing that it may answer was captured, or not yet. */
RPCRDMA_RARE static void answered_alone(struct flow_memory *memory, struct flow_delivery *d,
                                        const struct rpcrdma_op *op)
{
    if (op->kind == RPCRDMA_OP_NAK && delivery_rare(memory, d))
        delivery_count_nak(&d->rare->path, op);
    else if (op->kind == RPCRDMA_OP_ACK && !(op->flags & RPCRDMA_OP_ACK_OR_NAK) && !d->alone)
        early_ack(memory, d, op);
}

/* The packet in hand travels in the direction `back`: it is counted there. True: it is one that
 * passed a moment ago. */
static RPCRDMA_INLINE bool passed_before(struct flow_memory *memory, struct flow_delivery *d,
                                         struct flow_delivery *back, const struct rpcrdma_op *op)
{
    struct recent *r;

    packet_count(memory, back, op);
    r = recent_free(back, op->seq, op->time_ns);
    if (r) {
        origin_new(back, op->kind, op->seq, op->ip_id);
        packet_remember(r, back, op, 0);
    } else if (answered_twice(memory, d, back, op)) {
        return true;
    }
    origin_note(back, op->kind, op->seq, op->ip_id);
    return false;
}

/* It passed so long ago that its IP ID alone tells. */
RPCRDMA_RARE static void response_twice(struct flow_delivery *d, struct flow_delivery *back,
                                        const struct rpcrdma_op *op)
{
    d->repeats = true;
    d->repeat = back->copied ? RPCRDMA_REPEAT_ELSEWHERE : RPCRDMA_REPEAT_DUPLICATE;
    if (!back->copied && back->rare)
        back->rare->twice_frame = op->frame;
    packet_count_once(back, op);
}

/* It acknowledges what has not passed. */
RPCRDMA_RARE static void ahead_of_data(struct flow_memory *memory, struct flow_delivery *d,
                                       const struct rpcrdma_op *op, uint64_t at)
{
    const bool first = d->through <= d->next;
    const uint64_t through = first ? d->next : d->through;

    early_ack(memory, d, op);
    if (at >= through)
        d->stepped = (first || d->stepped) && at - through < FEW_MISSING;
}

bool flow_delivery_answer(struct flow_memory *memory, struct flow_delivery *d,
                          struct flow_delivery *back, const struct rpcrdma_op *op)
{
    bool newer = back && origin_counts(back) && (int16_t)(uint16_t)(op->ip_id - back->id) > 0;
    uint64_t at;

    d->repeat = RPCRDMA_REPEAT_DUPLICATE;
    d->repeats = d->naming = false;
    if (back && passed_before(memory, d, back, op))
        return false;
    if (!d->started) {
        answered_alone(memory, d, op);
        return false;
    }
    at = position_of_psn(d, op->seq);
    if (at > d->next + ANOTHER_QP || at + ANOTHER_QP < d->next)
        return false;
    if (!d->acks && op->kind != RPCRDMA_OP_READ_RESPONSE)
        hole_first_ack(d);
    switch (op->kind) {
    case RPCRDMA_OP_NAK:
        d->acked = true;
        delivery_nak(memory, d, op, at);
        return transmission_answered(d, at - 1, op->frame, op->time_ns, INT64_MAX);
    case RPCRDMA_OP_READ_RESPONSE:
        if (at < d->answer_next && back &&
            origin_response_forgotten(memory, d, back, op, at, newer)) {
            response_twice(d, back, op);
            return false;
        }
        response(memory, d, back, op, at);
        if (d->rare && d->rare->late_read.before != 0)
            delivery_both_responded(d, op, at);
        break;
    default:
        if (op->flags & RPCRDMA_OP_ACK_OR_NAK) {
            transmission_acked_or_naked(d, at, op->frame, op->time_ns);
            at--; /* either acknowledges what is before it */
            break;
        }
        d->acked = d->naming = true;
        break;
    }
    if (d->rare && d->rare->late.before != 0)
        delivery_both_acked(d, op, at);
    if (d->rare && d->naked)
        delivery_came_late(d, at);
    if (d->not_ready && d->rare && at >= d->rare->nak_at)
        d->naked = d->not_ready = false; /* what was refused was retransmitted, seen or not */
    if (at >= d->next)
        ahead_of_data(memory, d, op, at);
    return transmission_answered(d, at, op->frame, op->time_ns, INT64_MAX);
}

RPCRDMA_RARE bool flow_delivery_acked(struct flow_delivery *d, uint32_t psn, uint64_t frame,
                                      int64_t time_ns)
{
    uint64_t at = d->started ? position_of_psn(d, psn) : 0;

    if (!d->started || at >= d->next || at + ANOTHER_QP < d->next)
        return false;
    d->acked = d->naming = true;
    if (!d->acks)
        hole_first_ack(d);
    return transmission_answered(d, at, frame, time_ns, INT64_MAX);
}

bool flow_delivery_responded(const struct flow_delivery *d, uint32_t psn)
{
    return d->started && position_of_psn(d, psn) < d->answer_next;
}
