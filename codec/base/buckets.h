/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_BUCKETS_H
#define RPCRDMA_BASE_BUCKETS_H

/*
 * The buckets of every distribution: values below 2^exact have one each, above there are 64 to each
 * doubling. A bucket stands for its highest value, so that a percentile is at most 1/64 too high
 * and never too low; exact is 6 to 63.
 */

#include <stdint.h>

enum { BUCKETS_FINE_BITS = 6, BUCKETS_FINE = 1 << BUCKETS_FINE_BITS };

static inline uint32_t bucket_of(uint64_t value, uint32_t exact)
{
    uint32_t octave;

    if (value >> exact == 0)
        return (uint32_t)value;
    octave = 63 - (uint32_t)__builtin_clzll(value);
    return (UINT32_C(1) << exact) + (octave - exact) * BUCKETS_FINE +
           (uint32_t)(value >> (octave - BUCKETS_FINE_BITS) & (BUCKETS_FINE - 1));
}

/* The highest value that falls into a bucket. */
static inline uint64_t bucket_top(uint32_t bucket, uint32_t exact)
{
    uint32_t above, shift;

    if (bucket >> exact == 0)
        return bucket;
    above = bucket - (UINT32_C(1) << exact);
    shift = exact + above / BUCKETS_FINE - BUCKETS_FINE_BITS;
    return ((uint64_t)(BUCKETS_FINE + above % BUCKETS_FINE) << shift) +
           ((UINT64_C(1) << shift) - 1);
}

#endif
