/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_FUZZ_WATCH_H
#define RPCRDMA_TESTS_FUZZ_WATCH_H

/*
 * A flow that is watched: every callback of its sink checks what must hold of what it is given,
 * and adds it to a sum. Two runs that must come to the same have the same sum.
 */

#include <stdbool.h>

#include "flow/flow.h"
#include "net/net.h"

enum {
    WATCH_CONNECTIONS = 64, /* of which messages are counted */
    WATCH_FRAMES = 4096,    /* of which messages are remembered */
};

struct watch {
    struct rpcrdma_flow *flow;
    struct rpcrdma_net *net;
    uint64_t frame, sum;
    uint64_t connections, messages, rpcs, transactions, findings;
    uint64_t malformed; /* findings */
    bool malformed_net; /* one of net/'s */
    bool read_long;     /* a Read Response has more than was asked for */
    uint64_t pairs;     /* a sum of which ends are whose */
    uint32_t path_mtu;  /* of REQs; UINT32_MAX: they differ */
    uint64_t waited;    /* of the packets at which no more was waited for to choose a dialect */
    struct {
        bool message, malformed;
        uint64_t decoded;  /* a sum of what was decoded as what, of where that begins, its
                              direction, and which part of a continued message it is */
    } at[WATCH_FRAMES];    /* by the packet that completed a message */
    bool inferred;         /* where FPDUs begin: no start-up frame, or bytes that are not there */
    uint64_t dialects;     /* a sum of what the connections' were decoded as */
    uint64_t given[WATCH_CONNECTIONS + 1];    /* messages by connection */
    bool told[WATCH_CONNECTIONS + 1], merged; /* by address also what is hung on a connection */
    size_t memory;                            /* allocated when it began */
    bool limited;                             /* there is little of it */
};

struct watch_config {
    uint64_t max_memory; /* 0: the defaults */
    bool credits, whole, check_icrc;
    bool no_net; /* operations are given, not packets */
    const struct rpcrdma_dialect *dialect;
};

void watch_begin(struct watch *w, const struct watch_config *config);

/* A packet of this frame number comes next: nothing may be told of a later one. */
void watch_packet(struct watch *w, const struct rpcrdma_packet *packet);
void watch_op(struct watch *w, const struct rpcrdma_op *op); /* the same, without net/ */

/* Ends both, with the checks that only then can be made. */
void watch_end(struct watch *w);

#endif
