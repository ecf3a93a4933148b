/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/transmission.h"

#include "wire/hot.h"

/*
 * What TCP's receiver says by SACK (RFC 2018) of what is behind all that it acknowledges: blocks
 * that it has. It has neither the byte before each of them, nor the one after it.
 */

enum {
    SMALL = 536, /* what every path takes: RFC 9293 section 3.7.1 */
    TIMES = 3,   /* retransmission began there so often */
};

/* What is missing here before the block was lost before the place of capture, unless it comes. */
static void lost_before(struct flow_delivery *d, uint64_t first)
{
    struct hole *hole = first > 0 ? transmission_hole_at(d, first - 1) : NULL;

    if (hole && !hole->arrived)
        transmission_asked(&d->rare->path, hole, d->largest_payload);
}

/* It was sent when a large segment had come in vain, again and again, and arrived. */
static bool passed_small(const struct flow_delivery *d, const struct rare *rare, uint64_t first,
                         uint32_t size, uint64_t through)
{
    const struct transmission *t = transmission_at(d, rare->begun);

    return rare->begun_times >= TIMES && through <= rare->begun && first >= rare->begun_next &&
           size <= SMALL && t && !t->delivered && t->last - t->first >= SMALL;
}

RPCRDMA_RARE void delivery_segment_arrived(struct flow_delivery *d,
                                           const struct rpcrdma_tcp_segment *segment,
                                           uint64_t through)
{
    struct rare *rare = d->rare;

    if (!rare)
        return;
    for (int i = 0; i < segment->n_arrived; i++) {
        uint64_t first = position_of_seq(d, segment->arrived[i].first);

        if (d->largest_payload > 0)
            lost_before(d, first);
        if (!passed_small(d, rare, first, segment->arrived[i].end - segment->arrived[i].first,
                          through))
            continue;
        rare->path.small_frame = segment->frame;
        rare->path.small_ns = segment->time_ns;
    }
}
