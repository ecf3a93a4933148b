/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_INTERNET_SUM_H
#define RPCRDMA_BASE_INTERNET_SUM_H

/* The checksum of IP, UDP and TCP (RFC 1071): what is sent is the complement of the folded sum, and
 * with that in it the folded sum is 0xffff. */

#include <stddef.h>
#include <stdint.h>

/* Adds n bytes, whatever their alignment. Every part but the last has an even length. */
static inline uint64_t rpcrdma_internet_sum(uint64_t sum, const void *data, size_t n)
{
    const uint8_t *p = data;

    for (; n >= 2; p += 2, n -= 2)
        sum += (uint32_t)p[0] << 8 | p[1];
    return n > 0 ? sum + ((uint32_t)p[0] << 8) : sum;
}

static inline uint16_t rpcrdma_internet_folded(uint64_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

#endif
