/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_KERNEL_RECORDS_H
#define RPCRDMA_CLI_KERNEL_RECORDS_H

/*
 * What a kernel's trace says of each RPC: when it passed which point in the client (events of
 * sunrpc and rpcrdma) or in the server (svcrdma and sunrpc). A line after the other, in bounded
 * memory.
 */

#include <glib.h>

#include "kernel/line.h"
#include "op.h"

enum kernel_side { KERNEL_CLIENT, KERNEL_SERVER, KERNEL_SIDES };

/* In the order of an RPC's life. */
enum kernel_point {
    /* the client's */
    KERNEL_BEGUN = 0,   /* as rpc_stats_latency says */
    KERNEL_STARTED,     /* rpc_request */
    KERNEL_SLOT,        /* xprt_reserve: it has a slot and an XID */
    KERNEL_REGISTERING, /* the first xprtrdma_mr_map */
    KERNEL_MARSHALLED,  /* xprtrdma_marshal */
    KERNEL_POSTED,      /* xprtrdma_post_send, the first */
    KERNEL_REPLIED,     /* xprtrdma_reply */
    KERNEL_DONE,        /* rpc_stats_latency */
    /* the server's */
    KERNEL_RECEIVED = 0, /* svcrdma_wc_recv */
    KERNEL_TAKEN,        /* svcrdma_decode_rqst: by a thread */
    KERNEL_LEFT,         /* its thread turned to another one while that is read by RDMA */
    KERNEL_PROCESSED,    /* svc_process: what it reads by RDMA is there */
    KERNEL_EXECUTED,     /* svc_stats_latency */
    KERNEL_ANSWERED,     /* svcrdma_post_send */
    KERNEL_COMPLETED,    /* svcrdma_wc_send */
    KERNEL_POINTS = 8
};

#define KERNEL_NO_TIME INT64_MIN

struct kernel_record {
    int64_t at[KERNEL_POINTS]; /* by the trace's clock, or KERNEL_NO_TIME */
    uint32_t xid;
    uint32_t handle;     /* of the first segment that it registered or was offered; 0: none */
    uint32_t next;       /* the next with this XID, + 1; 0: none */
    uint32_t thread;     /* the server's: number of the process that took it, */
    uint32_t worker;     /* and of the one that processes it */
    uint64_t task;       /* the client's: task and client number */
    uint64_t completion; /* the server's: queue and number of the Receive */
    enum kernel_side side;
    bool named;               /* its XID is known */
    bool ambiguous;           /* others have the same XID */
    bool fits;                /* the capture has a Call with this XID and handle */
    uint32_t same;            /* of the first with an XID: how many follow */
    uint32_t posted, refused; /* how often it was posted; how often there was no memory region */
    struct rpcrdma_address client; /* the server's: who asks, where the trace says so */
    uint64_t joined;               /* bit by bit: with an RPC of that host of the capture */
    uint32_t sent_connection;      /* where the capture shows the Call's last sending, */
    int64_t sent_ns;               /* and when, by its clock */
};

struct kernel_records {
    GArray *all; /* of struct kernel_record */
    size_t most; /* of them */
    uint64_t left_out, events;
    uint64_t too_many_alike; /* that are not found: so many others have their XID */
    GHashTable *by_xid;      /* first one's index + 1 */
    GHashTable *tasks, *threads, *receives, *sends; /* of who reads lines */
    GHashTable *no_room;                            /* tasks counted in left_out, with their XIDs */
};

void kernel_records_init(struct kernel_records *records, size_t max_bytes);
void kernel_records_free(struct kernel_records *records);

void kernel_records_line(struct kernel_records *records, const struct kernel_line *line);

/* All lines were given: what only reading them takes is freed. */
void kernel_records_end(struct kernel_records *records);

/* The first with this XID, and those after it; NULL: none. */
struct kernel_record *kernel_records_find(const struct kernel_records *records, uint32_t xid);
struct kernel_record *kernel_records_next(const struct kernel_records *records,
                                          const struct kernel_record *record);

/* A completion's queue and number. Kernels print "cq.id=" and "cq_id=". */
bool kernel_completion(const struct kernel_line *line, uint64_t *completion);

/* Whether the line is about this RPC, between its first point and its last. */
bool kernel_records_concerns(const struct kernel_record *record, const struct kernel_line *line);

#endif
