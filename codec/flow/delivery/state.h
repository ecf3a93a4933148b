/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_STATE_H
#define RPCRDMA_FLOW_DELIVERY_STATE_H

/* What is known of a direction, from its packets and from what answers them. */

#include "bound.h"
#include "flow/delivery/delivery.h"
#include "flow/delivery/rare.h"
#include "flow/delivery/recent.h"
#include "flow/delivery/record.h"
#include "flow/delivery/responses.h"

enum {
    RECORDS_FIRST = 4,
    RECORDS_MOST = RPCRDMA_BOUND(4096, 16),
};

/* Records stay at least this long after they were answered: what asks for them may come late. */
#define KEEP_NS INT64_C(50000000)
/* Without a Nak nobody retransmits so soon: IBTA volume 1 section 9.7.6.1.3 */
#define SOON_NS INT64_C(1000000)
/* Of packets that come so fast more are remembered, to be known again: twice is sooner. */
#define MOMENT_NS INT64_C(10000000)
/* What a Nak asks for is sent before any timer ends. */
#define TIMER_NS INT64_C(50000000)
/* So long no message goes out evenly. */
#define LONG_NS INT64_C(1000000000)

/* What each packet asks comes first, what a loss leaves last but for what it begins with: of many
 * connections each has this, so it is one piece of memory. */
struct flow_delivery {
    uint64_t packets, bytes; /* counted of every packet: see struct rpcrdma_path */
    uint32_t largest_payload;
    union {
        uint32_t window;    /* TCP: of the latest acknowledgement */
        uint32_t first_psn; /* else of the first request */
    };
    uint64_t next;    /* position expected */
    uint64_t through; /* all before it was acknowledged, */
    uint64_t served;  /* and before it had arrived, as what its receiver did for it shows */
    int64_t sent_ns;
    int64_t progress_ns;       /* of the last packet that was not sent before */
    struct transmission *ring; /* first_records, or owned */
    uint16_t size, begin, count;
    uint16_t pending;      /* index from begin: before it, all were delivered */
    struct recent *recent; /* the latest packets, in a hash table: first_recent, or owned */
    uint32_t recent_size;  /* a power of two */
    uint32_t fastest_ns;   /* from a packet to its answer; 0: not known */
    int64_t answered_ns;   /* when the latest answer passed that acknowledged more */
    union {
        uint64_t answer_next;    /* responses: position expected */
        struct {                 /* TCP: */
            uint16_t id_packets; /* low bits of `packets` when the latest IP ID passed; */
            uint16_t id_before;  /* the first ID less these: so it is while each packet passes */
            uint32_t id_since;   /* ... since then, in units of ID_UNIT_NS */
        };
    };
    uint64_t requests; /* packets that were not seen before */
    uint32_t id_seq;   /* of the packet that had the IP ID */
    uint16_t id;       /* the highest so far */
    uint8_t id_kind;
    bool id_useless : 1; /* equal in packets that differ */
    bool id_known : 1;
    bool followed : 1; /* packets were counted */
    bool started : 1, answered : 1, ended : 1;
    bool alone : 1;        /* its first answers came where nothing was captured to be answered */
    bool naked : 1;        /* there was a Nak that nothing was retransmitted for: */
    bool not_ready : 1;    /* an RNR Nak */
    bool acks : 1;         /* Acks or Naks passed, cut or not; or it is TCP */
    bool acked : 1;        /* Acks or Naks were captured, not cut: the lack of one says something */
    bool acknowledged : 1; /* see rpcrdma_path.acknowledged */
    bool lacking : 1;      /* TCP: the latest acknowledgement came twice, as later bytes arrived */
    bool asking : 1;       /* for responses again, which had come in part */
    bool again : 1;        /* the packet in hand, an answer, may be sent once more */
    bool unheard : 1;      /* something was sent again, and its receiver has sent nothing since */
    bool probed : 1;       /* likewise, a probe of TCP's */
    bool stepped : 1; /* Acks of what has not passed went on by FEW_MISSING PSNs at most each */
    bool held : 1;    /* what was answered is kept, however long ago */
    bool naming : 1;  /* the answer in hand is an Ack, of the message that it names */
    bool loose : 1;   /* `next` is a lower bound */
    bool pause_counted : 1, pause_uncounted : 1; /* see rpcrdma_path.pauses_counted */
    bool pause_timed : 1, pause_untimed : 1;     /* see rpcrdma_path.pauses_timed */
    bool stamped : 1;     /* TCP: the packet of progress_ns had a timestamp */
    bool repeating : 1;   /* what is being sent is being retransmitted */
    bool copied : 1;      /* the packet in hand was seen elsewhere before */
    bool repeats : 1;     /* the packet in hand does: */
    uint8_t repeat : 3;   /* enum rpcrdma_repeat */
    uint8_t dscp;         /* of the latest packet; of those before it: extra->dscps */
    uint8_t progress_tap; /* where the newest packet was captured */
    uint8_t tap;          /* where the packet in hand was captured; 0: not known */
    uint16_t stamp;       /* that timestamp's, without its lowest 4 bits */

    struct rare *rare;   /* NULL: there was nothing of it. Owned */
    struct extra *extra; /* likewise */

    struct transmission first_records[RECORDS_FIRST];
    struct recent first_recent[RECENT_FIRST];
};
#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(struct flow_delivery) <= 536, "each connection has two");
#endif

/* Zero where there is nothing of it. */
static inline const struct extra *delivery_extra(const struct flow_delivery *d)
{
    static const struct extra none = {0};

    return d->extra ? d->extra : &none;
}

/* NULL: it is captured at one place at most, as far as is known. */
static inline struct two_taps *delivery_taps(const struct flow_delivery *d)
{
    return d->rare ? d->rare->taps : NULL;
}

/* The ranges that are missing; NULL: none were. */
static inline struct hole *delivery_holes(const struct flow_delivery *d)
{
    return d->rare ? d->rare->holes : NULL;
}

/* A third of what is sent towards this end, or more, is there twice: so is what it answers. Copies
 * are of `packets`, too. */
static inline bool delivery_doubled(const struct flow_delivery *d)
{
    enum { OF = 4 };

    return d->rare && OF * d->rare->path.duplicated >= d->packets;
}

/* delivery.c: where the rare is counted; d->rare is there then. NULL: no memory, which ends the
 * run. */
struct rpcrdma_path *delivery_rare(struct flow_memory *memory, struct flow_delivery *d);
/* Likewise d->extra. */
bool delivery_make_extra(struct flow_memory *memory, struct flow_delivery *d);

/* delivery.c: a packet has another code point than the one before it. */
void delivery_dscp_changed(struct flow_memory *memory, struct flow_delivery *d, uint8_t dscp);
/* Before the packet is counted. */
static inline void delivery_dscp(struct flow_memory *memory, struct flow_delivery *d, uint8_t dscp)
{
    if (dscp != d->dscp)
        delivery_dscp_changed(memory, d, dscp);
}

#endif
