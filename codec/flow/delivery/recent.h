/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_RECENT_H
#define RPCRDMA_FLOW_DELIVERY_RECENT_H

/* Packets that are remembered, to be known when they come again, and where they were captured. */

#include "bound.h"
#include "flow/delivery/delivery.h"

enum {
    RECENT_FIRST = 4,                        /* slots, */
    RECENT_MOST = 64,                        /* and where packets come fast */
    RECENT_TWICE = RPCRDMA_BOUND(1024, 128), /* where much comes twice */
    RECENT_AT_TWO = RPCRDMA_BOUND(1024, 64), /* likewise, on their way between two places */
    RECENT_SHIFT_AT_TWO = RPCRDMA_BOUND(22, 26),
};

/* Bits of recent.varying, as they are taken out of rpcrdma_op.flags. */
enum {
    RECENT_ICRC = 1, /* icrc, icrc_bytes, udp_port are set */
    RECENT_MIGRATION = RPCRDMA_OP_MIGRATION / RPCRDMA_OP_ICRC,
    RECENT_SOLICITED = RPCRDMA_OP_SOLICITED,
    RECENT_ACK_REQUEST = RPCRDMA_OP_ACK_REQUEST,
};

/* Of a segment of TCP: of recent.kind. */
enum { SEGMENT_KIND = 0xff };

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

#endif
