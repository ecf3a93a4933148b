/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_HISTOGRAM_H
#define RPCRDMA_BASE_HISTOGRAM_H

/*
 * How long a count stood at which value: a histogram weighted by time, in memory that depends on
 * the largest value and never on how long it is fed. Values below 1024 are exact (base/buckets.h).
 */

#include <stdint.h>

#include "base/memory.h"

enum {
    RPCRDMA_LEVEL_EXACT_BITS = 10,
    HISTOGRAM_FIRST = 4, /* buckets: most counts stay small */
};

struct histogram {
    struct flow_memory *memory;
    uint64_t *ns; /* time per bucket; NULL: none yet. `first`, or owned */
    uint32_t buckets;
    uint64_t total_ns;
    uint64_t lost_ns; /* of values whose bucket could not be allocated: not in the percentiles */
    uint64_t max;     /* the largest value, however short it stood */
    double area;      /* value times ns, of what the buckets do not show exactly */
    uint64_t first[HISTOGRAM_FIRST];
};

/* Starts empty; nothing is allocated until a larger value stood for some time. memory is borrowed;
 * it is not to be copied. */
void histogram_init(struct histogram *level, struct flow_memory *memory);
void histogram_free(struct histogram *level);
/* Forgets what was fed, keeps the memory. */
void histogram_clear(struct histogram *level);

/* No value was larger than `max`, as is known only now: what counted as more was that at most. */
void histogram_cap(struct histogram *level, uint64_t max);

/* Time in a bucket that may not be there yet. Apart, so that histogram_add is short. */
__attribute__((noinline)) void histogram_add_time(struct histogram *level, uint64_t value,
                                                  uint64_t ns);

/* The count stood at `value` for `ns` nanoseconds; 0 only moves the maximum. In line, as each
 * message asks. */
static inline void histogram_add(struct histogram *level, uint64_t value, uint64_t ns)
{
    if (value > level->max)
        level->max = value;
    if (ns == 0)
        return;
    level->total_ns += ns;
    if (value < level->buckets && value >> RPCRDMA_LEVEL_EXACT_BITS == 0)
        level->ns[value] += ns;
    else
        histogram_add_time(level, value, ns);
}

/* Weighted by time; 0 when no time has passed. */
double histogram_mean(const struct histogram *level);
/* The smallest value v so that the count stood at v or below for `percent` of the time, in [0,100];
 * at most 1/64 too high, and never more than the maximum. */
uint64_t histogram_percentile(const struct histogram *level, double percent);

#endif
