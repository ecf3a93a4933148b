/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/origin.h"

#include "base/sum.h"

/*
 * One packet, captured at two places on its way: near its sender and near its receiver. The
 * difference is its time on the network between them, where both places have one clock. That
 * they have shows: in one direction one of them sees packets first, in the other the other.
 */

enum { WAYS = 4, WAYS_SHIFT = RECENT_SHIFT_AT_TWO + 2 };
_Static_assert(RECENT_AT_TWO == WAYS << (32 - WAYS_SHIFT), "slot takes the high bits");

enum { DOUBTFUL = 20 }; /* of so many copies one may be the other way round: capture reorders */

void flow_delivery_tap(struct flow_delivery *d, uint8_t tap)
{
    d->tap = tap;
}

static bool is(const struct recent *r, const struct recent *now)
{
    return r->set && r->seq == now->seq && r->kind == now->kind && r->id == now->id &&
           (r->digest == now->digest || r->digest == 0 || now->digest == 0);
}

/* This packet where it is known, else the oldest of those that may be in its place: of what is
 * retransmitted the first transmission may still be on its way. By its ID, too: of one PSN more
 * than WAYS may be, as Naks are. */
static struct recent *slot(struct two_taps *taps, const struct recent *packet)
{
    uint32_t hash = (packet->seq + packet->id) * UINT32_C(2654435761);
    struct recent *r = &taps->recent[(size_t)WAYS * (hash >> WAYS_SHIFT)], *oldest = r;

    for (int i = 0; i < WAYS; i++) {
        if (is(&r[i], packet))
            return &r[i];
        if (!r[i].set || (oldest->set && r[i].time_ns < oldest->time_ns))
            oldest = &r[i];
    }
    return oldest;
}

void taps_begin(struct flow_memory *memory, struct flow_delivery *d, uint8_t first)
{
    struct two_taps *taps = flow_alloc(memory, sizeof(*taps));

    if (!taps)
        return;
    if (!delivery_rare(memory, d)) { /* for what is counted of both */
        flow_release(memory, taps, sizeof(*taps));
        return;
    }
    d->rare->taps = taps;
    taps->tap[0] = first;
    taps->tap[1] = d->tap;
    taps->first_at[0] = d->requests;
    for (uint32_t i = 0; i < d->recent_size; i++) /* what is on its way now */
        if (d->recent[i].set)
            *slot(taps, &d->recent[i]) = d->recent[i];
}

void taps_free(struct flow_memory *memory, struct flow_delivery *d)
{
    struct two_taps *taps = delivery_taps(d);

    if (!taps)
        return;
    flow_release(memory, taps->arrivals, taps->size * sizeof(*taps->arrivals));
    flow_release(memory, taps, sizeof(*taps));
}

/* -1: a third one. */
static int index_of(struct two_taps *taps, uint8_t tap)
{
    for (int i = 0; i < 2; i++)
        if (taps->tap[i] == tap)
            return i;
    taps->more = true;
    return -1;
}

void taps_first(struct flow_delivery *d, const struct recent *now)
{
    struct two_taps *taps = d->rare->taps;
    int i = index_of(taps, d->tap);

    if (i >= 0)
        taps->first_at[i]++;
    *slot(taps, now) = *now;
}

void taps_again(struct flow_delivery *d, const struct recent *now)
{
    struct recent *r = slot(d->rare->taps, now);

    if (is(r, now))
        r->times++;
}

bool taps_old(struct flow_memory *memory, struct flow_delivery *d, uint16_t id, bool copy)
{
    struct two_taps *taps = delivery_taps(d);
    int first, here;

    if (!copy && (!origin_counts(d) || (int16_t)(uint16_t)(id - d->id) > 0))
        return false;
    if (d->tap == 0 || d->progress_tap == 0 || (d->tap == d->progress_tap && !(copy && taps)))
        return false;
    if (!taps) {
        taps_begin(memory, d, d->progress_tap);
        taps = delivery_taps(d);
    }
    if (!taps)
        return false;
    first = index_of(taps, d->progress_tap);
    here = index_of(taps, d->tap);
    if (here >= 0 && taps->first_at[here] > 0)
        taps->first_at[here]--;
    if (first == here)
        return false;
    if (first >= 0)
        taps->old[first]++;
    return true;
}

static void passed(struct two_taps *taps, int first, int64_t ns)
{
    bool any = taps->copies[0] + taps->copies[1] > 0;

    if (!any || ns < taps->least_ns)
        taps->least_ns = ns;
    if (!any || ns > taps->most_ns)
        taps->most_ns = ns;
    rpcrdma_sum_ns(&taps->sum_ns, ns);
    taps->copies[first]++;
}

bool taps_elsewhere(struct flow_delivery *d, const struct recent *now)
{
    struct two_taps *taps = d->rare->taps;
    struct recent *r = slot(taps, now);
    int first;

    if (!is(r, now) || r->tap == d->tap)
        return false;
    first = index_of(taps, r->tap);
    if (index_of(taps, d->tap) < 0 || first < 0)
        return true; /* seen before, and no more is known */
    if (r->other_times++ == 0) {
        d->copied = true;
        taps->sent_ns_there = r->time_ns;
        passed(taps, first, now->time_ns - r->time_ns);
    } else if (r->other_times > r->times) {
        r->times++; /* the network made it two in between */
        d->rare->path.duplicated++;
    }
    return true;
}

/* NULL: none is known, and there is no memory for one. */
static struct arrival *arrival_of(const struct flow_delivery *d, const struct transmission *t)
{
    const struct two_taps *taps = delivery_taps(d);
    uint32_t i = (uint32_t)(t - d->ring);

    return taps && i < taps->size ? &taps->arrivals[i] : NULL;
}

void taps_grow(struct flow_memory *memory, struct flow_delivery *d, uint32_t size)
{
    struct two_taps *taps = d->rare->taps;
    struct arrival *bigger = flow_alloc(memory, size * sizeof(*bigger));

    for (uint32_t i = 0; bigger && taps->size == d->size && i < d->count; i++)
        bigger[i] = taps->arrivals[(d->begin + i) & (d->size - 1)];
    flow_release(memory, taps->arrivals, taps->size * sizeof(*taps->arrivals));
    taps->arrivals = bigger;
    taps->size = bigger ? size : 0;
}

void taps_arrived(struct flow_memory *memory, struct flow_delivery *d, const struct transmission *t,
                  uint64_t frame, int64_t time_ns)
{
    struct two_taps *taps = d->rare->taps;
    struct arrival *arrival;

    if (taps->size != d->size)
        taps_grow(memory, d, d->size);
    arrival = arrival_of(d, t);
    if (arrival && arrival->frame == 0)
        *arrival = (struct arrival){time_ns, taps->sent_ns_there, frame};
}

const struct arrival *taps_arrival(const struct flow_delivery *d, const struct transmission *t)
{
    const struct two_taps *taps = delivery_taps(d);
    const struct arrival *arrival = taps && taps->size == d->size ? arrival_of(d, t) : NULL;

    return arrival && arrival->frame != 0 ? arrival : NULL;
}

void taps_forget(struct flow_delivery *d, const struct transmission *t)
{
    struct arrival *arrival = arrival_of(d, t);

    if (arrival)
        *arrival = (struct arrival){0};
}

/* Index of the place that sees packets first; -1: there is no such. */
static int near_of(const struct flow_delivery *d)
{
    const struct two_taps *taps = delivery_taps(d);
    uint64_t first[2];
    int near;

    if (!taps || taps->more || taps->copies[0] + taps->copies[1] == 0)
        return -1;
    for (int i = 0; i < 2; i++)
        first[i] = taps->copies[i] + taps->old[i];
    near = first[0] >= first[1] ? 0 : 1;
    return first[1 - near] * DOUBTFUL > first[near] ? -1 : near;
}

enum flow_ends flow_delivery_ends(const struct flow_delivery *a, const struct flow_delivery *b)
{
    int near_a = near_of(a), near_b = near_of(b);

    if (!delivery_taps(a) && !delivery_taps(b))
        return FLOW_ENDS_ONE;
    if (near_a < 0 || near_b < 0)
        return FLOW_ENDS_UNKNOWN;
    if (delivery_taps(a)->tap[near_a] == delivery_taps(b)->tap[near_b])
        return FLOW_ENDS_CLOCKS;
    return delivery_taps(a)->tap[near_a] == delivery_taps(b)->tap[1 - near_b] ? FLOW_ENDS_BOTH
                                                                              : FLOW_ENDS_UNKNOWN;
}

void flow_delivery_transit(struct flow_delivery *d, enum flow_ends ends)
{
    const struct two_taps *taps = delivery_taps(d);
    int near = near_of(d);
    struct rpcrdma_path *path;
    uint64_t seen;

    if (!taps || !d->rare) /* the one is not made without the other */
        return;
    path = &d->rare->path;
    path->clocks_differ = ends == FLOW_ENDS_CLOCKS;
    if (near < 0 || ends != FLOW_ENDS_BOTH)
        return;
    path->both_ends = true;
    path->transits = taps->copies[near];
    path->transit_min_ns = taps->least_ns;
    path->transit_max_ns = taps->most_ns;
    path->transit_mean_ns =
        taps->sum_ns / (int64_t)(taps->copies[0] + taps->copies[1]); /* is not 0 */
    seen = taps->copies[near] + taps->old[near];
    path->lost_between = taps->first_at[near] > seen ? taps->first_at[near] - seen : 0;
}
