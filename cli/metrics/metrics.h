/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_METRICS_METRICS_H
#define RPCRDMA_CLI_METRICS_METRICS_H

/*
 * What `rpcrdma metrics` counts: RPCs per server, client and operation, and what the transport did
 * per server and client. Counters only grow, also when a connection ends. Bounded: what comes once
 * a table is full is counted under "other".
 */

#include "pipeline/pipeline.h"
#include "rpcs/details.h"
#include "rpcs/groups.h"

enum {
    METRICS_RPCS = 300,
    METRICS_PAIRS = 300,
    METRICS_CONNECTIONS = 4096,
    METRICS_STALLS = RPCRDMA_STALL_COUNT,
    METRICS_NETWORK = 40
};

/* Of what was sent towards one end. */
struct metrics_path {
    uint64_t packets, bytes, retransmitted, lost, timeouts, naks[RPCRDMA_NAKS];
};

struct metrics_pair {
    char *name;                  /* groups_ends() */
    struct metrics_path path[2]; /* towards the client, the server */
    uint64_t connections;        /* ended */
    uint64_t waiting;            /* Calls, now; */
    uint64_t waiting_ns;         /* the oldest of them */
    uint64_t at_limit_ns, measured_ns, violations;
    uint64_t stalled[METRICS_STALLS], stalled_ns[METRICS_STALLS]; /* by enum rpcrdma_stall */
};

struct metrics {
    struct pipeline *pipeline;
    bool client_subnet, openmetrics;
    const char *device; /* a label of all series: those on one host may be of several; "": none */
    struct details *details;
    struct groups *rpcs;
    GHashTable *pairs; /* name -> struct metrics_pair */
    struct metrics_pair *other;
    uint64_t pairs_folded; /* connections */
    GHashTable *open;      /* connection number -> what of it was counted */
    uint64_t late;         /* connections that are counted at their end: there were too many */
    int64_t now_ns;        /* by the capture's clock, while Calls that wait are counted */
    int statm;             /* /proc/self/statm, opened before the sandbox; -1: none */
};

void metrics_init(struct metrics *metrics, struct pipeline *pipeline);
void metrics_clear(struct metrics *metrics);
struct rpcrdma_flow_sink metrics_sink(struct metrics *metrics);
/* pipeline.op_done */
void metrics_op(void *context, const struct rpcrdma_op *op, const struct rpcrdma_path *path);

/* The Calls that wait for a Reply, when the capture's clock is now_ns; flow NULL: none does. */
void metrics_wait(struct metrics *metrics, struct rpcrdma_flow *flow, int64_t now_ns);

/* All of it, as text. */
void metrics_write(const struct metrics *metrics, const struct pipeline_counts *counts,
                   struct out *out);

#endif
