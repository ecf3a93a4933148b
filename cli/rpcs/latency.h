/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_RPCS_LATENCY_H
#define RPCRDMA_CLI_RPCS_LATENCY_H

/*
 * Times counted in buckets (base/buckets.h), exact below 128 ns: a percentile is at most 1/64 too
 * high whatever their number; the longest is exact. Memory for the doublings that occur only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buckets.h"

enum { LATENCY_EXACT_BITS = 7, LATENCY_FINE = BUCKETS_FINE, LATENCY_OCTAVES = 58 };

struct latency {
    uint64_t count;
    int64_t max_ns;
    double sum_ns, squares;
    uint32_t *octave[LATENCY_OCTAVES]; /* LATENCY_FINE counts each; NULL: none */
};

void latency_clear(struct latency *latency); /* frees */
void latency_add(struct latency *latency, int64_t ns);
/* The same with a bound: *bytes is what all doublings that share it take. Where there is no room for
 * another doubling the time is counted in the one nearest to it: false. */
bool latency_add_within(struct latency *latency, int64_t ns, size_t *bytes, size_t max_bytes);
void latency_merge(struct latency *into, const struct latency *from);
int64_t latency_mean(const struct latency *latency);
double latency_deviation(const struct latency *latency);
/* 0 where there are none. */
int64_t latency_percentile(const struct latency *latency, unsigned percent);
/* How many are below ns, to the width of a bucket. */
uint64_t latency_below(const struct latency *latency, int64_t ns);

/* The bounds of a histogram: each is twice the one before. 0: there is none above. */
static inline int64_t latency_bound_after(int64_t ns)
{
    return ns > INT64_MAX / 2 ? 0 : ns * 2;
}

#endif
