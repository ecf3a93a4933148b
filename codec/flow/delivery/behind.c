/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/hole.h"
#include "flow/delivery/origin.h"
#include "flow/delivery/requests.h"
#include "flow/delivery/timeouts.h"
#include "flow/delivery/transmission.h"

#include "flow/context/context.h"
#include "wire/hot.h"

/* A request that stands before what was expected next: it was retransmitted, and why; or it comes
 * late, and was sent once. */

/* Nobody asked for it; or somebody did, and what was sent for that was lost before it came here. */
static bool silent(const struct flow_delivery *d, int64_t now)
{
    if (!d->naked)
        return now - d->sent_ns > SOON_NS;
    return !d->not_ready && now - d->sent_ns > TIMER_NS && now - d->rare->nak_ns > TIMER_NS;
}

/* No timer was seen to end: the capture lacks packets, and the Nak that asked for it may be one of
 * them. What a Nak asks for comes sooner than a timer ends. */
static bool nak_missed(const struct flow_delivery *d, int64_t now)
{
    return d->rare->path.uncaptured > 0 && now - d->sent_ns < TIMER_NS;
}

/* Responses of this request are missing: only a part of them passed, or it asks from its middle. */
static bool lacks(const struct flow_delivery *d, const struct transmission *t, uint64_t at)
{
    return at > t->first || d->answer_next <= t->last;
}

/* `gap`: what is retransmitted had not passed. Responses that came in part are asked for again. */
static enum flow_recovery_cause cause(const struct flow_delivery *d, const struct transmission *t,
                                      const struct rpcrdma_op *op, uint64_t at, bool gap)
{
    if (d->naked && d->not_ready)
        return FLOW_RECOVERY_NOT_READY;
    if (d->naked)
        return d->rare->nak_at < d->through && !gap ? FLOW_RECOVERY_UNKNOWN : FLOW_RECOVERY_LOST;
    if (op->kind == RPCRDMA_OP_READ_REQUEST && t && t->delivered)
        return lacks(d, t, at) ? FLOW_RECOVERY_RESPONSE : FLOW_RECOVERY_UNKNOWN;
    if (gap)
        return FLOW_RECOVERY_LOST;
    return silent(d, op->time_ns) ? FLOW_RECOVERY_UNKNOWN : d->rare->recovery.cause;
}

/* A Read request comes again as responses behind one that it asks for have just passed: these show
 * its sender that one is missing, here or behind here, and no timer had to end (an implied Nak,
 * IBTA 9.7.5). */
static bool shown_by_responses(const struct flow_delivery *d, const struct transmission *t,
                               uint64_t at, int64_t now)
{
    const struct extra *extra = delivery_extra(d);
    bool gap = at <= extra->skipped && extra->skipped < extra->skipped_end;

    return t && d->asking && now - extra->responded_ns < TIMER_NS &&
           (gap || (t->last < d->answer_next && at + 1 < d->answer_next));
}

/* All that it asks for passed, and what came again with it had been answered twice, late: its
 * sender lacks nothing, but takes what was answered to its first transmission for out of order. */
static bool had_twice(const struct flow_delivery *d, const struct transmission *t, uint64_t at)
{
    const struct late *late = &d->rare->late_read;

    return late->before != 0 && late->arrived && at + 1 >= late->before && at < late->end && t &&
           t->read && d->answer_next > t->last;
}

/* This came behind those up to `end`. */
static void came_out_of_order(struct rare *rare, uint64_t at, uint64_t end)
{
    if (rare->out_of_order >= rare->out_of_order_end || at < rare->out_of_order)
        rare->out_of_order = at;
    if (end > rare->out_of_order_end)
        rare->out_of_order_end = end;
}

/* Its receiver has begun to serve it, and it comes once more. */
static void again_though_served(struct rare *rare, const struct transmission *t, int64_t time_ns)
{
    if (rare->served_again.times == 0 || rare->served_again.first != t->first) {
        rare->served_again.first = t->first;
        rare->served_again.times = 0;
        rare->served_again.since_ns = time_ns;
    }
    rare->served_again.times++;
}

/* The first of what is sent again: a recovery begins, with what it is for. */
static void recovery_begins(struct flow_delivery *d, const struct transmission *t,
                            const struct rpcrdma_op *op, uint64_t at, bool gap)
{
    bool twice = had_twice(d, t, at);

    delivery_begins_again(d->rare, at);
    delivery_recovers(&d->rare->recovery);
    d->asking = !d->naked && op->kind == RPCRDMA_OP_READ_REQUEST && t && t->delivered && !twice;
    d->rare->recovery.cause = cause(d, t, op, at, gap);
    if (silent(d, op->time_ns) && !nak_missed(d, op->time_ns) &&
        !shown_by_responses(d, t, at, op->time_ns) && !twice)
        delivery_timed_out(d, t, op, at, gap);
    d->naked = false;
}

/* It is one sending more of this transmission, and its last one so far. */
static void sent_once_more(struct flow_delivery *d, struct transmission *t,
                           const struct rpcrdma_op *op, uint64_t at, bool gap, bool unheard)
{
    if (t->found) {
        if (t->times == 0)
            t->times = 1;
    } else if (transmission_behind_last(t, at) <= 0 && at < t->last + 1) {
        transmission_repeated(t);
        if (!t->delivered && transmission_served(d, t))
            again_though_served(d->rare, t, op->time_ns);
    }
    if (unheard && !t->delivered && !transmission_served(d, t))
        delivery_unheard(d, t, op->frame, op->time_ns);
    t->lost |= d->rare->recovery.cause == FLOW_RECOVERY_LOST;
    t->at = TRANSMISSION_AT(at);
    t->refused = false;
    if (!t->delivered || t->read || gap || delivery_acked_ahead(d, t, op->time_ns)) {
        t->last_frame = TRANSMISSION_FRAME(op->frame);
        t->last_ns = op->time_ns;
        /* what passed both places was lost behind them, or something before it was */
        if (delivery_taps(d))
            taps_forget(d, t);
    }
}

static void again(struct flow_memory *memory, struct flow_delivery *d, const struct rpcrdma_op *op,
                  uint64_t at, bool gap)
{
    struct rpcrdma_path *path = delivery_rare(memory, d);
    struct transmission *t = transmission_at(d, at);
    /* what it asks for may be lost once more, and more of it: nothing new need be sent between */
    bool begins = !d->repeating || at < d->rare->repeated ||
                  (op->kind == RPCRDMA_OP_READ_REQUEST && op->time_ns - d->sent_ns > TIMER_NS);
    bool unheard = begins && d->acked && !d->naked && silent(d, op->time_ns);

    if (!path)
        return;
    transmission_again(d, path);
    if (path->retransmitted++ == 0)
        path->retransmitted_frame = op->frame;
    path->retransmitted_bytes += op->len;
    if (begins && d->repeating && !d->naked && op->time_ns - d->sent_ns < TIMER_NS)
        came_out_of_order(d->rare, at, d->rare->repeated); /* what is retransmitted may be, too */
    else if (at == d->rare->out_of_order)
        d->rare->out_of_order++;
    d->repeats = true;
    d->repeat = RPCRDMA_REPEAT_RETRANSMISSION;
    d->repeating = true;
    d->rare->repeated = at + 1;
    if (begins)
        recovery_begins(d, t, op, at, gap);
    d->rare->late.sent += d->rare->late.before != 0;
    if (t && t->times > 1 && at + 1 == d->rare->late.before && op->time_ns - t->last_ns < TIMER_NS)
        d->rare->late.in_burst = true;
    d->rare->late_read.sent += at + 1 == d->rare->late_read.before;
    transmission_waited(d, path, op->time_ns, d->asking);
    d->rare->recovery.time_ns = op->time_ns;
    if (t)
        sent_once_more(d, t, op, at, gap, unheard);
}

/* It was not missing from the capture: it came behind its Ack. A Read request is answered in parts,
 * which were missing on their own. */
static void came(struct flow_delivery *d, struct rpcrdma_path *path, uint64_t at, uint64_t end,
                 bool read, struct filled *filled)
{
    do {
        uint64_t count = filled->arrived ? filled->count : 0, reads = read ? count : 0, answered;

        path->uncaptured -= count;
        path->uncaptured_reads -= reads < path->uncaptured_reads ? reads : path->uncaptured_reads;
        answered = path->uncaptured - d->rare->unacked_gaps;
        if (path->uncaptured_reads > answered) /* responses of what was no Read */
            path->uncaptured_reads = answered;
        at += filled->count;
    } while (at < end && hole_fill(d, at, end - at, filled));
}

static bool ahead(const struct flow_delivery *d, int64_t acked_ns, int64_t now)
{
    int64_t ns;

    return flow_delivery_acked_early(d) != 0 && !__builtin_sub_overflow(now, acked_ns, &ns) &&
           ns >= 0 && ns <= FLOW_REORDER_NS;
}

bool delivery_acked_ahead(const struct flow_delivery *d, const struct transmission *t, int64_t now)
{
    return t && t->delivered && !t->read && ahead(d, t->delivered_ns, now);
}

RPCRDMA_RARE void delivery_behind(struct flow_memory *memory, struct flow_delivery *d,
                                  const struct rpcrdma_op *op, uint64_t at, uint32_t packets)
{
    struct filled filled;
    bool gap = hole_fill(d, at, packets > 0 ? packets : 1, &filled) && !filled.arrived;
    struct rpcrdma_path *path = delivery_rare(memory, d);
    struct transmission *t;

    if (!path)
        return;
    if (origin_behind(d, op->ip_id, &filled, op->time_ns) == ORIGIN_AGAIN) {
        if (filled.arrived && ahead(d, filled.arrived_ns, op->time_ns)) {
            came(d, path, at, at + packets, op->kind == RPCRDMA_OP_READ_REQUEST, &filled);
            gap = true;
        }
        path->lost += gap;
        again(memory, d, op, at, gap);
        return;
    }
    path->reordered += op->time_ns >= filled.found_ns; /* else only in the file */
    came(d, path, at, at + packets, op->kind == RPCRDMA_OP_READ_REQUEST, &filled);
    d->repeats = true;
    d->repeat = RPCRDMA_REPEAT_OUT_OF_ORDER;
    t = transmission_at(d, at);
    came_out_of_order(d->rare, at, d->next);
    if (t && t->found) {
        if (t->times == 0)
            t->times = 1;
        t->last_frame = TRANSMISSION_FRAME(op->frame);
        t->last_ns = op->time_ns;
    }
}
