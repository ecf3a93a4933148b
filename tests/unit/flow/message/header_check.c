/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "flow/message/check_private.h"

/* What a header's properties, its xchar message and the bytes after it give as findings. */

struct expected {
    enum rpcrdma_rule_id rule;
    int64_t offset;
    uint64_t id, length;
};

static uint32_t words_of(const uint32_t *words, size_t n, uint8_t *bytes)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < 4; j++)
            bytes[i * 4 + j] = (uint8_t)(words[i] >> (24 - 8 * j));
    return (uint32_t)(n * 4);
}

static void check(enum rpcrdma_dialect_id dialect, const uint32_t *words, size_t n,
                  const struct expected *expected, size_t n_expected)
{
    static struct flow_findings findings;
    uint8_t bytes[256], *exact;
    uint32_t len = words_of(words, n, bytes);
    struct rpcrdma_message m;

    exact = heap_copy(bytes, len);
    memset(&findings, 0, sizeof(findings));
    assert_int_equal(rpcrdma_message_decode(rpcrdma_dialect(dialect), exact, len, len, &m),
                     RPCRDMA_OK);
    message_check_header(&m, 7, &findings);
    assert_int_equal(findings.count, n_expected);
    for (size_t i = 0; i < n_expected; i++) {
        char text[256];

        assert_int_equal(findings.at[i].rule, expected[i].rule);
        assert_int_equal(findings.at[i].frame, 7);
        assert_int_equal(findings.at[i].offset, expected[i].offset);
        assert_int_equal(findings.at[i].arg[0], expected[i].id);
        assert_int_equal(findings.at[i].arg[1], expected[i].length);
        assert_true(rpcrdma_finding_text(&findings.at[i], text, sizeof(text)) > 0);
        assert_null(strchr(text, '{'));
    }
    free(exact);
}

#define CHECK(dialect, words, expected)                                                            \
    check(RPCRDMA_##dialect, words, sizeof(words) / sizeof(words[0]), expected,                    \
          sizeof(expected) / sizeof(expected[0]))

static void test_properties(void **state)
{
    /* CONNPROP_FINAL: too short, good, too long, unknown, default */
    static const uint32_t words[] = {0,    2, 128, 7, 5,      1,    3, 0x01020300, 2, 4,
                                     4096, 3, 8,   1, 0xffff, 0x4d, 0, 4,          0};
    static const struct expected want[] = {
        {RPCRDMA_RULE_PROPERTY_BAD, 28, 1, 3},
        {RPCRDMA_RULE_PROPERTY_LONG, 52, 3, 8},
    };

    (void)state;
    CHECK(IETF_07, words, want);
}

static void test_characteristics(void **state)
{
    /* INIT_XCHAR: Requester Remote Invalidation 2, Receive Buffer Size too long; one word too many
     */
    static const uint32_t words[] = {0, 2, 128, 5, 0, 1, 40, 2, 2, 4, 2, 1, 8, 4096, 0, 0, 0};
    static const struct expected want[] = {
        {RPCRDMA_RULE_XCHAR_TRAILING, 28, 0, 0},
        {RPCRDMA_RULE_XCHAR_BAD, 40, 2, 4},
        {RPCRDMA_RULE_XCHAR_LONG, 52, 1, 8},
    };

    (void)state;
    CHECK(CEL_01, words, want);
}

static void test_malformed_optinfo(void **state)
{
    static const uint32_t words[] = {0, 2, 128, 5, 0, 2, 8, 2, 1};
    static const struct expected want[] = {{RPCRDMA_RULE_MALFORMED_XCHAR, 28, 0, 0}};

    (void)state;
    CHECK(CEL_01, words, want);
}

static void test_trailing(void **state)
{
    static const uint32_t words[] = {0, 1, 128, 1, 0, 0, 0, 42, 42};
    static const struct expected want[] = {{RPCRDMA_RULE_TRAILING, 28, 8, 0}};

    (void)state;
    CHECK(V1, words, want);
}

/* A Read list of three segments. */
static struct flow_findings check_reads(const uint32_t positions[3], const uint32_t lengths[3])
{
    const uint32_t words[] = {
        7,  1,          32, 0, 1, positions[0], 77, lengths[0], 0, 0, 1, positions[1],
        77, lengths[1], 0,  0, 1, positions[2], 77, lengths[2], 0, 0, 0, 0,
        0};
    struct rpcrdma_flow_message out = {.direction = RPCRDMA_DIRECTION_CALL};
    struct flow_findings findings = {0};
    struct message_check c = {.out = &out, .findings = &findings};
    struct rpcrdma_message m;
    uint8_t bytes[sizeof(words)];
    uint32_t len = words_of(words, sizeof(words) / sizeof(words[0]), bytes);

    assert_int_equal(rpcrdma_message_decode(rpcrdma_dialect(RPCRDMA_V1), bytes, len, len, &m),
                     RPCRDMA_OK);
    c.message = out.message = &m;
    message_check_chunks(&c);
    return findings;
}

static size_t count_of(const struct flow_findings *findings, enum rpcrdma_rule_id rule)
{
    size_t n = 0;

    for (size_t i = 0; i < findings->count; i++)
        n += findings->at[i].rule == rule;
    return n;
}

/* The larger a Read list, the less may it pass unseen: that of chunks which are possible each, and
 * that with one which is not. */
static void test_largest_read_lists(void **state)
{
    static const uint32_t apart[] = {4, 0xa0000000, 0xf8000000}, together[] = {4, 4, 0xf8000000};
    static const uint32_t lengths[] = {0x90000000, 0x50000000, 0x40000000};
    static const uint32_t small[] = {0x1000, 0x1000, 0x1000};
    static const uint32_t long_one[] = {0x90000000, 0x90000000, 4};
    struct flow_findings findings = check_reads(apart, lengths);

    (void)state;
    assert_int_equal(count_of(&findings, RPCRDMA_RULE_READ_LIST_LONG), 1);
    assert_int_equal(count_of(&findings, RPCRDMA_RULE_CHUNK_LENGTH), 0);
    for (size_t i = 0; i < findings.count; i++)
        if (findings.at[i].rule == RPCRDMA_RULE_READ_LIST_LONG)
            assert_int_equal(findings.at[i].arg[0], UINT64_C(0x120000000));
    findings = check_reads(together, long_one);
    assert_int_equal(count_of(&findings, RPCRDMA_RULE_READ_LIST_LONG), 0);
    assert_int_equal(count_of(&findings, RPCRDMA_RULE_CHUNK_LENGTH), 1);
    findings = check_reads(apart, small);
    assert_int_equal(count_of(&findings, RPCRDMA_RULE_READ_LIST_LONG), 0);
    assert_int_equal(count_of(&findings, RPCRDMA_RULE_CHUNK_LENGTH), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_properties),         cmocka_unit_test(test_characteristics),
        cmocka_unit_test(test_malformed_optinfo),  cmocka_unit_test(test_trailing),
        cmocka_unit_test(test_largest_read_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
