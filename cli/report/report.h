/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_REPORT_H
#define RPCRDMA_CLI_REPORT_REPORT_H

/*
 * rpcrdma report: collect.c sums a capture up, causes.c decides by the rules of docs/report.md what
 * made RPCs slow or fail, text.c, json.c and html.c show it. All of it is bounded.
 */

#include <glib.h>

#include "flow/rpc.h"
#include "pipeline.h"
#include "report/arrival.h"
#include "rpcs/details.h"
#include "rpcs/groups.h"

enum {
    REPORT_SLOWEST = 10,
    REPORT_CONNECTIONS = 200, /* told one by one */
    REPORT_BINS = 120,        /* of the timelines */
    REPORT_CAUSES = 16,
    REPORT_SENT = 1 << 14, /* Calls remembered by XID */
};

/* An RPC that is told by itself. */
struct report_rpc {
    char *title, *path; /* path NULL: not known */
    uint32_t xid, connection;
    uint64_t call_frame, reply_frame;
    int64_t call_time_ns, latency_ns;
    bool answered, has_rdma;
    int64_t rdma_ns; /* of its latency: from its first to its last RDMA packet */
};

struct report_connection {
    struct rpcrdma_connection pub;
    uint64_t rpcs, unanswered, resent; /* resent: Calls that were sent before on another one */
    int64_t resent_after_ns;           /* the longest time from the first sending to that */
    uint64_t resent_frame;
    uint32_t resent_from;                 /* the other connection */
    uint64_t unanswered_frame;            /* first of them */
    int64_t last_data_ns;                 /* of the last Send, Write or Read */
    struct arrival arrival[2];            /* what was sent towards each end */
    struct rpcrdma_credit_result credits; /* of forward RPCs */
    bool has_credits;
};

/* A measure over time. */
struct report_bin {
    uint64_t rpcs, bytes, resent; /* resent: packets */
    int64_t latency_max_ns;
    double latency_sum_ns;
    uint32_t in_flight_max, limit;
};

enum report_cause_id {
    CAUSE_LOST_TO_SERVER,
    CAUSE_LOST_TO_CLIENT,
    CAUSE_LOST,
    CAUSE_RECEIVER_NOT_READY,
    CAUSE_CONNECTION_FAILED,
    CAUSE_SERVER_RESTARTED,
    CAUSE_CREDITS,
    CAUSE_DELAY,
    CAUSE_SERVER,
    CAUSE_UNANSWERED,
    CAUSE_THRESHOLD,
    CAUSE_DUPLICATED,
    CAUSE_REORDERED,
    CAUSE_INCOMPLETE, /* the capture: what was lost to it may be a cause */
    N_CAUSES
};

enum report_confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };

struct report_cause {
    enum report_cause_id id;
    enum report_confidence confidence;
    uint64_t rpcs;     /* it made slow or fail */
    int64_t time_ns;   /* that it cost them */
    uint64_t frame;    /* the first that shows it; 0: none by itself */
    char text[400];    /* sentences, with numbers */
    char against[240]; /* what speaks against it; "" */
};

struct report {
    struct pipeline *pipeline;
    struct details *details;
    struct groups *operations, *clients, *statuses;

    uint64_t rpcs, answered, unanswered, no_call, undelivered, resent, incomplete;
    struct latency latency;
    uint64_t slow_server; /* RPCs of a second and more, most of it without RDMA */
    int64_t slow_server_ns;
    uint64_t slow_server_frame;

    GHashTable *errors; /* status -> struct report_error */
    uint64_t stale;     /* statuses that a server gives after a restart */
    uint64_t stale_frame;
    struct report_rpc slowest[REPORT_SLOWEST]; /* the slowest first */
    unsigned n_slowest;
    GHashTable *connections; /* by number, of struct report_connection */
    uint64_t more_connections;
    uint64_t rules[RPCRDMA_RULE_COUNT], rule_frame[RPCRDMA_RULE_COUNT];

    /* messages */
    uint64_t calls_inline, calls_chunk, replies_inline, replies_chunk, data_chunks;
    uint64_t small_in_chunks; /* RPC messages of 4096 bytes or less that did not go inline */
    uint64_t one_way;         /* messages whose sender or peer is not known */

    /* Calls seen, by XID: one that comes on another connection was sent again */
    struct {
        uint32_t xid, connection; /* connection 0: none */
        uint32_t program, procedure;
        uint64_t frame;
        int64_t time_ns;
        struct rpcrdma_address client;
    } * sent; /* REPORT_SENT */

    /* timelines: bins double in width when they do not suffice */
    struct report_bin bins[REPORT_BINS];
    int64_t bin_ns;
    unsigned n_bins;

    struct report_cause causes[REPORT_CAUSES]; /* the one that cost most first */
    unsigned n_causes;
    bool tcp;       /* iWARP: what TCP lost is not known */
    bool undecided; /* too little was captured to call it healthy */
};

struct report_error {
    char *name;
    uint64_t count, frame;
};

struct report *report_new(struct pipeline *pipeline, size_t path_bytes);
void report_free(struct report *report);
struct rpcrdma_flow_sink report_sink(struct report *report);

void report_decide(struct report *report);
const char *report_cause_name(enum report_cause_id id); /* "lost-to-client" */
const char *report_confidence_name(enum report_confidence confidence);
/* The end that is the server; 1 where that is not known. */
int report_server_end(const struct rpcrdma_connection *connection);
/* rpcrdma_flow's operations, after it has seen them: pipeline.op_done. */
void report_op(void *context, const struct rpcrdma_op *op,
               const struct rpcrdma_connection *connection);
/* Connections by number; the caller frees the list. */
GList *report_connections(const struct report *report);
/* The verdict's first sentence. */
void report_headline(const struct report *report, char *text, size_t size);

void report_text(struct report *report, struct out *out);
void report_json(struct report *report, struct out *out);
void report_html(struct report *report, struct out *out);

#endif
