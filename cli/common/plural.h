/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_PLURAL_H
#define RPCRDMA_CLI_COMMON_PLURAL_H

#include <stdint.h>

/* What makes a plural of "packet", unless there is one: "1 packet", "2 packets". */
static inline const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* The end of "Reply": "1 Reply", "2 Replies". */
static inline const char *plural_y(uint64_t n)
{
    return n == 1 ? "y" : "ies";
}

/* Behind so many a "packet": what became of it. */
static inline const char *plural_lost(uint64_t n)
{
    return n == 1 ? " was lost before it was captured" : "s were lost before they were captured";
}

#endif
