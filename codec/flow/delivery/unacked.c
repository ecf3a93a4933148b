/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/segments.h"
#include "flow/delivery/transmission.h"

#include "base/sum.h"

/*
 * TCP whose timer ended although what it had sent was acknowledged: that acknowledgement was lost,
 * or its sender got it late. A segment that is retransmitted acknowledges all that came to its
 * sender until then (RFC 9293 section 3.10.7.4). If it does not acknowledge what was sent to that
 * end long before, and later ones do, without any of it being sent once more, then this had come,
 * and was taken late; and so was what had passed with it. No acknowledgement was lost.
 *
 * Nor was it where that sender goes on to new data at once: a timer leaves it one segment (RFC 5681
 * section 3.1) until something is acknowledged.
 */

#define LATE_NS INT64_C(10000000) /* longer than the way takes, by so much */

static uint64_t retransmitted(const struct flow_delivery *d)
{
    return d->rare ? d->rare->path.retransmitted : 0;
}

void delivery_note_unacked(struct rare *rare, const struct flow_delivery *back,
                           const struct rpcrdma_tcp_segment *segment)
{
    const struct needless *latest = &rare->needless[0];
    const struct transmission *t;

    rare->unacked = 0;
    rare->again_size = latest->acked ? segment->len : 0;
    if (!latest->acked || !back || !back->started || !segment->has_ack)
        return;
    t = transmission_at(back, position_of_seq(back, segment->ack));
    if (!t || t->found || segment->time_ns - t->last_ns < LATE_NS + back->fastest_ns)
        return;
    rare->unacked = t->last + 1;
    rare->unacked_again = retransmitted(back);
}

/* Its acknowledgement arrived, after the timer ended. */
static void acked_late(struct rare *rare)
{
    struct rpcrdma_path *path = &rare->path;
    struct needless *latest = &rare->needless[0];

    latest->acked = false;
    path->acked_timeouts -= latest->said_acked;
    path->acked_timeout_ns -= latest->said_acked_ns;
    path->late_timeouts += latest->said_acked;
    rpcrdma_sum_ns(&path->late_timeout_ns, latest->said_acked_ns);
    latest->said_acked = 0;
    latest->said_acked_ns = 0;
}

void delivery_note_acked_late(struct rare *rare, const struct flow_delivery *back)
{
    if (back->through < rare->unacked)
        return;
    rare->unacked = 0;
    if (retransmitted(back) == rare->unacked_again) /* else it may have come only then */
        acked_late(rare);
}

void delivery_segment_goes_on(struct flow_delivery *d, uint64_t bytes)
{
    struct rare *rare = d->rare;
    bool more = rare->again_size + bytes > d->largest_payload;

    rare->again_size = 0;
    if (more)
        acked_late(rare);
}
