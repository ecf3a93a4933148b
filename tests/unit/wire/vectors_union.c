/* SPDX-License-Identifier: BSD-2-Clause */
#include "vectors.h"

/* The union family: draft-cel-nfsv4-rpcrdma-version-two-00 to -07. */

#define COMMON(type_, kind_)                                                                       \
    .xid = 0x11223344, .version = 2, .credits = 128, .type = type_, .kind = RPCRDMA_KIND_##kind_

#define COMMON_HEX "11223344 00000002 00000080 "

/* Three chunk lists with something in each, and their struct. */
#define LISTS_HEX                                                                                  \
    "00000001 00000094 0000a001 00001000 00007f0000010000"                                         \
    "00000001 00000200 0000a002 00000010 00007f0000020000 00000000"                                \
    "00000001 00000001 0000b001 00000100 0000000000001000 00000001 00000000 00000000"              \
    "00000001 00000002 0000c001 00000800 1122334455667788 0000c002 00000801 99aabbccddeeff00 "
#define LISTS                                                                                      \
    .read =                                                                                        \
        READS({0x94, {0xa001, 0x1000, 0x7f0000010000}}, {0x200, {0xa002, 0x10, 0x7f0000020000}}),  \
    .write = WRITES(CHUNK({0xb001, 0x100, 0x1000}), {0}), .reply_present = true,                   \
    .reply = CHUNK({0xc001, 0x800, 0x1122334455667788}, {0xc002, 0x801, 0x99aabbccddeeff00})
#define NO_LISTS_HEX "00000000 00000000 00000000 "

#define FAIL(dialect_, name_, hex_, ...)                                                           \
    {                                                                                              \
        .name = #dialect_ " " name_, .dialect = RPCRDMA_##dialect_,                                \
        .hex = COMMON_HEX "00000004 " hex_,                                                        \
        .want = {COMMON(4, ERROR), .error = {.code = __VA_ARGS__}},                                \
    }

/* One property of each sort: a number, an unknown id with padding, a known one without data. */
#define SET_HEX                                                                                    \
    "00000003 00000001 00000004 00002000 0000004d 00000005 0102030405000000 00000002 00000000"
#define SET                                                                                        \
    PROPERTIES({.id = 1, .state = RPCRDMA_PROPERTY_VALUE, .value = 8192},                          \
               {.id = 77, .state = RPCRDMA_PROPERTY_OPAQUE, .data = BYTES("\1\2\3\4\5")},          \
               {.id = 2, .state = RPCRDMA_PROPERTY_DEFAULT})

/* What cel-02, cel-03 and cel-04 share. */
#define INV_HANDLE_VECTORS(dialect_)                                                               \
    {.name = #dialect_ " RDMA2_MSG, a Call without chunks",                                        \
     .dialect = RPCRDMA_##dialect_,                                                                \
     .hex = COMMON_HEX "00000000 00000000 00000000 " NO_LISTS_HEX RPC_HEX,                         \
     .want = {COMMON(0, MSG), .payload = RPC}},                                                    \
        {.name = #dialect_ " RDMA2_MSG, a Reply with chunks",                                      \
         .dialect = RPCRDMA_##dialect_,                                                            \
         .hex = COMMON_HEX "00000000 00000001 0000beef " LISTS_HEX RPC_HEX,                        \
         .want = {COMMON(0, MSG), .direction = 1, .inv_handle = 0xbeef, LISTS, .payload = RPC}},   \
        {.name = #dialect_ " RDMA2_NOMSG",                                                         \
         .dialect = RPCRDMA_##dialect_,                                                            \
         .hex = COMMON_HEX "00000001 00000001 0000beef " LISTS_HEX,                                \
         .want = {COMMON(1, NOMSG), .direction = 1, .inv_handle = 0xbeef, LISTS}},                 \
    {                                                                                              \
        .name = #dialect_ " RDMA2_OPTIONAL", .dialect = RPCRDMA_##dialect_,                        \
        .hex = COMMON_HEX "00000005 00000001 00000003 00000005 0102030405000000", .want = {        \
            COMMON(5, OPTIONAL),                                                                   \
            .direction = 1,                                                                        \
            .optional = {1, 3, BYTES("\1\2\3\4\5")}                                                \
        }                                                                                          \
    }

/* What cel-03 and cel-04 share. */
#define PROPERTY_VECTORS(dialect_)                                                                 \
    {.name = #dialect_ " RDMA2_CONNPROP",                                                          \
     .dialect = RPCRDMA_##dialect_,                                                                \
     .hex = COMMON_HEX "00000006 " SET_HEX "00000002 00000005 80000000",                           \
     .want = {COMMON(6, CONNPROP), .properties = SET, .nochg = WORDS(5, 0x80000000)}},             \
        {.name = #dialect_ " RDMA2_CONNPROP with nothing in it",                                   \
         .dialect = RPCRDMA_##dialect_,                                                            \
         .hex = COMMON_HEX "00000006 00000000 00000000",                                           \
         .want = {COMMON(6, CONNPROP)}},                                                           \
        {.name = #dialect_ " RDMA2_REQPROP",                                                       \
         .dialect = RPCRDMA_##dialect_,                                                            \
         .hex = COMMON_HEX "00000007 " SET_HEX,                                                    \
         .want = {COMMON(7, REQPROP), .want = SET}},                                               \
        {.name = #dialect_ " RDMA2_RESPROP",                                                       \
         .dialect = RPCRDMA_##dialect_,                                                            \
         .hex = COMMON_HEX "00000008 00000001 00000001 00000001 00000002 " SET_HEX,                \
         .want = {COMMON(8, RESPROP), .done = WORDS(1), .rejected = WORDS(2), .other = SET}},      \
    {                                                                                              \
        .name = #dialect_ " RDMA2_UPDPROP", .dialect = RPCRDMA_##dialect_,                         \
        .hex = COMMON_HEX "00000009 " SET_HEX, .want = {                                           \
            COMMON(9, UPDPROP),                                                                    \
            .now = SET                                                                             \
        }                                                                                          \
    }

static const struct vector vectors[] = {
    {.name = "CEL_00 RDMA_MSG without chunks",
     .dialect = RPCRDMA_CEL_00,
     .hex = COMMON_HEX "00000000 " NO_LISTS_HEX RPC_HEX,
     .want = {COMMON(0, MSG), .payload = RPC}},
    {.name = "CEL_00 RDMA_MSG with chunks",
     .dialect = RPCRDMA_CEL_00,
     .hex = COMMON_HEX "00000000 " LISTS_HEX RPC_HEX,
     .want = {COMMON(0, MSG), LISTS, .payload = RPC}},
    {.name = "CEL_00 RDMA_NOMSG",
     .dialect = RPCRDMA_CEL_00,
     .hex = COMMON_HEX "00000001 " LISTS_HEX,
     .want = {COMMON(1, NOMSG), LISTS}},
    {.name = "CEL_00 RDMA_MSGP, reserved: void",
     .dialect = RPCRDMA_CEL_00,
     .hex = COMMON_HEX "00000002",
     .want = {COMMON(2, MSGP)}},
    {.name = "CEL_00 RDMA_DONE, reserved: void",
     .dialect = RPCRDMA_CEL_00,
     .hex = COMMON_HEX "00000003",
     .want = {COMMON(3, DONE)}},
    {.name = "CEL_00 RDMA_OPTIONAL",
     .dialect = RPCRDMA_CEL_00,
     .hex = COMMON_HEX "00000005 00000007 00000003 01020300",
     .want = {COMMON(5, OPTIONAL), .optional = {0, 7, BYTES("\1\2\3")}}},
    {.name = "CEL_00 RDMA_OPTIONAL with an RPC message after it",
     .dialect = RPCRDMA_CEL_00,
     .hex = COMMON_HEX "00000005 00000007 00000000 " RPC_HEX,
     .want = {COMMON(5, OPTIONAL), .optional = {0, 7, {0}}, .payload = RPC}},
    FAIL(CEL_00, "RDMA_ERR_VERS", "00000001 00000001 00000002", 1, .body = RPCRDMA_ERROR_RANGE,
         .low = 1, .high = 2),
    FAIL(CEL_00, "RDMA_ERR_BAD_HEADER", "00000002", 2),
    FAIL(CEL_00, "RDMA_ERR_INVAL_OPTION", "00000003", 3),
    FAIL(CEL_00, "error code nobody knows", "00000004", 4),

    {.name = "CEL_01 RDMA2_MSG, a Call without chunks",
     .dialect = RPCRDMA_CEL_01,
     .hex = COMMON_HEX "00000000 00000000 " NO_LISTS_HEX RPC_HEX,
     .want = {COMMON(0, MSG), .payload = RPC}},
    {.name = "CEL_01 RDMA2_MSG, a Reply with chunks",
     .dialect = RPCRDMA_CEL_01,
     .hex = COMMON_HEX "00000000 00000001 " LISTS_HEX RPC_HEX,
     .want = {COMMON(0, MSG), .direction = 1, LISTS, .payload = RPC}},
    {.name = "CEL_01 RDMA2_NOMSG",
     .dialect = RPCRDMA_CEL_01,
     .hex = COMMON_HEX "00000001 00000001 " LISTS_HEX,
     .want = {COMMON(1, NOMSG), .direction = 1, LISTS}},
    {.name = "CEL_01 RDMA2_OPTIONAL nobody knows",
     .dialect = RPCRDMA_CEL_01,
     .hex = COMMON_HEX "00000005 00000001 00000063 00000002 01020000",
     .want = {COMMON(5, OPTIONAL), .direction = 1, .optional = {1, 99, BYTES("\1\2")}}},
    FAIL(CEL_01, "RDMA2_ERR_VERS", "00000001 00000001 00000002", 1, .body = RPCRDMA_ERROR_RANGE,
         .low = 1, .high = 2),
    FAIL(CEL_01, "RDMA2_ERR_BAD_HEADER", "00000002", 2),
    FAIL(CEL_01, "RDMA2_ERR_INVAL_OPTION", "00000003", 3),

    INV_HANDLE_VECTORS(CEL_02),
    FAIL(CEL_02, "RDMA2_ERR_VERS", "00000001 00000001 00000002", 1, .body = RPCRDMA_ERROR_RANGE,
         .low = 1, .high = 2),
    FAIL(CEL_02, "RDMA2_ERR_BAD_XDR", "00000002", 2),
    FAIL(CEL_02, "RDMA2_ERR_CANT_REPLY", "00000003 00000001 00000005 00010000", 3,
         .body = RPCRDMA_ERROR_CANT_REPLY, .processed = 1, .segment_index = 5,
         .length_needed = 0x10000),
    FAIL(CEL_02, "RDMA2_ERR_INVAL_PROC", "00000004", 4),
    FAIL(CEL_02, "RDMA2_ERR_INVAL_OPTION", "00000005", 5),

    INV_HANDLE_VECTORS(CEL_03),
    PROPERTY_VECTORS(CEL_03),
    FAIL(CEL_03, "RDMA2_ERR_VERS", "00000001 00000001 00000002", 1, .body = RPCRDMA_ERROR_RANGE,
         .low = 1, .high = 2),
    FAIL(CEL_03, "RDMA2_ERR_BAD_XDR", "00000002", 2),
    FAIL(CEL_03, "RDMA2_ERR_REPLY_RESOURCE", "00000003 00000005 00010000", 3,
         .body = RPCRDMA_ERROR_SEGMENT_LENGTH, .segment_index = 5, .length_needed = 0x10000),
    FAIL(CEL_03, "RDMA2_ERR_INVAL_PROC", "00000004", 4),
    FAIL(CEL_03, "RDMA2_ERR_INVAL_OPTION", "00000005", 5),
    FAIL(CEL_03, "RDMA2_ERR_SYSTEM", "00000006", 6),

    INV_HANDLE_VECTORS(CEL_04),
    PROPERTY_VECTORS(CEL_04),
    FAIL(CEL_04, "RDMA2_ERR_VERS", "00000001 00000001 00000002", 1, .body = RPCRDMA_ERROR_RANGE,
         .low = 1, .high = 2),
    FAIL(CEL_04, "RDMA2_ERR_BAD_XDR", "00000002", 2),
    FAIL(CEL_04, "RDMA2_ERR_INVAL_PROC", "00000003", 3),
    FAIL(CEL_04, "RDMA2_ERR_READ_CHUNKS", "00000004 00000006", 4, .body = RPCRDMA_ERROR_MAX_CHUNKS,
         .max = 6),
    FAIL(CEL_04, "RDMA2_ERR_WRITE_CHUNKS", "00000005 00000006", 5, .body = RPCRDMA_ERROR_MAX_CHUNKS,
         .max = 6),
    FAIL(CEL_04, "RDMA2_ERR_SEGMENTS", "00000006 00000006", 6, .body = RPCRDMA_ERROR_MAX_SEGMENTS,
         .max = 6),
    FAIL(CEL_04, "RDMA2_ERR_WRITE_RESOURCE", "00000007 00000002 00010000", 7,
         .body = RPCRDMA_ERROR_WRITE, .chunk_index = 2, .length_needed = 0x10000),
    FAIL(CEL_04, "RDMA2_ERR_REPLY_RESOURCE", "00000008 00010000", 8, .body = RPCRDMA_ERROR_LENGTH,
         .length_needed = 0x10000),
    FAIL(CEL_04, "RDMA2_ERR_INVAL_OPTION", "00000009", 9),
    FAIL(CEL_04, "RDMA2_ERR_SYSTEM", "0000000a", 10),
};

const struct vector_table union_vectors = {vectors, sizeof(vectors) / sizeof(vectors[0])};
