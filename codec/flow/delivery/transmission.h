/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_TRANSMISSION_H
#define RPCRDMA_FLOW_DELIVERY_TRANSMISSION_H

/* transmission.c: the records of what was sent. */

#include "flow/delivery/state.h"

/* The i-th that is kept. */
static inline struct transmission *transmission_record(const struct flow_delivery *d, uint32_t i)
{
    return &d->ring[(d->begin + i) & (d->size - 1)];
}

/* The inverse. */
static inline uint32_t transmission_index(const struct flow_delivery *d,
                                          const struct transmission *t)
{
    return ((uint32_t)(t - d->ring) - d->begin) & (d->size - 1);
}
/* Room for one more, in place of the oldest if need be. */
struct transmission *transmission_room(struct flow_memory *memory, struct flow_delivery *d,
                                       int64_t time_ns);
/* What it is when it is sent for the first time. */
#define TRANSMISSION_ONCE(from, to, in_frame, ns)                                                  \
    .first = (from), .last = (to), .at = TRANSMISSION_AT(from),                                    \
    .first_frame = TRANSMISSION_FRAME(in_frame), .last_frame = TRANSMISSION_FRAME(in_frame),       \
    .first_ns = (ns), .last_ns = (ns), .times = 1
static inline struct transmission *transmission_add(struct flow_memory *memory,
                                                    struct flow_delivery *d, uint64_t first,
                                                    uint64_t last, uint64_t frame, int64_t time_ns)
{
    struct transmission *t = transmission_room(memory, d, time_ns);

    *t = (struct transmission){TRANSMISSION_ONCE(first, last, frame, time_ns), .asked = true};
    return t;
}
struct transmission *transmission_search(const struct flow_delivery *d, uint64_t at);
/* Which position a number on the wire stands for: the one nearest to what is expected. PSNs have 24
 * bits, TCP's sequence numbers 32. */
static inline uint64_t position_of_psn(const struct flow_delivery *d, uint32_t psn)
{
    return d->next + (uint64_t)(int64_t)rpcrdma_psn_diff(psn, (uint32_t)d->next & 0xffffff);
}

/* InfiniBand and RoCE: of the first request that was captured, or of the first that there was. */
static inline uint64_t position_first(const struct flow_delivery *d)
{
    enum { FIRST_POSITION = 1 << 25 };

    return FIRST_POSITION + d->first_psn;
}

static inline uint64_t position_of_seq(const struct flow_delivery *d, uint32_t seq)
{
    return d->next + (uint64_t)(int64_t)(int32_t)(seq - (uint32_t)d->next);
}

/* The record that holds this position; NULL: none. What is asked for was mostly sent a moment ago.
 * Where every record is one packet its place is known; else it is looked for. */
static inline struct transmission *transmission_at(const struct flow_delivery *d, uint64_t at)
{
    struct transmission *t;
    uint64_t back;

    if (d->count == 0)
        return NULL;
    t = transmission_record(d, d->count - 1);
    back = t->last - at;
    if (back == 0)
        return t;
    /* newer than all: more than there are */
    if (back >= d->count)
        return transmission_search(d, at);
    t = transmission_record(d, d->count - 1 - (uint32_t)back);
    return t->first <= at && at <= t->last ? t : transmission_search(d, at);
}
/* The one behind it; NULL: it is the newest. */
struct transmission *transmission_after(const struct flow_delivery *d,
                                        const struct transmission *t);
static inline struct transmission *transmission_newest(const struct flow_delivery *d)
{
    return d->count > 0 ? transmission_record(d, d->count - 1) : NULL;
}
/* The oldest that was not answered; NULL: none. */
static inline struct transmission *transmission_pending(const struct flow_delivery *d)
{
    return d->pending < d->count ? transmission_record(d, d->pending) : NULL;
}
/* Its receiver has begun to serve it, so that it arrived, whether an Ack passed or not. */
static inline bool transmission_served(const struct flow_delivery *d, const struct transmission *t)
{
    return !t->open && t->last < d->served;
}
/* All up to `last` arrived, as the answer shows. One that took at least waits_ns may have waited in
 * its sender; then the shortest time of all counts. True: a record more is delivered. */
bool transmission_answered(struct flow_delivery *d, uint64_t last, uint64_t frame, int64_t time_ns,
                           int64_t waits_ns);

/* An Ack of what ends at `last`, or a Nak of it, which was cut. If it is not sent again, and is
 * found delivered, it was an Ack. */
void transmission_acked_or_naked(struct flow_delivery *d, uint64_t last, uint64_t frame,
                                 int64_t time_ns);

/* The newest, and what stands before it, was acknowledged before it passed, by `frame` at time_ns.
 */
void transmission_answered_before(struct flow_delivery *d, uint64_t frame, int64_t time_ns);

/* Something is about to be counted as retransmitted in *path. */
void transmission_again(const struct flow_delivery *d, struct rpcrdma_path *path);

/* Something is retransmitted at `time_ns`; `response`: because what it asks for was lost. Counted
 * in *path, by d->rare->recovery. */
void transmission_waited(const struct flow_delivery *d, struct rpcrdma_path *path, int64_t time_ns,
                         bool response);

/* A response came out of order: its receiver asks for it again, as if it had been lost. */
void transmission_responded_late(struct rare *rare, int64_t time_ns);

/* Of `delay`, after which an answer came: its way. It may have waited where it took waits_ns and
 * more: then it counts as the fastest did; 0, where all so far may have. */
static inline int64_t transmission_way_ns(const struct flow_delivery *d, int64_t delay,
                                          int64_t waits_ns)
{
    return delay >= waits_ns && d->fastest_ns < delay ? d->fastest_ns : delay;
}

#endif
