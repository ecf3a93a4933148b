/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/origin.h"
#include "flow/delivery/segments.h"
#include "flow/delivery/transmission.h"

#include "wire/hot.h"

/*
 * TCP whose timer ended begins anew with one segment, and sends the next ones as it is acknowledged
 * (RFC 5681 section 3.1). A segment behind a pause that is alone so, for as long as its receiver
 * delays the acknowledgement, where several at a time came before, was sent before, and lost before
 * the place of capture. A sender that stood still, or was held up, goes on with several at once.
 *
 * Likewise where its IP IDs show that several packets of it did not pass, and what comes first of
 * what is missing behind the pause comes again; or nothing is missing, and nothing came that it
 * would have acknowledged: then those were copies of what comes behind the pause.
 */

enum {
    AT_ONCE = 3,     /* segments that came together before the pause */
    PASSED_MOST = 3, /* of a sender of which nothing passes: its latest, an Ack, the next */
    MISSING_LEAST = 4,
    MISSING_MOST = 64, /* as often as a timer ends until TCP gives up, and more */
};
#define TOGETHER_NS INT64_C(10000000)
#define ID_UNIT_NS INT64_C(100000000)

/* What a host joined may have been the largest, by a little. */
static bool is_full(const struct flow_delivery *d, uint32_t size)
{
    enum { LITTLE = 16 };

    return size <= d->largest_payload && size + size / LITTLE >= d->largest_payload;
}

/* The latest of these, and all of them of that size, or joined from such by the host. */
static bool came_together(const struct flow_delivery *d, uint32_t size)
{
    const struct transmission *newest = transmission_newest(d), *t = newest;
    uint64_t together = 0;

    for (int n = 0; t && n < AT_ONCE && newest->first_ns - t->first_ns < TOGETHER_NS; n++) {
        uint64_t bytes = t->last + 1 - t->first;

        if (bytes % size != 0)
            break;
        together += bytes;
        t = transmission_at(d, t->first - 1);
    }
    return together >= (uint64_t)AT_ONCE * size;
}

static void note_restart(struct rpcrdma_path *path, int64_t pause_ns, uint64_t frame,
                         uint32_t missing)
{
    if (path->restarts > 0 && path->restart_frame == frame)
        return; /* it is known */
    path->restarts++;
    if (pause_ns <= path->restart_ns)
        return;
    path->restart_ns = pause_ns;
    path->restart_frame = frame;
    path->restart_missing = missing;
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
    note_restart(&rare->path, rare->alone.pause_ns, rare->alone.frame, 0);
}

/* From the packet with the latest IP ID to the one in hand: so many did not pass. A packet of the
 * capture that was joined from several has the first one's. */
static uint32_t ids_missing(const struct flow_delivery *d, uint16_t id, uint16_t before,
                            uint16_t packets)
{
    return (uint16_t)((uint16_t)(id - before) - (uint16_t)((uint16_t)d->packets - packets));
}

/* These IDs count what its sender sends to this end and nothing else, as far as that is known: none
 * was missing before, for so long that one would have been at the rate of now. */
static bool counts_alone(const struct flow_delivery *d, int64_t pause_ns, uint32_t missing)
{
    uint32_t since = (uint32_t)(d->progress_ns / ID_UNIT_NS) - d->id_since;

    return origin_counts(d) && (uint16_t)(d->id - d->id_packets) == d->id_before &&
           (int64_t)since * missing >= pause_ns / ID_UNIT_NS;
}

void delivery_segment_counted(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment)
{
    d->id_before = (uint16_t)(segment->ip_id - (uint16_t)d->packets);
    d->id_since = (uint32_t)(segment->time_ns / ID_UNIT_NS);
}

static void note_away(struct flow_memory *memory, struct flow_delivery *d,
                      const struct rpcrdma_tcp_segment *segment, uint64_t first)
{
    const struct transmission *newest = transmission_newest(d);
    uint32_t missing = ids_missing(d, segment->ip_id, d->id, d->id_packets);
    int64_t pause_ns = segment->time_ns - d->progress_ns;

    if (segment->ip_id == 0 || !newest || !counts_alone(d, pause_ns, missing) ||
        newest->last + 1 - newest->first > d->largest_payload ||
        (uint16_t)((uint16_t)d->packets - d->id_packets) > PASSED_MOST || missing < MISSING_LEAST ||
        missing > MISSING_MOST || !delivery_rare(memory, d))
        return;
    d->rare->away.at = d->next;
    d->rare->away.alone = first == d->next;
    d->rare->away.pause_ns = pause_ns;
    d->rare->away.frame = segment->frame;
    d->rare->away.missing = missing;
    d->rare->away.id = segment->ip_id;
    d->rare->away.packets = (uint16_t)d->packets;
}

static void was_away(struct flow_delivery *d, struct rare *rare)
{
    note_restart(&rare->path, rare->away.pause_ns, rare->away.frame, rare->away.missing);
    d->id_before = (uint16_t)(d->id_before + rare->away.missing);
}

void delivery_segment_follows(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment)
{
    struct rare *rare = d->rare;

    if (ids_missing(d, segment->ip_id, rare->away.id, rare->away.packets) == 0)
        was_away(d, rare);
    rare->away.alone = false;
    rare->away.missing = 0;
}

void delivery_segment_fills(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment,
                            uint64_t first)
{
    struct rare *rare = d->rare;
    bool counts = ids_missing(d, segment->ip_id, rare->away.id, rare->away.packets) == 0;

    if (first == rare->away.at && counts)
        was_away(d, rare);
    rare->away.missing = 0;
}

static uint16_t short_stamp(const struct rpcrdma_tcp_segment *segment)
{
    enum { STAMP_BITS = 4 };

    return (uint16_t)(segment->stamp >> STAMP_BITS);
}

void delivery_segment_stamped(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment)
{
    d->stamped = segment->has_stamp;
    d->stamp = short_stamp(segment);
}

/* It took as long by its sender's clock, in milliseconds, as Linux' are. A clock that was set
 * forward here shows more than that; and units that are longer, less. */
static bool took_as_long(const struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment)
{
    enum { PART = 20 };
    const int64_t unit_ns = 16000000, longest = UINT16_MAX / 2;
    int64_t here = (segment->time_ns - d->progress_ns) / unit_ns,
            there = (uint16_t)(short_stamp(segment) - d->stamp),
            differ = there > here ? there - here : here - there;

    return segment->has_stamp && d->stamped && here < longest && differ * PART <= here;
}

static void note_pause(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment,
                       uint64_t first)
{
    bool counted, timed;

    if (first < d->next || segment->time_ns - d->progress_ns < LONG_NS)
        return;
    counted = first == d->next && segment->ip_id != 0 && origin_counts(d) &&
              ids_missing(d, segment->ip_id, d->id, d->id_packets) == 0;
    timed = took_as_long(d, segment);
    d->pause_counted |= counted;
    d->pause_uncounted |= !counted;
    d->pause_timed |= timed;
    d->pause_untimed |= !timed;
}

RPCRDMA_RARE void delivery_segment_new(struct flow_memory *memory, struct flow_delivery *d,
                                       const struct flow_delivery *back,
                                       const struct rpcrdma_tcp_segment *segment)
{
    uint64_t first = position_of_seq(d, segment->seq);

    note_pause(d, segment, first);
    if (d->through == d->next && segment->time_ns - d->progress_ns >= LONG_NS &&
        (first > d->next ||
         (first == d->next && back && back->progress_ns - d->progress_ns < LONG_NS)))
        note_away(memory, d, segment, first);
    if (first != d->next) {
        if (d->rare && first + segment->len > d->next)
            d->rare->alone.end = 0;
        return;
    }
    if (d->rare && d->rare->alone.end != 0)
        look_back(d, back, segment);
    if (segment->time_ns - d->progress_ns < LONG_NS || !is_full(d, segment->len) ||
        d->through != d->next || !came_together(d, segment->len) || !delivery_rare(memory, d))
        return;
    d->rare->alone.end = first + segment->len;
    d->rare->alone.pause_ns = segment->time_ns - d->progress_ns;
    d->rare->alone.time_ns = segment->time_ns;
    d->rare->alone.frame = segment->frame;
}
