/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_HEX_H
#define RPCRDMA_CLI_COMMON_HEX_H

#include <stdint.h>

/* The lower-case digit of the last four bits. */
static inline char hex_digit(uint64_t v)
{
    return "0123456789abcdef"[v & 15];
}

/* A byte's two digits. Returns what is behind them. */
static inline char *hex_byte(char *to, uint8_t byte)
{
    *to++ = hex_digit(byte >> 4);
    *to++ = hex_digit(byte);
    return to;
}

#endif
