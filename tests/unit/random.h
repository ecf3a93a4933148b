/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_RANDOM_H
#define RPCRDMA_TESTS_UNIT_RANDOM_H

/* xorshift: the same numbers on every machine. */

#include <stdint.h>

#define RANDOM_FIRST UINT64_C(0x9e3779b97f4a7c15)

static uint64_t random_state = RANDOM_FIRST;

/* The same numbers once more. */
static inline void random_again(void)
{
    random_state = RANDOM_FIRST;
}

static inline uint32_t random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32) % n;
}

#endif
