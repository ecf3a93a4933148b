/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_CHECKSUM_H
#define RPCRDMA_CLI_SANITIZE_CHECKSUM_H

/* Checksums of what was changed. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The Internet checksum (RFC 1071): adds n bytes; the sum's complement is `checksum_end`. */
uint32_t checksum_add(uint32_t sum, const uint8_t *p, size_t n);
uint16_t checksum_end(uint32_t sum);

struct checksum_crc {
    uint32_t table[8][256];
};

/* Reflected polynomials: InfiniBand's ICRC is Ethernet's, MPA's is Castagnoli's. */
#define CHECKSUM_ETHERNET UINT32_C(0xedb88320)
#define CHECKSUM_CASTAGNOLI UINT32_C(0x82f63b78)
void checksum_crc_make(struct checksum_crc *crc, uint32_t polynomial);
/* Begin with all ones; the CRC is the complement of the last result. */
uint32_t checksum_crc_add(const struct checksum_crc *crc, uint32_t value, const void *data,
                          size_t n);

#endif
