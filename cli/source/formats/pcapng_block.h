/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_FORMATS_PCAPNG_BLOCK_H
#define RPCRDMA_CLI_SOURCE_FORMATS_PCAPNG_BLOCK_H

/* Types of the blocks of pcapng that are read or written (draft-ietf-opsawg-pcapng, section 4). */
enum {
    BLOCK_SECTION = 0x0a0d0d0a, /* the same in both byte orders */
    BLOCK_INTERFACE = 1,
    BLOCK_PACKET = 2,
    BLOCK_SIMPLE = 3,
    BLOCK_NAMES = 4,
    BLOCK_STATISTICS = 5,
    BLOCK_ENHANCED = 6,
};

#endif
