/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_SELECT_H
#define RPCRDMA_CLI_CAPTURE_SELECT_H

/* What of each packet `capture` writes: --slice, --rpcrdma-only; and what it counts meanwhile. */

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/analyzer.h"
#include "options/options.h"

struct capture_credits {
    uint64_t in_flight;
    uint32_t granted; /* 0: not known */
};

/* What to keep of packets. */
struct capture_select {
    bool slice, only;
    bool watch; /* count messages and credits, too */
    const struct options *options;
    struct capture_trigger *trigger; /* the caller's; NULL: none */
    struct capture_setups *setups;   /* likewise */

    /* for the caller to read */
    uint64_t messages, left_out, cut, too_deep;
    uint64_t memory_limit; /* how often --max-memory was reached */
    uint64_t bytes_in, bytes_kept;
    struct capture_credits most, now; /* closest to the limit since it was shown; the latest */

    struct rpcrdma_analyzer *analyzer;
    struct rpcrdma_net *net; /* the analyzer's */
    struct rpcrdma_flow *flow;
    const struct rpcrdma_packet *packet; /* in hand */
    bool ours, any_op, data_item, no_memory, repeated, ending;
    uint32_t keep;
};

bool capture_select_start(struct capture_select *select);
/* How many of the captured bytes to keep; 0: leave it out. */
uint32_t capture_select_packet(struct capture_select *select, const struct rpcrdma_packet *packet);
/* No packet came until now_ns, by the capture's clock. */
void capture_select_time(struct capture_select *select, int64_t now_ns);
/* No packet comes any more: the trigger is asked about what is known at the end only. */
void capture_select_last(struct capture_select *select);
void capture_select_end(struct capture_select *select);

#endif
