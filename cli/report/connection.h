/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_CONNECTION_H
#define RPCRDMA_CLI_REPORT_CONNECTION_H

/*
 * What report counts of one connection while it is there (struct report_tally), and what it keeps
 * of it then (struct report_connection). Most connections have nothing of what is rare: that is in
 * parts of its own.
 */

#include <string.h>

#include <glib.h>

#include "flow/rpc.h"
#include "pipeline/pipeline.h"
#include "report/collect/bursts.h"
#include "report/collect/periods.h"
#include "rpcs/latency.h"

enum {
    REPORT_SLOWEST = 10,
    REPORT_CONNECTIONS = 200,       /* kept, with the least memory; ... */
    REPORT_CONNECTIONS_MOST = 4096, /* ... and with any */
    REPORT_CONNECTION_BYTES = 4096, /* of one, about, with what its Acks took */
    /* of connections that there is nothing to report of, are kept: */
    REPORT_RECENT = 64,          /* the last, as another one may take their place, */
    REPORT_BUSY = 136,           /* and the busiest of those before */
    REPORT_UNENDED = 1024,       /* counted at once, with the least memory */
    REPORT_TALLY_BYTES = 256,    /* of one of these, about; ... */
    REPORT_TALLY_LINES = 128,    /* ... and without what is rare */
    REPORT_GONE = 4096,          /* that gave way, and can be named after all */
    REPORT_ATTEMPTS = 64,        /* one after the other, each by itself; and the last */
    REPORT_DETAILED = 200,       /* of these, with their detail */
    REPORT_ROWS = 200,           /* of the tables of connections in HTML */
    REPORT_BINS = 120,           /* of the timelines */
    REPORT_CAUSES = 12,          /* reported in text; all are in JSON */
    REPORT_RETRIES = 4,          /* transmissions without an answer: an end is taken for dead */
    REPORT_LARGE = 512,          /* bytes of payload: no MTU is less */
    REPORT_SERVERS = 64,         /* of which each is told what failed, and how slow it is */
    REPORT_PAUSES = 6,           /* of the answers on one connection */
    REPORT_ONE_READ = 64 * 1024, /* what a server reads by few Read requests */
    REPORT_SLOW_RATE = 1000000,  /* bytes a second */
    REPORT_TRAIN = 8,            /* packets of a response: a few that are lost are not all */
    REPORT_BESIDE = 440,         /* room for texts: what stands beside the verdict, ... */
    REPORT_UNDER_WAY = 160,      /* ... of Calls that were under way, ... */
    REPORT_TIME = 1000,          /* ... where the time went, ... */
    REPORT_LACK = 200,           /* ... and what the capture lacks */
    REPORT_UNREAD = 8,           /* reasons that are told */
};

/* Times are no int. */
#define REPORT_SLOW_ACK_NS INT64_C(2000000)  /* where the quickest take that, there is a delay */
#define REPORT_LONG_ACK_NS INT64_C(20000000) /* where most take that, too */
#define REPORT_RUN_ACK_NS INT64_C(5000000)   /* where many in a row take that: it became so */
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
    uint64_t late;     /* a second old, as others' Replies were, and more when nothing followed */
    /* sent less than REPORT_RETRIES times, and less than a second before the last packet towards
     * the caller was captured, or later */
    uint64_t behind;
    uint64_t dropped;      /* neither acknowledged nor sent again, for REPORT_RESEND_NS */
    uint64_t unheard;      /* before anything that answers on this connection was captured */
    uint64_t under_way;    /* when the capture ended, and not late */
    bool under_way_silent; /* of one of these the Ack was the connection's last packet */
    /* What the capture lacks explains so many: see collect/missed.c. How many there are up to one
     * of them, less what was missing before it, at least; the frame of that one */
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

enum { REPORT_REQUEST_UNKNOWN = -1 };

/* An end refused a request for good, which ends a connection: Nak; RDMAP's Terminate. */
struct report_refusal {
    uint64_t frame; /* 0: none did */
    int by;         /* the end */
    int request;    /* what it refused: enum rpcrdma_op_kind, or REPORT_REQUEST_UNKNOWN */
    uint8_t nak;    /* enum rpcrdma_nak; of iWARP: */
    bool terminate;
    uint16_t code;
};

/* Slow RPCs for which one end took most of the time. */
struct report_slow {
    uint64_t rpcs, reads;          /* reads: of RDMA Reads so many at least, one for each segment */
    uint64_t again;                /* of the rpcs: their Call was sent again on that connection */
    uint64_t alone;                /* likewise: no other Reply passed for half of the time */
    uint64_t behind;               /* likewise, but for such a one just before */
    uint64_t unacked;              /* likewise: when the Call arrived is not known */
    uint64_t unmoved;              /* likewise: not all that RDMA moved for it was captured */
    uint64_t queued;               /* likewise: data of others, that were asked before, moved */
    int64_t ns;                    /* that it took, of all RPCs; ... */
    struct report_periods periods; /* ... and when: what overlaps counts once */
    uint64_t frame;
    int64_t idle_ns;            /* of the ns: of RPCs for nearly all of which nothing passed */
    struct pipeline_idle idle;  /* that was the first of these; */
    bool several_idle;          /* and of others */
    struct rpcrdma_address end; /* that end, of the first; */
    bool several_ends;          /* and there are others */
    bool nothing_sent;          /* by the server meanwhile, as IP IDs show: of one connection's */
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
    struct report_bursts bursts;
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
    struct report_periods failed[REPORT_LEVELS]; /* it waited for what failed */
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
struct report_begun {
    uint64_t replies, frame;   /* frame: of the first */
    int64_t first_ns, last_ns; /* when they were sent */
};

/* Times of RPCRDMA_CREDIT_LONG_NS and more in which all slots of the session were in use, by the
 * Calls of this connection that took the last one. */
struct report_full {
    uint64_t times,
        hung; /* hung: of these, of a second and more: nothing was answered for so long */
    int64_t ns, hung_ns;
    int64_t way_ns, latency_ns; /* of these Calls: on the way, both ways; and in all */
    int64_t longest_ns;         /* of those that are not hung; ... */
    uint64_t frame;             /* ... its Call */
    uint32_t slots, asked;      /* of the latest: see struct rpcrdma_transaction */
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
    bool moves_cut;  /* of an RPC whose Reply did not come it is not known what it moves */
    bool told_later; /* its client was, see collect/later.h */
    struct report_callback callback;
    struct report_begun begun;
    struct report_hung hung[2]; /* towards the client, the server */
    /* Calls without Reply that offer REPORT_LARGE and more in Write chunks: the most, and when the
     * first was sent; 0: there is none */
    uint32_t offered;
    int64_t offered_since_ns;
    uint64_t offers_cut;  /* likewise, of which it was not captured what they offer */
    uint64_t asked_frame; /* the first request for data of a Call, of which none came. 0: none */
    /* bytes that the server asked for, and that did not come, of Calls without Reply of which
     * others came */
    uint64_t owed;
    uint64_t stale, stale_frame; /* statuses that a server gives after a restart; the first */
    struct report_unanswered unanswered[2];
    uint64_t small_in_chunks;     /* messages of 4096 bytes or less, that did not go inline */
    uint64_t resent_packets[2];   /* so far; */
    int64_t resent_packets_ns[2]; /* the latest of these. Towards each end */
    struct report_waits_lost {    /* for want of what was lost towards each end */
        int64_t own_ns, asked_ns; /* so far: for what was sent to it; and for what it asked for */
        struct report_periods when;
    } waits_lost[2];
    struct report_still { /* TCP: each end, as what was sent to it again had arrived */
        int64_t all_ns;   /* so far; */
        int64_t held_ns;  /* likewise, as what had been sent to it was acknowledged late */
        struct report_periods when;
    } still[2];
    struct report_missed missed[2]; /* towards each end */
    struct report_refusal refusal;  /* the first */
    /* of RPCs of which nothing was sent again: the server took a second and more, while packets
     * were sent again on the connection (slow_server), or long apart from that: for sure, and up to
     * two and one REPORT_LOSSES_NS ago (by the Reply); an end (the client, the server) acknowledged
     * that late what answers it, or the Call; RDMA took that, at less than REPORT_SLOW_RATE; an end
     * (the client, the server) took that to send its Call, or its Reply */
    struct report_slow slow_server, slow_apart[3], late[2], paused, sending[2];
    /* RoCE and InfiniBand: likewise, of REPORT_OFTEN_NS and more. What overlaps is one time */
    struct report_stutter {
        uint32_t times;
        uint64_t frame; /* of the first's message */
        int64_t ns, longest_ns, until_ns;
    } stutter[2];
    /* all that are slow, by who was slow to answer: of callbacks the client, of the others the
     * server; of these at REPORT_OFTEN_NS and more; RDMA Reads that the client had to answer */
    struct report_slow slow_own[2], slow_often, slow_reads;
    /* of slow_server and slow_apart: RoCE and InfiniBand, whose Reply came behind data of
     * REPORT_TRAIN packets at least, all of which no loss of a few can have held up */
    struct report_slow slow_trains;
    int64_t slow_apart_ns; /* when the latest of these begin */
    int64_t longest_ns;    /* that a Reply took, a second and more, where nothing was sent again */
    /* the latest for half of which no other Reply passed: since when it may have been sent, and
     * when it passed */
    struct report_period held;
    struct report_full full;
};

/* A Call that waits for so long waits longer than those that were answered. */
static inline int64_t report_late_ns(const struct report_trouble *trouble)
{
    return MAX(INT64_C(1000000000), trouble->longest_ns);
}

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
    int64_t latest_ns; /* the latest Reply */
    int64_t until_ns;  /* the last packet: the time of several under way at once counts once */
};

/* When all of one connection's that moved one way did so slowly, one after the other: the line was
 * limited. */
struct report_limited {
    uint64_t times;
    struct report_moved all, longest; /* of all these times; of the longest, so far */
    struct report_periods when;
};

/* How long each of them took at least: REPORT_RUN_ACK_NS, REPORT_LONG_ACK_NS. */
enum { REPORT_RUN_SLOW, REPORT_RUN_LONG, REPORT_RUNS };

/* Acks by an end one after the other, each of that and more. */
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
    int64_t read_until_ns; /* when data that the server reads passed last, of RPCs with a Reply */
    struct latency acks, client_answers;
    /* of the client, the server */
    struct report_slow_run slow_now[2][REPORT_RUNS], slow_longest[2][REPORT_RUNS];
    struct report_pauses pauses;
    struct report_moved moved[2]; /* towards the client, the server; ... */
    /* ... RPCs one after the other, each of them slow by itself, so far; and such times before */
    struct report_moved slow_moved_now[2];
    struct report_limited limited[2];
    struct report_periods slow_reads; /* as moved, to the server: the last of these times */
    /* data of any RPC moved, the latest time without a long pause; and the latest of their Calls */
    struct report_period moving;
    int64_t moving_call_ns;
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

/* What is counted of one that has not ended: there may be thousands at once, of which each RPC
 * looks at two lines of the processor's cache. */
struct report_tally {
    uint64_t messages;
    uint64_t rpcs : 52;
    uint64_t server : 7;     /* see report_spend; 0: not asked for yet */
    uint64_t session : 2;    /* enum report_session */
    uint64_t last_taken : 1; /* the Reply at answers.last_ns was acknowledged */
    uint64_t begun_fast : 1; /* a Call of before the capture was answered soon: report_begun */
    struct report_trouble *trouble; /* NULL: none */
    struct report_detail *detail;   /* NULL: nothing yet, or no room: then */
    struct report_acks acks[2];     /* of the client, the server: see report_ack_time; */
    struct report_moved *moved;     /* and two, as of report_detail; NULL: nothing yet */
    int64_t
        answered_ns; /* from its beginning to the latest of the client's Calls that was answered */
    struct report_answers answers;
    struct report_whole whole;
    uint32_t passed[2]; /* see report_connection */
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct report_tally) == REPORT_TALLY_LINES,
               "two lines of the cache");

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
    uint64_t messages;                    /* Calls and Replies */
    const struct report_trouble *trouble; /* its own, or that nothing was */
    struct report_answers answers;
    bool last_taken; /* the Reply at answers.last_ns was acknowledged */
    enum report_session session;
    /* the most bytes that an RPC moved towards the client, the server, of those that were answered
     */
    uint32_t passed[2];
    bool large_lost[2];          /* towards them: see causes/packets/large.c */
    bool large_cut;              /* likewise, and it went on with smaller ones, or later */
    struct report_pauses pauses; /* none: there were none, or there was no room */
    bool has_path[2];
    struct rpcrdma_path path[2];   /* what was sent towards each end, at the end */
    struct latency acks;           /* how long Acks of the client's Calls (TCP: and data) took */
    struct latency client_answers; /* see report_ack_time */
    struct report_slow_run slow_acks[2][REPORT_RUNS]; /* the longest, of the client, the server */
    struct report_acks brief_acks[2];                 /* or these, where there was no room */
    struct report_moved moved[2];                     /* towards the client, the server */
    struct report_limited limited[2];     /* of slow ones alone; 0 times: or there was no room */
    struct rpcrdma_credit_result credits; /* of forward RPCs */
    bool has_credits;
    uint64_t at_limit; /* how often a limit of credits was reached, in both directions */
    /* of attempts to connect, none of which the server took: which of these in turn; how many are
     * only counted between this one and life.previous, and whether the client had no answer in any
     */
    uint32_t attempt, attempts_between;
    bool unheard_between;
    bool named;     /* by a cause */
    bool disturbed; /* a cause of its hosts is told, beside which an end only seems to be slow */
    enum report_keep keep;
    GList *place;        /* REPORT_KEEP_RECENT, _PINNED, _ONE_WAY: in their list */
    GSequenceIter *busy; /* REPORT_KEEP_BUSY: likewise */
    struct {
        struct report_connection *older, *newer;
        bool listed;
    } of_hosts; /* hosts.c's */
};

/* connection.c: the end that is the server; 1 where that is not known */
int report_server_end(const struct rpcrdma_connection *connection);
/* Calls without Reply, of both directions. */
uint64_t report_unanswered(const struct report_connection *connection);
/* Nothing that one of its ends sent was captured: what was answered is not known. */
bool report_one_way(const struct report_connection *c);
/* It was not taken: REJ; of iWARP, also where TCP was accepted, and reset before MPA. */
bool report_refused(const struct rpcrdma_connection *c);
/* ... by the server: a client refuses a REP that it does not want any more. A server that does so
 * behind its own REP had accepted it. */
bool report_refused_by_server(const struct rpcrdma_connection *c);
/* Each of its packets is in the capture twice, which no network does. */
bool report_twice(const struct report_connection *c);

/* Of its server, or of its client. */
static inline const struct rpcrdma_address *report_host(const struct rpcrdma_connection *c,
                                                        bool server)
{
    int end = report_server_end(c);

    return &c->end[server ? end : 1 - end].address;
}

/* By the address of these ends, in an order of no meaning; 0: it is one host. */
static inline int report_compare_hosts(const struct report_connection *a,
                                       const struct report_connection *b, bool server)
{
    return memcmp(report_host(&a->pub, server), report_host(&b->pub, server),
                  sizeof(struct rpcrdma_address));
}

static inline bool report_same_hosts(const struct report_connection *a,
                                     const struct report_connection *b)
{
    return report_compare_hosts(a, b, true) == 0 && report_compare_hosts(a, b, false) == 0;
}

#endif
