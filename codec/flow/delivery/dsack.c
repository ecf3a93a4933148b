/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/segments.h"
#include "flow/delivery/timeouts.h"
#include "flow/delivery/transmission.h"

#include "base/sum.h"

/*
 * TCP whose timer ended, and whose receiver had what came again for that: it says so of each copy
 * (D-SACK, RFC 2883). Acknowledgements were lost then, or were late.
 */

#define SECOND INT64_C(1000000000)
/* RFC 1122 section 4.2.3.2: each copy is answered within that. */
#define ANSWER_NS (SECOND / 2)

/* Its acknowledgement was the latest, and passed nearer to when it comes again than to when it was
 * sent: it was under way when the timer ended. (delivered_ns is when TCP had it.) */
static bool acked_late(const struct flow_delivery *d, uint64_t first, uint64_t end, int64_t now)
{
    const struct transmission *t = transmission_at(d, first);

    return t && end >= d->through && d->answered_ns - t->last_ns > now - d->answered_ns;
}

/* What its receiver sent meanwhile came all at once, just now: the way here stood still, or what
 * captured did, and its sender with it (it may be the same host). It has not taken the
 * acknowledgement yet. */
static bool stood_still(const struct flow_recovery *recovery, int64_t sent_ns, int64_t now)
{
    int64_t since_ns = recovery->silent_from_ns > sent_ns ? recovery->silent_from_ns : sent_ns;

    return recovery->silent_until_ns != 0 && now - recovery->silent_until_ns < TIMER_NS &&
           recovery->silent_until_ns - since_ns >= (now - sent_ns) / 2;
}

/* It comes again in place of the latest, which is kept for what its receiver says of it. */
static struct needless *begin(struct flow_delivery *d, uint64_t first, uint64_t end, int64_t now)
{
    struct needless *latest = &d->rare->needless[0];
    const struct transmission *t = transmission_at(d, first);

    if (latest->timeouts > 0 || latest->counted > 0)
        d->rare->needless[1] = *latest;
    *latest = (struct needless){.first = first};
    if (first < d->through) {
        latest->acked =
            !acked_late(d, first, end, now) && !stood_still(&d->rare->recovery, d->sent_ns, now);
        latest->answered_ns = d->answered_ns;
    }
    if (t) {
        latest->first_frame = t->first_frame;
        latest->first_ns = t->first_ns;
    }
    return latest;
}

/* A timer ended: until its receiver says that this was for nothing. */
void delivery_segment_timed_out(struct flow_delivery *d, uint64_t first, uint64_t end, int64_t now)
{
    struct needless *latest = &d->rare->needless[0];

    if (latest->first != first)
        latest = begin(d, first, end, now);
    latest->timeouts++;
    latest->last_ns = now;
    rpcrdma_sum_ns(&latest->ns, now - d->sent_ns);
}

void delivery_needless_answered(struct rare *rare, uint64_t through, int64_t time_ns)
{
    for (int i = 0; i < NEEDLESS; i++)
        if (rare->needless[i].answered_ns == 0 && rare->needless[i].first < through)
            rare->needless[i].answered_ns = time_ns;
}

/* This D-SACK was captured before: a bridge, or a network that doubles. */
static bool said_before(struct rare *rare, const struct rpcrdma_tcp_segment *segment)
{
    bool same = rare->said.twice == segment->twice && rare->said.id == segment->ip_id &&
                segment->time_ns - rare->said.time_ns < (segment->ip_id != 0 ? SECOND : SOON_NS);

    rare->said.twice = segment->twice;
    rare->said.id = segment->ip_id;
    rare->said.time_ns = segment->time_ns;
    return same;
}

/* The receiver said of each copy that it has it twice, and of the first only when all had been
 * sent: no Ack was lost, it stood still. */
static void each_answered(struct rare *rare, const struct needless *one)
{
    if (one->answered_ns < one->last_ns)
        return;
    delivery_answered_late(&rare->path, one->first_frame, one->first_ns, one->answered_ns, false);
    delivery_nothing_lost(&rare->recovery, one->first_ns, one->answered_ns);
    delivery_heard_late(rare, one->first_frame);
}

/* What counted as Acks that were lost was answered late. */
static void served_late(struct rare *rare, struct needless *one)
{
    struct rpcrdma_path *path = &rare->path;

    path->served_timeouts -= one->served;
    path->served_timeout_ns -= one->served_ns;
    path->unheard_timeouts -= one->unheard;
    path->late_timeouts += one->served;
    rpcrdma_sum_ns(&path->late_timeout_ns, one->served_ns);
    one->served = 0;
    one->late = true;
}

/* Acks were lost before they came here, if no more of them follow. */
static void count_served(struct rare *rare, struct needless *one, bool known)
{
    rare->path.served_timeouts += one->timeouts;
    rpcrdma_sum_ns(&rare->path.served_timeout_ns, one->ns);
    one->served = known ? one->timeouts : 0;
    one->served_ns = one->ns;
    one->unheard = 0;
}

/* One of the copies had arrived, and this acknowledgement answers none of them: those that did were
 * lost before they came here. */
void delivery_answered_unheard(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment,
                               uint64_t through)
{
    struct rare *rare = d->rare;
    struct needless *latest = rare ? &rare->needless[0] : NULL;
    const struct transmission *t;

    if (!latest || latest->timeouts < 2 || latest->first < d->through || latest->first >= through ||
        segment->twice != segment->twice_end)
        return;
    t = transmission_at(d, latest->first);
    if (!t || t->last > through || segment->time_ns - t->last_ns < ANSWER_NS + d->fastest_ns)
        return;
    count_served(rare, latest, true);
    latest->unheard = latest->timeouts;
    rare->path.unheard_timeouts += latest->unheard;
    rare->path.spurious += latest->timeouts;
    latest->counted = latest->timeouts; /* D-SACKs may follow, of each */
    latest->timeouts = 0;
    latest->ns = 0;
}

/* Which of those that came again as a timer ended has these bytes; NULL: none. */
static struct needless *among(struct rare *rare, uint64_t first, uint64_t end)
{
    for (int i = 0; i < NEEDLESS; i++) {
        struct needless *one = &rare->needless[i];

        if (first <= one->first && one->first < end && (one->timeouts > 0 || one->counted > 0))
            return one;
    }
    return NULL;
}

/* Its one copy came long before this, and its receiver answers each at once: it was late with this,
 * too, or the way back was. */
static bool answers_late(const struct flow_delivery *d, const struct needless *one,
                         int64_t answered_ns)
{
    return one->timeouts == 1 &&
           answered_ns - one->last_ns >= d->fastest_ns + (one->last_ns - one->first_ns) / 2;
}

/*
 * Its receiver has these bytes twice: the first transmission had arrived. Where their
 * acknowledgement passed before the timer ended, it was lost behind here; where it did later, or
 * just before, it was late; where this one is the first, others were lost before they came here,
 * unless this answers late, too.
 */
void delivery_arrived_twice(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment)
{
    uint64_t first = position_of_seq(d, segment->twice),
             end = first + (segment->twice_end - segment->twice);
    struct transmission *t = transmission_at(d, first);
    struct rare *rare = d->rare;
    struct rpcrdma_path *path;
    struct needless *one;

    if (!rare || said_before(rare, segment))
        return; /* counted; or nothing was retransmitted: it is a copy of the network's */
    twice_said(d, first, end);
    path = &rare->path;
    one = among(rare, first, end);
    if (!one) {
        if (t && t->late_again)
            t->late_again = false; /* as counted */
        else
            path->spurious += t && t->times > 1 && path->spurious < path->retransmitted;
        return;
    }
    if (one->timeouts == 0) {
        if (--one->counted > 0)
            return;
        if (one->served > 0)
            served_late(rare, one);
        if (one->late)
            each_answered(rare, one);
        return;
    }
    one->served = 0;
    path->spurious += one->timeouts;
    if (one->acked) {
        path->acked_timeouts += one->timeouts;
        rpcrdma_sum_ns(&path->acked_timeout_ns, one->ns);
        one->said_acked += one->timeouts;
        rpcrdma_sum_ns(&one->said_acked_ns, one->ns);
    } else if (one->first < d->through) {
        path->late_timeouts += one->timeouts;
        rpcrdma_sum_ns(&path->late_timeout_ns, one->ns);
        one->late = t != NULL;
        if (t)
            delivery_nothing_lost(&rare->recovery, one->first_ns, one->answered_ns);
    } else {
        count_served(rare, one, t != NULL);
        if (one->served > 0 && answers_late(d, one, segment->time_ns))
            served_late(rare, one);
    }
    one->counted = one->timeouts - 1;
    one->timeouts = 0;
    one->ns = 0;
    if (one->counted == 0 && one->late)
        each_answered(rare, one);
}
