/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_CRC_H
#define RPCRDMA_BASE_CRC_H

/* Reflected 32-bit CRCs, eight bytes a step. */

#include <stddef.h>
#include <stdint.h>

#define RPCRDMA_CRC_ETHERNET UINT32_C(0xedb88320)   /* ICRC: IBTA 7.8.1 */
#define RPCRDMA_CRC_CASTAGNOLI UINT32_C(0x82f63b78) /* CRC32C, MPA: RFC 3385 */

struct rpcrdma_crc {
    uint32_t table[8][256];
};

/* Fills the tables for one of the (reflected) polynomials above. */
void rpcrdma_crc_init(struct rpcrdma_crc *crc, uint32_t polynomial);

/* Adds n bytes. Begin with 0xffffffff; the checksum is the complement of the last result. */
uint32_t rpcrdma_crc_add(const struct rpcrdma_crc *crc, uint32_t value, const void *data, size_t n);

#endif
