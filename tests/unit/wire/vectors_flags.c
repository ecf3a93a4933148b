/* SPDX-License-Identifier: BSD-2-Clause */
#include "vectors.h"

/* The flags family: draft-cel-nfsv4-rpcrdma-version-two-08 to draft-ietf-...-02. */

#define COMMON(type_, kind_)                                                                       \
    .xid = 0x11223344, .version = 2, .credits = 128, .type = type_, .kind = RPCRDMA_KIND_##kind_

#define COMMON_HEX "11223344 00000002 00000080 "

#define FAIL(dialect_, name_, hex_, ...)                                                           \
    {                                                                                              \
        .name = #dialect_ " " name_, .dialect = RPCRDMA_##dialect_,                                \
        .hex = COMMON_HEX "00000004 00000001 " hex_,                                               \
        .want = {COMMON(4, ERROR), .flags = 1, .error = {.code = __VA_ARGS__}},                    \
    }

/* What all four share. The one flag of cel-08 is F_RESPONSE (1); other bits are kept, too. */
#define SHARED_VECTORS(dialect_, flags_hex, flags_)                                                \
    {.name = #dialect_ " RDMA2_MSG, a Call without chunks",                                        \
     .dialect = RPCRDMA_##dialect_,                                                                \
     .hex = COMMON_HEX "00000000 00000000 00000000 00000000 00000000 00000000 " RPC_HEX,           \
     .want = {COMMON(0, MSG), .payload = RPC}},                                                    \
        {.name = #dialect_ " RDMA2_MSG with flags and chunks",                                     \
         .dialect = RPCRDMA_##dialect_,                                                            \
         .hex = COMMON_HEX                                                                         \
         "00000000 " flags_hex " 0000beef"                                                         \
         "00000001 00000094 0000a001 00001000 00007f0000010000 00000000"                           \
         "00000001 00000001 0000b001 00000100 0000000000001000 00000001 00000000 00000000"         \
         "00000001 00000002 0000c001 00000800 1122334455667788"                                    \
         "0000c002 00000801 99aabbccddeeff00" RPC_HEX,                                             \
         .want = {COMMON(0, MSG), .flags = flags_, .inv_handle = 0xbeef,                           \
                  .read = READS({0x94, {0xa001, 0x1000, 0x7f0000010000}}),                         \
                  .write = WRITES(CHUNK({0xb001, 0x100, 0x1000}), {0}), .reply_present = true,     \
                  .reply = CHUNK({0xc001, 0x800, 0x1122334455667788},                              \
                                 {0xc002, 0x801, 0x99aabbccddeeff00}),                             \
                  .payload = RPC}},                                                                \
        {.name = #dialect_ " RDMA2_NOMSG",                                                         \
         .dialect = RPCRDMA_##dialect_,                                                            \
         .hex = COMMON_HEX "00000001 00000000 0000beef"                                            \
                           "00000001 00000000 0000a001 00001000 00007f0000010000 00000000"         \
                           "00000000 00000001 00000000",                                           \
         .want = {COMMON(1, NOMSG), .inv_handle = 0xbeef,                                          \
                  .read = READS({0, {0xa001, 0x1000, 0x7f0000010000}}), .reply_present = true}},   \
        {.name = #dialect_ " RDMA2_CONNPROP with nothing in it",                                   \
         .dialect = RPCRDMA_##dialect_,                                                            \
         .hex = COMMON_HEX "00000005 00000000 00000000",                                           \
         .want = {COMMON(5, CONNPROP)}},                                                           \
        {.name = #dialect_ " ERR_VERS of a version 1 peer: no flags word",                         \
         .dialect = RPCRDMA_##dialect_,                                                            \
         .hex = COMMON_HEX "00000004 00000001 00000001 00000001",                                  \
         .want = {COMMON(4, ERROR),                                                                \
                  .error = {.code = 1, .body = RPCRDMA_ERROR_RANGE, .low = 1, .high = 1}},         \
         .without_flags = true},                                                                   \
        FAIL(dialect_, "RDMA2_ERR_VERS", "00000001 00000001 00000002", 1,                          \
             .body = RPCRDMA_ERROR_RANGE, .low = 1, .high = 2),                                    \
        FAIL(dialect_, "RDMA2_ERR_BAD_XDR", "00000002", 2),                                        \
        FAIL(dialect_, "error code nobody knows", "00000065", 101)

/* The five errors with arguments follow one another in each dialect, from another number on. */
#define ARGUMENT_ERRORS(dialect_, a, a_hex, b, b_hex, c, c_hex, d, d_hex, e, e_hex)                \
    FAIL(dialect_, "RDMA2_ERR_READ_CHUNKS", a_hex "00000006", a, .body = RPCRDMA_ERROR_MAX_CHUNKS, \
         .max = 6),                                                                                \
        FAIL(dialect_, "RDMA2_ERR_WRITE_CHUNKS", b_hex "00000006", b,                              \
             .body = RPCRDMA_ERROR_MAX_CHUNKS, .max = 6),                                          \
        FAIL(dialect_, "RDMA2_ERR_SEGMENTS", c_hex "00000006", c,                                  \
             .body = RPCRDMA_ERROR_MAX_SEGMENTS, .max = 6),                                        \
        FAIL(dialect_, "RDMA2_ERR_WRITE_RESOURCE", d_hex "00000002 00010000", d,                   \
             .body = RPCRDMA_ERROR_WRITE, .chunk_index = 2, .length_needed = 0x10000),             \
        FAIL(dialect_, "RDMA2_ERR_REPLY_RESOURCE", e_hex "00010000", e,                            \
             .body = RPCRDMA_ERROR_LENGTH, .length_needed = 0x10000)

/* The six properties as ietf-00 numbers them. */
#define SIX_HEX                                                                                    \
    "00000006 00000001 00000004 00002000  00000002 00000004 00004000  00000003 00000004 00100000"  \
    "00000004 00000004 00000010  00000005 00000004 00000003"                                       \
    "00000006 00000008 00000003 01020300"
#define SIX                                                                                        \
    PROPERTIES({.id = 1, .state = RPCRDMA_PROPERTY_VALUE, .value = 0x2000},                        \
               {.id = 2, .state = RPCRDMA_PROPERTY_VALUE, .value = 0x4000},                        \
               {.id = 3, .state = RPCRDMA_PROPERTY_VALUE, .value = 0x100000},                      \
               {.id = 4, .state = RPCRDMA_PROPERTY_VALUE, .value = 16},                            \
               {.id = 5, .state = RPCRDMA_PROPERTY_VALUE, .value = 3},                             \
               {.id = 6, .state = RPCRDMA_PROPERTY_OPAQUE, .data = BYTES("\0\0\0\3\1\2\3\0")})
#define CONNPROP(dialect_)                                                                         \
    {                                                                                              \
        .name = #dialect_ " RDMA2_CONNPROP", .dialect = RPCRDMA_##dialect_,                        \
        .hex = COMMON_HEX "00000005 00000001" SIX_HEX, .want = {                                   \
            COMMON(5, CONNPROP),                                                                   \
            .flags = 1,                                                                            \
            .properties = SIX                                                                      \
        }                                                                                          \
    }

static const struct vector vectors[] = {
    SHARED_VECTORS(CEL_08, "00000001", 1),
    {.name = "CEL_08 RDMA2_CONNPROP",
     .dialect = RPCRDMA_CEL_08,
     .hex = COMMON_HEX "00000005 00000000 00000003 00000001 00000004 00002000"
                       "00000002 00000004 00000002 ffffff00 00000001 aa000000",
     .want = {COMMON(5, CONNPROP),
              .properties = PROPERTIES(
                  {.id = 1, .state = RPCRDMA_PROPERTY_VALUE, .value = 0x2000},
                  {.id = 2, .state = RPCRDMA_PROPERTY_VALUE, .value = 2},
                  {.id = 0xffffff00, .state = RPCRDMA_PROPERTY_OPAQUE, .data = BYTES("\xaa")})}},
    FAIL(CEL_08, "RDMA2_ERR_INVAL_HTYPE", "00000003", 3),
    ARGUMENT_ERRORS(CEL_08, 4, "00000004", 5, "00000005", 6, "00000006", 7, "00000007", 8,
                    "00000008"),
    FAIL(CEL_08, "RDMA2_ERR_SYSTEM", "00000009", 9),

    SHARED_VECTORS(IETF_00, "00000003", 3),
    CONNPROP(IETF_00),
    FAIL(IETF_00, "RDMA2_ERR_INVAL_HTYPE", "00000003", 3),
    FAIL(IETF_00, "RDMA2_ERR_INVAL_FLAG", "00000004", 4),
    ARGUMENT_ERRORS(IETF_00, 5, "00000005", 6, "00000006", 7, "00000007", 8, "00000008", 9,
                    "00000009"),
    FAIL(IETF_00, "RDMA2_ERR_SYSTEM", "0000000a", 10),

    SHARED_VECTORS(IETF_01, "00000007", 7),
    CONNPROP(IETF_01),
    FAIL(IETF_01, "RDMA2_ERR_BAD_PROPVAL", "00000003", 3),
    FAIL(IETF_01, "RDMA2_ERR_INVAL_HTYPE", "00000004", 4),
    FAIL(IETF_01, "RDMA2_ERR_INVAL_CONT", "00000005", 5),
    ARGUMENT_ERRORS(IETF_01, 6, "00000006", 7, "00000007", 8, "00000008", 9, "00000009", 10,
                    "0000000a"),
    FAIL(IETF_01, "RDMA2_ERR_SYSTEM", "00000064", 100),

    SHARED_VECTORS(IETF_02, "80000004", 0x80000004),
    CONNPROP(IETF_02),
    {.name = "IETF_02 RDMA2_GRANT",
     .dialect = RPCRDMA_IETF_02,
     .hex = COMMON_HEX "00000006 00000000",
     .want = {COMMON(6, GRANT)}},
    FAIL(IETF_02, "RDMA2_ERR_BAD_PROPVAL", "00000003", 3),
    FAIL(IETF_02, "RDMA2_ERR_INVAL_HTYPE", "00000004", 4),
    FAIL(IETF_02, "RDMA2_ERR_INVAL_CONT", "00000005", 5),
    ARGUMENT_ERRORS(IETF_02, 6, "00000006", 7, "00000007", 8, "00000008", 9, "00000009", 10,
                    "0000000a"),
    FAIL(IETF_02, "RDMA2_ERR_SYSTEM", "00000064", 100),
};

const struct vector_table flags_vectors = {vectors, sizeof(vectors) / sizeof(vectors[0])};
