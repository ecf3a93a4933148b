/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_ARRIVAL_H
#define RPCRDMA_CLI_REPORT_ARRIVAL_H

/*
 * What the packets towards one end of a connection show of losses: Naks, sequence numbers that come
 * again or late, silence. RoCE and InfiniBand; of TCP (iWARP) nothing is known here.
 */

#include <stdbool.h>
#include <stdint.h>

#include "op.h"
#include "rpcs/latency.h"

enum { ARRIVAL_RECENT = 64, ARRIVAL_WINDOW = 1 << 16 };

/* Sequence numbers of one kind: requests, or responses. */
struct arrival_sequence {
    bool started;
    uint32_t highest;
    int64_t progress_ns; /* when `highest` grew last */
    bool behind;         /* since then something came again: */
    int64_t event_ns;    /* last at this time */
    uint8_t *seen;       /* a bit for each of the last ARRIVAL_WINDOW; owned, NULL: none yet */
    struct {
        uint32_t seq;
        int64_t time_ns;
    } recent[ARRIVAL_RECENT];
    unsigned n_recent;
};

struct arrival {
    uint64_t packets;
    uint64_t naks, rnr_naks;        /* that this end sent: what was sent to it was lost, refused */
    uint64_t again, late;           /* packets seen before; filling a gap */
    uint64_t duplicated, reordered; /* without any reason to send them again */
    uint64_t timeouts;              /* sent again after silence */
    int64_t timeout_ns, waited_ns;  /* silence; all waiting for what was sent again */
    int64_t longest_ns, nak_ns;     /* the longest such time; when the latest Nak was seen */
    uint64_t frame;                 /* of the first packet that came again */
    struct arrival_sequence requests, responses;
    /* how long Acks take: the Send that waits for one */
    bool awaits;
    uint32_t awaited;
    int64_t awaited_ns;
    struct latency acks; /* of what was sent to this end */
};

void arrival_clear(struct arrival *arrival);

/* A packet from the other end to this one. `back`: what goes the other way. */
void arrival_packet(struct arrival *arrival, struct arrival *back, const struct rpcrdma_op *op);

#endif
