/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_DELIVERY_H
#define RPCRDMA_FLOW_DELIVERY_DELIVERY_H

/*
 * The stage delivery: fed every packet towards one end, and every answer that this end gives, in
 * the order of the capture; says of each message whether it arrived, when, and how often it was
 * sent. One struct flow_delivery per direction; nothing here knows of connections.
 *
 *   delivery.c       life, queries
 *   transmission.c   the ring of what was sent: messages, or segments of TCP
 *   hole.c           what is missing between these
 *   requests.c       InfiniBand: requests
 *   answers.c        and their answers: Acks, Naks, responses
 *   naks.c           and what a Nak refuses
 *   early.c          Acks that stand before what they acknowledge
 *   behind.c         and requests that come again, or late: why?
 *   response_gaps.c  and responses that were missing as later ones passed
 *   timeouts.c       and what was retransmitted after silence: lost, or its answer?
 *   segments.c       TCP: segments and acknowledgements
 *   blocks.c         and what its receiver has behind these (SACK)
 *   twice.c          and what had arrived as it came again, as its receiver says
 *   dsack.c          and as it says of each copy: acknowledgements were lost, or late
 *   unacked.c        and as what came again does not acknowledge: its sender took them late
 *   late_ack.c       an acknowledgement that comes a second after what it acknowledges
 *   restart.c        what comes alone after a pause: what was sent before that was lost
 *   silence.c        how long an end sent nothing, though something was sent to it again
 *   same_bytes.c     retransmitted with other bytes?
 *   origin.c         retransmitted, or the same packet twice, or late?
 *   apart.c          or in captures of two clocks?
 *   originals.c      and which frame it was in first
 *   taps.c           captured at two places: the time between them
 *
 * Work per packet is constant, but for the records that one answer completes. Nothing is allocated
 * per packet: the ring grows while what it holds was not answered, to RECORDS_MOST.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "flow/delivery.h"
#include "op.h"

struct flow_delivery;

/* Where a capture has the two directions from two ports or queues, an Ack may stand before what it
 * acknowledges: this many packets at most, and FLOW_REORDER_NS. What is further behind it was
 * meant by no Ack. */
enum { FLOW_ACK_EARLY = 64 };

/* Whether the Ack of `acked` may have been captured before the packet `psn` that it acknowledges.
 */
static inline bool flow_delivery_ack_early(uint32_t acked, uint32_t psn)
{
    enum { PSN = 0xffffff };

    return ((acked - psn) & PSN) < FLOW_ACK_EARLY;
}

/* NULL: memory is short. */
struct flow_delivery *flow_delivery_new(struct flow_memory *memory);
void flow_delivery_free(struct flow_memory *memory, struct flow_delivery *d); /* NULL is fine */

/* Brings into the cache what the next packets look at (see ahead.c): what it begins with; and after
 * that what is remembered of packets, and will be. `back`: of the other direction. */
void flow_delivery_fetch(const struct flow_delivery *d);
void flow_delivery_fetch_next(const struct flow_delivery *d, const struct flow_delivery *back);

/* Messages of this direction are held back, and what is known of them will be asked for late: none
 * is forgotten before. */
void flow_delivery_hold(struct flow_delivery *d, bool held);

/* The packets towards this end that are given from now on were captured at this place; 0: not
 * known.
 */
void flow_delivery_tap(struct flow_delivery *d, uint8_t tap);

/* Where packets were captured, by what is sent to one end and to the other. */
enum flow_ends {
    FLOW_ENDS_ONE,     /* at one place */
    FLOW_ENDS_UNKNOWN, /* several, and it does not show how they are on the way */
    FLOW_ENDS_CLOCKS,  /* at two, and their clocks contradict each other */
    FLOW_ENDS_BOTH,    /* at two, between which is the network */
};
enum flow_ends flow_delivery_ends(const struct flow_delivery *a, const struct flow_delivery *b);
/* Says so in its path: BOTH or CLOCKS. */
void flow_delivery_transit(struct flow_delivery *d, enum flow_ends ends);

/* The set-up says that requests begin with this PSN, and `first` is the first that was captured.
 * What is between was not, but where it is so much that this is another connection's set-up. */
void flow_delivery_begins(struct flow_delivery *d, uint32_t psn, uint32_t first);

/* A Send, Write, Read request or Atomic towards this end; `packets`: PSNs it takes, 0: not known.
 * True: this end has not answered what was sent to it again. */
bool flow_delivery_request(struct flow_memory *memory, struct flow_delivery *d,
                           const struct rpcrdma_op *op, uint32_t packets);

/* What was just given, as the first, is the last packet of a message that began with this one:
 * those between passed while it was not known what they are. */
void flow_delivery_began(struct flow_delivery *d, uint32_t psn, uint64_t frame, int64_t time_ns);

/* That is so: when it sent a request last; 0: never. And the next time that it sends anything. */
void flow_delivery_unheard(struct flow_delivery *d, int64_t heard_ns);
void flow_delivery_heard(struct flow_delivery *d, int64_t time_ns);

/* What ends with this PSN had arrived at this end, and what is before it, as this end has begun to
 * serve it: a Reply or RDMA of the RPC passes. For InfiniBand and RoCE: of TCP it means nothing. */
void flow_delivery_served(struct flow_delivery *d, uint32_t psn);

/* An Ack, Nak or response of this end, about requests that it was sent; `back`: of the direction
 * in which it travels, may be NULL. True: something is known now to have been delivered. */
bool flow_delivery_answer(struct flow_memory *memory, struct flow_delivery *d,
                          struct flow_delivery *back, const struct rpcrdma_op *op);
/* An Ack of this PSN that passed before it was known what it answers. True: likewise. */
bool flow_delivery_acked(struct flow_delivery *d, uint32_t psn, uint64_t frame, int64_t time_ns);
/* Responses to Read requests passed up to this one, or further. */
bool flow_delivery_responded(const struct flow_delivery *d, uint32_t psn);

/* For the answers of an end of which nothing was captured that they may answer: their Naks count.
 */
struct flow_delivery *flow_delivery_new_alone(struct flow_memory *memory);

/* `more` was counted while it was not known to be the same as `d`. */
void flow_delivery_add_naks(struct flow_memory *memory, struct flow_delivery *d,
                            const struct flow_delivery *more);

/* The packet towards this end that has this frame was captured at another place before: then. Asked
 * right after it was given. */
bool flow_delivery_copied(const struct flow_delivery *d, uint64_t frame, int64_t *sent_ns);

/* The answer of this end that has this frame is there twice, and is the second. */
bool flow_delivery_twice(const struct flow_delivery *d, uint64_t frame);

/* Nothing more will come: what this end acknowledged behind all that passed was not captured, but
 * where it is so much that it was not sent. */
void flow_delivery_tail(struct flow_memory *memory, struct flow_delivery *d);

/* This end asks that less be sent to it. */
void flow_delivery_congestion(struct flow_memory *memory, struct flow_delivery *d);

/* Of the request towards this end, or (response) the Read response of this end, that was just
 * given: which frame carried it first. False: this one, in its turn. */
bool flow_delivery_repeated(struct flow_memory *memory, struct flow_delivery *d,
                            const struct rpcrdma_op *op, bool response,
                            struct rpcrdma_repeated *out);

/* A segment of TCP towards this end. `back`: of the other direction, which it acknowledges; may be
 * NULL. True: something of `back` is known now to have been delivered. */
bool flow_delivery_segment(struct flow_memory *memory, struct flow_delivery *d,
                           struct flow_delivery *back, const struct rpcrdma_tcp_segment *segment);

/* What is known of the message that took these PSNs (psn), or these bytes of TCP (last: of its last
 * byte). False: nothing, or no longer. */
bool flow_delivery_find(const struct flow_delivery *d, bool psn, uint32_t first, uint32_t last,
                        struct rpcrdma_delivery *out);

/* Something was lost, refused or repeated: else each packet that was sent was sent once. */
bool flow_delivery_disturbed(const struct flow_delivery *d);
/* How often that was sent, or is known to have been; 0: nothing is known of it, or no longer. */
uint32_t flow_delivery_transmissions(const struct flow_delivery *d, bool psn, uint32_t first,
                                     uint32_t last);

/* It was sent, and whether it arrived may still be seen: flow_delivery_find says UNKNOWN. */
bool flow_delivery_waits(const struct flow_delivery *d, bool psn, uint32_t last);
/* It was sent again, or refused, and nothing answered it so far, though other messages were
 * answered. */
bool flow_delivery_in_vain(const struct flow_delivery *d, bool psn, uint32_t last);
/* It arrived: flow_delivery_find says DELIVERED. */
bool flow_delivery_over(const struct flow_delivery *d, bool psn, uint32_t last);

/* It arrived long after it was sent, and Acks pass before what they acknowledge: its sender may
 * have sent it again, which passes yet, in the reordering window behind the Ack. */
bool flow_delivery_comes_again(const struct flow_delivery *d, bool psn, uint32_t last,
                               int64_t now_ns);

/* TCP: this sequence number is near what was sent last, if anything was. */
bool flow_delivery_goes_on(const struct flow_delivery *d, uint32_t seq);
/* It is none of those that passed before, captured once more: it has bytes that had not passed, or
 * acknowledges such (back: the other direction, or NULL), or was sent again, as its IP ID shows. */
bool flow_delivery_is_new(const struct flow_delivery *d, const struct flow_delivery *back,
                          const struct rpcrdma_tcp_segment *segment);
/* TCP: it was sent again and then acknowledged, and its receiver may say next that the first
 * transmission had arrived. */
bool flow_delivery_may_be_first(const struct flow_delivery *d, uint32_t last);

/* TCP: whatever was sent again of these bytes had arrived the first time, as its receiver said, by
 * a D-SACK, or by an acknowledgement before. */
bool flow_delivery_needless(const struct flow_delivery *d, uint32_t first, uint32_t last);

/* The packets towards this end were captured at two places. */
bool flow_delivery_at_two(const struct flow_delivery *d);

/* What was retransmitted again and again and not answered since; or that was sent last, and four
 * times or more, where no answer at all was captured. */
struct rpcrdma_silence;
void flow_delivery_silence(const struct flow_delivery *d, struct rpcrdma_silence *silence);

/* The latest transmission of what flow_delivery_silence tells of; what it tells. */
bool flow_delivery_silent_frame(const struct flow_delivery *d, uint64_t *frame, int64_t *time_ns);
/* When the latest packet passed that was sent in this direction; 0: none. */
int64_t flow_delivery_sent_ns(const struct flow_delivery *d);

/* The last word of the receiver was an RNR Nak, and nothing was retransmitted for it. */
bool flow_delivery_not_ready(const struct flow_delivery *d);

/* Nothing more will come: what was sent in vain counts as not delivered from now on. */
void flow_delivery_end(struct flow_delivery *d);

/* Whether this end's answers are in the capture. */
bool flow_delivery_answered(const struct flow_delivery *d);

/* Acks of what had not passed yet are in the capture: it has the two directions from two ports or
 * queues, whose times do not fit; or they were not captured. The frame of the latest, or 0. */
uint64_t flow_delivery_acked_early(const struct flow_delivery *d);

/* Why something was retransmitted. */
enum flow_recovery_cause {
    FLOW_RECOVERY_UNKNOWN,   /* a timer ran out: it was lost, or its answer, or an end was slow */
    FLOW_RECOVERY_LOST,      /* it did not arrive: a Nak shows that, or a gap, or an acknowledgement
                              * that stays where it is as later bytes arrive */
    FLOW_RECOVERY_RESPONSE,  /* what was asked for again is a response, lost on its way back */
    FLOW_RECOVERY_NOT_READY, /* a Nak RNR */
};
/* When something was last retransmitted in this direction, and why. 0: never. */
enum { FLOW_RECOVERIES = 8 };
struct flow_recovery {
    int64_t time_ns;
    int64_t before_ns[FLOW_RECOVERIES]; /* when something else was before, the latest first */
    enum flow_recovery_cause cause;
    uint32_t first, last; /* TCP: the bytes that were sent again since anything new was */
    bool timed_out;       /* when a timer ended, as nothing passed for so long */
    uint32_t said;        /* so often its receiver said that something had arrived the first time */
    /* the latest time in which what a timer made the sender send again had arrived, as answers
     * show, and was not answered yet: from its first transmission on. 0 to 0: there was none */
    int64_t late_from_ns, late_until_ns;
    /* the latest time of a second or more in which this end sent nothing at all, though something
     * was sent to it again: the frames of its first transmission and of its last. 0 to 0: none */
    int64_t silent_from_ns, silent_until_ns;
    uint64_t silent_frame, silent_again_frame;
};
const struct flow_recovery *flow_delivery_recovery(const struct flow_delivery *d);

/* What was sent towards this end: in *plain where nothing rare was counted. The caller sets *plain
 * to 0 once, and may give it for other ones then. */
const struct rpcrdma_path *flow_delivery_path(const struct flow_delivery *d,
                                              struct rpcrdma_path *plain);

#endif
