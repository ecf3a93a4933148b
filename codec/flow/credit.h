/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_H
#define RPCRDMA_FLOW_CREDIT_H

/*
 * Credit use of a connection: is it slow because it runs out of credits?
 *
 * Two sets of rules. Version 1, and the version 2 dialects up to ietf-01, count Calls: an account
 * per direction of RPC (RFC 8166 section 3.3.1, RFC 8167 section 4). From ietf-02 on version 2
 * counts messages: an account per sender (draft-ietf-nfsv4-rpcrdma-version-two-07 section 4.2.1;
 * for ietf-02 this is inferred from its RDMA2_GRANT).
 *
 * In flight is what the Requester can know, as far as the capture shows it: a Call counts from when
 * it passes until its Reply was delivered, that is acknowledged (flow/delivery.h). Where no
 * acknowledgements were captured, and by the rules that count messages, until its Reply passes.
 *
 * rpcrdma_flow_config.credits asks for it; then the sink's `credits` gets a connection's results,
 * at its end, just before `connection`; `credit_point` each change; and findings come as others do.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../export.h"

RPCRDMA_BEGIN_DECLS

struct rpcrdma_flow;

enum rpcrdma_credit_bound {
    RPCRDMA_BOUND_NEITHER,   /* never at the limit */
    RPCRDMA_BOUND_REQUESTED, /* what was asked for was granted in full, and was used up */
    RPCRDMA_BOUND_GRANTED,   /* less was granted than asked for, and was used up */
    RPCRDMA_BOUND_COUNT      /* how many there are */
};

enum rpcrdma_credit_cause {
    RPCRDMA_ENDED_BY_REPLY,
    RPCRDMA_ENDED_BY_GRANT,      /* the limit rose because the receiver grants more */
    RPCRDMA_ENDED_BY_REQUEST,    /* the limit rose because the Requester asks for more */
    RPCRDMA_ENDED_BY_DISCONNECT, /* the connection was lost or closed */
    RPCRDMA_ENDED_BY_CAPTURE,    /* the capture or the interval ended, or its clock was set back */
    RPCRDMA_ENDED_BY_COUNT       /* how many there are */
};

enum rpcrdma_credit_reading {
    RPCRDMA_READING_UNDECIDED,
    RPCRDMA_READING_SENT, /* rdma_credit = messages sent + advertised, as section 4.2.1 is written
                           */
    RPCRDMA_READING_RECEIVED, /* rdma_credit = messages received + advertised */
    RPCRDMA_READING_COUNT     /* how many there are */
};

struct rpcrdma_credit_range {
    bool known;
    uint32_t min, max, last;
    uint64_t changes; /* how often a value differed from the one before */
};

/* A time at the limit. */
struct rpcrdma_credit_stall {
    int64_t from_ns, to_ns; /* since the epoch */
    uint64_t duration_ns;   /* the capture's clock may have been set in between */
    uint64_t from_frame, to_frame;
    enum rpcrdma_credit_cause ended_by;
};

enum {
    RPCRDMA_CREDIT_STALLS = 16,       /* the longest that are kept */
    RPCRDMA_CREDIT_LONG_NS = 1000000, /* a stall worth a word */
    RPCRDMA_CREDIT_HUNG_NS = 1000000000,
};

struct rpcrdma_credit_stalls {
    struct rpcrdma_credit_stall longest[RPCRDMA_CREDIT_STALLS];
    uint32_t kept;
    uint64_t count, longer; /* all; those of RPCRDMA_CREDIT_LONG_NS and more */
    /* of the longer: those of RPCRDMA_CREDIT_HUNG_NS and more, and their time. Nothing that was in
     * flight was answered for so long: what held that up is no lack of credits */
    uint64_t hung, hung_ns;
};

struct rpcrdma_credit_in_flight {
    bool known; /* false: one direction of the wire was captured */
    uint64_t max, p50, p95, p99;
    double mean;
};

/* What one reading of section 4.2.1 makes of the credits that a peer advertised. */
struct rpcrdma_credit_advertised {
    bool known;
    int64_t min, max, last;
    uint64_t changes;
    uint64_t misfits; /* messages whose value this reading cannot mean */
};

/* One direction of RPC, or (counting) one sender. */
struct rpcrdma_credit_result {
    bool counting;
    int end; /* of the connection: the Requester; counting: the sender */

    /* counting Calls */
    uint64_t calls, replies, unanswered;
    uint64_t undelivered;   /* of the unanswered: their Reply passed, and did not arrive */
    bool followed;          /* Replies count when they are delivered; else when they pass */
    uint64_t retransmitted; /* Calls seen again while they were in flight; not in `calls` */
    uint64_t earlier;       /* Replies to Calls from before the capture, or lost to it */
    uint64_t stray;         /* further Replies without Call */
    uint64_t missed;        /* Calls whose Reply was lost to the capture */
    struct rpcrdma_credit_range requested, granted;

    /* counting messages */
    uint64_t messages;
    bool remaining_known;
    int64_t remaining_min, remaining_last; /* messages that may still be sent */
    enum rpcrdma_credit_reading reading;
    struct rpcrdma_credit_advertised sent, received; /* both readings of section 4.2.1 */

    /* both. In a limit, counting: the counter as it was received. */
    struct rpcrdma_credit_range limit;
    struct rpcrdma_credit_in_flight in_flight;
    uint64_t measured_ns, busy_ns; /* the time of the averages; of it, in use: anything in flight,
                                    * or at the limit (which may be 0 when counting) */
    uint64_t at_limit_ns;
    enum rpcrdma_credit_bound bound_by;
    struct rpcrdma_credit_stalls stalls; /* longest first */
    uint64_t violations, rnr_naks;

    /* how far to trust it */
    bool settled;          /* what is in flight is known exactly by now */
    uint64_t unsettled_ns; /* for so long in_flight was a lower bound; not exact, if `missed` */
    bool gaps;             /* messages were lost to the capture */
    bool clock;            /* the capture's clock went backwards */
    bool memory;           /* memory was short, or too many Calls were in flight: counted roughly */

    /* Counting Calls. So many were sent at the limit, which shows that a Reply had arrived whose
     * acknowledgement was not captured: the time at the limit was less. Without the waits of
     * RPCRDMA_CREDIT_HUNG_NS it was so long, at least, and the waits of RPCRDMA_CREDIT_LONG_NS so
     * many, as if each Reply arrived as it passed. */
    uint64_t unacked, least_ns, least_longer;
};

/* The state after an event: what a plot is drawn from. */
struct rpcrdma_credit_point {
    int64_t time_ns;
    uint64_t frame;
    bool closed; /* the connection was lost or closed */
    bool counting;
    bool has_requested, has_granted, has_limit;
    uint32_t requested;
    uint32_t granted; /* counting: in flight and what may still be sent */
    uint32_t limit;
    enum rpcrdma_credit_bound bound; /* which limit is reached; NEITHER: none, or none is known */
    uint64_t in_flight;              /* counting: messages since the peer's last */
    /* counting, after a message of the peer whose counters are known: the credits it advertised by
     * each reading of section 4.2.1 that can mean its value; and which reading fits so far */
    bool has_sent, has_received;
    uint32_t advertised_sent, advertised_received;
    enum rpcrdma_credit_reading reading;
};

/*
 * Gives the sink's `credits` the results so far of every connection that is open. `restart`: and
 * starts their counts and statistics again, for a report at intervals; what is in flight stays so.
 * They are measured until the time that rpcrdma_flow_time was told, if that is later than the last
 * operation.
 */
RPCRDMA_API void rpcrdma_flow_credits(struct rpcrdma_flow *flow, bool restart);

/* "requested", "granted", "neither"; "reply", "grant", "request", "disconnect", "capture"; "sent",
 * "received", "undecided": the words of the JSON output. Static text, never NULL. */
RPCRDMA_API const char *rpcrdma_credit_bound_name(enum rpcrdma_credit_bound bound);
RPCRDMA_API const char *rpcrdma_credit_cause_name(enum rpcrdma_credit_cause cause);
RPCRDMA_API const char *rpcrdma_credit_reading_name(enum rpcrdma_credit_reading reading);

/*
 * Writes the verdict, one line in plain words, NUL-terminated and cut to size. requester and
 * responder name the two ends ("client", "server"; counting: the sender and its peer).
 * Returns the length it would have.
 */
RPCRDMA_API size_t rpcrdma_credit_verdict(const struct rpcrdma_credit_result *result,
                                          const char *requester, const char *responder, char *buf,
                                          size_t size);

RPCRDMA_END_DECLS

#endif
