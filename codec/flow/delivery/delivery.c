/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/fetch.h"
#include "flow/delivery/origin.h"
#include "flow/delivery/transmission.h"
#include "flow/life.h"
#include "wire/hot.h"

#include <stddef.h>

struct flow_delivery *flow_delivery_new(struct flow_memory *memory)
{
    struct flow_delivery *d = flow_alloc(memory, sizeof(*d));

    if (!d)
        return NULL;
    d->ring = d->first_records;
    d->size = RECORDS_FIRST;
    d->recent = d->first_recent;
    d->recent_size = RECENT_FIRST;
    return d;
}

struct flow_delivery *flow_delivery_new_alone(struct flow_memory *memory)
{
    struct flow_delivery *d = flow_delivery_new(memory);

    if (d)
        d->alone = true;
    return d;
}

void flow_delivery_free(struct flow_memory *memory, struct flow_delivery *d)
{
    if (!d)
        return;
    if (d->ring != d->first_records)
        flow_release(memory, d->ring, d->size * sizeof(*d->ring));
    recents_free(memory, d);
    if (d->rare) {
        flow_release(memory, d->rare->holes, HOLES * sizeof(*d->rare->holes));
        response_gap_free(memory, d->rare);
    }
    taps_free(memory, d);
    flow_release(memory, d->rare, sizeof(*d->rare));
    originals_free(memory, d);
    if (d->extra && d->extra->early)
        early_free(memory, d);
    flow_release(memory, d->extra, sizeof(*d->extra));
    flow_release(memory, d, sizeof(*d));
}

void flow_delivery_hold(struct flow_delivery *d, bool held)
{
    d->held = held;
}

void flow_delivery_fetch(const struct flow_delivery *d)
{
    flow_fetch(d, offsetof(struct flow_delivery, first_records));
}

void flow_delivery_fetch_next(const struct flow_delivery *d, const struct flow_delivery *back)
{
    enum { PSN = 0xffffff };

    flow_fetch(transmission_record(d, d->count), sizeof(*d->ring));
    flow_fetch(recent_pair(d, (uint32_t)d->next & PSN), 2 * sizeof(*d->recent));
    flow_fetch(recent_pair(d, (uint32_t)back->next & PSN), 2 * sizeof(*d->recent));
}

static uint64_t near(const struct flow_delivery *d, uint32_t seq, bool psn)
{
    return psn ? position_of_psn(d, seq) : position_of_seq(d, seq);
}

/* That no answer to it was captured says that there was none: others were. Responses are longer
 * than Acks; where packets were cut they may be all that is known of. */
static bool proves(const struct flow_delivery *d, const struct transmission *t)
{
    return d->acked || (t->read && d->answered);
}

/* It was sent again, or refused, and nothing answered it though other messages were answered. */
static bool undelivered(const struct flow_delivery *d, const struct transmission *t)
{
    return !t->delivered && proves(d, t) && (t->refused || t->times > 1);
}

/* The record of its last packet, *begin that of its first. */
static const struct transmission *records(const struct flow_delivery *d, bool psn, uint32_t first,
                                          uint32_t last, const struct transmission **begin)
{
    const struct transmission *end = d->started ? transmission_at(d, near(d, last, psn)) : NULL;
    uint64_t at;

    *begin = end;
    if (!end || first == last)
        return end;
    at = near(d, first, psn);
    if (at < end->first || at > end->last)
        *begin = transmission_at(d, at);
    if (!*begin)
        *begin = end;
    return end;
}

static uint32_t times(const struct transmission *begin, const struct transmission *end)
{
    return end->times > begin->times ? end->times : begin->times;
}

bool flow_delivery_disturbed(const struct flow_delivery *d)
{
    return d->rare != NULL;
}

uint32_t flow_delivery_transmissions(const struct flow_delivery *d, bool psn, uint32_t first,
                                     uint32_t last)
{
    const struct transmission *begin, *end = records(d, psn, first, last, &begin);

    return end ? times(begin, end) : 0;
}

/* Of the records of its first and last packet. In line, as they are mostly one. */
static RPCRDMA_INLINE void tell(const struct flow_delivery *d, const struct transmission *begin,
                                const struct transmission *end, struct rpcrdma_delivery *out)
{
    *out = (struct rpcrdma_delivery){
        .not_ready = end->not_ready || begin->not_ready,
        .refused = end->refused || begin->refused,
        .lost = end->lost || begin->lost,
        .transmissions = times(begin, end),
        .first_frame = begin->first_frame,
        .last_frame = end->last_frame,
        .first_time_ns = begin->first_ns,
        .last_time_ns = end->last_ns,
    };
    if (end->delivered) {
        out->state = RPCRDMA_DELIVERED;
        out->named = end->named;
        out->unheard = end->unheard;
        out->guessed = end->guessed;
        out->frame = end->frame;
        out->time_ns = end->delivered_ns;
    } else if (d->ended && undelivered(d, end)) {
        out->state = RPCRDMA_NOT_DELIVERED;
    }
}

RPCRDMA_RARE static void tell_arrival(const struct flow_delivery *d, const struct transmission *end,
                                      struct rpcrdma_delivery *out)
{
    const struct arrival *arrival = taps_arrival(d, end);

    if (!arrival)
        return;
    out->arrived_frame = arrival->frame;
    out->arrived_ns = arrival->time_ns;
    out->transit_ns = arrival->time_ns - arrival->sent_ns;
}

bool flow_delivery_find(const struct flow_delivery *d, bool psn, uint32_t first, uint32_t last,
                        struct rpcrdma_delivery *out)
{
    const struct transmission *begin, *end = records(d, psn, first, last, &begin);

    if (!end) {
        *out = (struct rpcrdma_delivery){0};
        return false;
    }
    if (begin == end)
        tell(d, end, end, out);
    else
        tell(d, begin, end, out);
    if (delivery_taps(d))
        tell_arrival(d, end, out);
    return true;
}

bool flow_delivery_waits(const struct flow_delivery *d, bool psn, uint32_t last)
{
    const struct transmission *t =
        d->started && !d->ended ? transmission_at(d, near(d, last, psn)) : NULL;

    return t && !t->delivered && t->times > 0;
}

bool flow_delivery_over(const struct flow_delivery *d, bool psn, uint32_t last)
{
    const struct transmission *t = d->started ? transmission_at(d, near(d, last, psn)) : NULL;

    return t && t->delivered;
}

bool flow_delivery_in_vain(const struct flow_delivery *d, bool psn, uint32_t last)
{
    const struct transmission *t = d->started ? transmission_at(d, near(d, last, psn)) : NULL;

    return t && !d->ended && undelivered(d, t);
}

void flow_delivery_served(struct flow_delivery *d, uint32_t psn)
{
    uint64_t at = position_of_psn(d, psn);

    if (d->started && at < d->next && at >= d->served)
        d->served = at + 1;
}

bool flow_delivery_at_two(const struct flow_delivery *d)
{
    return delivery_taps(d) != NULL;
}

/* The oldest that was not answered, but for what its receiver has begun to serve. NULL: none. */
static const struct transmission *oldest_not_served(const struct flow_delivery *d)
{
    for (uint32_t i = d->pending; i < d->count; i++) {
        const struct transmission *t = transmission_record(d, i);

        if (!transmission_served(d, t))
            return t;
    }
    return NULL;
}

/* Where no answer of its receiver's is captured, what was sent last and came again and again:
 * had it been answered, its sender had stopped. NULL: nothing. */
RPCRDMA_RARE static const struct transmission *in_vain_at_last(const struct flow_delivery *d)
{
    enum { AGAIN_AND_AGAIN = 4 };
    const struct transmission *t = transmission_newest(d);

    return t && !d->answered && d->rare && d->rare->path.timeouts > 0 && !t->found &&
                   t->times >= AGAIN_AND_AGAIN
               ? t
               : NULL;
}

/* Nothing answered it; or it is a Read, and responses are missing yet. */
static bool lacks_answers(const struct flow_delivery *d, const struct transmission *t)
{
    return !t->delivered || (t->read && d->answer_next <= t->last);
}

/* What was retransmitted and is not answered. NULL: nothing. */
static const struct transmission *unanswered(const struct flow_delivery *d)
{
    const struct transmission *t;

    if (RPCRDMA_SELDOM(!d->answered))
        return in_vain_at_last(d);
    t = oldest_not_served(d);

    return t && proves(d, t) && lacks_answers(d, t) && t->times >= 2 ? t : NULL;
}

/* Of its transmissions those that nothing more was answered to. */
static uint32_t in_vain(const struct flow_delivery *d, const struct transmission *t)
{
    const struct rpcrdma_path_answered *answered = d->rare ? &d->rare->path.answered : NULL;

    if (t->first_ns >= d->answered_ns)
        return t->times;
    if (!answered || answered->time_ns != d->answered_ns)
        return 0; /* nothing was sent again since then */
    return t->times - (answered->transmissions < t->times ? answered->transmissions : t->times);
}

/* It was retransmitted again and again after its receiver had begun to serve it. */
static bool in_vain_since(const struct flow_delivery *d, const struct transmission *t)
{
    return t && d->rare && proves(d, t) && !t->delivered && transmission_served(d, t) &&
           d->rare->served_again.first == t->first && d->rare->served_again.times >= 2;
}

/* A Nak asked for it, or for what was sent before it (all behind that is to be sent again, too:
 * IBTA 9.7.5.1.1), and it was not sent again. */
static bool asked_for(const struct flow_delivery *d, const struct transmission *t)
{
    if (!t || !d->rare || t->not_ready || t->times != 1 || t->delivered)
        return false;
    return d->rare->nak_at < t->first ? t->last_ns < d->rare->nak_ns
                                      : t->refused && d->rare->nak_at <= t->last;
}

static int64_t naked_ns(const struct flow_delivery *d)
{
    return d->rare && d->rare->path.naks[RPCRDMA_NAK_PSN_SEQUENCE] > 0 && !d->not_ready
               ? d->rare->nak_ns
               : 0;
}

void flow_delivery_silence(const struct flow_delivery *d, struct rpcrdma_silence *silence)
{
    const struct transmission *t = unanswered(d), *oldest = transmission_pending(d);

    *silence = (struct rpcrdma_silence){.heard_ns = d->answered_ns};
    if (in_vain_since(d, oldest)) {
        silence->transmissions = silence->in_vain = d->rare->served_again.times;
        silence->since_ns = d->rare->served_again.since_ns;
    } else if (t) {
        silence->transmissions = t->times;
        silence->in_vain = in_vain(d, t);
        silence->since_ns = t->delivered ? d->answered_ns : t->first_ns;
        silence->naked_ns = naked_ns(d);
    } else if (d->probed) {
        silence->probes = true;
        silence->transmissions = silence->in_vain = d->rare->probes.count;
        silence->since_ns = d->rare->probes.since_ns;
        if (d->rare->probes.heard_ns > silence->heard_ns)
            silence->heard_ns = d->rare->probes.heard_ns;
    } else if (asked_for(d, oldest)) {
        silence->asked = true;
        silence->since_ns = d->rare->nak_ns;
    } else if (oldest && !oldest->delivered && oldest->times == 1 && !oldest->refused) {
        silence->once_ns = oldest->first_ns;
    }
}

bool flow_delivery_silent_frame(const struct flow_delivery *d, uint64_t *frame, int64_t *time_ns)
{
    const struct transmission *t = unanswered(d);

    if (!t)
        return false;
    *frame = t->last_frame;
    *time_ns = t->last_ns;
    return true;
}

int64_t flow_delivery_sent_ns(const struct flow_delivery *d)
{
    return d->sent_ns;
}

bool flow_delivery_copied(const struct flow_delivery *d, uint64_t frame, int64_t *sent_ns)
{
    const struct two_taps *taps = delivery_taps(d);

    if (!d->copied || !taps || taps->copied_frame != frame)
        return false;
    *sent_ns = taps->sent_ns_there;
    return true;
}

bool flow_delivery_twice(const struct flow_delivery *d, uint64_t frame)
{
    return d->rare && d->rare->twice_frame == frame;
}

bool flow_delivery_not_ready(const struct flow_delivery *d)
{
    return d->naked && d->not_ready;
}

void flow_delivery_end(struct flow_delivery *d)
{
    d->ended = true;
}

bool flow_delivery_answered(const struct flow_delivery *d)
{
    return d->answered;
}

uint64_t flow_delivery_acked_early(const struct flow_delivery *d)
{
    const struct early *early = delivery_extra(d)->early;

    return early ? early->frame : 0;
}

const struct flow_recovery *flow_delivery_recovery(const struct flow_delivery *d)
{
    static const struct flow_recovery never = {0};

    return d->rare ? &d->rare->recovery : &never;
}

struct rpcrdma_path *delivery_rare(struct flow_memory *memory, struct flow_delivery *d)
{
    if (!d->rare)
        d->rare = flow_alloc_always(memory, sizeof(*d->rare));
    return d->rare ? &d->rare->path : NULL;
}

bool delivery_make_extra(struct flow_memory *memory, struct flow_delivery *d)
{
    if (!d->extra)
        d->extra = flow_alloc_always(memory, sizeof(*d->extra));
    return d->extra != NULL;
}

void delivery_dscp_changed(struct flow_memory *memory, struct flow_delivery *d, uint8_t dscp)
{
    if (d->followed && delivery_make_extra(memory, d))
        d->extra->dscps |= UINT64_C(1) << d->dscp;
    d->dscp = dscp;
}

void flow_delivery_add_naks(struct flow_memory *memory, struct flow_delivery *d,
                            const struct flow_delivery *more)
{
    const struct rpcrdma_path *from = more->rare ? &more->rare->path : NULL;
    struct rpcrdma_path *path = from ? delivery_rare(memory, d) : NULL;

    if (!path)
        return;
    for (int nak = 0; nak < RPCRDMA_NAKS; nak++) {
        if (path->naks[nak] == 0 ||
            (from->naks[nak] > 0 && from->nak_frame[nak] < path->nak_frame[nak]))
            path->nak_frame[nak] = from->nak_frame[nak];
        path->naks[nak] += from->naks[nak];
    }
}

const struct rpcrdma_path *flow_delivery_path(const struct flow_delivery *d,
                                              struct rpcrdma_path *plain)
{
    struct rpcrdma_path *path = d->rare ? &d->rare->path : plain;

    path->followed = d->followed;
    path->packets = d->packets;
    path->bytes = d->bytes;
    path->dscp = d->followed ? delivery_extra(d)->dscps | UINT64_C(1) << d->dscp : 0;
    path->largest_payload = d->largest_payload;
    path->acknowledged = d->acknowledged;
    path->ids_tell = origin_counts(d);
    path->pauses_counted = d->pause_counted && !d->pause_uncounted;
    path->pauses_timed = d->pause_timed && !d->pause_untimed;
    path->refused_for_good = flow_delivery_not_ready(d);
    return path;
}
