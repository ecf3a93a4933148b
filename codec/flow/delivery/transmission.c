/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/transmission.h"
#include "flow/delivery/hole.h"
#include "flow/delivery/origin.h"

#include <string.h>

#include "base/step.h"
#include "base/sum.h"
#include "wire/hot.h"

/* Answers come sooner, but for those that waited. */
#define LATE_NS INT64_C(20000000)

/* What was sent, in a ring in the order of positions. Answered ones make room. */

RPCRDMA_RARE static void grow(struct flow_memory *memory, struct flow_delivery *d)
{
    uint32_t size = d->size * 2;
    struct transmission *bigger = flow_alloc(memory, size * sizeof(*bigger));

    if (!bigger)
        return;
    if (delivery_taps(d))
        taps_grow(memory, d, size);
    for (uint32_t i = 0; i < d->count; i++)
        bigger[i] = *transmission_record(d, i);
    if (d->ring != d->first_records)
        flow_release(memory, d->ring, d->size * sizeof(*bigger));
    d->ring = bigger;
    d->size = (uint16_t)size;
    d->begin = 0;
}

static bool wanted(const struct flow_delivery *d, int64_t now)
{
    const struct transmission *t = transmission_record(d, 0);

    return !t->delivered || d->held || now - t->delivered_ns < KEEP_NS;
}

RPCRDMA_HOT struct transmission *transmission_room(struct flow_memory *memory,
                                                   struct flow_delivery *d, int64_t time_ns)
{
    if (d->count == d->size && d->size < RECORDS_MOST && wanted(d, time_ns))
        grow(memory, d);
    if (d->count == d->size) {
        d->begin = (uint16_t)((d->begin + 1) & (d->size - 1));
        d->count--;
        d->pending = (uint16_t)(d->pending - (d->pending > 0));
    }
    if (delivery_taps(d))
        taps_forget(d, transmission_record(d, d->count));
    return transmission_record(d, d->count++);
}

/* From the newest back, in steps that double, then in halves between. */
RPCRDMA_RARE struct transmission *transmission_search(const struct flow_delivery *d, uint64_t at)
{
    uint32_t low = 0, high = d->count;

    for (uint32_t step = 1; step <= high; step *= 2) {
        RPCRDMA_STEP();
        if (transmission_record(d, high - step)->last < at) {
            low = high - step + 1;
            break;
        }
        high -= step;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        RPCRDMA_STEP();
        if (transmission_record(d, middle)->last < at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == d->count || transmission_record(d, low)->first > at)
        return NULL;
    return transmission_record(d, low);
}

struct transmission *transmission_after(const struct flow_delivery *d, const struct transmission *t)
{
    uint32_t i = transmission_index(d, t);

    return i + 1 < d->count ? transmission_record(d, i + 1) : NULL;
}

/* The newest message, of which this acknowledges what passed: more of its packets are to come. */
static bool goes_on(const struct flow_delivery *d, uint32_t i, uint64_t last)
{
    const struct transmission *t = transmission_record(d, i);

    return t->open && t->last == last && i + 1 == d->count;
}

/* A response, or an Ack of a part, in the middle of this record. */
static void answered_in_part(struct transmission *t, uint64_t frame, int64_t time_ns)
{
    if (!t->read || t->delivered)
        return;
    t->delivered = true; /* it was asked for */
    t->frame = TRANSMISSION_FRAME(frame);
    t->delivered_ns = time_ns;
}

/* It was there at `ns`, as the answer at time_ns shows, of all up to `last`. */
static void delivered(const struct flow_delivery *d, struct transmission *t, uint64_t last,
                      uint64_t frame, int64_t time_ns, int64_t ns, bool guessed)
{
    if (t->delivered)
        return;
    t->delivered = true;
    if (RPCRDMA_SELDOM(t->acked_or_naked) && t->times == 1) {
        t->named = true;
        return;
    }
    t->named = d->naming && t->last == last;
    t->guessed = guessed;
    t->frame = TRANSMISSION_FRAME(frame);
    t->delivered_ns = ns < time_ns ? ns : time_ns;
    if (t->delivered_ns < d->answered_ns && d->answered_ns <= time_ns) {
        t->delivered_ns = d->answered_ns; /* the answer before did not acknowledge it: at least */
        t->guessed = false;
    }
}

/* How long the answer took. What asked for none may be answered with what is sent later: it had
 * arrived by then, and when is not known. Nor is it of TCP's delayed acknowledgements before any
 * other. */
static RPCRDMA_INLINE int64_t answered_after(struct flow_delivery *d, int64_t delay, bool once,
                                             bool asked, int64_t waits_ns)
{
    if (once && (d->fastest_ns == 0 ? asked && delay < waits_ns : delay < d->fastest_ns))
        d->fastest_ns = delay < UINT32_MAX ? (uint32_t)delay : UINT32_MAX;
    if (RPCRDMA_SELDOM(!asked) && once)
        return delay < d->fastest_ns ? delay : d->fastest_ns;
    return transmission_way_ns(d, delay, waits_ns);
}

/* `first`: no answer passed before this one. */
RPCRDMA_RARE static bool several_answered(struct flow_delivery *d, uint64_t last, uint64_t frame,
                                          int64_t time_ns, int64_t waits_ns, bool first)
{
    uint32_t was = d->pending, end = was;
    int64_t latest = INT64_MIN, delay, way_ns = 0, base = INT64_MIN;
    bool again = false, asked = false, first_may_be = false, in_part = false;

    for (; end < d->count; end++) {
        struct transmission *t = transmission_record(d, end);

        if (t->first > last)
            break;
        again |= t->times > 1 || t->found;
        asked |= t->asked || t->open; /* its last packet does */
        first_may_be |= t->times > 1 && !t->lost;
        if (transmission_taken_ns(t) > latest)
            latest = transmission_taken_ns(t);
        if (t->last > last || goes_on(d, end, last)) {
            in_part = t->read;
            answered_in_part(t, frame, time_ns);
            break;
        }
    }
    delay = end > was && time_ns > latest ? time_ns - latest : 0;
    if (end > was)
        way_ns = answered_after(d, delay, !again, asked, waits_ns);
    if (end > was && first_may_be && d->rare)
        d->rare->again_answered =
            (struct again_answered){frame, time_ns, d->answered_ns, waits_ns, true};
    for (uint32_t i = was; i < end; i++) {
        struct transmission *t = transmission_record(d, i);

        if (transmission_taken_ns(t) > base)
            base = transmission_taken_ns(t);
        delivered(d, t, last, frame, time_ns, base + way_ns, way_ns < delay && delay >= waits_ns);
        t->unheard = first && i + 1 < end;
    }
    if (end > was || in_part)
        d->answered_ns = time_ns;
    d->pending = (uint16_t)end;
    return end > was;
}

/* Where what was answered has not passed: it was not captured, or comes yet, and when it was sent
 * is not known. What passed before it may have had an answer of its own, which was not captured
 * either; but not a part of a message that goes on. */
RPCRDMA_RARE static int64_t waits_at(const struct flow_delivery *d, uint64_t last, int64_t waits_ns)
{
    const struct transmission *newest = transmission_newest(d);

    return last >= d->next && !d->loose && !(newest && newest->open) && waits_ns > LATE_NS
               ? LATE_NS
               : waits_ns;
}

/* One record that was sent once, as mostly. */
static void one_answered(struct flow_delivery *d, struct transmission *t, uint64_t frame,
                         int64_t time_ns, int64_t waits_ns)
{
    int64_t delay = time_ns > t->last_ns ? time_ns - t->last_ns : 0;
    int64_t way_ns = answered_after(d, delay, true, t->asked, waits_ns);

    delivered(d, t, t->last, frame, time_ns, t->last_ns + way_ns,
              way_ns < delay && delay >= waits_ns);
    d->answered_ns = time_ns;
    d->pending++;
}

RPCRDMA_RARE void transmission_acked_or_naked(struct flow_delivery *d, uint64_t last,
                                              uint64_t frame, int64_t time_ns)
{
    struct transmission *t = transmission_at(d, last);

    if (!t || t->delivered || t->acked_or_naked || t->open || t->last != last || t->times != 1)
        return;
    t->acked_or_naked = true;
    t->frame = TRANSMISSION_FRAME(frame);
    t->delivered_ns = time_ns;
}

void transmission_answered_before(struct flow_delivery *d, uint64_t frame, int64_t time_ns)
{
    d->naming = false;
    several_answered(d, d->through - 1, frame, time_ns, INT64_MAX, false);
}

RPCRDMA_HOT bool transmission_answered(struct flow_delivery *d, uint64_t last, uint64_t frame,
                                       int64_t time_ns, int64_t waits_ns)
{
    struct transmission *t;
    bool first = !d->answered;

    d->answered = true;
    if (last < d->through)
        return false;
    d->through = last + 1;
    if (delivery_holes(d))
        hole_uncaptured(d, last, time_ns);
    t = transmission_pending(d);
    if (!t || t->last != last || t->open || t->times != 1 || t->found)
        return several_answered(d, last, frame, time_ns, waits_at(d, last, waits_ns), first);
    one_answered(d, t, frame, time_ns, waits_ns);
    return true;
}

void transmission_again(const struct flow_delivery *d, struct rpcrdma_path *path)
{
    const struct transmission *oldest;

    if (path->answered.time_ns == d->answered_ns)
        return;
    oldest = transmission_pending(d);
    path->answered = (struct rpcrdma_path_answered){
        d->answered_ns,  path->retransmitted,   path->timeouts,
        path->waited_ns, path->longest_wait_ns, oldest ? oldest->times : 0};
}

static void asked_again(struct rare *rare, int64_t time_ns)
{
    struct asked_together *asked = &rare->asked_together;

    if (asked->requests == 0 || time_ns - asked->since_ns >= MOMENT_NS)
        *asked = (struct asked_together){.since_ns = time_ns, .late = asked->late_since};
    asked->requests++;
    rare->path.asked_again++;
    rare->path.asked_late += asked->late;
}

void transmission_responded_late(struct rare *rare, int64_t time_ns)
{
    struct asked_together *asked = &rare->asked_together;

    asked->late_since = true;
    if (asked->late || time_ns - asked->since_ns >= MOMENT_NS)
        return;
    asked->late = true;
    rare->path.asked_late += asked->requests;
}

void transmission_waited(const struct flow_delivery *d, struct rpcrdma_path *path, int64_t time_ns,
                         bool response)
{
    int64_t since, longest;
    bool refused = d->rare->recovery.cause == FLOW_RECOVERY_NOT_READY;

    path->refused_again += refused;
    if (__builtin_sub_overflow(time_ns, d->sent_ns, &since) ||
        __builtin_sub_overflow(time_ns, d->progress_ns, &longest) || since < 0 || longest < 0)
        return; /* the clock was set back, or cannot be */
    if (response)
        asked_again(d->rare, time_ns);
    rpcrdma_sum_ns(response ? &path->asked_waited_ns : &path->waited_ns, since);
    if (refused)
        rpcrdma_sum_ns(&path->refused_waited_ns, since);
    if (longest > *(response ? &path->asked_longest_ns : &path->longest_wait_ns))
        *(response ? &path->asked_longest_ns : &path->longest_wait_ns) = longest;
}
