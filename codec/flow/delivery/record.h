/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_RECORD_H
#define RPCRDMA_FLOW_DELIVERY_RECORD_H

/* What was sent, a message or a part of it: how often, when, and whether it arrived. */

#include "flow/delivery/delivery.h"

enum {
    TIMES_BITS = 22,
    TWICE_BITS = 8,
    FRAME_BITS = 64 - TIMES_BITS,
    AT_BITS = TIMES_BITS,
    LINE = 64, /* of the processor's cache */
};

/* PSNs and TCP's sequence numbers, counted on without wrapping. A line of the cache. */
struct transmission {
    uint64_t first, last;
    int64_t first_ns, last_ns, delivered_ns;
    uint64_t first_frame : FRAME_BITS, times : TIMES_BITS;
    uint64_t last_frame : FRAME_BITS;
    uint64_t at : AT_BITS; /* the position sent last, its low bits: see transmission_behind_last */
    uint64_t frame : FRAME_BITS;
    bool delivered : 1, refused : 1;
    bool not_ready : 1;          /* it was refused by an RNR Nak */
    bool lost : 1;               /* that it, or something before it, did not arrive is proven */
    bool read : 1;               /* a Read request: `last` is that of its responses */
    bool open : 1;               /* more packets of it will follow */
    bool write : 1;              /* an RDMA Write */
    bool asked : 1;              /* for an Ack, or it is a Read request: the answer does not wait */
    bool found : 1;              /* stands for what was not captured, as others show */
    bool named : 1;              /* by the Ack that proves it: it is none of a later one */
    bool unheard : 1;            /* by the first answer captured, which names a later one */
    bool acked_or_naked : 1;     /* not delivered: by `frame` at delivered_ns, which was cut */
    bool late_again : 1;         /* TCP: it came late, and again for that: counted as spurious */
    bool guessed : 1;            /* the answer may have waited: delivered_ns is as of the fastest */
    uint64_t twice : TWICE_BITS; /* TCP: so often its receiver said that it had it already */
};

_Static_assert(sizeof(struct transmission) == LINE, "a line");

/* 2^42 packets are enough. */
#define TRANSMISSION_FRAME(frame) ((frame) & ((UINT64_C(1) << FRAME_BITS) - 1))
#define TRANSMISSION_AT(position) ((position) & ((UINT64_C(1) << AT_BITS) - 1))
/* By how much this is behind the position sent last: lower, and it is retransmitted. */
static inline int32_t transmission_behind_last(const struct transmission *t, uint64_t at)
{
    enum { UNUSED = 32 - AT_BITS };

    return (int32_t)((uint32_t)(at - t->at) << UNUSED) >> UNUSED;
}

/* It was sent once more. */
static inline void transmission_repeated(struct transmission *t)
{
    if (t->times < (1U << TIMES_BITS) - 1)
        t->times++;
}

/* TCP: each transmission but one came in vain, as its receiver said: the first had arrived. */
static inline bool transmission_needless(const struct transmission *t)
{
    return t->twice > 0 && t->twice + 1U >= t->times;
}

/* When the transmission passed that arrived first, as far as is known; else it may be the last. */
static inline int64_t transmission_taken_ns(const struct transmission *t)
{
    return transmission_needless(t) ? t->first_ns : t->last_ns;
}

#endif
