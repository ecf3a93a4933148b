/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/transmission.h"

#include "wire/hot.h"

/*
 * TCP whose timer ended begins anew with one segment, and sends the next ones as it is acknowledged
 * (RFC 5681 section 3.1). A segment behind a pause that is alone so, for as long as its receiver
 * delays the acknowledgement, where several at a time came before, was sent before, and lost before
 * the place of capture. A sender that stood still, or was held up, goes on with several at once.
 */

enum { AT_ONCE = 3 }; /* segments that came together before the pause */
#define TOGETHER_NS INT64_C(10000000)

/* The latest of these, and all of them full. */
static bool came_together(const struct flow_delivery *d)
{
    const struct transmission *newest = transmission_newest(d), *t;

    if (!newest || d->count < AT_ONCE)
        return false;
    t = transmission_at(d, newest->first - 1);
    t = t ? transmission_at(d, t->first - 1) : NULL;
    return t && newest->first_ns - t->first_ns < TOGETHER_NS &&
           newest->last + 1 - t->first == (uint64_t)AT_ONCE * d->largest_payload;
}

/* The next segment is there: the one before was acknowledged by itself just before, and nothing of
 * the other end's asked for more. */
static void look_back(struct flow_delivery *d, const struct flow_delivery *back,
                      const struct rpcrdma_tcp_segment *segment)
{
    struct rare *rare = d->rare;
    bool awaited = d->through == rare->alone.end && d->answered_ns > rare->alone.time_ns &&
                   segment->time_ns - d->answered_ns < TOGETHER_NS &&
                   segment->time_ns - rare->alone.time_ns >= TOGETHER_NS &&
                   (!back || back->progress_ns < rare->alone.time_ns - rare->alone.pause_ns);

    rare->alone.end = 0;
    if (!awaited)
        return;
    rare->path.restarts++;
    if (rare->alone.pause_ns > rare->path.restart_ns) {
        rare->path.restart_ns = rare->alone.pause_ns;
        rare->path.restart_frame = rare->alone.frame;
    }
}

RPCRDMA_RARE void delivery_segment_new(struct flow_memory *memory, struct flow_delivery *d,
                                       const struct flow_delivery *back,
                                       const struct rpcrdma_tcp_segment *segment)
{
    uint64_t first = position_of_seq(d, segment->seq);

    if (first != d->next) {
        if (d->rare && first + segment->len > d->next)
            d->rare->alone.end = 0;
        return;
    }
    if (d->rare && d->rare->alone.end != 0)
        look_back(d, back, segment);
    if (segment->time_ns - d->progress_ns < LONG_NS || segment->len != d->largest_payload ||
        d->through != d->next || !came_together(d) || !delivery_rare(memory, d))
        return;
    d->rare->alone.end = first + segment->len;
    d->rare->alone.pause_ns = segment->time_ns - d->progress_ns;
    d->rare->alone.time_ns = segment->time_ns;
    d->rare->alone.frame = segment->frame;
}
