/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_PACKET_OPCODE_H
#define RPCRDMA_NET_PACKET_OPCODE_H

/* InfiniBand transport opcodes as data (IBTA volume 1, section 9.2.2 and table "Opcode field"). */

#include <stdbool.h>
#include <stdint.h>

/* Extension headers. A lower bit stands before a higher one on the wire. */
enum rpcrdma_header {
    RPCRDMA_RDETH = 1 << 0,
    RPCRDMA_DETH = 1 << 1,
    RPCRDMA_XRCETH = 1 << 2,
    RPCRDMA_FETH = 1 << 3,
    RPCRDMA_RETH = 1 << 4,
    RPCRDMA_ATOMICETH = 1 << 5,
    RPCRDMA_AETH = 1 << 6,
    RPCRDMA_ATOMICACKETH = 1 << 7,
    RPCRDMA_IMMDT = 1 << 8,
    RPCRDMA_IETH = 1 << 9,
};

/* Bytes that the extension headers of a mask take; a constant expression where the mask is one. */
#define RPCRDMA_HEADER_BYTES(mask)                                                                 \
    (((mask)&RPCRDMA_RDETH ? 4 : 0) + ((mask)&RPCRDMA_DETH ? 8 : 0) +                              \
     ((mask)&RPCRDMA_XRCETH ? 4 : 0) + ((mask)&RPCRDMA_FETH ? 4 : 0) +                             \
     ((mask)&RPCRDMA_RETH ? 16 : 0) + ((mask)&RPCRDMA_ATOMICETH ? 28 : 0) +                        \
     ((mask)&RPCRDMA_AETH ? 4 : 0) + ((mask)&RPCRDMA_ATOMICACKETH ? 8 : 0) +                       \
     ((mask)&RPCRDMA_IMMDT ? 4 : 0) + ((mask)&RPCRDMA_IETH ? 4 : 0))

enum {
    RPCRDMA_BTH_BYTES = 12,
    RPCRDMA_ICRC_BYTES = 4,
    RPCRDMA_OPCODE_UD_SEND_ONLY = 0x64,
    RPCRDMA_OPCODE_CNP = 0x81,
};

struct rpcrdma_opcode {
    const char *name; /* "RC SEND First"; NULL: reserved or a manufacturer's own */
    uint16_t headers; /* mask of enum rpcrdma_header */
    uint16_t flags;   /* RPCRDMA_OP_FIRST, _LAST: the place in the message */
    uint8_t bytes;    /* of the extension headers */
    uint8_t kind;     /* enum rpcrdma_op_kind; only where `reliable` */
    bool reliable;    /* reliable connected: becomes an operation. The others are only known */
};

extern const struct rpcrdma_opcode rpcrdma_opcodes[256];

#endif
