/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_TIMES_H
#define RPCRDMA_CLI_COMMON_TIMES_H

/* Nanoseconds of capture files, which may be any 64 bits: sums and differences that do not overflow
 * but are the nearest that can be given. */

#include <stdint.h>

#define SECOND INT64_C(1000000000)

static inline int64_t time_less(int64_t a, int64_t b)
{
    int64_t result;

    if (!__builtin_sub_overflow(a, b, &result))
        return result;
    return a < b ? INT64_MIN : INT64_MAX;
}

static inline int64_t time_plus(int64_t a, int64_t b)
{
    int64_t result;

    if (!__builtin_add_overflow(a, b, &result))
        return result;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

/* n times as long. */
static inline int64_t time_times(int64_t ns, int64_t n)
{
    int64_t result;

    if (!__builtin_mul_overflow(ns, n, &result))
        return result;
    return (ns < 0) == (n < 0) ? INT64_MAX : INT64_MIN;
}

/* Of a sum that is kept as a double, for it may be beyond 64 bits. */
static inline int64_t time_whole(double ns)
{
    const double beyond = 9223372036854775808.0; /* 2^63 */

    if (ns >= beyond)
        return INT64_MAX;
    return ns < -beyond ? INT64_MIN : (int64_t)ns;
}

#endif
