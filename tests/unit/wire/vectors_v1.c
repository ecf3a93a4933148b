/* SPDX-License-Identifier: BSD-2-Clause */
#include "vectors.h"

/* Version 1, RFC 8166 section 4 (RDMA_MSGP and RDMA_DONE: RFC 5666 section 4). */

#define COMMON(type_, kind_)                                                                       \
    .xid = 0x11223344, .version = 1, .credits = 128, .type = type_, .kind = RPCRDMA_KIND_##kind_

static const struct vector vectors[] = {
    {.name = "v1 RDMA_MSG without chunks",
     .hex = "11223344 00000001 00000080 00000000  00000000 00000000 00000000 " RPC_HEX,
     .want = {COMMON(0, MSG), .payload = RPC}},
    {.name = "v1 RDMA_MSG with every kind of chunk",
     .hex = "11223344 00000001 00000080 00000000"
            " 00000001 00000094 0000a001 00001000 00007f0000010000"
            " 00000001 00000094 0000a002 00000010 00007f0000020000"
            " 00000001 00000200 0000a003 00000004 ffffffffffffffff"
            " 00000000"
            " 00000001 00000002 0000b001 00000100 0000000000001000"
            "                   0000b002 ffffffff 0000000000002000"
            " 00000001 00000000"
            " 00000001 00000001 0000b003 00000000 0000000000000000"
            " 00000000"
            " 00000001 00000002 0000c001 00000800 1122334455667788"
            "                   0000c002 00000801 99aabbccddeeff00 " RPC_HEX,
     .want = {COMMON(0, MSG),
              .read =
                  READS({0x94, {0xa001, 0x1000, 0x7f0000010000}},
                        {0x94, {0xa002, 0x10, 0x7f0000020000}}, {0x200, {0xa003, 4, UINT64_MAX}}),
              .write = WRITES(CHUNK({0xb001, 0x100, 0x1000}, {0xb002, UINT32_MAX, 0x2000}), {0},
                              CHUNK({0xb003, 0, 0})),
              .reply_present = true,
              .reply = CHUNK({0xc001, 0x800, 0x1122334455667788},
                             {0xc002, 0x801, 0x99aabbccddeeff00}),
              .payload = RPC}},
    {.name = "v1 RDMA_NOMSG with a Position-Zero Read chunk and a Reply chunk without segments",
     .hex = "11223344 00000001 00000080 00000001"
            " 00000001 00000000 0000a001 00001000 0000000000010000 00000000"
            " 00000000  00000001 00000000",
     .want = {COMMON(1, NOMSG), .read = READS({0, {0xa001, 0x1000, 0x10000}}),
              .reply_present = true}},
    {.name = "v1 RDMA_NOMSG with bytes after it",
     .hex = "11223344 00000001 00000080 00000001  00000000 00000000 00000000 deadbeef",
     .want = {COMMON(1, NOMSG), .payload = BYTES("\xde\xad\xbe\xef"), .trailing = true}},
    {.name = "v1 RDMA_MSGP",
     .hex = "11223344 00000001 00000080 00000002 00001000 00000200"
            " 00000000"
            " 00000001 00000001 0000b001 00000100 0000000000001000 00000000"
            " 00000000 " RPC_HEX,
     .want = {COMMON(2, MSGP), .align = 4096, .thresh = 512,
              .write = WRITES(CHUNK({0xb001, 0x100, 0x1000})), .payload = RPC}},
    {.name = "v1 RDMA_DONE",
     .hex = "11223344 00000001 00000080 00000003",
     .want = {COMMON(3, DONE)}},
    {.name = "v1 ERR_VERS",
     .hex = "11223344 00000001 00000080 00000004 00000001 00000001 00000003",
     .want = {COMMON(4, ERROR),
              .error = {.code = 1, .body = RPCRDMA_ERROR_RANGE, .low = 1, .high = 3}}},
    {.name = "v1 ERR_CHUNK",
     .hex = "11223344 00000001 00000080 00000004 00000002",
     .want = {COMMON(4, ERROR), .error = {.code = 2}}},
    {.name = "v1 error code nobody knows",
     .hex = "11223344 00000001 00000080 00000004 00000063",
     .want = {COMMON(4, ERROR), .error = {.code = 99}}},
};

const struct vector_table v1_vectors = {vectors, sizeof(vectors) / sizeof(vectors[0])};
