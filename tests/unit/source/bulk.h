/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_SOURCE_BULK_H
#define RPCRDMA_TESTS_UNIT_SOURCE_BULK_H

/* Packets of which payload may be left out. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An RDMA Write's or a Read response's packet. */
static inline void put_bulk(uint8_t *p, uint32_t caplen, uint8_t opcode)
{
    uint32_t ip = caplen - 14, udp = ip - 20;

    p[12] = 8, p[13] = 0, p[14] = 0x45, p[20] = p[21] = 0, p[23] = 17;
    p[16] = (uint8_t)(ip >> 8), p[17] = (uint8_t)ip;
    p[36] = 4791 >> 8, p[37] = 4791 & 0xff;
    p[38] = (uint8_t)(udp >> 8), p[39] = (uint8_t)udp;
    p[42] = opcode, p[43] = 0;
}

/* Ethernet's, IPv4's, UDP's and the transport's; one more but for a packet in the middle. */
static inline size_t bulk_headers(const uint8_t *packet)
{
    enum { HEADERS = 54, EXTENDED = 16 };
    bool middle = packet[42] == 7 || packet[42] == 14;

    return middle ? HEADERS : HEADERS + EXTENDED;
}

#endif
