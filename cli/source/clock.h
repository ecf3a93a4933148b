/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_CLOCK_H
#define RPCRDMA_CLI_SOURCE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds by CLOCK_REALTIME, since the epoch, or by CLOCK_MONOTONIC, which is never set. */
static inline int64_t clock_now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
