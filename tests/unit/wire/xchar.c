/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/xchar.h"
#include "test.h"
#include "vectors.h"
#include "wire/property.h"

/* draft-dnoveck-nfsv4-rpcrdma-xcharext-01 inside RDMA2_OPTIONAL of cel-01, and the meaning of
 * characteristics' and properties' data. */

#define HEAD "11223344 00000002 00000080 00000005 00000000 " /* direction: Call */

struct case_ {
    const char *name;
    const char *hex;
    struct rpcrdma_xchar want;
};

static const struct case_ cases[] = {
    {"INIT_XCHAR",
     HEAD "00000001 00000034 00000003"
          "00000001 00000004 00004000 00000002 00000004 00000001 00000003 00000004 00000003"
          "00000002 00000005 00000001",
     {.type = RPCRDMA_XCHAR_INIT,
      .present = RPCRDMA_XCHAR_HAS_START | RPCRDMA_XCHAR_HAS_NOCHG,
      .start = PROPERTIES({.id = 1, .state = RPCRDMA_PROPERTY_VALUE, .value = 0x4000},
                          {.id = 2, .state = RPCRDMA_PROPERTY_BOOL, .value = 1},
                          {.id = 3, .state = RPCRDMA_PROPERTY_VALUE, .value = 3}),
      .nochg = WORDS(5, 1)}},
    {"INIT_XCHAR with nothing in it",
     HEAD "00000001 00000008 00000000 00000000",
     {.type = RPCRDMA_XCHAR_INIT, .present = RPCRDMA_XCHAR_HAS_START | RPCRDMA_XCHAR_HAS_NOCHG}},
    {"REQ_XCHAR",
     HEAD
     "00000002 00000020 00000002 00000001 00000004 00010000 ffffff00 00000005 0102030405000000",
     {.type = RPCRDMA_XCHAR_REQ,
      .present = RPCRDMA_XCHAR_HAS_WANT,
      .want = PROPERTIES({.id = 1, .state = RPCRDMA_PROPERTY_VALUE, .value = 0x10000},
                         {.id = RPCRDMA_XCHAR_EXPERIMENTAL + 0,
                          .state = RPCRDMA_PROPERTY_OPAQUE,
                          .data = BYTES("\1\2\3\4\5")})}},
    {"RESP_XCHAR",
     HEAD "00000003 00000018 00000001 00000001 00000000 00000002 00000000 00000002",
     {.type = RPCRDMA_XCHAR_RESP,
      .present = RPCRDMA_XCHAR_HAS_DONE | RPCRDMA_XCHAR_HAS_REJ | RPCRDMA_XCHAR_HAS_PEND,
      .done = WORDS(1),
      .pend = WORDS(0, 2)}},
    {"UPD_XCHAR",
     HEAD "00000004 00000010 00000001 00000004 00010000 00000001",
     {.type = RPCRDMA_XCHAR_UPD,
      .present = RPCRDMA_XCHAR_HAS_NOW | RPCRDMA_XCHAR_HAS_PENDCLR,
      .now = PROPERTIES({.id = 1, .state = RPCRDMA_PROPERTY_VALUE, .value = 0x10000}),
      .pendclr = true}},
};

enum { N_CASES = sizeof(cases) / sizeof(cases[0]) };

static unsigned char *decode(const char *hex, struct rpcrdma_message *m)
{
    size_t len;
    unsigned char *bytes = unhex(hex, &len);

    assert_int_equal(rpcrdma_message_decode(rpcrdma_dialect(RPCRDMA_CEL_01), bytes, len, len, m),
                     RPCRDMA_OK);
    return bytes;
}

static void same_set(const struct rpcrdma_propset *a, const struct rpcrdma_propset *b)
{
    const struct rpcrdma_dialect *dialect = rpcrdma_dialect(RPCRDMA_CEL_01);
    struct rpcrdma_property_iter i = rpcrdma_property_begin(a, dialect, true),
                                 j = rpcrdma_property_begin(b, dialect, true);
    struct rpcrdma_property x, y;

    assert_int_equal(a->count, b->count);
    while (rpcrdma_property_next(&i, &x) && rpcrdma_property_next(&j, &y)) {
        assert_int_equal(x.id, y.id);
        assert_int_equal(x.state, y.state);
        assert_int_equal(x.value, y.value);
        assert_ptr_equal(x.desc, y.desc);
        assert_int_equal(x.experimental, x.id >= 4294967040);
        if (x.state == RPCRDMA_PROPERTY_OPAQUE) {
            assert_int_equal(x.data.len, y.data.len);
            assert_memory_equal(x.data.data, y.data.data, x.data.len);
        }
    }
}

static void same_words(const struct rpcrdma_words *a, const struct rpcrdma_words *b)
{
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++)
        assert_int_equal(rpcrdma_words_get(a, i), rpcrdma_words_get(b, i));
}

static void test_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        const struct rpcrdma_xchar *want = &cases[i].want;
        struct rpcrdma_message m;
        struct rpcrdma_xchar got;
        unsigned char *bytes = decode(cases[i].hex, &m), buf[256];
        size_t written;

        assert_true(rpcrdma_xchar_decode(&m, &got));
        assert_int_equal(got.status, RPCRDMA_OK);
        assert_false(got.trailing || got.noncanonical);
        assert_int_equal(got.type, want->type);
        assert_int_equal(got.present, want->present);
        same_set(&got.start, &want->start);
        same_words(&got.nochg, &want->nochg);
        same_set(&got.want, &want->want);
        same_words(&got.done, &want->done);
        same_words(&got.rej, &want->rej);
        same_words(&got.pend, &want->pend);
        same_set(&got.now, &want->now);
        assert_int_equal(got.pendclr, want->pendclr);

        const struct rpcrdma_xchar *both[] = {want, &got};
        for (size_t j = 0; j < 2; j++) {
            size_t len = m.optional.info.len;

            assert_int_equal(rpcrdma_xchar_encode(both[j], buf, len - 1, &written),
                             RPCRDMA_NO_SPACE);
            assert_int_equal(written, len);
            assert_int_equal(rpcrdma_xchar_encode(both[j], buf, sizeof(buf), &written), RPCRDMA_OK);
            assert_int_equal(written, len);
            assert_memory_equal(buf, m.optional.info.data, written);
        }
        free(bytes);
    }
}

/* The opaque's length says where the message ends, whatever its own counts say. */
static void test_cut_within_optinfo(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        struct rpcrdma_message m;
        struct rpcrdma_xchar x;
        unsigned char *bytes = decode(cases[i].hex, &m);
        uint32_t len = m.optional.info.len;

        for (uint32_t n = 0; n < len; n++) {
            m.optional.info.len = m.optional.info.caplen = n;
            assert_true(rpcrdma_xchar_decode(&m, &x));
            assert_int_equal(x.status, RPCRDMA_MALFORMED);
            assert_true(x.error_off >= m.optional.info.off &&
                        x.error_off <= m.optional.info.off + n);
            assert_non_null(x.what);
        }
        free(bytes);
    }
}

static void test_truncated(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        size_t len;
        unsigned char *bytes = unhex(cases[i].hex, &len);

        for (size_t n = 0; n < len; n++) {
            unsigned char *copy = heap_copy(bytes, n);
            struct rpcrdma_message m;
            struct rpcrdma_xchar x;

            rpcrdma_message_decode(rpcrdma_dialect(RPCRDMA_CEL_01), copy, n, len, &m);
            assert_int_equal(m.status, RPCRDMA_TRUNCATED);
            assert_int_equal(rpcrdma_xchar_decode(&m, &x), n >= 24);
            if (n >= 24)
                assert_int_equal(x.status, RPCRDMA_TRUNCATED);
            if (n >= 32)
                assert_true(x.present != 0 || x.type == RPCRDMA_XCHAR_UPD);
            free(copy);
        }
        free(bytes);
    }
}

static void test_not_xchar(void **state)
{
    static const char unknown[] = HEAD "00000005 00000004 00000001";
    struct rpcrdma_message m;
    struct rpcrdma_xchar x;
    unsigned char *bytes = decode(unknown, &m);

    (void)state;
    assert_false(rpcrdma_xchar_decode(&m, &x));
    assert_int_equal(m.optional.info.len, 4);
    free(bytes);

    /* cel-02 has RDMA2_OPTIONAL, too, but the extension was written for cel-01 */
    bytes = decode(cases[0].hex, &m);
    m.dialect = rpcrdma_dialect(RPCRDMA_CEL_02);
    assert_false(rpcrdma_xchar_decode(&m, &x));
    free(bytes);
}

static void test_left_over(void **state)
{
    struct rpcrdma_message m;
    struct rpcrdma_xchar x;
    unsigned char *bytes = decode(HEAD "00000002 00000008 00000000 00000000", &m);

    (void)state;
    assert_true(rpcrdma_xchar_decode(&m, &x));
    assert_int_equal(x.status, RPCRDMA_OK);
    assert_true(x.trailing);
    free(bytes);

    bytes = decode(HEAD "00000004 0000000c 0000004d 00000000 00000002", &m);
    assert_true(rpcrdma_xchar_decode(&m, &x));
    assert_true(x.noncanonical && x.pendclr);
    free(bytes);
}

/* One property as bytes, and what becomes of it. */
struct meaning {
    const char *hex;
    bool xchar;
    enum rpcrdma_dialect_id dialect;
    enum rpcrdma_property_state state;
    uint32_t value;
    bool known, too_long;
};

static const struct meaning meanings[] = {
    /* characteristics: section 2.1 */
    {"00000001 00000004 00001000", true, 0, RPCRDMA_PROPERTY_VALUE, 4096, true, false},
    {"00000001 00000003 00100000", true, 0, RPCRDMA_PROPERTY_BAD, 0, true, false},
    {"00000001 00000000", true, 0, RPCRDMA_PROPERTY_BAD, 0, true, false},
    {"00000001 00000005 00001000 aa000000", true, 0, RPCRDMA_PROPERTY_VALUE, 4096, true, true},
    {"00000002 00000004 00000001", true, 0, RPCRDMA_PROPERTY_BOOL, 1, true, false},
    {"00000002 00000004 00000002", true, 0, RPCRDMA_PROPERTY_BAD, 2, true, false},
    {"00000002 00000008 00000000 00000000", true, 0, RPCRDMA_PROPERTY_BOOL, 0, true, true},
    {"00000003 00000004 00000003", true, 0, RPCRDMA_PROPERTY_VALUE, 3, true, false},
    {"00000003 00000004 00000004", true, 0, RPCRDMA_PROPERTY_BAD, 4, true, false},
    {"00000004 00000000", true, 0, RPCRDMA_PROPERTY_OPAQUE, 0, false, false},
    {"fffffeff 00000001 01000000", true, 0, RPCRDMA_PROPERTY_OPAQUE, 0, false, false},
    {"ffffffff 00000001 01000000", true, 0, RPCRDMA_PROPERTY_OPAQUE, 0, false, false},
    /* properties: ietf-07 section 5.1 */
    {"00000002 00000000", false, RPCRDMA_IETF_07, RPCRDMA_PROPERTY_DEFAULT, 0, true, false},
    {"00000002 00000002 10000000", false, RPCRDMA_IETF_07, RPCRDMA_PROPERTY_BAD, 0, true, false},
    {"00000002 00000008 00001000 00000000", false, RPCRDMA_IETF_07, RPCRDMA_PROPERTY_VALUE, 4096,
     true, true},
    /* a uint32 there, so any value is one; an enum in cel-03 to cel-08 */
    {"00000005 00000004 00000009", false, RPCRDMA_IETF_07, RPCRDMA_PROPERTY_VALUE, 9, true, false},
    {"00000002 00000004 00000002", false, RPCRDMA_CEL_08, RPCRDMA_PROPERTY_VALUE, 2, true, false},
    {"00000002 00000004 00000003", false, RPCRDMA_CEL_08, RPCRDMA_PROPERTY_BAD, 3, true, false},
    /* an opaque of its own within the opaque */
    {"00000006 00000004 00000000", false, RPCRDMA_IETF_07, RPCRDMA_PROPERTY_OPAQUE, 0, true, false},
    {"00000006 00000003 00000000", false, RPCRDMA_IETF_07, RPCRDMA_PROPERTY_BAD, 0, true, false},
    {"00000006 00000007 00000003 01020300", false, RPCRDMA_IETF_07, RPCRDMA_PROPERTY_BAD, 0, true,
     false},
    {"00000006 00000008 ffffffff 01020300", false, RPCRDMA_IETF_07, RPCRDMA_PROPERTY_BAD, 0, true,
     false},
    {"00000006 0000000c 00000003 01020300 00000000", false, RPCRDMA_IETF_07,
     RPCRDMA_PROPERTY_OPAQUE, 0, true, true},
    {"00000007 00000000", false, RPCRDMA_IETF_07, RPCRDMA_PROPERTY_OPAQUE, 0, false, false},
};

static void test_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        const struct meaning *want = &meanings[i];
        size_t len;
        unsigned char *bytes = unhex(want->hex, &len);
        struct rpcrdma_propset set = {
            .wire = {.data = bytes, .caplen = (uint32_t)len, .len = (uint32_t)len}, .count = 1};
        struct rpcrdma_property_iter it =
            rpcrdma_property_begin(&set, rpcrdma_dialect(want->dialect), want->xchar);
        struct rpcrdma_property got;

        assert_true(rpcrdma_property_next(&it, &got));
        if (got.state != want->state)
            fail_msg("%s: state %d", want->hex, got.state);
        assert_int_equal(got.value, want->value);
        assert_int_equal(got.desc != NULL, want->known);
        assert_int_equal(got.too_long, want->too_long);
        assert_int_equal(got.experimental, want->xchar && got.id >= 4294967040);
        assert_false(rpcrdma_property_next(&it, &got));
        free(bytes);
    }
}

static void test_defaults(void **state)
{
    static const uint32_t ietf_07[] = {4096, 4096, 1048576, 16, 0}, xchar[] = {4096, 0, 2};

    (void)state;
    for (uint32_t id = 1; id <= 5; id++) {
        const struct rpcrdma_property_desc *desc =
            rpcrdma_dialect_property(rpcrdma_dialect(RPCRDMA_IETF_07), id);

        assert_true(desc->has_default);
        assert_int_equal(desc->default_value, ietf_07[id - 1]);
    }
    for (uint32_t id = 1; id <= 3; id++)
        assert_int_equal(rpcrdma_xchar_property(id)->default_value, xchar[id - 1]);
    assert_null(rpcrdma_xchar_property(0));
    assert_null(rpcrdma_xchar_property(4));
}

static void test_subset(void **state)
{
    const struct rpcrdma_words subset = WORDS(0x80000001, 2);

    (void)state;
    for (uint32_t i = 0; i < 200; i++)
        assert_int_equal(rpcrdma_subset_has(&subset, i), i == 0 || i == 31 || i == 33);
    assert_false(rpcrdma_subset_has(&subset, UINT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways), cmocka_unit_test(test_cut_within_optinfo),
        cmocka_unit_test(test_truncated), cmocka_unit_test(test_not_xchar),
        cmocka_unit_test(test_left_over), cmocka_unit_test(test_meaning),
        cmocka_unit_test(test_defaults),  cmocka_unit_test(test_subset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
