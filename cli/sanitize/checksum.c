/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/checksum.h"

uint32_t checksum_add(uint32_t sum, const uint8_t *p, size_t n)
{
    uint64_t wide = sum;

    for (; n >= 2; p += 2, n -= 2)
        wide += (uint32_t)p[0] << 8 | p[1];
    if (n > 0)
        wide += (uint32_t)p[0] << 8;
    while (wide >> 16)
        wide = (wide & 0xffff) + (wide >> 16);
    return (uint32_t)wide;
}

uint16_t checksum_end(uint32_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}
