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
static inline void rpcrdma_crc_init(struct rpcrdma_crc *crc, uint32_t polynomial)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;

        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? polynomial : 0);
        crc->table[0][i] = value;
    }
    /* table[k][i]: byte i followed by k zero bytes */
    for (int k = 1; k < 8; k++)
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t before = crc->table[k - 1][i];

            crc->table[k][i] = before >> 8 ^ crc->table[0][before & 0xff];
        }
}

static inline uint32_t rpcrdma_crc_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Adds n bytes. Begin with 0xffffffff; the checksum is the complement of the last result. */
static inline uint32_t rpcrdma_crc_add(const struct rpcrdma_crc *crc, uint32_t value,
                                       const void *data, size_t n)
{
    const uint8_t *p = data;

    for (; n >= 8; p += 8, n -= 8) {
        uint32_t low = value ^ rpcrdma_crc_le32(p), high = rpcrdma_crc_le32(p + 4);

        value = crc->table[7][low & 0xff] ^ crc->table[6][low >> 8 & 0xff] ^
                crc->table[5][low >> 16 & 0xff] ^ crc->table[4][low >> 24] ^
                crc->table[3][high & 0xff] ^ crc->table[2][high >> 8 & 0xff] ^
                crc->table[1][high >> 16 & 0xff] ^ crc->table[0][high >> 24];
    }
    for (; n > 0; p++, n--)
        value = value >> 8 ^ crc->table[0][(value ^ *p) & 0xff];
    return value;
}

#endif
