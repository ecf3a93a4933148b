/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/rpc.h"

#include "test.h"
#include "wire/cursor.h"
#include "wire/writer.h"

enum {
    BODY = RPCRDMA_RPC_HAS_XID | RPCRDMA_RPC_HAS_TYPE | RPCRDMA_RPC_HAS_BODY,
    CALL = BODY | RPCRDMA_RPC_HAS_PROGRAM | RPCRDMA_RPC_HAS_CRED | RPCRDMA_RPC_HAS_VERF,
    REPLY = BODY | RPCRDMA_RPC_HAS_STAT | RPCRDMA_RPC_HAS_ACCEPT,
    ACCEPTED = REPLY | RPCRDMA_RPC_HAS_VERF,
};

/* AUTH_SYS: stamp, machine "abc", uid, gid, no groups. */
#define SYS 0x01020304, 3, 0x61626300, 1000, 1000, 0

static const uint8_t sys_body[] = {1, 2, 3,    4,    0, 0, 0,    3,    'a', 'b', 'c', 0,
                                   0, 0, 0x03, 0xe8, 0, 0, 0x03, 0xe8, 0,   0,   0,   0};
/* version 1, DATA, sequence 9, privacy, handle of 4 bytes */
static const uint8_t gss_body[] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,   9,
                                   0, 0, 0, 3, 0, 0, 0, 4, 1, 2, 0xa, 0xb};
static const uint8_t odd_body[] = {7, 8, 9};

#define SPAN(bytes, at)                                                                            \
    {                                                                                              \
        .data = (bytes), .off = (at), .caplen = sizeof(bytes), .len = sizeof(bytes)                \
    }

static const struct {
    const char *name;
    uint32_t words[24];
    size_t n_words;
    struct rpcrdma_rpc rpc;
} vectors[] = {
    {"NFSv3 READ, AUTH_SYS",
     {0x11223344, 0, 2, 100003, 3, 6, 1, 24, SYS, 0, 0},
     16,
     {.present = CALL,
      .xid = 0x11223344,
      .rpcvers = 2,
      .program = 100003,
      .version = 3,
      .procedure = 6,
      .cred_flavor = 1,
      .cred = SPAN(sys_body, 32),
      .body_off = 64}},
    {"NULL, AUTH_NONE",
     {1, 0, 2, 100003, 4, 0, 0, 0, 0, 0},
     10,
     {.present = CALL, .xid = 1, .rpcvers = 2, .program = 100003, .version = 4, .body_off = 40}},
    {"RPCSEC_GSS with privacy",
     {2, 0, 2, 100003, 4, 1, 6, 24, 1, 0, 9, 3, 4, 0x01020a0b, 6, 3, 0x07080900},
     17,
     {.present = CALL | RPCRDMA_RPC_HAS_GSS,
      .xid = 2,
      .rpcvers = 2,
      .program = 100003,
      .version = 4,
      .procedure = 1,
      .cred_flavor = 6,
      .cred = SPAN(gss_body, 32),
      .verf_flavor = 6,
      .verf = SPAN(odd_body, 64),
      .body_off = 68,
      .gss_version = 1,
      .gss_seq = 9,
      .gss_service = 3}},
    {"accepted, SUCCESS",
     {3, 1, 0, 0, 0, 0},
     6,
     {.present = ACCEPTED, .xid = 3, .type = 1, .body_off = 24}},
    {"accepted, PROG_UNAVAIL",
     {3, 1, 0, 0, 0, 1},
     6,
     {.present = ACCEPTED, .xid = 3, .type = 1, .accept_stat = 1, .body_off = 24}},
    {"accepted, PROG_MISMATCH",
     {3, 1, 0, 0, 0, 2, 3, 4},
     8,
     {.present = ACCEPTED | RPCRDMA_RPC_HAS_RANGE,
      .xid = 3,
      .type = 1,
      .accept_stat = 2,
      .low = 3,
      .high = 4,
      .body_off = 32}},
    {"accepted, SYSTEM_ERR, a verifier",
     {3, 1, 0, 6, 3, 0x07080900, 5},
     7,
     {.present = ACCEPTED,
      .xid = 3,
      .type = 1,
      .verf_flavor = 6,
      .verf = SPAN(odd_body, 20),
      .accept_stat = 5,
      .body_off = 28}},
    {"denied, RPC_MISMATCH",
     {4, 1, 1, 0, 2, 2},
     6,
     {.present = REPLY | RPCRDMA_RPC_HAS_RANGE,
      .xid = 4,
      .type = 1,
      .reply_stat = 1,
      .low = 2,
      .high = 2,
      .body_off = 24}},
    {"denied, AUTH_ERROR",
     {5, 1, 1, 1, 13},
     5,
     {.present = REPLY | RPCRDMA_RPC_HAS_AUTH,
      .xid = 5,
      .type = 1,
      .reply_stat = 1,
      .reject_stat = 1,
      .auth_stat = 13,
      .body_off = 20}},
};

#define N_VECTORS (sizeof(vectors) / sizeof(vectors[0]))

static size_t wire(const uint32_t *words, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++)
        rpcrdma_put_be32(out + 4 * i, words[i]);
    return 4 * n;
}

static void check_span(const struct rpcrdma_span *got, const struct rpcrdma_span *want)
{
    assert_int_equal(got->len, want->len);
    assert_int_equal(got->caplen, want->caplen);
    if (want->len == 0)
        return;
    assert_int_equal(got->off, want->off);
    assert_memory_equal(got->data, want->data, want->len);
}

static void check(const struct rpcrdma_rpc *got, const struct rpcrdma_rpc *want)
{
    assert_int_equal(got->present, want->present);
    assert_int_equal(got->xid, want->xid);
    assert_int_equal(got->type, want->type);
    assert_int_equal(got->rpcvers, want->rpcvers);
    assert_int_equal(got->program, want->program);
    assert_int_equal(got->version, want->version);
    assert_int_equal(got->procedure, want->procedure);
    assert_int_equal(got->cred_flavor, want->cred_flavor);
    assert_int_equal(got->verf_flavor, want->verf_flavor);
    check_span(&got->cred, &want->cred);
    check_span(&got->verf, &want->verf);
    assert_int_equal(got->reply_stat, want->reply_stat);
    assert_int_equal(got->accept_stat, want->accept_stat);
    assert_int_equal(got->reject_stat, want->reject_stat);
    assert_int_equal(got->auth_stat, want->auth_stat);
    assert_int_equal(got->low, want->low);
    assert_int_equal(got->high, want->high);
    assert_int_equal(got->body_off, want->body_off);
    assert_int_equal(got->gss_version, want->gss_version);
    assert_int_equal(got->gss_procedure, want->gss_procedure);
    assert_int_equal(got->gss_seq, want->gss_seq);
    assert_int_equal(got->gss_service, want->gss_service);
}

static void vectors_decode(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_VECTORS; i++) {
        uint8_t bytes[128];
        size_t n = wire(vectors[i].words, vectors[i].n_words, bytes);
        uint8_t *copy = heap_copy(bytes, n);
        struct rpcrdma_rpc rpc;

        print_message("%s\n", vectors[i].name);
        assert_int_equal(rpcrdma_rpc_decode(copy, n, n, &rpc), RPCRDMA_OK);
        assert_false(rpc.noncanonical);
        check(&rpc, &vectors[i].rpc);
        free(copy);
    }
}

static void vectors_encode(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_VECTORS; i++) {
        uint8_t bytes[128];
        size_t n = wire(vectors[i].words, vectors[i].n_words, bytes);

        print_message("%s\n", vectors[i].name);
        for (size_t size = 0; size <= n; size++) {
            uint8_t *out = malloc(size ? size : 1);
            size_t written = 0;

            assert_int_equal(rpcrdma_rpc_encode(&vectors[i].rpc, out, size, &written),
                             size < n ? RPCRDMA_NO_SPACE : RPCRDMA_OK);
            assert_int_equal(written, n);
            if (size == n)
                assert_memory_equal(out, bytes, n);
            free(out);
        }
    }
}

/* The bits that are known after n bytes, from what the whole message gives. */
static void cut_at_every_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_VECTORS; i++) {
        uint8_t bytes[128];
        size_t len = wire(vectors[i].words, vectors[i].n_words, bytes);
        uint32_t before = 0;

        print_message("%s\n", vectors[i].name);
        for (size_t n = 0; n < len; n++) {
            uint8_t *copy = heap_copy(bytes, n);
            struct rpcrdma_rpc cut, ended;

            assert_int_equal(rpcrdma_rpc_decode(copy, n, len, &cut), RPCRDMA_TRUNCATED);
            assert_true(cut.error_off <= n);
            assert_non_null(cut.what);
            assert_int_equal(cut.present & before, before);
            assert_int_equal(cut.present & ~vectors[i].rpc.present, 0);
            assert_false(cut.present & RPCRDMA_RPC_HAS_BODY);
            assert_int_equal(!!(cut.present & RPCRDMA_RPC_HAS_XID), n >= 4);
            assert_int_equal(!!(cut.present & RPCRDMA_RPC_HAS_TYPE), n >= 8);
            if (vectors[i].rpc.type == RPCRDMA_RPC_CALL) {
                assert_int_equal(!!(cut.present & RPCRDMA_RPC_HAS_PROGRAM), n >= 24);
                assert_int_equal(!!(cut.present & RPCRDMA_RPC_HAS_CRED), n >= 28);
            }
            assert_true(cut.cred.caplen <= cut.cred.len);
            assert_true(cut.cred.off + cut.cred.caplen <= n);
            before = cut.present;

            assert_int_equal(rpcrdma_rpc_decode(copy, n, n, &ended), RPCRDMA_MALFORMED);
            free(copy);
        }
    }
}

static void malformed(void **state)
{
    static const struct {
        const char *what;
        uint32_t words[12];
        size_t n_words;
        uint32_t error_off;
        uint32_t present;
    } cases[] = {
        {"RPC msg_type", {1, 2, 2, 100003, 3, 0, 0, 0, 0, 0}, 10, 4, RPCRDMA_RPC_HAS_TYPE},
        {"RPC msg_type", {1, 0xffffffff}, 2, 4, RPCRDMA_RPC_HAS_TYPE},
        {"RPC version", {1, 0, 3, 100003, 3, 0, 0, 0, 0, 0}, 10, 8, RPCRDMA_RPC_HAS_TYPE},
        {"RPC auth length", {1, 0, 2, 9, 9, 9, 1, 401}, 8, 28, RPCRDMA_RPC_HAS_CRED},
        {"RPC auth length", {1, 0, 2, 9, 9, 9, 1, 0xffffffff}, 8, 28, RPCRDMA_RPC_HAS_CRED},
        {"RPC auth length", {1, 0, 2, 9, 9, 9, 1, 5, 0}, 9, 28, RPCRDMA_RPC_HAS_CRED},
        {"RPC auth length", {1, 0, 2, 9, 9, 9, 0, 0, 1, 0xfffffffe}, 10, 36, RPCRDMA_RPC_HAS_VERF},
        {"RPC reply_stat", {1, 1, 2, 0, 0, 0}, 6, 8, RPCRDMA_RPC_HAS_STAT},
        {"RPC accept_stat", {1, 1, 0, 0, 0, 6}, 6, 20, RPCRDMA_RPC_HAS_ACCEPT},
        {"RPC reject_stat", {1, 1, 1, 2, 0, 0}, 6, 12, RPCRDMA_RPC_HAS_ACCEPT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t bytes[64];
        size_t n = wire(cases[i].words, cases[i].n_words, bytes);
        uint8_t *copy = heap_copy(bytes, n);
        struct rpcrdma_rpc rpc;

        assert_int_equal(rpcrdma_rpc_decode(copy, n, n, &rpc), RPCRDMA_MALFORMED);
        assert_string_equal(rpc.what, cases[i].what);
        assert_int_equal(rpc.error_off, cases[i].error_off);
        assert_true(rpc.present & cases[i].present);
        assert_false(rpc.present & RPCRDMA_RPC_HAS_BODY);
        free(copy);
    }
}

/* Its words do not fit its credential; what stands behind is decoded all the same. */
static void short_gss_credential(void **state)
{
    static const uint32_t words[] = {2, 0, 2, 100003, 4, 1, 6, 12, 1, 0, 9, 0, 0};
    uint8_t bytes[64];
    size_t n = wire(words, sizeof(words) / sizeof(words[0]), bytes);
    struct rpcrdma_rpc rpc;

    (void)state;
    assert_int_equal(rpcrdma_rpc_decode(bytes, n, n, &rpc), RPCRDMA_MALFORMED);
    assert_int_equal(rpc.present, CALL);
    assert_int_equal(rpc.error_off, 44);
    assert_int_equal(rpc.body_off, 52);
    assert_int_equal(rpc.gss_version, 0);
    assert_string_equal(rpc.what, "RPCSEC_GSS service");
}

static void padding_that_is_not_zero(void **state)
{
    static const uint32_t words[] = {3, 1, 0, 6, 3, 0x07080901, 0};
    uint8_t bytes[64];
    size_t n = wire(words, sizeof(words) / sizeof(words[0]), bytes);
    struct rpcrdma_rpc rpc;

    (void)state;
    assert_int_equal(rpcrdma_rpc_decode(bytes, n, n, &rpc), RPCRDMA_OK);
    assert_true(rpc.noncanonical);
}

static void refuses_to_encode(void **state)
{
    static const struct rpcrdma_rpc cases[] = {
        {.type = 2},
        {.type = RPCRDMA_RPC_CALL, .rpcvers = 3},
        {.type = RPCRDMA_RPC_CALL, .rpcvers = 2, .cred = {.len = 401, .caplen = 401}},
        {.type = RPCRDMA_RPC_CALL, .rpcvers = 2, .verf = {.len = 4, .caplen = 3}},
        {.type = RPCRDMA_RPC_REPLY, .reply_stat = 2},
        {.type = RPCRDMA_RPC_REPLY, .accept_stat = 6},
        {.type = RPCRDMA_RPC_REPLY, .reply_stat = 1, .reject_stat = 2},
    };
    uint8_t out[512];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t written = 99;

        assert_int_equal(rpcrdma_rpc_encode(&cases[i], out, sizeof(out), &written),
                         RPCRDMA_MALFORMED);
        assert_int_equal(written, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_decode),       cmocka_unit_test(vectors_encode),
        cmocka_unit_test(cut_at_every_byte),    cmocka_unit_test(malformed),
        cmocka_unit_test(short_gss_credential), cmocka_unit_test(padding_that_is_not_zero),
        cmocka_unit_test(refuses_to_encode),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
