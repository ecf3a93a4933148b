/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/origin.h"
#include "flow/delivery/hole.h"
#include "flow/delivery/segments.h"
#include "flow/delivery/transmission.h"
#include "wire/hot.h"

/*
 * A host counts the IP IDs of what it sends, or leaves them the same: RFC 6864. Where it counts,
 * the ID distinguishes a packet that is retransmitted (a new one) from one that is there twice (the
 * same) or comes late (an older one). Where it does not, time does.
 */

/* Twice as many slots: what was in a pair has two. */
static bool grow(struct flow_memory *memory, struct flow_delivery *d)
{
    struct recent *before = d->recent, *bigger;
    uint32_t size = d->recent_size, twice = 2 * size;

    bigger = flow_alloc(memory, twice * sizeof(*bigger));
    if (!bigger)
        return false;
    d->recent = bigger;
    d->recent_size = twice;
    for (uint32_t i = 0; i < size; i++)
        if (before[i].set)
            *recent_slot(d, before[i].seq) = before[i];
    if (before != d->first_recent)
        flow_release(memory, before, size * sizeof(*before));
    return true;
}

void recents_free(struct flow_memory *memory, struct flow_delivery *d)
{
    if (d->recent != d->first_recent)
        flow_release(memory, d->recent, d->recent_size * sizeof(*d->recent));
}

/* Where this packet is, or will be: not in place of another one that passed a moment ago, as long
 * as there may be more slots. */
RPCRDMA_RARE static struct recent *place(struct flow_memory *memory, struct flow_delivery *d,
                                         const struct recent *now)
{
    for (;;) {
        struct recent *r = recent_slot(d, now->seq);

        if (!r->set || r->seq == now->seq || d->recent_size >= recents_most(d) ||
            now->time_ns - r->time_ns > MOMENT_NS || !grow(memory, d))
            return r;
    }
}

bool origin_counts(const struct flow_delivery *d)
{
    return d->id_known && !d->id_useless;
}

bool origin_passed_before(const struct flow_delivery *d, uint32_t seq, int64_t time_ns)
{
    const struct recent *r = recent_slot(d, seq);

    return r->set && r->seq == seq && r->time_ns < time_ns;
}

static void note(uint64_t *count, uint64_t *first_frame, uint64_t frame)
{
    ++*count;
    if (*first_frame == 0)
        *first_frame = frame;
}

/* What was sent under this PSN had arrived: its receiver discards what comes again (IBTA 9.7.5). */
static bool had_arrived(const struct flow_delivery *d, uint32_t psn)
{
    uint64_t at = position_of_psn(d, psn);

    return at < d->through || at < d->served;
}

/* With other bytes? Memory that is written to while it is sent, as pages of a file may be, is no
 * fault of the sender's transport. */
static void compare(struct flow_memory *memory, struct flow_delivery *d, const struct recent *first,
                    const struct recent *now, uint64_t frame)
{
    bool digests = now->digest != first->digest && now->digest != 0 && first->digest != 0;
    struct rpcrdma_path *path;

    if (!digests && !icrc_differs(first, now))
        return;
    path = delivery_rare(memory, d);
    if (!path)
        return;
    if (!digests && now->kind == RPCRDMA_OP_WRITE) {
        note(&path->different_data, &path->different_data_frame, frame);
        return;
    }
    path->different++;
    if (had_arrived(d, now->seq))
        note(&path->different_arrived, &path->different_arrived_frame, frame);
    else if (path->different_frame == 0)
        path->different_frame = frame;
}

static bool naked_of_late(const struct rare *rare, int64_t now)
{
    const uint64_t *naks = rare->path.naks;

    return naks[RPCRDMA_NAK_PSN_SEQUENCE] + naks[RPCRDMA_NAK_RNR] > 0 &&
           now - rare->nak_ns < TIMER_NS;
}

/* Goes on with what is being retransmitted, packet by packet, at once. Behind a Nak some may be
 * lost again; but where much comes twice it is a copy. */
static bool goes_on(const struct flow_delivery *d, const struct recent *now)
{
    enum { SOME = 8 };
    int32_t beyond;

    if (!d->repeating || now->seq > 0xffffff)
        return false; /* or none of PSNs, but TCP's */
    beyond = rpcrdma_psn_diff(now->seq, (uint32_t)d->rare->repeated & 0xffffff);
    return beyond == 0 || (beyond > 0 && beyond < SOME && !delivery_doubled(d) &&
                           naked_of_late(d->rare, now->time_ns));
}

/* Whether a packet passed a moment ago, in this place or wherever; where not it takes its slot. */
RPCRDMA_RARE static bool twice(struct flow_memory *memory, struct flow_delivery *d,
                               const struct recent *now, uint64_t frame)
{
    struct recent *r = place(memory, d, now);
    bool same = r->set && r->seq == now->seq && r->kind == now->kind;

    if (same)
        compare(memory, d, r, now, frame);
    if (same && !origin_counts(d)) {
        same = !d->naked && !d->again && !goes_on(d, now) && now->time_ns - r->time_ns < SOON_NS &&
               r->id == now->id;
    } else if (same) {
        same = r->id == now->id;
    } else if (d->id_known && now->id == d->id &&
               (now->seq != d->id_seq || now->kind != d->id_kind)) {
        d->id_useless = true; /* another packet, the same ID */
    }
    if (same && delivery_rare(memory, d)) {
        d->rare->path.duplicated++;
        if (now->kind == SEGMENT_KIND && origin_counts(d) && now->time_ns - r->time_ns > MOMENT_NS)
            delivery_known_apart(d->rare, now->time_ns - r->time_ns);
    } else if (!same)
        *r = *now;
    return same;
}

RPCRDMA_RARE bool origin_twice_anywhere(struct flow_memory *memory, struct flow_delivery *d,
                                        const struct recent *now, uint64_t frame)
{
    d->copied = false;
    if (d->tap != 0) {
        const struct recent *r = recent_slot(d, now->seq);

        struct two_taps *taps;

        if (!delivery_taps(d) && r->set && r->seq == now->seq && r->kind == now->kind &&
            r->id == now->id && r->tap != 0 && r->tap != d->tap)
            taps_begin(memory, d, r->tap);
        taps = delivery_taps(d);
        if (taps && taps_elsewhere(d, now)) {
            taps->copied_frame = frame;
            return true;
        }
    }
    if (twice(memory, d, now, frame)) {
        if (delivery_taps(d))
            taps_again(d, now);
        return true;
    }
    d->requests++;
    if (delivery_taps(d))
        taps_first(d, now);
    return false;
}

bool origin_twice(struct flow_memory *memory, struct flow_delivery *d, const struct recent *now,
                  uint64_t frame)
{
    struct recent *r = recent_free(d, now->seq, now->time_ns);

    if (!r)
        return origin_twice_anywhere(memory, d, now, frame);
    origin_new(d, now->kind, now->seq, now->id);
    *r = *now;
    return false;
}

enum origin origin_behind(const struct flow_delivery *d, uint16_t id, const struct filled *filled,
                          int64_t time_ns)
{
    bool older = origin_counts(d) && (int16_t)(uint16_t)(id - d->id) < 0;
    int64_t since = time_ns - filled->found_ns;

    if (filled->count == 0 || (filled->arrived && since >= TIMER_NS))
        return ORIGIN_AGAIN; /* or its Ack was lost */
    if (origin_counts(d))
        return older ? ORIGIN_LATE : ORIGIN_AGAIN;
    return !d->naked && !filled->asked && since < SOON_NS ? ORIGIN_LATE : ORIGIN_AGAIN;
}

/* About when what stands there was sent, as a part of a message that went out evenly. */
static int64_t sent_about(const struct transmission *t, uint64_t at)
{
    int64_t took_ns = t->last_ns - t->first_ns;

    if (t->read || t->last == t->first || took_ns <= 0 || took_ns > LONG_NS)
        return t->first_ns;
    return t->first_ns + took_ns * (int64_t)(at - t->first) / (int64_t)(t->last - t->first);
}

/* A Read request that asks for the rest of its responses is not counted as sent again. */
static bool sent_once(const struct transmission *t)
{
    return t->times == 1 && (!t->read || t->last_frame == t->first_frame);
}

/* A Read request is sent again at once where one of its responses is seen to be missing (IBTA
 * 9.7.5), here or behind here: then it may ask for the rest of them. */
static bool asks_again(const struct flow_delivery *d, const struct transmission *t, uint64_t at)
{
    const struct extra *extra = delivery_extra(d);

    return t->read && (at > t->first || (extra->skipped <= t->last && at < extra->skipped_end));
}

/* No sender is so fast to send again what nobody asked for, and none has an old IP ID. */
static bool is_copy(const struct flow_delivery *d, const struct recent *now, uint64_t at)
{
    const struct transmission *t = transmission_at(d, at);
    int64_t age_ns;

    if (!t || t->found || !sent_once(t) || hole_at(d, at) || asks_again(d, t, at))
        return false;
    age_ns = now->time_ns - sent_about(t, at);
    if (origin_counts(d) && now->id != 0)
        return (int16_t)(uint16_t)(now->id - d->id) <= 0 && age_ns < MOMENT_NS;
    return !d->naked && !d->repeating && age_ns < SOON_NS;
}

/* Of packets towards d's end. */
static bool forgotten(struct flow_memory *memory, struct flow_delivery *d, uint16_t id, bool copy)
{
    if (taps_old(memory, d, id, copy)) {
        d->copied = true;
        return true;
    }
    if (!copy || !delivery_rare(memory, d))
        return false;
    d->rare->path.duplicated++;
    d->requests--;
    return true;
}

bool origin_forgotten(struct flow_memory *memory, struct flow_delivery *d, const struct recent *now,
                      uint64_t at, bool may_be)
{
    return forgotten(memory, d, now->id, may_be && is_copy(d, now, at));
}

/* A response is sent again when it is asked for again. */
bool origin_response_forgotten(struct flow_memory *memory, const struct flow_delivery *d,
                               struct flow_delivery *back, const struct rpcrdma_op *op, uint64_t at,
                               bool newer)
{
    const struct transmission *t = transmission_at(d, at);
    bool sent = t && t->read && sent_once(t) && !newer && !response_gap_has(d, at);
    int64_t since_ns, soon_ns = TIMER_NS;

    if (sent) {
        since_ns = t->last_ns;
        if (!origin_counts(back)) { /* it may have been asked for by what was not captured */
            since_ns = t->delivered ? t->delivered_ns : since_ns; /* the first of them passed */
            soon_ns = SOON_NS;
        }
        sent = op->time_ns - since_ns < soon_ns;
    }
    return forgotten(memory, back, op->ip_id, sent);
}
