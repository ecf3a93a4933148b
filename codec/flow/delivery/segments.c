/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/segments.h"
#include "flow/delivery/hole.h"
#include "flow/delivery/origin.h"
#include "flow/delivery/timeouts.h"
#include "flow/delivery/transmission.h"

#include "base/step.h"
#include "base/sum.h"

/*
 * TCP: RFC 9293 section 3.4. A record per segment. An acknowledgement covers all bytes before its
 * number; one that waited for data to travel with, or for a timer (RFC 9293 section 3.8.6.3), says
 * late what arrived early: then the shortest time in which one came counts. One that travels alone,
 * and sooner than any timer, did not wait.
 */

enum {
    /* records that one segment retransmits: of 64 KiB that the host cuts up itself, with the least
     * MSS that there is (RFC 9293 section 3.7.1: 536), 123 */
    COVERED = 256,
    EARLY = 1 << 20, /* a capture shows an acknowledgement so many bytes before these, no more */
};
/* Timers of acknowledgements are longer: Linux has 40 ms, and up to 500 ms are allowed. */
#define ACK_TIMER_NS INT64_C(20000000)
#define SECOND INT64_C(1000000000)
#define SILENCE_NS INT64_C(150000000) /* a retransmission timer is longer: RFC 6298 section 2.4 */

/* Which bytes were sent again since anything new was. */
static void sent_again(const struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment)
{
    struct flow_recovery *recovery = &d->rare->recovery;
    uint32_t last = segment->seq + segment->len - 1;

    if (!d->repeating) {
        delivery_recovers(recovery);
        recovery->first = segment->seq;
        recovery->last = last;
        recovery->timed_out = false;
    }
    if ((int32_t)(segment->seq - recovery->first) < 0)
        recovery->first = segment->seq;
    if ((int32_t)(last - recovery->last) > 0)
        recovery->last = last;
    recovery->time_ns = segment->time_ns;
}

/* All of it came out of order, and comes again for the first time: its receiver asked for it when
 * it lacked it. */
static struct transmission *came_late(const struct flow_delivery *d, uint64_t first, uint64_t last)
{
    struct transmission *t = transmission_at(d, first);

    return t && t->found && t->times == 1 && !t->delivered && !t->lost && last <= t->last ? t
                                                                                          : NULL;
}

/* `gap`: what is retransmitted had not passed. */
static void again(struct flow_delivery *d, const struct flow_delivery *back,
                  struct rpcrdma_path *path, const struct rpcrdma_tcp_segment *segment,
                  uint64_t first, bool gap)
{
    uint64_t last = first + segment->len - 1;
    bool begins = !d->repeating || first < d->rare->repeated, timer = false;
    struct transmission *t, *late = gap ? NULL : came_late(d, first, last);

    transmission_again(d, path);
    if (path->retransmitted++ == 0)
        path->retransmitted_frame = segment->frame;
    path->retransmitted_bytes += segment->len;
    if (begins && segment->time_ns - d->sent_ns > SILENCE_NS) {
        if (path->timeouts++ == 0)
            path->timeout_frame = segment->frame;
        rpcrdma_sum_ns(&path->timeout_ns, segment->time_ns - d->sent_ns);
        timer = true;
        if (!gap) {
            delivery_segment_timed_out(d, first, last + 1, segment->time_ns);
            delivery_note_unacked(d->rare, back, segment);
        }
    } else if (!gap && last < d->through) {
        path->spurious++; /* a probe (RFC 8985 section 7), or it met its acknowledgement */
    } else if (late) {
        path->spurious++;
        late->late_again = true;
        d->lacking = false;
    }
    transmission_waited(d, path, segment->time_ns, false);
    sent_again(d, segment);
    d->rare->recovery.timed_out |= timer;
    d->repeating = true;
    d->rare->repeated = last + 1;
    if (begins) {
        delivery_begins_again(d->rare, first);
        d->rare->begun_next = d->next;
        d->rare->begun_size = segment->len;
        d->rare->recovery.cause = gap || d->lacking ? FLOW_RECOVERY_LOST : FLOW_RECOVERY_UNKNOWN;
    }
    d->lacking = false;
    if (gap && d->rare->away.missing > 0)
        delivery_segment_fills(d, segment, first);
    t = transmission_at(d, first);
    for (int n = 0; t && t->first <= last && n < COVERED; n++, t = transmission_after(d, t)) {
        RPCRDMA_STEP();
        if (t->delivered)
            continue;
        transmission_repeated(t);
        t->lost |= d->rare->recovery.cause == FLOW_RECOVERY_LOST;
        t->last_frame = TRANSMISSION_FRAME(segment->frame);
        t->last_ns = segment->time_ns;
        if (delivery_taps(d))
            taps_forget(d, t);
    }
}

static void late(struct flow_delivery *d, struct rpcrdma_path *path,
                 const struct rpcrdma_tcp_segment *segment, uint64_t first,
                 const struct filled *filled)
{
    struct transmission *t = transmission_at(d, first);

    path->reordered += segment->time_ns >= filled->found_ns; /* else only in the file */
    if (t && t->found && t->times == 0) {
        t->times = 1;
        t->last_frame = TRANSMISSION_FRAME(segment->frame);
        t->last_ns = segment->time_ns;
    }
}

/* A keep-alive: a byte that had been acknowledged, where all had, to have it acknowledged once more
 * (RFC 9293 section 3.8.4). Or the next one, that a window without room does not take yet
 * (3.8.6.1). */
static bool keeps_alive(const struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment,
                        uint64_t first)
{
    bool room = !d->rare || d->rare->no_room_ns == 0;

    return segment->len == 1 &&
           ((first + 1 == d->next && d->through == d->next) || (!room && first == d->through));
}

/* All of it, and no receiver that lacks some of it can have asked for it. */
static bool had_passed(const struct flow_delivery *d, uint64_t end)
{
    return end <= d->next && (origin_counts(d) || end <= d->through);
}

/* Begins with bytes that had passed. False: no memory. */
static bool overlaps(struct flow_memory *memory, struct flow_delivery *d,
                     const struct flow_delivery *back, const struct rpcrdma_tcp_segment *segment,
                     uint64_t first)
{
    struct rpcrdma_path *path = delivery_rare(memory, d);
    struct filled filled;
    bool gap = hole_fill(d, first, segment->len, &filled) && !filled.arrived;

    if (!path)
        return false;
    if (origin_behind(d, segment->ip_id, &filled, segment->time_ns) == ORIGIN_LATE) {
        path->uncaptured -= filled.arrived && path->uncaptured > 0;
        late(d, path, segment, first, &filled);
    } else {
        path->lost += gap;
        again(d, back, path, segment, first, gap);
    }
    return true;
}

/* Bytes that had not passed, [first, end); a hole, where they are not the next. */
static void new_bytes(struct flow_memory *memory, struct flow_delivery *d,
                      const struct rpcrdma_tcp_segment *segment, uint64_t first, uint64_t end)
{
    d->progress_tap = d->tap;
    if (d->rare && d->rare->again_size > 0)
        delivery_segment_goes_on(d, end - first);
    if (first > d->next) {
        struct transmission *lost =
            transmission_add(memory, d, d->next, first - 1, segment->frame, segment->time_ns);

        hole_found(memory, d, d->next, first - d->next, segment->time_ns);
        lost->found = true;
        lost->times = 0;
    }
    if (first + EARLY < d->through)
        d->through = first; /* bytes were acknowledged that had not been sent: by nobody here */
    d->progress_ns = segment->time_ns;
    delivery_segment_stamped(d, segment);
    transmission_add(memory, d, first, end - 1, segment->frame, segment->time_ns);
    d->next = end;
}

static bool copied_apart(struct flow_memory *memory, struct flow_delivery *d,
                         const struct recent *now, uint64_t first, uint64_t end)
{
    if (end > d->next || hole_at(d, first) || !delivery_apart(memory, d, now, first))
        return false;
    d->rare->path.duplicated++;
    return true;
}

static void data(struct flow_memory *memory, struct flow_delivery *d,
                 const struct flow_delivery *back, const struct rpcrdma_tcp_segment *segment)
{
    const struct recent now = {.seq = segment->seq,
                               .id = segment->ip_id,
                               .kind = SEGMENT_KIND,
                               .set = true,
                               .tap = d->tap,
                               .times = 1,
                               .time_ns = segment->time_ns};
    uint64_t first, end;

    if (!d->started) {
        d->started = d->acks = true;
        d->next = (UINT64_C(1) << 33) + segment->seq;
        d->through = d->next;
    }
    first = position_of_seq(d, segment->seq);
    end = first + segment->len;
    if (keeps_alive(d, segment, first)) {
        delivery_probed(memory, d, segment->time_ns);
        d->sent_ns = segment->time_ns;
        return;
    }
    if (origin_twice(memory, d, &now, segment->frame)) {
        const struct transmission *t = d->copied ? transmission_at(d, end - 1) : NULL;

        if (d->copied) {
            d->packets--;
            d->bytes -= segment->len;
        }
        if (t && t->last == end - 1)
            taps_arrived(memory, d, t, segment->frame, segment->time_ns);
        return;
    }
    if (first < d->next && (origin_forgotten(memory, d, &now, first, had_passed(d, end)) ||
                            copied_apart(memory, d, &now, first, end))) {
        if (d->copied) {
            d->packets--;
            d->bytes -= segment->len;
        }
        return;
    }
    if (first < d->next) {
        if (!overlaps(memory, d, back, segment, first))
            return;
        first = d->next;
    } else {
        d->repeating = false;
    }
    if (end > d->next)
        new_bytes(memory, d, segment, first, end);
    if (!d->id_known)
        delivery_segment_counted(d, segment);
    origin_note(d, SEGMENT_KIND, segment->seq, segment->ip_id);
    if (d->id == segment->ip_id)
        d->id_packets = (uint16_t)d->packets;
    d->sent_ns = segment->time_ns;
}

/* The same acknowledgement once more, with nothing else in it: RFC 5681 section 2. Bytes arrived
 * behind some that did not. */
static void lacking(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment,
                    uint64_t through)
{
    d->lacking = through == d->through && through < d->next && segment->len == 0 &&
                 segment->window == d->window;
    d->window = segment->window;
}

/* Hosts join segments as they come (GRO), and cut them up as late as they can (TSO). FPDUs are
 * about as long as what passes (RFC 5044 section 4.1), but for padding and options. */
static bool joined(const struct rpcrdma_tcp_segment *segment)
{
    enum { LARGE = 1000, FRAME_MOST = 9216 }; /* of FPDUs that fill segments; of Ethernet */

    return segment->len > FRAME_MOST ||
           (segment->fpdu >= LARGE && segment->len > segment->fpdu + segment->fpdu / 4);
}

static void count(struct flow_memory *memory, struct flow_delivery *d,
                  const struct rpcrdma_tcp_segment *segment)
{
    delivery_dscp(memory, d, segment->traffic_class >> 2);
    d->followed = true;
    d->packets++;
    d->bytes += segment->len;
    if (segment->len > d->largest_payload && !joined(segment))
        d->largest_payload = segment->len;
    if ((segment->traffic_class & 3) == 3 && delivery_rare(memory, d))
        d->rare->path.congestion_marks++;
}

/* Its receiver has no room, or has some again. */
static void no_room(struct flow_memory *memory, struct flow_delivery *d,
                    const struct rpcrdma_tcp_segment *segment)
{
    struct rpcrdma_path *path = delivery_rare(memory, d);
    int64_t ns;

    if (!path)
        return;
    path->zero_windows += segment->window == 0;
    if (d->rare->no_room_ns == 0)
        d->rare->no_room_ns = segment->time_ns;
    if (!__builtin_sub_overflow(segment->time_ns, d->rare->no_room_ns, &ns) &&
        ns > path->zero_window_ns)
        path->zero_window_ns = ns;
    if (segment->window > 0)
        d->rare->no_room_ns = 0;
}

/* Bytes that arrived and were not captured are counted as packets, as all else is: as few as they
 * can have been. */
static bool answered(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment,
                     uint64_t through)
{
    uint64_t before = d->rare ? d->rare->path.uncaptured : 0, bytes;
    bool more = transmission_answered(d, through - 1, segment->frame, segment->time_ns,
                                      segment->len > 0 ? 0 : ACK_TIMER_NS);

    bytes = d->rare ? d->rare->path.uncaptured - before : 0;
    if (bytes > 0 && d->largest_payload > 0)
        d->rare->path.uncaptured = before + (bytes - 1) / d->largest_payload + 1;
    return more;
}

bool flow_delivery_goes_on(const struct flow_delivery *d, uint32_t seq)
{
    int32_t beyond = (int32_t)(seq - (uint32_t)d->next);

    return !d->started || (beyond > -EARLY && beyond < EARLY);
}

bool flow_delivery_is_new(const struct flow_delivery *d, const struct flow_delivery *back,
                          const struct rpcrdma_tcp_segment *segment)
{
    bool acks = segment->has_ack && back && back->started &&
                position_of_seq(back, segment->ack) > back->through;

    if (!d->started || acks)
        return true;
    return segment->len > 0 &&
           (!origin_counts(d) || (int16_t)(uint16_t)(segment->ip_id - d->id) > 0 ||
            position_of_seq(d, segment->seq) + segment->len > d->next);
}

bool flow_delivery_segment(struct flow_memory *memory, struct flow_delivery *d,
                           struct flow_delivery *back, const struct rpcrdma_tcp_segment *segment)
{
    bool unheard = false, open;
    uint64_t through;

    count(memory, d, segment);
    if (d->rare && d->rare->away.alone)
        delivery_segment_follows(d, segment);
    if (segment->len > 0 && d->started &&
        (segment->time_ns - d->progress_ns >= SECOND || (d->rare && d->rare->alone.end != 0)))
        delivery_segment_new(memory, d, back, segment);
    if (segment->len > 0)
        data(memory, d, back, segment);
    else if (segment->has_ack && d->started)
        delivery_probe(memory, d, segment);
    if (back && back->probed)
        delivery_probe_answered(back, segment->time_ns);
    if (d->repeating && segment->len > 0)
        delivery_segment_again(memory, d, back, segment);
    if (back && back->unheard)
        unheard = delivery_segment_heard(back, segment->time_ns);
    if (!back || !segment->has_ack)
        return false;
    if (segment->window == 0 || (back->rare && back->rare->no_room_ns != 0))
        no_room(memory, back, segment);
    if (!back->started)
        return false;
    if (back->rare)
        back->rare->again_size = 0;
    through = position_of_seq(back, segment->ack);
    if (through == 0 || through > back->next + (UINT64_C(1) << 30))
        return false;
    lacking(back, segment, through);
    if (segment->n_arrived > 0)
        delivery_segment_arrived(back, segment, through);
    if (unheard)
        delivery_answered_unheard(back, segment, through);
    open = twice_open(back);
    if (back->rare && back->rare->needless[0].first != 0)
        delivery_needless_answered(back->rare, through, segment->time_ns);
    if (segment->twice != segment->twice_end)
        delivery_arrived_twice(back, segment);
    else if (open)
        back->rare->again_answered.open = false;
    if (segment->len == 0 && segment->time_ns - back->answered_ns >= SECOND)
        delivery_acked_at_last(memory, back, segment, through, d->sent_ns);
    back->acked = true;
    back->acknowledged |= segment->len == 0;
    open |= answered(back, segment, through);
    if (d->rare && d->rare->unacked != 0)
        delivery_note_acked_late(d->rare, back);
    return open;
}
