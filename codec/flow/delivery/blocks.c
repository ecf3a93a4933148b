/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/step.h"
#include "flow/delivery/hole.h"
#include "flow/delivery/segments.h"
#include "flow/delivery/transmission.h"

#include "wire/hot.h"

/*
 * What TCP's receiver says by SACK (RFC 2018) of what is behind all that it acknowledges: blocks
 * that it has. It has neither the byte before each of them, nor the one after it.
 */

enum {
    SMALL = 536, /* what every path takes: RFC 9293 section 3.7.1 */
    TIMES = 3,   /* retransmission began there so often */
    LOST = 4,    /* large ones that did not arrive, of many */
};

/* What is missing here before the block was lost before the place of capture, unless it comes. */
static void lost_before(struct flow_delivery *d, uint64_t first)
{
    struct hole *hole = first > 0 ? hole_at(d, first - 1) : NULL;

    if (hole && !hole->arrived)
        hole_asked(&d->rare->path, hole, d->largest_payload);
}

/* Large ones of which none arrived stand before it, from the one that came in vain on. */
static bool larger_lost(const struct flow_delivery *d, const struct transmission *t, uint64_t first)
{
    int large = 0;

    for (int n = 0; t && t->last < first && large < LOST && n < 4 * LOST; n++) {
        RPCRDMA_STEP();
        large += t->last - t->first >= SMALL;
        t = transmission_after(d, t);
    }
    return large >= LOST;
}

static bool all_small(const struct rpcrdma_tcp_segment *segment)
{
    bool small = true;

    for (int i = 0; i < segment->n_arrived; i++)
        small &= segment->arrived[i].end - segment->arrived[i].first <= SMALL;
    return small;
}

/* A large segment came in vain, again and again; the same bytes in a smaller one may have come. */
static const struct transmission *in_vain(const struct flow_delivery *d, const struct rare *rare,
                                          uint64_t through)
{
    const struct transmission *t = transmission_at(d, rare->begun);

    return rare->begun_times >= TIMES && t && !t->delivered && t->last - t->first >= SMALL &&
                   (through <= rare->begun || through == rare->begun + rare->begun_size) &&
                   through <= t->last
               ? t
               : NULL;
}

/* ... and this small one behind it arrived: it was sent later, or all that are larger were lost. */
static bool passed_small(const struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment,
                         const struct transmission *large, int i)
{
    uint64_t first = position_of_seq(d, segment->arrived[i].first);

    if (segment->arrived[i].end - segment->arrived[i].first > SMALL)
        return false;
    return first >= d->rare->begun_next || (all_small(segment) && larger_lost(d, large, first));
}

static void note_small(struct rare *rare, const struct rpcrdma_tcp_segment *segment,
                       const struct transmission *large, uint64_t through)
{
    rare->path.small_frame = segment->frame;
    rare->path.small_ns = segment->time_ns;
    rare->path.small_since_ns = large->first_ns;
    rare->path.small_size = through > rare->begun ? rare->begun_size : 0;
}

RPCRDMA_RARE void delivery_segment_arrived(struct flow_delivery *d,
                                           const struct rpcrdma_tcp_segment *segment,
                                           uint64_t through)
{
    struct rare *rare = d->rare;
    const struct transmission *large = rare ? in_vain(d, rare, through) : NULL;

    if (!rare)
        return;
    for (int i = 0; i < segment->n_arrived; i++) {
        uint64_t first = position_of_seq(d, segment->arrived[i].first);

        if (d->largest_payload > 0)
            lost_before(d, first);
        if (large && passed_small(d, segment, large, i))
            note_small(rare, segment, large, through);
    }
}
