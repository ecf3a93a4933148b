/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_REPORT_H
#define RPCRDMA_CLI_REPORT_REPORT_H

/*
 * rpcrdma report, in three rooms: collect/ sums a capture up while it is read, and keeps what is
 * telling of each connection; causes/ decides by the rules of docs/report.md what made RPCs slow or
 * fail; show/ prints that as text, JSON or HTML. Here is what they have in common, and what they
 * ask of each other; connection.h has what is known of one connection. All of it is bounded.
 */

#include <glib.h>

#include "common/times.h"
#include "flow/rpc.h"
#include "kernel/kernel.h"
#include "pipeline/pipeline.h"
#include "report/collect/periods.h"
#include "report/connection.h"
#include "rpcs/details.h"
#include "rpcs/groups.h"
#include "rpcs/latency.h"

/* An RPC that is reported by itself. */
struct report_rpc {
    char *title, *path; /* path NULL: not known */
    uint32_t xid, connection;
    struct rpcrdma_address src, dst; /* of the Call */
    uint64_t call_frame, reply_frame;
    int64_t call_time_ns, latency_ns;
    bool reverse, answered, has_phases;
    struct rpcrdma_phases phases;
    int64_t stalled_ns;
    enum rpcrdma_stall stalled_by;
};

/* What there is of loss and of want of credits where it may be too little for a cause. */
struct report_flaws {
    bool known; /* else there are more connections than are kept */
    uint64_t retransmitted, lost, at_limit;
    uint64_t slots_full;   /* times in which all slots of a session were in use, 1 ms and more */
    uint64_t marked, cnps; /* ECN: congestion experienced; RoCEv2: that less be sent */
};

/* Connections that were looked at, that no cause names, and that gave way to others. */
struct report_let_go {
    guint connections;
    uint64_t rpcs;
    struct report_flaws flaws;
    uint64_t with_credits, stalls; /* connections whose credits are known; stalls of these */
};

/* One of these. */
struct report_gone {
    uint64_t rpcs;
    uint32_t number;
    bool early; /* for want of room: while another one could take its place */
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
    CAUSE_BLACK_HOLE, /* large packets do not pass */
    CAUSE_CONNECTION_FAILED,
    CAUSE_SERVER_RESTARTED,
    CAUSE_CLIENT_RESTARTED,
    CAUSE_REMOTE_ERROR,
    CAUSE_CONNECTION_REFUSED,
    CAUSE_RECONNECT_STORM,
    CAUSE_CREDITS,
    CAUSE_SLOTS, /* of an NFSv4.1 session */
    CAUSE_DELAY,
    CAUSE_TRANSFER,
    CAUSE_SERVER,
    CAUSE_CLIENT,
    CAUSE_UNANSWERED,
    CAUSE_THRESHOLD,
    CAUSE_DUPLICATED,
    CAUSE_REORDERED,
    CAUSE_STALLED, /* an end: what was sent again had arrived */
    CAUSE_DAMAGED,
    CAUSE_MEMORY,      /* --max-memory: what was left out may be a cause */
    CAUSE_RPCS_FAILED, /* at RPC or RDMA level: before NFS was asked */
    CAUSE_NFS_FAILED,  /* the server could not carry them out */
    CAUSE_NFS_DELAY,   /* it had clients try again */
    CAUSE_NFS_GRACE,   /* likewise, after it was restarted */
    CAUSE_INCOMPLETE,  /* the capture: what was lost to it may be a cause */
    CAUSE_CLOCKS,      /* likewise: its two directions have two clocks */
    CAUSE_JUMPED,      /* likewise: its clock was set forward */
    CAUSE_COPIED,      /* likewise: it is two that were merged, by clocks that differ */
    CAUSE_ORDER,       /* likewise: its packets are not in the order of time */
    N_CAUSES
};

enum report_confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH, N_CONFIDENCES };

/* How a connection failed, or was given up: what causes of one kind have in common. */
enum report_failure {
    REPORT_FAILED_NOT,
    REPORT_FAILED_PATH,  /* or the peer */
    REPORT_FAILED_ALONE, /* others of the same hosts did not */
    REPORT_FAILED_REFUSED,
    REPORT_FAILED_CLOSED, /* with the path in order */
    REPORT_FAILED_ADAPTER,
    REPORT_FAILED_ATTEMPTS,
    REPORT_FAILED_FOR_GOOD,
    REPORT_FAILED_RESTARTED,
    REPORT_FAILED_STALE, /* restarted, as answers show */
};

/* RPCs of one server. */
struct report_server {
    struct rpcrdma_address address;
    uint64_t n_spent; /* as of report.n_spent; and what it took for these */
    int64_t spent_ns;
    bool often_slow; /* see causes/time/often.c */
    /* on connections that have ended */
    uint64_t rpcs;
    struct report_failed failed[REPORT_LEVELS];
    struct report_burst burst[REPORT_LEVELS]; /* of its connections, at about the same time */
    uint32_t connection[REPORT_LEVELS];       /* of all that failed; 0: of several */
};

/* What was lost on the way towards an end of a connection, or of several. */
struct report_lost {
    uint64_t naks, timeouts, packets; /* packets: retransmitted for it */
    int64_t longest_ns;               /* that one waited for it */
};

struct report_cause {
    enum report_cause_id id;
    enum report_confidence confidence;
    enum report_failure how;
    bool held; /* unanswered: the server's host had the Calls, and they were sent again elsewhere */
    bool given_up;  /* unanswered: the client closed the connection, and did not send them again */
    bool moved;     /* requests to connect went to another Ethernet address, as it says */
    bool of_server; /* it was the server, or the way to it; else the client */
    int64_t since_ns, until_ns; /* of a failure */
    /* of a slow transfer, or end; until Calls were sent again */
    struct report_periods when;
    bool in_idle;  /* of a slow end: nearly all of it is one time in which nothing passed */
    bool has_lost; /* lost-to-...: of one connection */
    struct report_lost lost;
    const struct report_connection *of; /* NULL: of the whole capture */
    GArray *connections; /* of several causes that are told as one, uint32_t; or NULL */
    uint32_t names;      /* another connection that is not kept; 0: none */
    uint64_t rpcs;       /* it made slow or fail */
    uint64_t count;      /* how often it happened: told as one; 0: not known */
    int64_t time_ns;     /* that it cost them */
    uint64_t frame;      /* the first that shows it; 0: none by itself */
    char text[1200];     /* sentences, with numbers */
    char against[360];   /* what speaks against it; "" */
};

enum { REPORT_JUMPS = 4 };

/* Idle times that a wait shows to be none: what waited would have been sent again. The first of
 * them. */
struct report_jumps {
    unsigned n;
    struct pipeline_idle at[REPORT_JUMPS];
    uint64_t rpcs, frame; /* that waited; the first of them */
};

struct report {
    const char *point; /* NULL: it is the only one */
    struct pipeline *pipeline;
    struct kernel *kernel;       /* the caller's; NULL: no --trace */
    uint32_t place, first_place; /* -i any: interfaces of the packet in hand, and of the first */
    bool several_places;         /* packets of RDMA passed more than one */
    struct details *details;
    struct groups *operations, *clients;

    uint64_t rpcs, answered, unanswered, no_call, undelivered, resent, incomplete;
    /* of no_call: the set-up of their connection was captured, or a Call on it that was answered
     * before; and when the first of them was sent */
    uint64_t no_call_since;
    int64_t no_call_since_ns;
    /* with an NFS status; of these: it was not captured; it is encrypted */
    uint64_t nfs_replies, nfs_uncaptured, nfs_encrypted;
    struct latency latency;
    bool all_checked;          /* --check-icrc: also of packets that fit in */
    int64_t slow_ns;           /* an RPC that takes that long is slow, ... */
    bool slow_told;            /* ... as the user says */
    uint64_t slow;             /* such RPCs */
    uint64_t slow_of_all;      /* of those: a second and more, and no part of one is, but all are */
    int64_t slow_of_all_ns;    /* the longest of these */
    uint64_t slow_cut;         /* of these: headers were cut, and no part is known */
    struct report_jumps jumps; /* see collect/idle.c */
    /* RPCs that were answered before the packet at which time goes back first; those of which only
     * the Call or the Reply was before it, in the order of their times, or alone; and the others */
    uint64_t before_back, across_onward, across_back;
    /* where the time of the client's RPCs went; of callbacks phases.server_ns is the client's */
    struct rpcrdma_phases spent;
    int64_t spent_stalled_ns;
    int64_t spent_set_up_ns; /* of spent.server_waiting_ns: the server had no RTU yet */
    uint64_t n_spent;        /* RPCs whose phases are known */
    uint64_t n_spent_call;   /* of these, when the Call was delivered, too */
    uint64_t n_cut;          /* whose are not: headers that show what RDMA is theirs were cut; */
    uint64_t n_apart;        /* or the clocks of the two directions differ by too much */

    struct report_waits *waits; /* see collect/later.h */
    GHashTable *errors;         /* status -> struct report_error */
    uint64_t under_way;         /* of all connections, but for what the capture lacks explains */
    bool under_way_silent;
    struct report_server servers[REPORT_SERVERS];
    unsigned n_servers;
    uint64_t failed[REPORT_LEVELS];
    uint64_t more_errors;                      /* RPCs that failed with a status beyond the bound */
    struct report_rpc slowest[REPORT_SLOWEST]; /* the slowest first */
    unsigned n_slowest;
    GHashTable *tallies;        /* of those that have not ended, in pages of 64 by number */
    guint most_pages, detailed; /* there is room for; that have their detail */
    guint moments;              /* of those: struct report_moments, REPORT_UNENDED at most */
    uint32_t refused;           /* the highest number that there was no room for */
    GHashTable *connections;    /* by number, of struct report_connection: those that are kept */
    GHashTable *of_hosts;       /* see hosts.h */
    guint most_connections;     /* that there is room for */
    GQueue recent, pinned, one_ways;  /* of those, by their end, ... */
    GSequence *busy;                  /* ... and the most telling first */
    struct report_connection *ending; /* its credits are known */
    struct report_let_go let_go;
    struct report_gone *gone; /* the last of these, by number % REPORT_GONE; NULL: none yet */
    struct report_attempts *attempts;
    GHashTable *opened;                    /* see collect/opened.h */
    struct report_read_alone *reads_alone; /* see collect/reads_alone.h; NULL: none yet */
    struct report_acked *acked;            /* see collect/acked.h */
    struct pipeline_copies *copies;        /* see pipeline/copies.h */
    guint attempts_counted; /* of those that gave way: causes count them all the same */
    uint32_t n_connections; /* that there are: the highest number */
    guint twice;            /* of those: each packet is in the capture twice, ... */
    int64_t
        twice_apart_ns; /* ... so long after one another, the latest that is known; 0: at once */
    GHashTable *terminate_codes; /* of RDMAP's Terminate: what each that was met means, static */
    uint64_t rules[RPCRDMA_RULE_COUNT], rule_frame[RPCRDMA_RULE_COUNT];
    /* RPCs of RoCE and InfiniBand for which RDMA Reads moved what was not captured: no PSN of a
     * request shows that; and the first one's Reply */
    uint64_t reads_uncaptured, reads_uncaptured_frame;

    /* messages */
    uint64_t calls_inline, calls_chunk, replies_inline, replies_chunk;
    uint64_t one_way; /* messages whose sender or peer is not known */

    /* timelines: bins double in width when they do not suffice. Only HTML shows them */
    bool timeline;
    struct report_bin bins[REPORT_BINS];
    int64_t bin_ns;
    unsigned n_bins;
    struct report_bin *bin; /* last asked for, and when it begins; NULL: none */
    int64_t bin_since_ns;

    const struct report_connection *about; /* which one the rules look at */
    struct report_cause *causes;           /* the one that cost most first; owned */
    unsigned n_causes, size_causes;
    uint64_t uncaptured; /* packets that kept connections lack: see causes/capture/lacking.c */
    bool undecided;      /* too little was captured to call it healthy */
};

struct report_error {
    char *name;
    uint64_t count, frame;
    enum report_level level;
};

/* The room collect/. */
struct report *report_new(struct pipeline *pipeline, size_t max_bytes);
void report_free(struct report *report);
/* What the bounds left out, on standard error. */
void report_complain(const struct report *report);
struct rpcrdma_flow_sink report_sink(struct report *report);
/* pipeline.passes. */
void report_passes(void *context, const struct source_packet *one);
/* rpcrdma_flow's operations, after it has seen them: pipeline.op_done. */
void report_op(void *context, const struct rpcrdma_op *op, const struct rpcrdma_path *path);
/* All was read: a limit stays in the timeline where nothing was sent. */
void report_timeline_end(struct report *report);
/* The causes are known: what gave way and is named by one counts as not looked at. */
void report_keep_named(struct report *report);
/* From the first Call to the latest Reply. */
static inline int64_t report_moved_ns(const struct report_moved *moved)
{
    return time_less(moved->latest_ns, moved->since_ns);
}
/* Slower than any line that RDMA is used on. */
bool report_moves_slowly(const struct report_moved *moved);
/* To *sum; nothing, where there is none. */
void report_slow_add(struct report_slow *sum, const struct report_slow *one);

/* The room causes/. */
void report_decide(struct report *report);
const char *report_cause_name(enum report_cause_id id); /* "lost-to-client" */
const char *report_confidence_name(enum report_confidence confidence);
/* One that has ended: _TELLING, _ONE_WAY, or _RECENT: no cause could name it, alone or with another
 * one. */
enum report_keep report_judge(struct report *report, const struct report_connection *connection);
/* Gaps in what was sent, that the capture has; and the first one's frame, 0: there is none. */
uint64_t report_gaps(const struct report *report, uint64_t *frame);
/* "3 of 36 RPCs failed ...": what does not make it a cause; "": nothing of it. */
void report_beside(const struct report *report, char text[REPORT_BESIDE]);
/* Of these, failed RPCs that are no cause, which are told beside causes, too. */
void report_failed_too(const struct report *report, char text[REPORT_BESIDE]);

/* kept.c. Connections by number; the caller frees the list. */
GList *report_connections(const struct report *report);
/* Likewise one by one, in no order: while ((c = report_next(&each))). None may be added or let go
 * meanwhile. */
GHashTableIter report_each(const struct report *report);
struct report_connection *report_next(GHashTableIter *each); /* NULL: that was the last one */
/* The one of that number; NULL: it is not kept. */
static inline struct report_connection *report_kept(const struct report *report, uint32_t number)
{
    return g_hash_table_lookup(report->connections, GUINT_TO_POINTER(number));
}
/* By trouble, then by RPCs, the most first: a GCompareFunc. */
gint report_most_telling(gconstpointer a, gconstpointer b);
gint report_by_number(gconstpointer a, gconstpointer b); /* likewise */
/* How many were looked at, ... */
guint report_looked_at(const struct report *report);
/* ... and were not: no rule has seen them. */
guint report_not_looked_at(const struct report *report);
/* "at least ", where there are such: before a number of those that were; or "". */
const char *report_at_least(const struct report *report);
/* Failures by status, the most frequent first; the caller frees the list. */
GList *report_errors(const struct report *report);
struct report_flaws report_flaws(const struct report *report);
void report_flaws_add(struct report_flaws *sum, const struct report_connection *c);
/* What the capture lasts: 0 where its clock was set back by more. */
int64_t report_span_ns(const struct report *report);
/* Whether the two directions' clocks differ by so much that no time between them is known. */
bool report_times_wrong(const struct report *report);
/* At its end: when the capture ended, which may be later than its last packet by: */
int64_t report_now_ns(const struct report *report);
int64_t report_silent_ns(const struct report *report); /* 0: or that is not known */

/* As they are printed. */
static inline double report_seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static inline double report_ms(int64_t ns)
{
    return (double)ns / 1e6;
}

#endif
