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

void checksum_crc_make(struct checksum_crc *crc, uint32_t polynomial)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;

        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? polynomial : 0);
        crc->table[0][i] = value;
    }
    for (int k = 1; k < 8; k++)
        for (int i = 0; i < 256; i++)
            crc->table[k][i] =
                crc->table[k - 1][i] >> 8 ^ crc->table[0][crc->table[k - 1][i] & 0xff];
}

uint32_t checksum_crc_add(const struct checksum_crc *crc, uint32_t value, const void *data,
                          size_t n)
{
    const uint8_t *p = data;

    for (; n >= 8; p += 8, n -= 8)
        value = crc->table[7][(value ^ p[0]) & 0xff] ^ crc->table[6][(value >> 8 ^ p[1]) & 0xff] ^
                crc->table[5][(value >> 16 ^ p[2]) & 0xff] ^ crc->table[4][(value >> 24 ^ p[3])] ^
                crc->table[3][p[4]] ^ crc->table[2][p[5]] ^ crc->table[1][p[6]] ^
                crc->table[0][p[7]];
    for (; n > 0; p++, n--)
        value = value >> 8 ^ crc->table[0][(value ^ *p) & 0xff];
    return value;
}
