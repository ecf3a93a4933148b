/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/opcode.h"

#include "op.h"

enum {
    PLACE_FIRST = RPCRDMA_OP_FIRST,
    PLACE_MIDDLE = 0,
    PLACE_LAST = RPCRDMA_OP_LAST,
    PLACE_ONLY = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST,
};

/* NOTHING: not of a reliable connection. A number of its own, which no kind has. */
enum { RPCRDMA_OP_NOTHING = 0xff };

const struct rpcrdma_opcode rpcrdma_opcodes[256] = {
#define OPCODE(value, text, mask, what, place)                                                     \
    [value] = {.name = (text),                                                                     \
               .headers = (mask),                                                                  \
               .flags = PLACE_##place,                                                             \
               .bytes = RPCRDMA_HEADER_BYTES(mask),                                                \
               .kind = RPCRDMA_OP_##what,                                                          \
               .reliable = (int)RPCRDMA_OP_##what != RPCRDMA_OP_NOTHING},
#include "net/packet/opcode.def"
#undef OPCODE
};
