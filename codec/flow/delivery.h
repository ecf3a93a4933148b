/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_PUBLIC_H
#define RPCRDMA_FLOW_DELIVERY_PUBLIC_H

/*
 * What happened to the packets of a connection: which messages reached their receiver, as the
 * receiver's answers prove; what was retransmitted and why. Only with config.delivery.
 *
 * Times are those of the place of capture; where both ends were captured, with one clock, those of
 * the place where a packet passed first, and of its arrival at the other. A message counts as
 * delivered when the answer that proves it passes there: an Ack or a response (IBTA volume 1
 * section 9.7), TCP's acknowledgement (RFC 9293 section 3.4). Where an answer proves several
 * messages at once, or TCP delays it, the earlier ones count as delivered as long after their last
 * packet as the last one.
 */

#include <stdbool.h>
#include <stdint.h>

enum rpcrdma_delivery_state {
    RPCRDMA_DELIVERY_UNKNOWN, /* its answers were not captured */
    RPCRDMA_DELIVERED,
    RPCRDMA_NOT_DELIVERED, /* never acknowledged: it was retransmitted in vain, or refused */
    RPCRDMA_DELIVERY_COUNT /* how many there are */
};

/* The way of one Send to its receiver. */
struct rpcrdma_delivery {
    enum rpcrdma_delivery_state state;
    bool not_ready; /* the receiver refused it once and more: RNR Naks */
    bool refused;   /* likewise: by any Nak, the latest that passed since it was sent */
    bool lost;      /* it did not arrive the first time, as is proven */
    bool named;     /* DELIVERED: by an Ack of its last PSN, not of a later one */
    bool unheard; /* DELIVERED: by the first answer captured, which acknowledges later ones, too */
    bool guessed; /* DELIVERED: when it had arrived is not known, and told as of the fastest */
    uint32_t transmissions; /* as seen in the capture; 0: not known */
    uint64_t first_frame,
        last_frame; /* its first packet; the latest of it that was retransmitted */
    int64_t first_time_ns, last_time_ns; /* theirs */
    uint64_t frame;                      /* DELIVERED: the answer that proves it */
    int64_t time_ns;                     /* DELIVERED: when it had arrived */
    /* where both ends were captured: its last packet passed the second place; 0: not seen there */
    uint64_t arrived_frame;
    int64_t arrived_ns, transit_ns; /* and how long it took from the first */
};

/* What held something up. */
enum rpcrdma_stall {
    RPCRDMA_STALL_NONE,
    RPCRDMA_STALL_LOST_TO_SERVER,     /* proven: by a Nak, or by the gap it left; */
    RPCRDMA_STALL_LOST_TO_CLIENT,     /* that a timer ran out is no proof */
    RPCRDMA_STALL_RECEIVER_NOT_READY, /* RNR Naks */
    RPCRDMA_STALL_CREDITS,     /* version 2: the next part of a message had to wait for one */
    RPCRDMA_STALL_UNKNOWN,     /* packets were retransmitted; whether any was lost is not known */
    RPCRDMA_STALL_SERVER_LATE, /* what was retransmitted had arrived, as its answers show: the */
    RPCRDMA_STALL_CLIENT_LATE, /* server, the client, or the way there was late; nothing was lost */
    RPCRDMA_STALL_SET_UP,      /* the server had no RTU, and took no Call */
    RPCRDMA_STALL_COUNT        /* how many there are */
};

/* Where the time of an RPC went. In this order they follow each other, and their sum is its
 * latency. What is not known is 0, and part of the one after it. */
struct rpcrdma_phases {
    bool has_call, has_data, has_reply;
    bool exact;        /* both ends were captured: on its way is from one place to the other */
    int64_t call_ns;   /* Call: first sent to delivered */
    int64_t server_ns; /* delivered to its first RDMA packet, and last RDMA packet to the Reply */
    /* of server_ns, and in stalled_ns: the server sent nothing at all, though something was sent to
     * it again, so that its adapter should have answered; where that is half of it and more. Or it
     * took no Call yet, as it had no RTU */
    int64_t server_waiting_ns;
    int64_t data_ns;         /* first to last RDMA packet */
    int64_t data_waiting_ns; /* of these: waiting for what was retransmitted, or RNR; */
    int64_t data_peer_ns; /* with nothing moving, from a Read request to its first response: in one
                           * capture, what is behind it; exact: the client alone; */
    bool has_network;     /* exact, and not iWARP: */
    int64_t data_network_ns; /* while Read requests or responses were between the two places; the
                              * client may have been waited for meanwhile */
    int64_t reply_ns;        /* Reply: first sent to delivered; exact: to its arrival, */
    int64_t client_ns;       /* and from there to the client's acknowledgement */
};

enum { RPCRDMA_NAKS = 7 }; /* RPCRDMA_NAK_COUNT */

/* What had been sent again to an end when it answered last. */
struct rpcrdma_path_answered {
    int64_t time_ns; /* then; 0: never */
    uint64_t retransmitted, timeouts;
    int64_t waited_ns, longest_wait_ns;
    uint32_t transmissions; /* of the oldest that was not answered */
};

/* What was sent towards one end of a connection. */
struct rpcrdma_path {
    bool followed;           /* else nothing of this is known */
    uint64_t packets, bytes; /* of all kinds; bytes of their payload */
    uint64_t retransmitted, retransmitted_bytes;
    uint64_t lost;       /* on the way, as the receiver or what was retransmitted shows */
    uint64_t duplicated; /* the same packet twice: by the network, or by the capture */
    int64_t apart_ns;    /* TCP: so long after it, the latest of those that two clocks explain */
    uint64_t reordered;  /* by the network: late, and sent once */
    /* PSNs that arrived, and were not captured; of TCP, at least. Where no Acks are captured: that
     * are missing before later ones, and were not sent again */
    uint64_t uncaptured;
    uint64_t naks[RPCRDMA_NAKS]; /* that its receiver sent */
    uint32_t rnr_timer;          /* code in the latest RNR Nak */
    uint64_t timeouts;           /* the sender retransmitted after silence, without a Nak */
    int64_t timeout_ns;          /* such silence, in all */
    int64_t waited_ns;           /* from the packet before to each that was retransmitted, in all */
    int64_t longest_wait_ns; /* from the last new packet to one that was retransmitted, at most */
    uint64_t asked_again;    /* Read requests of which responses had come: others were lost, on the
                              * way back. These times are not in those above: */
    int64_t asked_waited_ns, asked_longest_ns;
    uint64_t asked_timeouts; /* of the timeouts: before such a request */
    uint64_t asked_late;     /* of asked_again: responses had come out of order, or did then */
    /* times that retransmission began at one packet, at most: nothing from it on arrived between */
    uint32_t stuck;
    /* TCP: when a small segment behind these had arrived, as a SACK says, while a large one of
     * these had not, the last time; frame 0: none */
    uint64_t small_frame;
    int64_t small_ns;
    int64_t small_since_ns; /* when that large one was sent first */
    uint32_t small_size; /* it arrived in segments of so many bytes in the end; 0: or it did not */
    uint64_t refused_again;    /* of the retransmitted: refused by an RNR Nak; */
    int64_t refused_waited_ns; /* their part of waited_ns */
    uint64_t acked_timeouts;   /* of the timeouts: the Ack had passed in time, and not arrived */
    int64_t acked_timeout_ns;
    /* of the timeouts: no Ack had passed, but an answer to its RPC; of TCP, `spurious` shows it */
    uint64_t served_timeouts;
    int64_t served_timeout_ns;
    uint64_t lost_behind; /* of lost: it passed here, and a Nak asked for it */
    /* of lost: a Nak asked for it, or a SACK has it not (TCP), and it did not pass, neither before
     * nor since: it was lost before the place of capture, each time; in so many gaps */
    uint64_t lost_before;
    uint32_t lost_before_gaps;
    /* gaps that a Nak asked for, or a SACK shows, whatever came of them; packets of one, at most */
    uint32_t asked_gaps;
    uint64_t longest_gap;
    /* for what came late: out of order here, or acknowledged before it passed again */
    uint64_t late_naks;
    uint64_t late_timeouts; /* of the timeouts: the first transmission had arrived, as Acks show, */
    int64_t late_timeout_ns; /* and the silence before it, in all: no loss */
    int64_t late_longest_ns; /* from such a first transmission to its answer, at most, */
    /* such times of a second or more, what overlaps counted once, and when the latest ended */
    uint32_t late_times;
    int64_t late_all_ns, late_until_ns;
    /* TCP: what had been sent was acknowledged by itself a second and more later, and nothing came
     * meanwhile, nor was anything sent again: all times, the latest's end. Its receiver stood
     * still, the way did, or all that was captured */
    int64_t held_all_ns, held_until_ns;
    uint64_t late_frame; /* the longest's transmission; ... */
    bool late_in_burst;  /* ... it came again more than once at a time, as no timer sends: what
                          * stood still is before the place of capture, or that itself */
    uint64_t congestion_marks; /* ECN: congestion experienced */
    uint64_t congestion_frame; /* RoCEv2: the first that was marked; 0: none */
    uint64_t dscp;             /* a bit per code point */
    uint64_t zero_windows;     /* TCP: its receiver said that it had no room, ... */
    int64_t zero_window_ns;    /* ... and for how long, the longest time */
    uint64_t different; /* retransmitted with other bytes, where that shows: all but the data */
    /* of these: what was sent first had arrived, and this is not taken */
    uint64_t different_arrived;
    uint64_t different_data; /* of RDMA Writes, and these, where ICRCs show it */
    /* the first frame of each; 0: there is none. different_frame: of those that may be taken */
    uint64_t nak_frame[RPCRDMA_NAKS], retransmitted_frame, timeout_frame, different_frame,
        different_arrived_frame, different_data_frame;
    uint64_t cnps;            /* RoCEv2: its receiver asked that less be sent */
    uint32_t largest_payload; /* of a packet, bytes */

    /* captured at two places, with the network between them */
    bool both_ends;
    bool clocks_differ;    /* at two, but their clocks contradict each other: nothing is known */
    uint64_t transits;     /* packets that passed both */
    uint64_t lost_between; /* the first only */
    int64_t transit_min_ns, transit_mean_ns, transit_max_ns;

    /* The longest time, of a second or more, in which its receiver sent nothing at all though
     * something was sent to it again; at its end nothing had been sent again for so long; and the
     * first transmission of that */
    int64_t silent_ns, silent_unasked_ns;
    uint64_t silent_frame;

    /* as it was at the latest answer before what was sent again last: the rest is in vain so far */
    struct rpcrdma_path_answered answered;

    uint64_t not_ready_reads; /* of the RNR Naks: of Read requests, which take no receive buffer */
    bool refused_for_good;    /* by an RNR Nak, and nothing of it came again since */

    uint64_t spurious; /* of the retransmitted: it had arrived, as TCP's receiver says (RFC 2883),
                        * or came with all its copies at once */
    uint64_t uncaptured_reads; /* of uncaptured: PSNs of Read requests, as responses show */
    /* Acks or Naks of it were captured; of TCP, segments that only acknowledge. Else nothing shows
     * what was sent behind the last packet that was captured */
    bool acknowledged;
    /* What the first Nak refused that ends a connection (invalid request, remote access or
     * operational error): 1 more than its enum rpcrdma_op_kind; 0: there is none, or it is not
     * known */
    uint8_t refused_request;

    /* InfiniBand and RoCE: Acks that passed before what they acknowledge, by the
     * capture's times; and how long at most. So far are the clocks of the two directions apart, at
     * least */
    uint64_t early_acks;
    int64_t early_ns;

    /* of the retransmitted, of the timeouts and of waited_ns: in the time of silent_ns */
    uint64_t silent_again, silent_timeouts;
    int64_t silent_waited_ns;

    uint64_t unheard_timeouts; /* of served_timeouts: TCP, as an acknowledgement shows that passed
                                * long after the last copy */

    /* TCP: the longest time of a second or more without anything new, behind which its sender began
     * anew with one segment, and awaited the acknowledgement, as when its timer ended: what it sent
     * meanwhile was lost before the place of capture. How often that was so, and that segment.
     * restart_missing: IP IDs show it instead, so many packets that its sender counted meanwhile
     * and that did not pass; 0: they do not */
    uint64_t restarts;
    int64_t restart_ns;
    uint64_t restart_frame;
    uint32_t restart_missing;
    /* its sender counts IP IDs, which distinguish what it sends again from a copy; else only times
     * do */
    bool ids_tell;
    /* TCP: new data came behind a second or more of none, once or more, and each time IP IDs show
     * that its sender sent nothing meanwhile: nothing that was lost before it came here */
    bool pauses_counted;
    /* TCP: likewise, and each time the timestamps (RFC 7323) of its sender show by its own clock
     * that so much time had passed */
    bool pauses_timed;
};

/* A packet that did not come once and in its turn. */
enum rpcrdma_repeat {
    RPCRDMA_REPEAT_RETRANSMISSION, /* its sender sent it again */
    RPCRDMA_REPEAT_DUPLICATE,      /* the same packet twice: by the network, or by the capture */
    RPCRDMA_REPEAT_OUT_OF_ORDER,   /* late, and sent once */
    RPCRDMA_REPEAT_ELSEWHERE, /* the same packet, captured at another place on its way before */
    RPCRDMA_REPEAT_COUNT      /* how many there are */
};

/* Told when the packet is seen. InfiniBand and RoCE only: TCP delivers to iWARP what comes first.
 * Valid during the call. */
struct rpcrdma_repeated {
    enum rpcrdma_repeat repeat;
    uint64_t frame;
    uint64_t original_frame; /* that carried it first; 0: not captured, or too long ago; of a packet
                              * out of order: 0 */
};

#endif
