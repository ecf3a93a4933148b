/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/segments.h"
#include "flow/delivery/transmission.h"

#include "base/sum.h"

/*
 * An acknowledgement of TCP by itself that comes a second or more after what it acknowledges, while
 * nothing came from its sender, and nothing was sent again: no receiver waits that long (RFC 1122
 * section 4.2.3.2). It stood still, or the way did, or all that was captured. What also
 * acknowledges something new says nothing: the one before it may not be in the capture.
 */

#define LONG_NS INT64_C(1000000000)

void delivery_acked_at_last(struct flow_memory *memory, struct flow_delivery *back,
                            const struct rpcrdma_tcp_segment *segment, uint64_t through,
                            int64_t heard_ns)
{
    const struct transmission *last, *oldest = transmission_pending(back);
    struct rpcrdma_path *path;
    int64_t since_ns;

    if (heard_ns < back->answered_ns)
        heard_ns = back->answered_ns;
    if (segment->time_ns - heard_ns < LONG_NS || !oldest || through <= oldest->first ||
        !back->acknowledged || back->probed || segment->window == 0)
        return;
    last = transmission_at(back, through - 1);
    if (!last || oldest->times != 1 || last->times != 1 || oldest->found ||
        oldest->first_ns < heard_ns - LONG_NS || segment->time_ns - last->last_ns < LONG_NS)
        return;
    since_ns = last->last_ns > heard_ns ? last->last_ns : heard_ns;
    path = delivery_rare(memory, back);
    if (!path)
        return;
    rpcrdma_sum_ns(&path->held_all_ns, segment->time_ns - since_ns);
    path->held_until_ns = segment->time_ns;
}
