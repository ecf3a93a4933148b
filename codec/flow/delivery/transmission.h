/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_TRANSMISSION_H
#define RPCRDMA_FLOW_DELIVERY_TRANSMISSION_H

/* What the files of this folder share. */

#include "bound.h"
#include "flow/delivery/delivery.h"

enum {
    RECORDS_FIRST = 4,
    RECORDS_MOST = RPCRDMA_BOUND(4096, 16),
    /* packets remembered to be known again: of so many slots, where they come fast of more */
    RECENT_FIRST = 8,
    RECENT_MOST = 64,
    RECENT_TWICE = RPCRDMA_BOUND(1024, 128), /* where much comes twice */
    RECENT_AT_TWO = RPCRDMA_BOUND(1024, 64), /* likewise, on their way between two places */
    RECENT_SHIFT_AT_TWO = RPCRDMA_BOUND(22, 26),
    HOLES = 8, /* ranges that passed, or may have, without being captured */
    TIMES_BITS = 22,
    TWICE_BITS = 8,
    FRAME_BITS = 64 - TIMES_BITS,
    AT_BITS = TIMES_BITS,
    LINE = 64, /* of the processor's cache */
};

/* Records stay at least this long after they were answered: what asks for them may come late. */
#define KEEP_NS INT64_C(50000000)
/* Without a Nak nobody retransmits so soon: IBTA volume 1 section 9.7.6.1.3 */
#define SOON_NS INT64_C(1000000)
/* Of packets that come so fast more are remembered, to be known again: twice is sooner. */
#define MOMENT_NS INT64_C(10000000)
/* and what a Nak asks for is sent before any timer ends */
#define TIMER_NS INT64_C(50000000)
/* So long no message goes out evenly. */
#define LONG_NS INT64_C(1000000000)

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

/* Bits of recent.varying, as they are taken out of rpcrdma_op.flags. */
enum {
    RECENT_ICRC = 1, /* icrc, icrc_bytes, udp_port are set */
    RECENT_MIGRATION = RPCRDMA_OP_MIGRATION / RPCRDMA_OP_ICRC,
    RECENT_SOLICITED = RPCRDMA_OP_SOLICITED,
    RECENT_ACK_REQUEST = RPCRDMA_OP_ACK_REQUEST,
};

struct hole {
    uint64_t first, count;
    int64_t time_ns;    /* when it was found */
    bool arrived;       /* it was acknowledged, so it was not captured, or will come out of order */
    bool asked;         /* a Nak asked for it, or a SACK has it not: in path.lost_before */
    uint32_t packet;    /* asked: as much of `count` is one packet, at most */
    int64_t arrived_ns; /* then */
    uint64_t skipped_end, answer_next; /* of flow_delivery, when it was found */
};

/* What a packet fills of a hole. */
struct filled {
    uint64_t count;
    int64_t found_ns; /* when the hole was found */
    bool arrived;
    int64_t arrived_ns;
};

/* Two are a cache line. */
struct recent {
    int64_t time_ns;
    uint32_t seq;
    uint32_t digest; /* of its bytes; 0: not known */
    uint32_t icrc;
    uint16_t icrc_bytes, udp_port; /* see op.h */
    uint16_t id;
    uint8_t kind;
    uint8_t tap;                /* where it was captured first; 0: not known */
    uint8_t times, other_times; /* there, and at the other place */
    uint8_t varying; /* bits of its BTH that may differ when it is retransmitted: same_bytes.c */
    bool set;
};

/* Of a record: when its last packet passed the second place of capture, and the first. */
struct arrival {
    int64_t time_ns, sent_ns;
    uint64_t frame;
};

/* What is captured at two places. By index: as first seen. */
struct two_taps {
    uint8_t tap[2];
    bool more;                         /* than two */
    uint64_t first_at[2];              /* packets that were seen there first */
    uint64_t copies[2];                /* of these: seen at the other one, too, */
    uint64_t old[2];                   /* or so late there that it is known by its IP ID alone */
    int64_t least_ns, most_ns, sum_ns; /* from one to the other */
    uint64_t copied_frame;             /* the latest packet that was seen elsewhere before, */
    int64_t sent_ns_there;             /* then */
    struct arrival *arrivals;          /* of the records of the ring, by index; owned */
    uint32_t size;
    struct recent recent[RECENT_AT_TWO];
};

/* Which frame carried a packet first. */
struct original {
    uint64_t at, frame;
};
struct originals {
    struct original *ring; /* by position */
    uint32_t size;         /* a power of two, or 0 */
};

/* Responses [first, end) were missing as a later one passed. */
struct response_gap {
    uint64_t first, end;
};

/* Of struct rpcrdma_path: what was asked for again, as some of it had come. */
struct asked {
    uint64_t again, timeouts;
    int64_t waited_ns, longest_ns;
};

/* Read requests that came again at about one time, for responses. */
struct asked_together {
    uint64_t requests; /* 0: there were none */
    int64_t since_ns;
    bool late;       /* responses had come out of order before, or did then */
    bool late_since; /* they did since since_ns */
};

/* What came again when timers ended, unanswered until then: whether all of it is answered. */
struct late {
    uint64_t before;  /* position after it; after the first response that is asked for; 0: none */
    uint64_t end;     /* position after all that had been sent then */
    uint64_t frame;   /* its first transmission, */
    int64_t first_ns; /* when that passed, */
    int64_t answered_ns;         /* and the first answer */
    int64_t ns, earlier_ns;      /* the silence before it came again last, and before that */
    uint32_t sent, earlier_sent; /* what was retransmitted since, and before that */
    uint32_t earlier;            /* timers that had ended before */
    uint32_t answers;
    bool
        arrived; /* what was sent before the last timer ended: there are more answers than `sent` */
    bool in_burst;      /* it came again a moment after it had */
    struct asked asked; /* before the first timer ended */
};

/* Its receiver sends nothing, though something is sent to it again: silence.c. */
struct silent {
    int64_t since_ns; /* 0: it is not so */
    int64_t again_ns; /* the latest that was sent again */
    uint64_t frame;   /* its first transmission, */
    uint64_t again_frame;
};

/* Segments that came once more with their own IP IDs, which are in order: apart.c. */
struct apart {
    uint32_t run, enough; /* so many in turn; enough is one more, ... */
    bool known;           /* ... once and for all */
    uint16_t id;  /* of the latest */
    struct apart_before {
        uint64_t retransmitted, bytes, timeouts;
        int64_t timeout_ns, waited_ns, longest_wait_ns;
        uint32_t stuck;
    } before; /* the first of these */
};

/* The latest answer to what had been sent again, and may have arrived the first time: twice.c. */
struct again_answered {
    uint64_t frame;
    int64_t time_ns;
    int64_t before_ns; /* the answer before it */
    int64_t waits_ns;  /* of transmission_answered */
    bool open;         /* its receiver may say next that it had arrived (TCP) */
};

/* Of a direction in which something was lost, refused, or came twice. */
struct rare {
    struct rpcrdma_path path; /* but for what is counted of every packet */
    uint64_t nak_at;          /* the latest Nak, where d->naked */
    int64_t nak_ns;
    bool nak_counted;     /* as a loss behind here */
    uint64_t repeated;    /* position after the latest that was retransmitted */
    uint64_t begun;       /* where retransmission began last, */
    uint64_t begun_next;  /* TCP: position after all that had been sent then, */
    uint32_t begun_times; /* and how often in turn; 0: never */
    uint32_t begun_size;  /* TCP: bytes, the last time */
    /* From out_of_order on these had passed when one before them did, or was asked for: the
     * receiver did not take them, and none of them was lost */
    uint64_t out_of_order, out_of_order_end;
    struct flow_recovery recovery;
    struct late late, late_read; /* by Acks; and of a Read request, by responses */
    struct {
        uint64_t first, timeouts; /* TCP: what was retransmitted when a timer ended; how often; */
        uint64_t counted;         /* of these, as spurious; each may be said to be by itself */
        int64_t ns;               /* and those silences */
        bool acked;               /* its acknowledgement had passed */
        uint64_t said_acked;      /* of these, counted as such, where that was lost; and how long */
        int64_t said_acked_ns;
        uint64_t unacked; /* unacked.c: position after what its sender had not taken then; or 0 */
        uint64_t unacked_again; /* and what had been retransmitted to it */
        uint32_t again_size; /* what was retransmitted then, until its receiver sends; else 0 */
        uint64_t served; /* of these, counted as such: Acks were lost; and those silences */
        int64_t served_ns;
        uint64_t unheard;     /* of these, as an acknowledgement alone shows */
        uint64_t first_frame; /* its first transmission, and when it was answered first, then */
        int64_t first_ns, answered_ns;
        uint32_t said; /* what the latest D-SACK named, to know it when captured twice */
        uint16_t said_id;
        int64_t said_ns;
    } spurious;
    struct again_answered again_answered;
    struct apart apart;
    struct silent silent;
    struct {
        uint32_t count; /* TCP's probes that nothing answered yet: whether its receiver is there */
        int64_t since_ns;
        int64_t heard_ns; /* its receiver, before these */
    } probes;
    int64_t no_room_ns;  /* since then its window is 0; 0: it is not */
    struct silent heard; /* TCP: the latest such time, which its sender's timer explains, ... */
    int64_t heard_ns;    /* ... and when it ended */
    struct {
        uint64_t end; /* TCP: of a segment that came alone behind a pause; 0: none. See restart.c */
        int64_t pause_ns, time_ns;
        uint64_t frame;
    } alone;
    struct {
        uint64_t at; /* TCP: what was missing first, as a segment came behind a pause, */
        int64_t pause_ns;
        uint64_t frame;
        uint32_t missing; /* and so many packets of its sender's; 0: none. See restart.c */
        bool alone;       /* nothing else is missing */
        uint16_t id, packets;
    } away;
    struct {
        uint64_t first;   /* of the latest record that was retransmitted after it was served, ... */
        uint32_t times;   /* ... how often, ... */
        int64_t since_ns; /* ... and when first */
    } served_again;
    uint64_t twice_frame; /* of the latest answer that is there twice: its second */
    struct hole *holes;   /* HOLES of them; NULL: there was none. Owned */
    uint32_t next_hole;
    uint64_t unacked_gaps; /* of path.uncaptured: without any Ack; later packets passed, and this
                            * has not come since */
    struct response_gap *response_gaps; /* of late; NULL: there was none ever. Owned */
    uint32_t n_response_gaps;
    int64_t response_gaps_ns; /* when the latest showed */
    struct asked_together asked_together;
};

/* Acks of what had not passed yet: see early.c. */
struct early_ack {
    uint64_t frame; /* of several responses that follow each other the first, and its time */
    int64_t time_ns;
    uint32_t psn, last; /* of the latest of them */
    bool response;
};
enum { EARLY_ACKS = 32 };
struct early {
    uint64_t frame; /* of the latest Ack or response, */
    int64_t time_ns;
    struct early_ack at[EARLY_ACKS]; /* a ring of those that are not over: packets that they
                                      * acknowledge are to come */
    uint32_t first, count;
    uint32_t psn; /* which acknowledges this */
};

/* What only Read responses leave, and who asks which frame was the first. */
struct extra {
    struct originals originals[2];    /* of requests and of responses. Owned */
    uint64_t skipped, skipped_end;    /* the latest gap in responses, whatever stands there */
    int64_t skipped_ns, responded_ns; /* when that showed; and when the latest response passed */
    struct early *early;              /* Acks of what had not passed; NULL: none did. Owned */
};

/* What each packet asks comes first, what a loss leaves last but for what it begins with: of many
 * connections each has this, so it is one piece of memory. */
struct flow_delivery {
    uint64_t packets, bytes, dscp; /* counted of every packet: see struct rpcrdma_path */
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
        uint64_t answer_next; /* responses: position expected */
        struct {              /* TCP: */
            uint16_t id_packets; /* low bits of `packets` when the latest IP ID passed; */
            uint16_t id_before;  /* the first ID less these: so it is while each packet passes */
            uint32_t id_since;   /* ... since then, in units of ID_UNIT_NS */
        };
    };
    uint64_t requests;     /* packets that were not seen before */
    struct two_taps *taps; /* NULL: there is one at most */
    uint32_t id_seq;       /* of the packet that had the IP ID */
    uint16_t id;           /* the highest so far */
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
    bool stamped : 1;      /* TCP: the packet of progress_ns had a timestamp */
    bool repeating : 1;    /* what is being sent is being retransmitted */
    bool copied : 1;       /* the packet in hand was seen elsewhere before */
    bool repeats : 1;      /* the packet in hand does: */
    uint8_t repeat;        /* enum rpcrdma_repeat */
    uint8_t progress_tap;  /* where the newest packet was captured */
    uint8_t tap;           /* where the packet in hand was captured; 0: not known */
    uint16_t stamp;        /* that timestamp's, without its lowest 4 bits */

    struct rare *rare;   /* NULL: there was nothing of it. Owned */
    struct extra *extra; /* likewise */

    struct transmission first_records[RECORDS_FIRST];
    struct recent first_recent[RECENT_FIRST];
};
#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(struct flow_delivery) <= 680, "each connection has two");
#endif

/* Zero where there is nothing of it. */
static inline const struct extra *delivery_extra(const struct flow_delivery *d)
{
    static const struct extra none = {0};

    return d->extra ? d->extra : &none;
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

/* Retransmission begins there. */
static inline void delivery_begins_again(struct rare *rare, uint64_t at)
{
    if (rare->begun != at)
        rare->begun_times = 0;
    rare->begun = at;
    if (rare->begun_times < UINT32_MAX)
        rare->begun_times++;
    if (rare->begun_times > rare->path.stuck)
        rare->path.stuck = rare->begun_times;
}

/* transmission.c */
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
/* How many of [first, end) the latest responses answered that came one after the other: there the
 * request was a Read. */
uint64_t transmission_responded(const struct flow_delivery *d, uint64_t first, uint64_t end);
/* [first, first + count) is missing. Where no Acks are captured it counts as not captured, unless
 * it comes yet: what is lost on the way is sent again. */
void transmission_hole(struct flow_memory *memory, struct flow_delivery *d, uint64_t first,
                       uint64_t count, int64_t time_ns);
/* A Nak asks for it, or a SACK has it not: it was lost, before the place of capture if it does not
 * pass yet. `packet`: how much of it a packet has. */
void transmission_asked(struct rpcrdma_path *path, struct hole *hole, uint32_t packet);
/* What is missing there; NULL: nothing is. */
struct hole *transmission_hole_at(const struct flow_delivery *d, uint64_t at);
/* Takes that out of what is missing. False, and *filled is zero: `first` is not. */
bool transmission_fill(struct flow_delivery *d, uint64_t first, uint64_t count,
                       struct filled *filled);
/* timeouts.c. Nothing was lost: what was first sent then was answered so late. */
void delivery_answered_late(struct rpcrdma_path *path, uint64_t frame, int64_t first_ns,
                            int64_t answered_ns, bool in_burst);

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

/* Acks are captured: what one acknowledges has arrived, and nothing else. */
void transmission_first_ack(struct flow_delivery *d);

/* Nothing more will come: what is missing, and was answered before that showed, was not captured.
 */
void transmission_end(struct flow_delivery *d);

/* Something is about to be counted as retransmitted in *path. */
void transmission_again(const struct flow_delivery *d, struct rpcrdma_path *path);

/* Something is retransmitted at `time_ns`; `response`: because what it asks for was lost. Counted
 * in *path, by d->rare->recovery. */
void transmission_waited(const struct flow_delivery *d, struct rpcrdma_path *path, int64_t time_ns,
                         bool response);

/* A response came out of order: its receiver asks for it again, as if it had been lost. */
void transmission_responded_late(struct rare *rare, int64_t time_ns);

/* response_gaps.c: notes one; whether this response was in one, and has not come since; it came. */
void response_gap_add(struct flow_memory *memory, struct flow_delivery *d, uint64_t first,
                      uint64_t end, int64_t time_ns);
bool response_gap_has(const struct flow_delivery *d, uint64_t at);
void response_gap_fill(struct flow_delivery *d, uint64_t at);
void response_gap_free(struct flow_memory *memory, struct rare *rare);

/* same_bytes.c: more than may rightly differ in a packet that is retransmitted does, as far as is
 * known. */
bool icrc_differs(const struct recent *a, const struct recent *b);

/* early.c: an Ack, of what has not passed yet; what the latest of these acknowledges; and a packet
 * that passes behind its Ack. */
void early_ack(struct flow_memory *memory, struct flow_delivery *d, const struct rpcrdma_op *op);
bool early_acked(const struct flow_delivery *d, uint32_t *psn);
void early_passed(struct flow_memory *memory, struct flow_delivery *d, const struct rpcrdma_op *op,
                  uint64_t at);
void early_free(struct flow_memory *memory, struct flow_delivery *d);

/* requests.c: the packet in `frame` says that it passed a queue that is too long. */
void delivery_congestion_mark(struct flow_memory *memory, struct flow_delivery *d, uint64_t frame);

/* naks.c: a Nak, of the request at this position. */
void delivery_nak(struct flow_memory *memory, struct flow_delivery *d, const struct rpcrdma_op *op,
                  uint64_t at);
/* Counts it, whatever it is of. Returns its kind: RPCRDMA_NAK_*. */
int delivery_count_nak(struct rpcrdma_path *path, const struct rpcrdma_op *op);
/* The receiver has acknowledged this one. d->rare is there. */
void delivery_came_late(struct flow_delivery *d, uint64_t at);

/* Of `delay`, after which an answer came: its way. It may have waited where it took waits_ns and
 * more: then it counts as the fastest did; 0, where all so far may have. */
static inline int64_t transmission_way_ns(const struct flow_delivery *d, int64_t delay,
                                          int64_t waits_ns)
{
    return delay >= waits_ns && d->fastest_ns < delay ? d->fastest_ns : delay;
}

/* twice.c. TCP: bytes [first, end) were there already as they came again, as their receiver says.
 */
void twice_said(struct flow_delivery *d, uint64_t first, uint64_t end);
/* Its receiver may say so next, of what the latest answer acknowledged. */
static inline bool twice_open(const struct flow_delivery *d)
{
    return d->rare && d->rare->again_answered.open;
}

/* behind.c: a request that stands before what was expected next. */
void delivery_behind(struct flow_memory *memory, struct flow_delivery *d,
                     const struct rpcrdma_op *op, uint64_t at, uint32_t packets);

/* Its Ack passed a moment before it comes again, as others pass before what they acknowledge: the
 * times of the two directions do not fit, and it is what that Ack acknowledges. */
bool delivery_acked_ahead(const struct flow_delivery *d, const struct transmission *t, int64_t now);
/* silence.c: this is retransmitted after silence, and was not answered. d->rare is there. */
void delivery_unheard(struct flow_delivery *d, const struct transmission *t, uint64_t frame,
                      int64_t time_ns);
/* Of TCP: what was sent towards this end is retransmitted, or it sends something (false: when the
 * sender's timer should have ended once more); `back`: what it sent. */
void delivery_segment_again(struct flow_memory *memory, struct flow_delivery *d,
                            struct flow_delivery *back, const struct rpcrdma_tcp_segment *segment);
bool delivery_segment_heard(struct flow_delivery *d, int64_t time_ns);
void delivery_heard_late(struct rare *rare);
/* A segment without data that may probe; one that does; and its receiver sends. */
void delivery_probe(struct flow_memory *memory, struct flow_delivery *d,
                    const struct rpcrdma_tcp_segment *segment);
void delivery_probed(struct flow_memory *memory, struct flow_delivery *d, int64_t time_ns);
void delivery_probe_answered(struct flow_delivery *d, int64_t time_ns);
/* restart.c: this segment brings bytes that had not passed, before it is taken. */
void delivery_segment_new(struct flow_memory *memory, struct flow_delivery *d,
                          const struct flow_delivery *back,
                          const struct rpcrdma_tcp_segment *segment);
/* unacked.c: a timer ended; what had come to its sender long before (`back`) it does not
 * acknowledge. Later it does: spurious.unacked is not 0. */
void delivery_note_unacked(struct rare *rare, const struct flow_delivery *back,
                           const struct rpcrdma_tcp_segment *segment);
void delivery_note_acked_late(struct rare *rare, const struct flow_delivery *back);
/* So much new data follows, and its receiver has sent nothing since: spurious.again_size is not 0.
 */
void delivery_segment_goes_on(struct flow_delivery *d, uint64_t bytes);
/* It has new data, at progress_ns: its timestamp is kept. restart.c */
void delivery_segment_stamped(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment);
/* Its IP ID is the first: those behind it are counted from here on. */
void delivery_segment_counted(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment);
/* ... or the next one behind that, rare->away.alone; or what was missing, at `first`. */
void delivery_segment_follows(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment);
void delivery_segment_fills(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment,
                            uint64_t first);
/* blocks.c: what was sent has arrived in parts. */
void delivery_segment_arrived(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment,
                              uint64_t through);
/* timeouts.c: after silence this is retransmitted; `gap`: it had not passed. d->rare is there. */
void delivery_timed_out(struct flow_delivery *d, const struct transmission *t,
                        const struct rpcrdma_op *op, uint64_t at, bool gap);
/* Something else is retransmitted than was before. */
void delivery_recovers(struct flow_recovery *recovery);
/* What was waited for from then until then: nothing of it was lost, not the first time either. */
void delivery_nothing_lost(struct flow_recovery *recovery, int64_t first_ns, int64_t answered_ns);
/* The whole message that was retransmitted then is acknowledged: more often than that? */
void delivery_both_acked(struct flow_delivery *d, const struct rpcrdma_op *op, uint64_t at);
/* Likewise a response, of Read requests. */
void delivery_both_responded(struct flow_delivery *d, const struct rpcrdma_op *op, uint64_t at);

/* originals.c */
void originals_free(struct flow_memory *memory, struct flow_delivery *d);

/* origin.c */
enum origin { ORIGIN_AGAIN, ORIGIN_LATE };
/* The high bits of a hash. */
static inline struct recent *recent_slot(const struct flow_delivery *d, uint32_t seq)
{
    return &d->recent[(uint64_t)(seq * UINT32_C(2654435761)) * d->recent_size >> 32];
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
    struct recent *r = !d->taps ? recent_slot(d, seq) : NULL;

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
/* Of a segment of TCP: of recent.kind. */
enum { SEGMENT_KIND = 0xff };
/* apart.c: such a one passed so long before. */
void delivery_known_apart(struct rare *rare, int64_t ns);
/* It was captured before, at another place, whose clock is another one. */
bool delivery_apart(struct flow_memory *memory, struct flow_delivery *d, const struct recent *now,
                    uint64_t at);
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

#endif
