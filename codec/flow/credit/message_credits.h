/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_MESSAGE_CREDITS_H
#define RPCRDMA_FLOW_CREDIT_MESSAGE_CREDITS_H

/*
 * The account of one sender on one connection, by version 2's counters (ietf-07 section 4.2.1):
 * every message counts, and each message of the peer says up to which number the sender may go.
 *
 * The sender's rule is the same however the draft's formula is read: message n may be sent while n
 * does not exceed the credits received, modulo 2^32, and an RDMA2_GRANT may go one beyond (section
 * 4.2.1.1). What the formula leaves open is how the peer made the number: from the messages that it
 * has sent (as written) or received. Both are computed from each message; the one whose advertised
 * credits stay possible and steady is the one that the capture fits.
 *
 * The counters start at the connection's set-up. When that was not captured, or messages were lost
 * to the capture, how many may still be sent is not known, and is not guessed.
 */

#include "flow/credit/gauge.h"
#include "flow/credit/grant.h"
#include "flow/credit/pending_violation.h"

struct rpcrdma_credit_advert {
    struct rpcrdma_credit_advertised is;
    uint64_t values;
};

struct rpcrdma_credit_count {
    struct rpcrdma_credit_sink sink;
    struct rpcrdma_credit_gauge gauge;
    struct rpcrdma_credit_grants grants; /* message numbers */
    struct rpcrdma_pending_violations pending_violations;

    bool opened;              /* set-up seen and nothing lost: the counts are the ends' own */
    uint64_t sent, peer_sent; /* messages on this connection */
    uint64_t sent_before;     /* sent when the peer's last message passed */
    bool has_limit;
    uint64_t limit_now; /* the highest message number allowed */
    bool was_opened;    /* opened at some time: the readings are of those messages */
    bool has_start;     /* else: the credits and counts that the readings are taken from */
    uint32_t start_credits;
    uint64_t start_sent, start_peer_sent;
    bool from_sender, from_peer;

    struct rpcrdma_credit_advert as_sent, as_received;
    uint64_t messages, violations, rnr_naks;
    bool remaining_known, gaps, memory;
    int64_t remaining_min, remaining_last;
    struct rpcrdma_credit_stall held; /* the latest time at the limit, until more was sent after;
                                       * to_frame 0: none */
    struct rpcrdma_credit_range limit;
};

/* memory is borrowed, sink is copied. */
void rpcrdma_credit_count_init(struct rpcrdma_credit_count *count, struct flow_memory *memory,
                               const struct rpcrdma_credit_sink *sink);
void rpcrdma_credit_count_free(struct rpcrdma_credit_count *count);

/* The connection was set up: both counters are 0, one message is allowed. */
void rpcrdma_credit_count_opened(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at);
/* A packet of any kind came from the sender, or from its peer. */
void rpcrdma_credit_count_heard(struct rpcrdma_credit_count *count, bool from_sender);
/* The sender sends a message; `grant`: an RDMA2_GRANT. */
void rpcrdma_credit_count_sent(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at,
                               bool grant);
/* A message of the peer, with its rdma_credit. */
void rpcrdma_credit_count_received(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at,
                                   uint32_t credits, rpcrdma_stream_position place);
/* The sender's transport acknowledged what the peer sent up to `place`. */
void rpcrdma_credit_count_acked(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at,
                                rpcrdma_stream_position place);
/* An RNR Nak that hit a message of the sender; message_frame is 0 where it is not known. `again`:
 * of a message that one hit before; it is counted and not reported. */
void rpcrdma_credit_count_rnr(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at,
                              uint32_t xid, uint64_t message_frame, bool again);
/* Messages of either end were lost to the capture after the event before. */
void rpcrdma_credit_count_gap(struct rpcrdma_credit_count *count);
/* The connection was lost or closed. */
void rpcrdma_credit_count_lost(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at);

/* No event came until now_ns. */
void rpcrdma_credit_count_time(struct rpcrdma_credit_count *count, int64_t now_ns);
/* Nothing more will come. */
void rpcrdma_credit_count_end(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at);

void rpcrdma_credit_count_result(const struct rpcrdma_credit_count *count,
                                 struct rpcrdma_credit_result *out);
void rpcrdma_credit_count_restart(struct rpcrdma_credit_count *count);

#endif
