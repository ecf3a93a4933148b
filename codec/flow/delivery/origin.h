/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_ORIGIN_H
#define RPCRDMA_FLOW_DELIVERY_ORIGIN_H

/* origin.c, taps.c, same_bytes.c: whether a packet passed before, here or at another place. */

#include "flow/delivery/state.h"

/* same_bytes.c: more than may rightly differ in a packet that is retransmitted does, as far as is
 * known. */
bool icrc_differs(const struct recent *a, const struct recent *b);

/* origin.c */
enum origin { ORIGIN_AGAIN, ORIGIN_LATE };
/* A packet is in one of two slots, the first of which is filled first: the high bits of a hash. */
static inline struct recent *recent_pair(const struct flow_delivery *d, uint32_t seq)
{
    uint64_t slot = (uint64_t)(seq * UINT32_C(2654435761)) * d->recent_size >> 32;

    return &d->recent[slot & ~UINT64_C(1)];
}
/* Where it is; else where it would be: what is free, or has the older packet. */
static inline struct recent *recent_slot(const struct flow_delivery *d, uint32_t seq)
{
    struct recent *r = recent_pair(d, seq);

    if (!r[0].set || r[0].seq == seq)
        return &r[0];
    return !r[1].set || r[1].seq == seq || r[1].time_ns <= r[0].time_ns ? &r[1] : &r[0];
}
/* The most slots that there may be: more where much comes twice, for it may come late. */
static inline uint32_t recents_most(const struct flow_delivery *d)
{
    enum { OF = 8 };

    return d->rare && OF * d->rare->path.duplicated >= d->packets ? RECENT_TWICE : RECENT_MOST;
}
/* Where a packet is to be remembered that mostly is none of those before, its slot free. NULL: what
 * it is origin_twice_anywhere says. */
static inline struct recent *recent_free(const struct flow_delivery *d, uint32_t seq,
                                         int64_t time_ns)
{
    struct recent *r = !delivery_taps(d) ? recent_slot(d, seq) : NULL;

    return r && r->set &&
                   (r->seq == seq ||
                    (d->recent_size < recents_most(d) && time_ns - r->time_ns <= MOMENT_NS))
               ? NULL
               : r;
}
/* The packet in hand has such a slot. */
static inline void origin_new(struct flow_delivery *d, uint8_t kind, uint32_t seq, uint16_t id)
{
    d->copied = false;
    if (d->id_known && id == d->id && (seq != d->id_seq || kind != d->id_kind))
        d->id_useless = true; /* another packet, the same ID */
    d->requests++;
}
/* The same packet that passed a moment ago? Counts it, and remembers the packet. */
bool origin_twice_anywhere(struct flow_memory *memory, struct flow_delivery *d,
                           const struct recent *now, uint64_t frame);
/* The same; mostly it is not. */
bool origin_twice(struct flow_memory *memory, struct flow_delivery *d, const struct recent *now,
                  uint64_t frame);
void recents_free(struct flow_memory *memory, struct flow_delivery *d);
/* Whether IP IDs show what is new. */
bool origin_counts(const struct flow_delivery *d);
/* Whether what is remembered under this PSN passed before that time. */
bool origin_passed_before(const struct flow_delivery *d, uint32_t seq, int64_t time_ns);
/* A packet that fills a hole, or (filled->count is 0) repeats what passed. */
enum origin origin_behind(const struct flow_delivery *d, uint16_t id, const struct filled *filled,
                          int64_t time_ns);
/* What is behind came so many packets before that origin_twice remembers it no more, and is the
 * same once more: counts it. True with d->copied: at another place. */
bool origin_forgotten(struct flow_memory *memory, struct flow_delivery *d, const struct recent *now,
                      uint64_t at, bool may_be);
/* Likewise a response that travels in the direction `back`; newer: its IP ID is newer than all
 * before it. */
bool origin_response_forgotten(struct flow_memory *memory, const struct flow_delivery *d,
                               struct flow_delivery *back, const struct rpcrdma_op *op, uint64_t at,
                               bool newer);

/* After origin_twice and origin_behind: where its IP ID is the highest so far. */
static inline void origin_note(struct flow_delivery *d, uint8_t kind, uint32_t seq, uint16_t id)
{
    if (id == 0)
        return; /* not counted, or IPv6, which has none */
    if (!d->id_known || (int16_t)(uint16_t)(id - d->id) > 0) {
        d->id = id;
        d->id_seq = seq;
        d->id_kind = kind;
    }
    d->id_known = true;
}

/* taps.c: there is a second place; `first`: the other one. */
void taps_begin(struct flow_memory *memory, struct flow_delivery *d, uint8_t first);
/* Whether it was seen at the other place before; its first time anywhere; and once more where it
 * was first. */
bool taps_elsewhere(struct flow_delivery *d, const struct recent *now);
void taps_first(struct flow_delivery *d, const struct recent *now);
void taps_again(struct flow_delivery *d, const struct recent *now);
/* Whether this packet, the sequence number of which is not new, is one that the other place showed
 * long ago: nobody sends with an old IP ID. `copy`: it was sent once, here or there. */
bool taps_old(struct flow_memory *memory, struct flow_delivery *d, uint16_t id, bool copy);
/* The packet in hand, which was seen elsewhere before, is the last of this record. */
void taps_arrived(struct flow_memory *memory, struct flow_delivery *d, const struct transmission *t,
                  uint64_t frame, int64_t time_ns);
/* The ring will be of this size, its oldest record first. */
void taps_grow(struct flow_memory *memory, struct flow_delivery *d, uint32_t size);
const struct arrival *taps_arrival(const struct flow_delivery *d, const struct transmission *t);
void taps_forget(struct flow_delivery *d, const struct transmission *t);
void taps_free(struct flow_memory *memory, struct flow_delivery *d);

#endif
