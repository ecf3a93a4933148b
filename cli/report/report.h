/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_REPORT_H
#define RPCRDMA_CLI_REPORT_REPORT_H

/*
 * rpcrdma report: collect.c sums a capture up, slow.c what took long, tally.c each connection,
 * timeline.c by time; causes.c decides by the rules of docs/report.md what made RPCs slow or fail,
 * text.c, json.c and html.c show it. All of it is bounded.
 */

#include <glib.h>

#include "flow/rpc.h"
#include "kernel/kernel.h"
#include "pipeline.h"
#include "report/periods.h"
#include "rpcs/details.h"
#include "rpcs/groups.h"
#include "rpcs/latency.h"
#include "times.h"

enum {
    REPORT_SLOWEST = 10,
    REPORT_CONNECTIONS = 200,       /* kept, with the least memory; ... */
    REPORT_CONNECTIONS_MOST = 4096, /* ... and with any */
    REPORT_CONNECTION_BYTES = 4096, /* of one, about, with what its Acks took */
    /* of connections that there is nothing to report of, are kept: */
    REPORT_RECENT = 64,       /* the last, as another one may take their place, */
    REPORT_BUSY = 136,        /* and the busiest of those before */
    REPORT_UNENDED = 1024,    /* counted at once, with the least memory */
    REPORT_TALLY_BYTES = 256, /* of one of these, about */
    REPORT_GONE = 4096,       /* that gave way, and can be named after all */
    REPORT_ATTEMPTS = 64,     /* one after the other, each by itself; and the last */
    REPORT_DETAILED = 200,    /* of these, with their detail */
    REPORT_ROWS = 200,        /* of the tables of connections in HTML */
    REPORT_BINS = 120,        /* of the timelines */
    REPORT_CAUSES = 12,       /* reported in text; all are in JSON */
    REPORT_RETRIES = 4,       /* transmissions without an answer: an end is taken for dead */
    REPORT_LARGE = 512,       /* bytes of payload: no MTU is less */
    REPORT_SLOW_READS_OF = 8,
    REPORT_SERVERS = 64,         /* whose failures are told each */
    REPORT_PAUSES = 6,           /* of the answers on one connection */
    REPORT_ONE_READ = 64 * 1024, /* what a server reads by few Read requests */
    REPORT_SLOW_RATE = 1000000,  /* bytes a second */
    REPORT_BESIDE = 440,         /* room for texts: what stands beside the verdict, ... */
    REPORT_UNDER_WAY = 160,      /* ... of Calls that were under way, ... */
    REPORT_TIME = 1000,          /* ... where the time went, ... */
    REPORT_LACK = 200,           /* ... and what the capture lacks */
    REPORT_UNREAD = 8,           /* reasons that are told */
};

/* Times are no int. */
#define REPORT_SLOW_ACK_NS INT64_C(2000000)  /* where the quickest take that, there is a delay */
#define REPORT_LONG_ACK_NS INT64_C(20000000) /* where most take that, too */
#define REPORT_SILENT_NS INT64_C(1000000000) /* from the last packet on: it is told */
/* What is lost before the place of capture shows as time alone. It may be, so long before and after
 * what shows otherwise. */
#define REPORT_LOSSES_NS INT64_C(60000000000)
/* For so long no load explains that each is slow. */
#define REPORT_A_WHILE_NS INT64_C(10000000000)
/* Too long for a server that takes it again and again. */
#define REPORT_OFTEN_NS INT64_C(200000000)
#define REPORT_PAUSE_NS INT64_C(200000000) /* without an answer */
/* Within so long anything is sent again that is not acknowledged: else the capture lacks either. Of
 * TCP, which measures the way, sooner */
#define REPORT_RESEND_NS INT64_C(5000000000)
#define REPORT_RESEND_TCP_NS INT64_C(1000000000)

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

/* Calls of one end without a Reply. */
struct report_unanswered {
    uint64_t calls;
    /* of calls: the Reply was sent and never acknowledged, or the caller answered nothing any more:
     * they say nothing of the other end */
    uint64_t gone;
    uint64_t frame;   /* of the first that is not gone, if there is one */
    int64_t since_ns; /* that was sent then */
    uint64_t held;    /* of calls: acknowledged, so that the other end had them */
    /* of calls: none that was sent a second or more after them was answered; the latest of these */
    uint64_t last_calls, last_held;
    int64_t last_ns;
    int caller_end;
    /* What follows is of those that are not gone. */
    int64_t served_ns; /* until when RDMA was under way for each, or it was sent; the earliest */
    bool at_work;      /* RDMA was, for one of them */
    uint64_t late; /* a second old and more when nothing followed any more */
    /* sent less than REPORT_RETRIES times, and less than a second before the last packet towards
     * the caller was captured, or later */
    uint64_t behind;
    uint64_t dropped;      /* neither acknowledged nor sent again, for REPORT_RESEND_NS */
    uint64_t unheard;      /* before anything that answers on this connection was captured */
    uint64_t under_way;    /* when the capture ended, less than a second old */
    bool under_way_silent; /* of one of these the Ack was the connection's last packet */
    /* What the capture lacks explains so many: see missed.c. How many there are up to one of them,
     * less what was missing before it, at least; the frame of that one */
    uint64_t explained, least_frame;
    int64_t least_since_ns;
    uint64_t
        unseen; /* of explained: what was sent behind the last that was answered is not known */
    int64_t least;
    /* A second and more passed before anything that may have answered them was missing. The first,
     * how many, and how long that was at least where something was; 0: nothing was */
    uint64_t waited, waited_frame;
    int64_t waited_since_ns, waited_ns;
};

/* When pieces showed to be missing: so many were then. */
struct report_moments {
    unsigned n;
    struct {
        int64_t since_ns; /* they were sent behind a Reply of that time, and ... */
        int64_t time_ns;
        uint64_t through;
    } at[8];
};

/* What the capture lacks of what was sent towards an end. Each piece may have been an answer. */
struct report_missed {
    uint64_t pieces, missing;       /* missing: as the path said last */
    struct report_moments *moments; /* until the connection ends; NULL: no room. Owned */
};

enum { REPORT_FORWARD, REPORT_REVERSE }; /* the client's Calls, and the server's: callbacks */

/* An end refused a request for good, which ends a connection: Nak; RDMAP's Terminate. */
struct report_refusal {
    uint64_t frame; /* 0: none did */
    int by;         /* the end */
    int request;    /* what it refused, enum rpcrdma_op_kind; -1: it is not known */
    uint8_t nak;    /* enum rpcrdma_nak; of iWARP: */
    bool terminate;
    uint16_t code;
};

/* Slow RPCs for which one end took most of the time. */
struct report_slow {
    uint64_t rpcs, reads;          /* reads: of RDMA Reads so many at least, one for each segment */
    uint64_t again;                /* of the rpcs: their Call was sent again on that connection */
    uint64_t alone;                /* likewise: no other Reply passed for half of the time */
    uint64_t unacked;              /* likewise: when the Call arrived is not known */
    uint64_t unmoved;              /* likewise: not all that RDMA moved for it was captured */
    int64_t ns;                    /* that it took, of all RPCs; ... */
    struct report_periods periods; /* ... and when: what overlaps counts once */
    uint64_t frame;
    struct rpcrdma_address end; /* that end, of the first; */
    bool several_ends;          /* and there are others */
    uint32_t connection;        /* of the first; 0: of several */
};

/* Which level an error came from; ... */
enum report_level {
    REPORT_BELOW_NFS,  /* RPC or RDMA: the operation was not carried out */
    REPORT_NFS_FAILED, /* NFS, whose server could not: its disk, its state */
    REPORT_LEVELS,     /* ... none of these: an answer like another one (NFS3ERR_NOENT) */
};

struct report_failed {
    uint64_t rpcs, frame;      /* frame: of the first */
    int64_t since_ns, last_ns; /* the first and the latest of these Replies */
};

/* NFS tells the client to try again later. */
enum report_later_id { REPORT_DELAY, REPORT_GRACE, REPORT_LATERS };

struct report_later {
    uint64_t rpcs, frame;           /* so many were told; the first, ... */
    uint32_t connection;            /* ... on this one */
    int64_t since_ns, last_ns;      /* the first and the latest of these Replies */
    struct report_periods waited;   /* what overlaps counts once */
    const char *status, *operation; /* of the first, static; NULL: not known */
};

/* A client, with one of its servers. */
struct report_client_later {
    struct rpcrdma_address client, server;
    struct report_later later[REPORT_LATERS];
};

/* The callback that its client took longest to answer, a second at least. */
struct report_callback {
    uint64_t frame; /* 0: none */
    int64_t since_ns, ns;
    bool answered;
};

/* What RPCs move towards an end whose Reply did not arrive, or was not sent. */
struct report_hung {
    uint64_t rpcs;    /* that move REPORT_LARGE and more */
    uint32_t bytes;   /* of the one that moves most */
    uint64_t frame;   /* the Call of the first of these; */
    int64_t since_ns; /* when it was sent. 0: none */
};

/* Replies whose Calls were sent before the capture began: before any Call of that connection was
 * answered that was captured, and its set-up was not. */
struct report_before_all {
    uint64_t replies, frame;   /* frame: of the first */
    int64_t first_ns, last_ns; /* when they were sent */
};

/* What most connections have nothing of. */
struct report_trouble {
    uint64_t resent;                          /* Calls that were sent before on another one */
    int64_t resent_after_ns;                  /* the longest time from the first sending to that */
    int64_t resent_since_ns, resent_until_ns; /* from the first of these to the last of those */
    uint64_t resent_frame;
    uint32_t resent_from; /* the other connection */
    uint32_t pinned;      /* while it is not ended: the one it took the place of is kept */
    struct report_failed failed[REPORT_LEVELS];
    bool told_later; /* its client was, see later.h */
    struct report_callback callback;
    struct report_before_all before;
    struct report_hung hung[2];  /* towards the client, the server */
    /* Calls without Reply that offer REPORT_LARGE and more in Write chunks: the most, and when the
     * first was sent; 0: there is none */
    uint32_t offered;
    int64_t offered_since_ns;
    uint64_t stale, stale_frame; /* statuses that a server gives after a restart; the first */
    struct report_unanswered unanswered[2];
    uint64_t small_in_chunks;       /* messages of 4096 bytes or less, that did not go inline */
    uint64_t resent_packets[2];     /* so far; */
    int64_t resent_packets_ns[2];   /* the latest of these. Towards each end */
    struct report_missed missed[2]; /* towards each end */
    struct report_refusal refusal;  /* the first */
    /* of RPCs of which nothing was sent again: the server took a second and more, while packets
     * were sent again on the connection (slow_server), or long apart from that: for sure, and up to
     * two and one REPORT_LOSSES_NS ago (by the Reply); an end (the client, the server) acknowledged
     * that late what answers it, or the Call; RDMA took that, at less than REPORT_SLOW_RATE; an end
     * (the client, the server) took that to send its Call, or its Reply */
    struct report_slow slow_server, slow_apart[3], late[2], paused, sending[2];
    int64_t slow_apart_ns; /* when the latest of these begin */
};

/* Acks by an end where there is no room for how they are distributed: all, and of these times. */
struct report_acks {
    uint32_t count, slow, very_slow; /* REPORT_SLOW_ACK_NS and more, REPORT_LONG_ACK_NS and more */
};

/* Data that RDMA moved one way, for RPCs without anything retransmitted. */
struct report_moved {
    uint64_t rpcs, bytes;
    uint64_t slow;     /* RPCs at less than REPORT_SLOW_RATE by themselves */
    uint64_t frame;    /* of the first, ... */
    int64_t since_ns;  /* ... and when it was sent */
    int64_t ns;        /* first to last packet of each, but for what an end waited for */
    int64_t latest_ns; /* the latest Reply: the time of several under way at once counts once */
};

/* When all of one connection's that moved one way did so slowly, one after the other: the line was
 * limited. */
struct report_limited {
    uint64_t times;
    struct report_moved all, longest; /* of all these times; of the longest, so far */
    struct report_periods when;
};

/* Acks by an end one after the other, each of REPORT_LONG_ACK_NS and more. */
struct report_slow_run {
    uint64_t acks;
    int64_t since_ns, until_ns, ns; /* ns: of all */
};

/* When none of the client's Calls was answered for REPORT_PAUSE_NS and more. Where there are more
 * such pauses, those with the least between them become one. */
struct report_pauses {
    struct report_pause {
        int64_t since_ns, until_ns;
        int64_t ns; /* the longest in that time */
    } at[REPORT_PAUSES];
    unsigned n;
};

/* What there is room for of a few at once. */
struct report_detail {
    struct latency acks, client_answers;
    struct report_slow_run slow_now[2], slow_longest[2]; /* of the client, the server */
    struct report_pauses pauses;
    struct report_moved moved[2]; /* towards the client, the server; ... */
    /* ... RPCs one after the other, each of them slow by itself, so far; and such times before */
    struct report_moved slow_moved_now[2];
    struct report_limited limited[2];
    uint32_t in_flight[2]; /* of each end, now */
    int64_t in_flight_since_ns[2];
};

/* When the client's Calls were answered: the first and the latest, and the longest time between. */
struct report_answers {
    int64_t first_ns, last_ns, pause_ns; /* first_ns 0: none was */
};

/* Replies that the client acknowledged. What is missing before one shows at the latest when the
 * next packet passes to the client: once a Reply that was sent behind its Ack is acknowledged, too.
 */
struct report_whole {
    int64_t ns;      /* of the latest of which that is so; 0: none */
    int64_t next_ns; /* the one that is so next, ... */
    int64_t seen_ns; /* ... and when it was acknowledged */
};

/* Whether the server knows the state that its client had on another connection (NFSv4.1), as the
 * first answer says that tells. */
enum report_session { REPORT_SESSION_UNKNOWN, REPORT_SESSION_KEPT, REPORT_SESSION_NEW };

/* What is counted of one that has not ended: there may be thousands at once. */
struct report_tally {
    uint64_t rpcs, messages;
    struct report_trouble *trouble; /* NULL: none */
    struct report_detail *detail;   /* NULL: nothing yet, or no room: then */
    struct report_acks acks[2];     /* of the client, the server: see report_ack_time; */
    struct report_moved *moved;     /* and two, as of report_detail; NULL: nothing yet */
    int64_t
        answered_ns; /* from its beginning to the latest of the client's Calls that was answered */
    struct report_answers answers;
    struct report_whole whole;
    uint32_t passed[2]; /* see report_connection */
    enum report_session session;
};

/* Why one that has ended is kept. */
enum report_keep {
    REPORT_KEEP_TELLING, /* a cause may name it */
    REPORT_KEEP_ONE_WAY, /* what was answered is not known; no cause of the path names it */
    REPORT_KEEP_PINNED,  /* the one that takes its place has not ended */
    REPORT_KEEP_RECENT,
    REPORT_KEEP_BUSY,
};

/* One that has ended, or was there at the end of the capture. */
struct report_connection {
    struct rpcrdma_connection pub;
    uint64_t rpcs;
    uint64_t messages; /* Calls and Replies */
    struct report_trouble trouble;
    struct report_answers answers;
    enum report_session session;
    /* the most bytes that an RPC moved towards the client, the server, of those that were answered
     */
    uint32_t passed[2];
    bool large_lost[2];          /* towards them: see causes_large.c */
    struct report_pauses pauses; /* none: there were none, or there was no room */
    bool has_path[2];
    struct rpcrdma_path path[2];          /* what was sent towards each end, at the end */
    struct latency acks;                  /* how long Acks of the client's Calls took */
    struct latency client_answers;        /* see report_ack_time */
    struct report_slow_run slow_acks[2];  /* the longest, of the client, the server */
    struct report_acks brief_acks[2];     /* or these, where there was no room */
    struct report_moved moved[2];         /* towards the client, the server */
    struct report_limited limited[2];     /* of slow ones alone; 0 times: or there was no room */
    struct rpcrdma_credit_result credits; /* of forward RPCs */
    bool has_credits;
    uint64_t at_limit; /* how often a limit of credits was reached, in both directions */
    /* of attempts to connect, none of which the server took: which of these in turn; how many are
     * only counted between this one and life.previous, and whether the client had no answer in any
     */
    uint32_t attempt, attempts_between;
    bool unheard_between;
    bool named; /* by a cause */
    enum report_keep keep;
    GList *place;        /* REPORT_KEEP_RECENT, _PINNED, _ONE_WAY: in their list */
    GSequenceIter *busy; /* REPORT_KEEP_BUSY: likewise */
};

/* What there is of loss and of want of credits where it may be too little for a cause. */
struct report_flaws {
    bool known; /* else there are more connections than are kept */
    uint64_t retransmitted, lost, at_limit;
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

/* causes_slow.c */
void report_slow_add(struct report_slow *sum, const struct report_slow *one);

/* RPCs of one server, on connections that have ended. */
struct report_server {
    struct rpcrdma_address address;
    uint64_t rpcs;
    struct report_failed failed[REPORT_LEVELS];
    uint32_t connection[REPORT_LEVELS]; /* of all that failed; 0: of several */
};

struct report_cause {
    enum report_cause_id id;
    enum report_confidence confidence;
    enum report_failure how;
    bool held; /* unanswered: the server's host had the Calls, and they were sent again elsewhere */
    bool of_server;                     /* receiver-not-ready: it was; else the client */
    int64_t since_ns, until_ns;         /* of a failure */
    struct report_periods when;         /* of a slow transfer */
    const struct report_connection *of; /* NULL: of the whole capture */
    GArray *connections; /* of several causes that are told as one, uint32_t; or NULL */
    uint32_t names;      /* another connection that is not kept; 0: none */
    uint64_t rpcs;       /* it made slow or fail */
    uint64_t count;      /* how often it happened: told as one; 0: not known */
    int64_t time_ns;     /* that it cost them */
    uint64_t frame;      /* the first that shows it; 0: none by itself */
    char text[960];      /* sentences, with numbers */
    char against[240];   /* what speaks against it; "" */
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
    int64_t slow_ns;        /* an RPC that takes that long is slow, ... */
    bool slow_told;         /* ... as the user says */
    uint64_t slow;          /* such RPCs */
    uint64_t slow_of_all;   /* of those: a second and more, and no part of one is, but all are */
    int64_t slow_of_all_ns; /* the longest of these */
    uint64_t slow_cut;      /* of these: the Call was cut, and no part is known */
    struct report_slow slow_server, slow_client;  /* of those; slow_client: of callbacks */
    struct report_slow slow_often;                /* likewise, at REPORT_OFTEN_NS and more */
    struct report_slow slow_reads;                /* RDMA Reads that the client had to answer */
    uint32_t slow_reads_of[REPORT_SLOW_READS_OF]; /* on these connections, the first of them */
    unsigned n_slow_reads_of;
    /* where the time of the client's RPCs went; of callbacks phases.server_ns is the client's */
    struct rpcrdma_phases spent;
    int64_t spent_stalled_ns;
    uint64_t n_spent;      /* RPCs whose phases are known */
    uint64_t n_spent_call; /* of these, when the Call was delivered, too */
    uint64_t n_cut;   /* whose are not: the Call was cut within its chunk lists; */
    uint64_t n_apart; /* or the clocks of the two directions differ by too much */

    struct report_waits *waits; /* see later.h */
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
    guint most_connections;     /* that there is room for */
    GQueue recent, pinned, one_ways;  /* of those, by their end, ... */
    GSequence *busy;                  /* ... and the most telling first */
    struct report_connection *ending; /* its credits are known */
    struct report_let_go let_go;
    struct report_gone *gone; /* the last of these, by number % REPORT_GONE; NULL: none yet */
    struct report_attempts *attempts;
    GHashTable *opened;          /* see opened.h */
    struct report_acked *acked;  /* see acked.h */
    guint attempts_counted;      /* of those that gave way: causes count them all the same */
    uint32_t n_connections;      /* that there are: the highest number */
    guint twice;                 /* of those: each packet is in the capture twice */
    GHashTable *terminate_codes; /* of RDMAP's Terminate: what each that was met means, static */
    uint64_t rules[RPCRDMA_RULE_COUNT], rule_frame[RPCRDMA_RULE_COUNT];

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
    bool undecided; /* too little was captured to call it healthy */
};

struct report_error {
    char *name;
    uint64_t count, frame;
    enum report_level level;
};

struct report *report_new(struct pipeline *pipeline, size_t max_bytes);
/* What the bounds left out, on standard error. */
void report_complain(const struct report *report);
void report_free(struct report *report);
struct rpcrdma_flow_sink report_sink(struct report *report);

void report_decide(struct report *report);
const char *report_cause_name(enum report_cause_id id); /* "lost-to-client" */
const char *report_confidence_name(enum report_confidence confidence);
/* The end that is the server; 1 where that is not known. */
int report_server_end(const struct rpcrdma_connection *connection);
/* pipeline.passes. */
void report_passes(void *context, const struct source_packet *one);
/* rpcrdma_flow's operations, after it has seen them: pipeline.op_done. */
void report_op(void *context, const struct rpcrdma_op *op, const struct rpcrdma_path *path);
struct report_bin *report_another_bin(struct report *report, int64_t since_start_ns);
/* The bin of that time, for which all may be widened. Nearly always the one before, which takes no
 * division. */
static inline struct report_bin *report_bin_at(struct report *r, int64_t time_ns)
{
    int64_t since = time_less(time_ns, r->pipeline->clock.start_ns);

    if (since < 0)
        since = 0;
    return r->bin && since >= r->bin_since_ns && since - r->bin_since_ns < r->bin_ns
               ? r->bin
               : report_another_bin(r, since);
}
/* Of the one of that number, which may be new; NULL: more than are counted. */
struct report_tally *report_tally_of(struct report *report,
                                     const struct rpcrdma_connection *connection);
/* causes_beside.c: none of the client's Calls was answered in that time. */
void report_pause(struct report_pauses *pauses, int64_t since_ns, int64_t until_ns);
/* Its troubles, which may be new. */
struct report_trouble *report_trouble(struct report_tally *tally);
/* NULL: there is no room. */
struct report_detail *report_detail(struct report *report, struct report_tally *tally);
/* By that end: see report_ack_time. */
void report_ack(struct report *report, struct report_tally *tally, bool server, int64_t ns);
void report_move(struct report *report, struct report_tally *tally,
                 const struct rpcrdma_transaction *t);
/* From the first Call to the latest Reply. */
static inline int64_t report_moved_ns(const struct report_moved *moved)
{
    return time_less(moved->latest_ns, moved->since_ns);
}
/* tallies.c: slower than any line that RDMA is used on; ... */
bool report_moves_slowly(const struct report_moved *moved);
/* ... what was slow until now counts, if it was so for a while */
void report_limited_end(struct report_detail *detail, bool to_server);
/* missed.c: what that operation shows to be missing in what was sent towards this end. */
bool report_missed_shows(const struct rpcrdma_op *op, const struct rpcrdma_path *path);
void report_missed(struct report *report, struct report_tally *tally,
                   const struct rpcrdma_connection *connection, int end,
                   const struct rpcrdma_op *op, const struct rpcrdma_path *path);
/* causes_refused.c: this operation refuses a request of the other end's for good. */
static inline bool report_refuses(const struct rpcrdma_op *op)
{
    return op->kind == RPCRDMA_OP_TERMINATE ||
           (op->kind == RPCRDMA_OP_NAK && op->nak > RPCRDMA_NAK_PSN_SEQUENCE);
}
void report_refusal(struct report_tally *tally, int by, const struct rpcrdma_op *op);
/* The same of a message towards it that was cut, so that it is not known what it answers. */
void report_missed_message(struct report *report, struct report_tally *tally,
                           const struct rpcrdma_connection *connection, int end, int64_t time_ns);
/* An RPC message, once: not its later parts, nor what version 2 has beside. */
static inline bool report_begins_rpc(const struct rpcrdma_flow_message *m)
{
    return m->part <= 1 && !(m->message->present & (RPCRDMA_HAS_ERROR | RPCRDMA_HAS_DONE |
                                                    RPCRDMA_HAS_OPTIONAL | RPCRDMA_HAS_PROPERTIES));
}
/* A Call that was not answered, counted already. */
void report_missed_answer(const struct report_tally *tally, struct report_unanswered *without,
                          const struct rpcrdma_transaction *transaction);
static inline int64_t report_resend_ns(const struct rpcrdma_connection *c)
{
    return c->carrier == RPCRDMA_CARRIER_IWARP ? REPORT_RESEND_TCP_NS : REPORT_RESEND_NS;
}
/* How many Calls what is missing explains, now that the connection has ended. */
void report_missed_end(struct report *report, struct report_connection *connection);
/* A Call on another one was sent first on that one: a cause may name it. */
void report_keep(struct report *report, uint32_t number);
/* The causes are known: what gave way and is named by one counts as not looked at. */
void report_keep_named(struct report *report);
/* rpcrdma_flow's connection and credits: it has ended, and its credits just before. */
void report_ended(struct report *report, const struct rpcrdma_connection *connection);
void report_credits(void *context, const struct rpcrdma_connection *connection,
                    const struct rpcrdma_credit_result *results, size_t n);
void report_free_connection(gpointer connection);
void report_keeping_begin(struct report *report, size_t max_bytes);
void report_keeping_end(struct report *report);
/* causes.c: _TELLING, _ONE_WAY, or _RECENT: no cause could name it, alone or with another one. */
enum report_keep report_judge(struct report *report, const struct report_connection *connection);
/* What was in flight on a connection was so until now: it is over. */
void report_timeline_over(struct report *report, struct report_detail *detail);
/* The limit stays where nothing was sent. */
void report_timeline_end(struct report *report);
/* rpcrdma_flow's credit_point */
void report_credit_point(void *context, const struct rpcrdma_connection *connection, int end,
                         const struct rpcrdma_credit_point *point);
/* Of both directions. */
uint64_t report_unanswered(const struct report_connection *connection);
/* "call 0.1, server 1.2, ... ms; stalled ...": where the time of an RPC went; "": not known. */
void report_phases(const struct report_rpc *rpc, char *text, size_t size);
/* Connections by number; the caller frees the list. */
GList *report_connections(const struct report *report);
/* The causes are known: connections that these name are marked. */
void report_mark_named(struct report *report);
/* Of these at most `most`: those that causes name, with most trouble, then the busy ones; what
 * causes name stands first. *left_out: how many there are besides, looked at or not. */
GList *report_telling(const struct report *report, guint most, guint *left_out);
/* By trouble, then by RPCs, the most first. */
gint report_most_telling(gconstpointer a, gconstpointer b);
/* How many were looked at, ... */
guint report_looked_at(const struct report *report);
/* ... and were not: no rule has seen them. */
guint report_not_looked_at(const struct report *report);
gint report_by_number(gconstpointer a, gconstpointer b); /* how: a GCompareFunc */
/* Failures by status, the most frequent first; the caller frees the list. */
GList *report_errors(const struct report *report);

/* Of those of that level, the most frequent; NULL: none is known. */
const struct report_error *report_failed_most(const struct report *report, enum report_level level);
/* "3 of 36 RPCs failed ...": what does not make it a cause; "": nothing of it. */
void report_beside(const struct report *report, char text[REPORT_BESIDE]);

/* Gaps in what was sent, that the capture has; and the first one's frame, 0: there is none. */
uint64_t report_gaps(const struct report *report, uint64_t *frame);

/* What the capture lasts: 0 where its clock was set back by more. */
int64_t report_span_ns(const struct report *report);
/* At its end: when the capture ended, which may be later than its last packet by: */
int64_t report_now_ns(const struct report *report);
int64_t report_silent_ns(const struct report *report); /* 0: or that is not known */
/* Whether it is in order up to its last packet only: what the server did then with Calls that it
 * has is not known. */
bool report_open_end(const struct report *report);
/* Of Calls that were under way; "": none. */
void report_under_way(const struct report *report, char text[REPORT_UNDER_WAY]);
struct report_flaws report_flaws(const struct report *report);
/* The verdict's first sentence. */
void report_headline(const struct report *report, char *text, size_t size);

/* What a kernel's trace has of an RPC; NULL: nothing. */
const struct kernel_record *report_kernel(const struct report *report, unsigned source,
                                          const struct report_rpc *rpc);

/* What their phases come to, data_waiting_ns being part of data_ns. 0: of no RPC it is known. */
double report_spent_ns(const struct report *report);

/* That in words, and which operation the most went to; "": it is not known. */
void report_time(const struct report *report, char text[REPORT_TIME]);

/* What the capture lacks: each in words, "": nothing of it. */
enum {
    REPORT_LACKS_GAPS,
    REPORT_LACKS_STATUSES,
    REPORT_LACKS_ENCRYPTED,
    REPORT_LACKS_LOST,
    REPORT_LACKS_PAUSED,
    REPORT_LACKS_ONCE, /* what is there twice */
    N_REPORT_LACKS
};
void report_lack(const struct report *report, int which, char text[REPORT_LACK]);
/* Why not all of the input could be read: how many reasons are told. */
unsigned report_unread(const struct report *report);
const char *report_unread_text(const struct report *report, unsigned which); /* not escaped */
/* How many there are besides: "and 4 more; see --json". */
uint64_t report_unread_more(const struct report *report, char *text, size_t size);
/* And that JSON has not, either. */
uint64_t report_problems_left_out(const struct report *report);
/* What was read and may be wrong; NULL: nothing else. Not escaped. */
const char *report_doubt(const struct report *report, unsigned which);
/* There are causes, and nothing was left without an answer for them. */
bool report_all_answered(const struct report *report);

void report_text(struct report *report, struct out *out);
void report_json(struct report *report, struct out *out);
void report_html(struct report *report, struct out *out);

#endif
