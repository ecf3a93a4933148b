/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_MERGE_DRIFT_H
#define RPCRDMA_CLI_SOURCE_MERGE_DRIFT_H

/* How two files' clocks drift apart, by the packets that both have. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The difference of two files' times of one packet. */
struct difference {
    uint16_t first, second; /* files */
    bool forward;
    bool same_id; /* IPv4's */
    uint16_t id;  /* the first's */
    int64_t ns;   /* second's clock less first's */
    int64_t when; /* by first's clock */
};

/*
 * By how many parts in 10^9 the second's clock is faster, of n differences of one pair, sorted by
 * direction and ns. 0 where nothing is to be seen: what jitter there is, or too short a time, hides
 * it; it is more than a clock drifts; or the directions contradict each other, and the time on the wire changed instead.
 */
int64_t drift_of(const struct difference *all, size_t n);

#endif
