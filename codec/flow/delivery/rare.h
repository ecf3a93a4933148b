/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_RARE_H
#define RPCRDMA_FLOW_DELIVERY_RARE_H

/* Of a direction in which something was lost, refused, or came twice. */

#include "flow/delivery/delivery.h"

enum { HOLES = 8 }; /* ranges that passed, or may have, without being captured */

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
    bool asked; /* by a Nak, of it or of what was missing in front of it */
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
    uint16_t id;          /* of the latest */
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

/* TCP, dsack.c: what was retransmitted as a timer ended, until its receiver says that it has it
 * twice. A probe of what was sent last (RFC 8985 section 7) is one, what the timer then sends
 * another. */
struct needless {
    uint64_t first, timeouts; /* position; how often; 0: of none of these is anything to be said */
    uint64_t counted;         /* of these, as spurious; each may be said to be by itself */
    int64_t ns;               /* and those silences */
    int64_t last_ns;          /* when it passed last */
    int64_t answered_ns;      /* when it was acknowledged, as it passed here; 0: not yet */
    bool acked;               /* that was before, in time */
    bool late;                /* it was late */
    uint64_t said_acked;      /* of these, counted as such, where that was lost; and how long */
    int64_t said_acked_ns;
    uint64_t served; /* of these, counted as such: Acks were lost; and those silences */
    int64_t served_ns;
    uint64_t unheard;     /* of these, as an acknowledgement alone shows */
    uint64_t first_frame; /* its first transmission, and when that passed */
    int64_t first_ns;
};
enum { NEEDLESS = 2 };

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
    struct late late, late_read;        /* by Acks; and of a Read request, by responses */
    struct needless needless[NEEDLESS]; /* the latest first */
    struct {
        uint32_t twice; /* what the latest D-SACK named, to know it when captured twice */
        uint16_t id;
        int64_t time_ns;
    } said;
    uint64_t unacked;       /* unacked.c: position after what its sender had not taken then; or 0 */
    uint64_t unacked_again; /* and what had been retransmitted to it */
    uint32_t again_size;    /* what was retransmitted then, until its receiver sends; else 0 */
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
    struct two_taps *taps; /* NULL: there is one at most. Owned */
};

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

#endif
