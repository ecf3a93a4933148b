/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_CHECKSUM_H
#define RPCRDMA_CLI_SANITIZE_CHECKSUM_H

/* The Internet checksum of what was changed; the ICRC is base/crc.h's. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The Internet checksum (RFC 1071): adds n bytes; the sum's complement is `checksum_end`. */
uint32_t checksum_add(uint32_t sum, const uint8_t *p, size_t n);
uint16_t checksum_end(uint32_t sum);

#endif
