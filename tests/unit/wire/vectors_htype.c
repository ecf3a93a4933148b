/* SPDX-License-Identifier: BSD-2-Clause */
#include "vectors.h"

/* The header-type family: draft-ietf-nfsv4-rpcrdma-version-two-03 to -07. Section numbers: -07. */

#define COMMON(type_, kind_)                                                                       \
    .xid = 0x11223344, .version = 2, .credits = 128, .type = type_, .kind = RPCRDMA_KIND_##kind_

#define COMMON_HEX "11223344 00000002 00000080 "

#define FAIL(name_, hex_, ...)                                                                     \
    {                                                                                              \
        .name = "IETF_07 " name_, .dialect = RPCRDMA_IETF_07, .hex = COMMON_HEX "00000004 " hex_,  \
        .want = {COMMON(4, ERROR), .error = {.code = __VA_ARGS__}},                                \
    }

#define WRITES_HEX                                                                                 \
    "00000001 00000002 0000b001 00000100 0000000000001000 0000b002 00000010 0000000000002000"      \
    "00000001 00000000 00000000 "
#define WRITE_LIST WRITES(CHUNK({0xb001, 0x100, 0x1000}, {0xb002, 0x10, 0x2000}), {0})
#define REPLY_HEX                                                                                  \
    "00000001 00000002 0000c001 00000800 1122334455667788 0000c002 00000801 99aabbccddeeff00 "
#define REPLY_CHUNK CHUNK({0xc001, 0x800, 0x1122334455667788}, {0xc002, 0x801, 0x99aabbccddeeff00})

#define SIX_HEX                                                                                    \
    "00000006 00000001 00000004 00002000  00000002 00000004 00004000  00000003 00000004 00100000"  \
    "00000004 00000004 00000010  00000005 00000004 00000003"                                       \
    "00000006 0000000c 00000005 01020304 05000000"
#define SIX                                                                                        \
    PROPERTIES(                                                                                    \
        {.id = 1, .state = RPCRDMA_PROPERTY_VALUE, .value = 0x2000},                               \
        {.id = 2, .state = RPCRDMA_PROPERTY_VALUE, .value = 0x4000},                               \
        {.id = 3, .state = RPCRDMA_PROPERTY_VALUE, .value = 0x100000},                             \
        {.id = 4, .state = RPCRDMA_PROPERTY_VALUE, .value = 16},                                   \
        {.id = 5, .state = RPCRDMA_PROPERTY_VALUE, .value = 3},                                    \
        {.id = 6, .state = RPCRDMA_PROPERTY_OPAQUE, .data = BYTES("\0\0\0\5\1\2\3\4\5\0\0\0")})

static const struct vector vectors[] = {
    /* 6.3.2 to 6.3.4 */
    {.name = "IETF_07 RDMA2_GRANT",
     .dialect = RPCRDMA_IETF_07,
     .hex = "00000000 00000002 00000080 00000005",
     .want = {.version = 2, .credits = 128, .type = 5, .kind = RPCRDMA_KIND_GRANT}},
    {.name = "IETF_07 RDMA2_CONNPROP_MIDDLE",
     .dialect = RPCRDMA_IETF_07,
     .hex = COMMON_HEX "00000006 00000002 00000002 00000000 0000004d 00000003 01020300",
     .want = {COMMON(6, CONNPROP_MIDDLE),
              .properties = PROPERTIES(
                  {.id = 2, .state = RPCRDMA_PROPERTY_DEFAULT},
                  {.id = 77, .state = RPCRDMA_PROPERTY_OPAQUE, .data = BYTES("\1\2\3")})}},
    {.name = "IETF_07 RDMA2_CONNPROP_FINAL",
     .dialect = RPCRDMA_IETF_07,
     .hex = COMMON_HEX "00000007 " SIX_HEX,
     .want = {COMMON(7, CONNPROP_FINAL), .properties = SIX}},
    {.name = "IETF_07 RDMA2_CONNPROP_FINAL with nothing in it",
     .dialect = RPCRDMA_IETF_07,
     .hex = COMMON_HEX "00000007 00000000",
     .want = {COMMON(7, CONNPROP_FINAL)}},

    /* 6.3.5 to 6.3.7 */
    {.name = "IETF_07 RDMA2_CALL_EXTERNAL",
     .dialect = RPCRDMA_IETF_07,
     .hex = COMMON_HEX
     "00000008 0000beef"
     "00000001 00000000 0000d001 00001000 0000000000010000"
     "00000001 00000000 0000d002 00000010 0000000000020000 00000000"
     "00000001 00000094 0000a001 00001000 00007f0000010000 00000000 " WRITES_HEX REPLY_HEX,
     .want = {COMMON(8, CALL_EXTERNAL), .inv_handle = 0xbeef,
              .call = READS({0, {0xd001, 0x1000, 0x10000}}, {0, {0xd002, 0x10, 0x20000}}),
              .read = READS({0x94, {0xa001, 0x1000, 0x7f0000010000}}), .write = WRITE_LIST,
              .reply_present = true, .reply = REPLY_CHUNK}},
    {.name = "IETF_07 RDMA2_CALL_MIDDLE",
     .dialect = RPCRDMA_IETF_07,
     .hex = COMMON_HEX "00000009 00001234 " RPC_HEX,
     .want = {COMMON(9, CALL_MIDDLE), .remaining = 0x1234, .payload = RPC}},
    {.name = "IETF_07 RDMA2_CALL_INLINE without chunks",
     .dialect = RPCRDMA_IETF_07,
     .hex = COMMON_HEX "0000000a 00000000 00000000 00000000 00000000 " RPC_HEX,
     .want = {COMMON(10, CALL_INLINE), .payload = RPC}},
    {.name = "IETF_07 RDMA2_CALL_INLINE with chunks",
     .dialect = RPCRDMA_IETF_07,
     .hex = COMMON_HEX
     "0000000a 0000beef"
     "00000001 00000094 0000a001 00001000 00007f0000010000 00000000 " WRITES_HEX REPLY_HEX RPC_HEX,
     .want = {COMMON(10, CALL_INLINE), .inv_handle = 0xbeef,
              .read = READS({0x94, {0xa001, 0x1000, 0x7f0000010000}}), .write = WRITE_LIST,
              .reply_present = true, .reply = REPLY_CHUNK, .payload = RPC}},

    /* 6.3.8 to 6.3.10 */
    {.name = "IETF_07 RDMA2_REPLY_EXTERNAL",
     .dialect = RPCRDMA_IETF_07,
     .hex = COMMON_HEX "0000000b " WRITES_HEX REPLY_HEX,
     .want = {COMMON(11, REPLY_EXTERNAL), .write = WRITE_LIST, .reply_present = true,
              .reply = REPLY_CHUNK}},
    {.name = "IETF_07 RDMA2_REPLY_MIDDLE",
     .dialect = RPCRDMA_IETF_07,
     .hex = COMMON_HEX "0000000c ffffffff " RPC_HEX,
     .want = {COMMON(12, REPLY_MIDDLE), .remaining = UINT32_MAX, .payload = RPC}},
    {.name = "IETF_07 RDMA2_REPLY_INLINE without chunks",
     .dialect = RPCRDMA_IETF_07,
     .hex = COMMON_HEX "0000000d 00000000 " RPC_HEX,
     .want = {COMMON(13, REPLY_INLINE), .payload = RPC}},
    {.name = "IETF_07 RDMA2_REPLY_INLINE with chunks",
     .dialect = RPCRDMA_IETF_07,
     .hex = COMMON_HEX "0000000d " WRITES_HEX RPC_HEX,
     .want = {COMMON(13, REPLY_INLINE), .write = WRITE_LIST, .payload = RPC}},

    /* 6.3.1 and 7 */
    FAIL("RDMA2_ERR_VERS", "00000001 00000001 00000002", 1, .body = RPCRDMA_ERROR_RANGE, .low = 1,
         .high = 2),
    FAIL("RDMA2_ERR_BAD_XDR", "00000002", 2),
    FAIL("RDMA2_ERR_BAD_PROPVAL", "00000003", 3),
    FAIL("RDMA2_ERR_INVAL_HTYPE", "00000004", 4),
    FAIL("RDMA2_ERR_INVAL_CONT", "00000005", 5),
    FAIL("RDMA2_ERR_READ_CHUNKS", "00000006 00000006", 6, .body = RPCRDMA_ERROR_MAX_CHUNKS,
         .max = 6),
    FAIL("RDMA2_ERR_WRITE_CHUNKS", "00000007 00000006", 7, .body = RPCRDMA_ERROR_MAX_CHUNKS,
         .max = 6),
    FAIL("RDMA2_ERR_SEGMENTS", "00000008 00000006", 8, .body = RPCRDMA_ERROR_MAX_SEGMENTS,
         .max = 6),
    FAIL("RDMA2_ERR_WRITE_RESOURCE", "00000009 00000002 00010000", 9, .body = RPCRDMA_ERROR_WRITE,
         .chunk_index = 2, .length_needed = 0x10000),
    FAIL("RDMA2_ERR_REPLY_RESOURCE", "0000000a 00010000", 10, .body = RPCRDMA_ERROR_LENGTH,
         .length_needed = 0x10000),
    FAIL("RDMA2_ERR_VERS_MISMATCH", "0000000b", 11),
    FAIL("RDMA2_ERR_SYSTEM", "00000064", 100),
    FAIL("error code nobody knows", "0000000c", 12),
};

const struct vector_table htype_vectors = {vectors, sizeof(vectors) / sizeof(vectors[0])};
