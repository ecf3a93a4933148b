/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_SUM_H
#define RPCRDMA_BASE_SUM_H

/* Sums of lengths of time, of clocks that cannot be, too: those beyond 64 bits are the nearest that
 * can be given. */

#include <stdint.h>

static inline void rpcrdma_sum_ns(int64_t *sum_ns, int64_t ns)
{
    if (__builtin_add_overflow(*sum_ns, ns, sum_ns))
        *sum_ns = ns < 0 ? INT64_MIN : INT64_MAX;
}

#endif
