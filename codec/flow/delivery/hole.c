/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/hole.h"

/* The place of one that was filled, or else acknowledged, but `kept`; NULL: there is none. */
static struct hole *free_hole(struct rare *rare, const struct hole *kept)
{
    struct hole *arrived = NULL;

    for (int i = 0; i < HOLES; i++) {
        struct hole *hole = &rare->holes[i];

        if (hole == kept)
            continue;
        if (hole->count == 0)
            return hole;
        if (hole->arrived && (!arrived || hole->first < arrived->first))
            arrived = hole;
    }
    return arrived;
}

/* Where one more goes: else in the place of the oldest but `kept`. */
static struct hole *room_for_hole(struct rare *rare, const struct hole *kept)
{
    struct hole *hole = free_hole(rare, kept);

    if (hole)
        return hole;
    if (&rare->holes[rare->next_hole % HOLES] == kept)
        rare->next_hole++;
    return &rare->holes[rare->next_hole++ % HOLES];
}

/* Of what is missing so much is no longer only passed over. */
static void not_missing(struct flow_delivery *d, uint64_t count)
{
    if (d->acks)
        return;
    count = count < d->rare->unacked_gaps ? count : d->rare->unacked_gaps;
    d->rare->unacked_gaps -= count;
    d->rare->path.uncaptured -= count;
}

void hole_first_ack(struct flow_delivery *d)
{
    if (d->rare)
        not_missing(d, d->rare->unacked_gaps);
    d->acks = d->acknowledged = true;
}

static uint64_t packets_of(const struct hole *hole, uint64_t count)
{
    return count / hole->packet + (count % hole->packet != 0);
}

void hole_asked(struct rpcrdma_path *path, struct hole *hole, uint32_t packet)
{
    uint64_t packets;

    if (hole->asked)
        return;
    hole->asked = true;
    hole->packet = packet;
    packets = packets_of(hole, hole->count);
    path->lost += packets;
    path->lost_before += packets;
    path->lost_before_gaps++;
    path->asked_gaps++;
    path->longest_gap = packets > path->longest_gap ? packets : path->longest_gap;
}

/* It passed, or had arrived, but for so much of it at its start and at its end. */
static void not_asked(struct rpcrdma_path *path, const struct hole *hole, uint64_t before,
                      uint64_t after)
{
    uint64_t was, left;

    if (!hole->asked)
        return;
    was = packets_of(hole, hole->count);
    left = packets_of(hole, before) + packets_of(hole, after);
    path->lost = path->lost + left - was;
    path->lost_before = path->lost_before + left - was;
    path->lost_before_gaps = path->lost_before_gaps + (before > 0) + (after > 0) - 1;
}

struct hole *hole_at(const struct flow_delivery *d, uint64_t at)
{
    struct hole *holes = delivery_holes(d);

    for (int i = 0; holes && i < HOLES; i++)
        if (at >= holes[i].first && at - holes[i].first < holes[i].count)
            return &holes[i];
    return NULL;
}

bool hole_fill(struct flow_delivery *d, uint64_t first, uint64_t count, struct filled *filled)
{
    struct hole *hole = hole_at(d, first), rest;
    uint64_t left, after;

    *filled = (struct filled){0};
    if (!hole)
        return false;
    left = hole->first + hole->count - first;
    after = left > count ? left - count : 0;
    *filled = (struct filled){left - after, hole->time_ns, hole->arrived, hole->arrived_ns,
                              hole->asked && hole->packet == 1};
    if (!hole->arrived)
        not_missing(d, filled->count);
    not_asked(&d->rare->path, hole, first - hole->first, after);
    hole->count = first - hole->first;
    rest = *hole;
    rest.first = first + count;
    rest.count = after;
    if (hole->count == 0)
        *hole = rest;
    else if (after > 0)
        *room_for_hole(d->rare, hole) = rest;
    return true;
}

/* The part in front of it, which was answered before: responses of one Read answer it in parts.
 * NULL: none was. */
static struct hole *answered_before(const struct rare *rare, const struct hole *hole)
{
    for (int i = 0; i < HOLES; i++) {
        struct hole *before = &rare->holes[i];

        if (before->arrived && before->count > 0 && before->first + before->count == hole->first &&
            before->time_ns == hole->time_ns)
            return before;
    }
    return NULL;
}

static uint64_t common(uint64_t first, uint64_t end, uint64_t other, uint64_t other_end)
{
    first = first > other ? first : other;
    end = end < other_end ? end : other_end;
    return first < end ? end - first : 0;
}

uint64_t hole_responded(const struct flow_delivery *d, uint64_t first, uint64_t end)
{
    return common(first, end, delivery_extra(d)->skipped_end, d->answer_next);
}

/* Also by those that were the latest when it was found. */
static uint64_t responded(const struct flow_delivery *d, const struct hole *hole, uint64_t count)
{
    uint64_t end = hole->first + count, now = hole_responded(d, hole->first, end);

    return hole->skipped_end == delivery_extra(d)->skipped_end
               ? now /* the same, and more */
               : now + common(hole->first, end, hole->skipped_end, hole->answer_next);
}

void hole_uncaptured(struct flow_delivery *d, uint64_t last, int64_t time_ns)
{
    for (int i = 0; i < HOLES; i++) {
        struct hole *hole = &d->rare->holes[i], *before;
        struct hole rest, *room;
        uint64_t count;

        if (hole->count == 0 || hole->first > last || hole->arrived)
            continue;
        count = last - hole->first + 1 < hole->count ? last - hole->first + 1 : hole->count;
        not_missing(d, count);
        d->rare->path.uncaptured += count;
        d->rare->path.uncaptured_reads += responded(d, hole, count);
        not_asked(&d->rare->path, hole, 0, hole->count - count);
        before = answered_before(d->rare, hole);
        if (before) {
            before->count += count;
            hole->first += count;
            hole->count -= count;
        } else if (count < hole->count) {
            rest = *hole;
            hole->count = count;
            rest.first += count;
            rest.count -= count;
            room = free_hole(d->rare, hole);
            hole->arrived = true;
            hole->asked = false;
            hole->arrived_ns = time_ns;
            *(room ? room : hole) = rest;
        } else {
            hole->arrived = true;
            hole->asked = false;
            hole->arrived_ns = time_ns;
        }
    }
}

void hole_found(struct flow_memory *memory, struct flow_delivery *d, uint64_t first, uint64_t count,
                int64_t time_ns)
{
    struct rare *rare = delivery_rare(memory, d) ? d->rare : NULL;

    if (rare && !rare->holes)
        rare->holes = flow_alloc(memory, HOLES * sizeof(*rare->holes));
    if (!rare || !rare->holes)
        return;
    *room_for_hole(rare, NULL) = (struct hole){.first = first,
                                               .count = count,
                                               .time_ns = time_ns,
                                               .skipped_end = delivery_extra(d)->skipped_end,
                                               .answer_next = d->answer_next};
    if (d->acks)
        return;
    rare->unacked_gaps += count;
    rare->path.uncaptured += count;
    hole_uncaptured(d, d->through - 1,
                    time_ns); /* responses to some have passed: see uncaptured_reads */
}

void hole_end(struct flow_delivery *d)
{
    if (delivery_holes(d))
        hole_uncaptured(d, d->through - 1, d->answered_ns);
}
