/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_ACCOUNT_H
#define RPCRDMA_FLOW_CREDIT_ACCOUNT_H

/*
 * The account of one direction of RPC on one connection, by version 1's rules (RFC 8166 section
 * 3.3.1, RFC 8167 section 4): the Requester asks for credits in each Call, the Responder grants in
 * each Reply, and what is in flight is the Calls whose Reply has not come to the Requester. It is
 * fed events and knows nothing of packets.
 *
 * Where the Requester's acknowledgements show when it gets a Reply, that returns the credit, and
 * brings the grant. Where they do not, a Reply does so when it passes. A Requester that does what
 * it may do from when a Reply passes is not blamed: an acknowledgement may follow later.
 *
 * In flight is exact when the connection's set-up was seen. Otherwise Calls from before the capture
 * may be in flight: the count is a lower bound until the evidence settles it, that is when the
 * Requester, which stays within its grant, can have no further one, or when Replies to such
 * Calls have not been seen for far longer than any answer takes.
 */

#include "flow/credit/credit_calls.h"
#include "flow/credit/gauge.h"
#include "flow/credit/grant.h"
#include "flow/credit/pending_violation.h"
#include "flow/credit/replies.h"

/* What is seldom counted, since a report began. */
enum rpcrdma_credit_counted {
    RPCRDMA_CREDIT_UNANSWERED,
    RPCRDMA_CREDIT_RETRANSMITTED,
    RPCRDMA_CREDIT_EARLIER,
    RPCRDMA_CREDIT_STRAY,
    RPCRDMA_CREDIT_MISSED,
    RPCRDMA_CREDIT_UNDELIVERED,
    RPCRDMA_CREDIT_VIOLATIONS,
    RPCRDMA_CREDIT_RNR_NAKS,
    RPCRDMA_CREDIT_UNACKED,
    RPCRDMA_CREDIT_LEAST_LONGER,
    RPCRDMA_CREDIT_LEAST_NS,     /* time */
    RPCRDMA_CREDIT_UNSETTLED_NS, /* likewise */
    RPCRDMA_CREDIT_COUNTS
};

/* What most accounts never have. */
struct rpcrdma_credit_rare {
    uint64_t unknown_max; /* not settled: at most so many more may be in flight */
    uint64_t earlier_ns;

    /* Replies lost to the capture: of the `doubtful` Calls that were in flight then, those up to
     * doubt_serial, `doubt` may have been answered unseen, and do not count as in flight. */
    uint64_t doubt_serial, doubtful, doubt;
    /* Of the Calls that may have been answered before anything of the Responder was captured, up to
     * unheard_serial: so many are left. */
    uint64_t unheard_serial, unheard;
    uint64_t untracked; /* in flight, not in the set: there was no place for them */
    uint64_t at_limit_since_ns; /* account->at_limit */

    uint64_t counts[RPCRDMA_CREDIT_COUNTS]; /* by enum rpcrdma_credit_counted */
};

struct rpcrdma_credit_account {
    struct rpcrdma_credit_sink sink;
    struct rpcrdma_credit_gauge gauge;
    struct rpcrdma_credit_calls set;
    uint32_t requested_now, granted_now; /* 0 taken as 1 */
    bool opened;                         /* this connection's set-up was seen */
    bool has_requested, has_granted;     /* on this connection */
    bool from_requester, from_responder; /* any packet seen */
    bool settled;
    bool followed; /* a Reply waited to be delivered */
    bool late;     /* a Reply may have passed uncaptured before the first one that was captured */
    bool gaps, memory;
    bool at_limit; /* by Calls without a Reply that passed alone */
    uint32_t most; /* Calls without a Reply that passed, since a report began */

    uint64_t longest_ns; /* the longest time to a Reply */
    uint64_t answered;   /* Calls whose Reply was seen, whatever restarts */
    uint64_t serial;     /* of the latest Call */
    struct rpcrdma_pending_violations pending_violations;
    struct rpcrdma_credit_replies replies_passed; /* and not known to be delivered */
    uint64_t calls, replies;
    struct rpcrdma_credit_range requested, granted, limit;
    struct rpcrdma_credit_grants grants;
    struct rpcrdma_credit_rare *rare; /* NULL: there was nothing of it. Owned */
};

/* memory is borrowed, sink is copied. */
void rpcrdma_credit_account_init(struct rpcrdma_credit_account *account, struct flow_memory *memory,
                                 const struct rpcrdma_credit_sink *sink);
void rpcrdma_credit_account_free(struct rpcrdma_credit_account *account);

/* The connection was set up (again): nothing is in flight, one Call is allowed. */
void rpcrdma_credit_account_opened(struct rpcrdma_credit_account *account,
                                   struct rpcrdma_credit_at at);
/* A packet of any kind came from the Requester, or from the Responder. */
void rpcrdma_credit_account_heard(struct rpcrdma_credit_account *account, bool from_requester);

/* `call` is what the account keeps of it, zero when it is new; NULL: there is no place. */
void rpcrdma_credit_account_call(struct rpcrdma_credit_account *account,
                                 struct rpcrdma_credit_at at, struct rpcrdma_credit_call *call,
                                 enum rpcrdma_credit_call_use use, uint32_t xid,
                                 uint32_t requested);
/* `call` NULL, or zero: it answers none that is known. */
void rpcrdma_credit_account_reply(struct rpcrdma_credit_account *account,
                                  struct rpcrdma_credit_at at, struct rpcrdma_credit_call *call,
                                  uint32_t granted, rpcrdma_stream_position place);
/* The same of a Reply whose delivery will be reported, or not: it passes; the one that did first
 * was delivered, of which there must be one. */
void rpcrdma_credit_account_passed(struct rpcrdma_credit_account *account,
                                   struct rpcrdma_credit_at at,
                                   const struct rpcrdma_credit_reply *reply);
void rpcrdma_credit_account_delivered(struct rpcrdma_credit_account *account,
                                      struct rpcrdma_credit_at at);
/* That will be reported of none: what has passed was delivered when it did. */
void rpcrdma_credit_account_unheard(struct rpcrdma_credit_account *account,
                                    struct rpcrdma_credit_at at);
/* The table of Calls is full, and this one goes: it is in flight all the same. */
void rpcrdma_credit_account_give_up(struct rpcrdma_credit_account *account,
                                    struct rpcrdma_credit_call *call);

/* The Requester's transport acknowledged what the Responder sent up to `place`. */
void rpcrdma_credit_account_acked(struct rpcrdma_credit_account *account,
                                  struct rpcrdma_credit_at at, rpcrdma_stream_position place);
/* An RNR Nak that hit a message of this direction of RPC; message_frame is 0 where it is not known.
 */
void rpcrdma_credit_account_rnr(struct rpcrdma_credit_account *account, struct rpcrdma_credit_at at,
                                uint32_t xid, uint64_t message_frame, bool again);
/* So many packets at most, each of which may have been a message, were lost to the capture after
 * the event before. It has no time: it shows only later. */
void rpcrdma_credit_account_gap(struct rpcrdma_credit_account *account, bool from_requester,
                                uint64_t packets);
/* The connection was lost or closed: nothing is in flight any more. */
void rpcrdma_credit_account_lost(struct rpcrdma_credit_account *account,
                                 struct rpcrdma_credit_at at);

/* No event came until now_ns. */
void rpcrdma_credit_account_time(struct rpcrdma_credit_account *account, int64_t now_ns);
/* Nothing more will come. */
void rpcrdma_credit_account_end(struct rpcrdma_credit_account *account,
                                struct rpcrdma_credit_at at);

/* What is known so far; the account goes on. */
void rpcrdma_credit_account_result(const struct rpcrdma_credit_account *account,
                                   struct rpcrdma_credit_result *out);
/* Starts counts and statistics again, for a report at intervals; what is in flight stays so. */
void rpcrdma_credit_account_restart(struct rpcrdma_credit_account *account);

#endif
