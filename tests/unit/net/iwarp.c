/* SPDX-License-Identifier: BSD-2-Clause */
/* FPDUs, DDP and RDMAP headers. */
#include "iwarp.h"

static struct bytes b, u; /* scratch of the test that runs */

static int fresh(void **state)
{
    (void)state;
    b.n = u.n = 0;
    return 0;
}

static void every_opcode(void **state)
{
    struct seen *s = seen_new(NULL);
    uint32_t seq = NEXT0;

    (void)state;
    talk_start(s, 0, 0);
#define GIVE()                                                                                     \
    b.n = 0;                                                                                       \
    put_fpdu(&b, false, false, &u);                                                                \
    tcp(s, 0, seq, NEXT1, ACK, b.at, b.n);                                                         \
    seq += (uint32_t)b.n
    for (uint8_t opcode = 3; opcode <= 6; opcode++) { /* Send, with Invalidate, SE, SE and Inv. */
        bool invalidate = opcode == 4 || opcode == 6, solicited = opcode >= 5;
        const struct rpcrdma_op *op = &s->op[s->n];
        size_t n = s->n;

        put_untagged(&u, opcode, true, invalidate ? 0x1234 : 0, 0, opcode, 0);
        put_payload(&u, opcode, 33);
        GIVE();
        assert_int_equal(s->n, n + 1);
        assert_int_equal(op->kind, RPCRDMA_OP_SEND);
        assert_int_equal(op->flags, RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST |
                                        (invalidate ? RPCRDMA_OP_INVALIDATE : 0) |
                                        (solicited ? RPCRDMA_OP_SOLICITED : 0));
        assert_int_equal(op->invalidate, invalidate ? 0x1234 : 0);
        assert_int_equal(op->seq, opcode);
        assert_int_equal(op->len, 33);
        assert_memory_equal(s->data[n], u.at + 18, 33);
    }
    s->n = 0;
    put_untagged(&u, 3, false, 0, 0, 7, 0); /* a Send in three segments */
    put_payload(&u, 1, 100);
    GIVE();
    put_untagged(&u, 3, false, 0, 0, 7, 100);
    put_payload(&u, 2, 100);
    GIVE();
    put_untagged(&u, 3, true, 0, 0, 7, 200);
    GIVE();
    assert_int_equal(s->n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(s->op[i].seq, 7);
        assert_int_equal(s->op[i].message_offset, i * 100);
        assert_int_equal(s->op[i].flags, i == 0 ? RPCRDMA_OP_FIRST : i == 2 ? RPCRDMA_OP_LAST : 0);
        assert_int_equal(s->op[i].len, i == 2 ? 0 : 100);
    }
    s->n = 0;
    for (size_t i = 0; i < 3; i++) { /* a Write of two segments, and the next one's first */
        uint32_t at = seq;

        put_tagged(&u, 0, i == 1, 0xcafe, 0x1122334455667700 + i);
        put_payload(&u, 3, 64);
        GIVE();
        assert_int_equal(s->op[i].kind, RPCRDMA_OP_WRITE);
        assert_int_equal(s->op[i].rkey, 0xcafe);
        assert_int_equal(s->op[i].remote_address, 0x1122334455667700 + i);
        assert_int_equal(s->op[i].flags,
                         RPCRDMA_OP_RETH | (i == 1 ? RPCRDMA_OP_LAST : RPCRDMA_OP_FIRST));
        assert_int_equal(s->op[i].seq, at);
        assert_int_equal(s->op[i].len, 64);
    }
    s->n = 0;
    put_untagged(&u, 1, true, 0, 1, 77, 0);
    put(&u, 0x51, 4);
    put(&u, 0x5152, 8);
    put(&u, 65536, 4);
    put(&u, 0x61, 4);
    put(&u, 0x6162, 8);
    GIVE();
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_READ_REQUEST);
    assert_int_equal(s->op[0].seq, 77);
    assert_int_equal(s->op[0].sink_stag, 0x51);
    assert_int_equal(s->op[0].sink_offset, 0x5152);
    assert_int_equal(s->op[0].length, 65536);
    assert_int_equal(s->op[0].rkey, 0x61);
    assert_int_equal(s->op[0].remote_address, 0x6162);
    assert_int_equal(s->op[0].len, 0);
    assert_int_equal(s->op[0].flags, RPCRDMA_OP_RETH | RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST);
    put_tagged(&u, 2, true, 0x51, 0x5152);
    put_payload(&u, 4, 5);
    GIVE();
    assert_int_equal(s->op[1].kind, RPCRDMA_OP_READ_RESPONSE);
    assert_int_equal(s->op[1].sink_stag, 0x51);
    assert_int_equal(s->op[1].remote_address, 0x5152);
    assert_int_equal(s->op[1].len, 5);
    assert_int_equal(s->n_findings, 0);
    put_untagged(&u, 7, true, 0, 2, 1, 0);
    put(&u, 0x11020000, 4);
    GIVE();
    assert_int_equal(s->op[2].kind, RPCRDMA_OP_TERMINATE);
    assert_int_equal(s->op[2].terminate, 0x1102);
    assert_int_equal(s->n_findings, 1);
    assert_int_equal(s->finding[0].rule, RPCRDMA_RULE_TERMINATE);
    assert_string_equal(s->finding[0].what, "DDP tagged buffer: STag not of this stream");
    seen_free(s);
#undef GIVE
}

/* CRCs are checked where one side asked for them, and only when told to. */
static void crc(void **state)
{
    const struct rpcrdma_net_config config = {.check_icrc = true};

    (void)state;
    for (int wanted = 0; wanted < 3; wanted++)
        for (int checked = 0; checked < 2; checked++) {
            struct seen *s = seen_new(checked ? &config : NULL);

            talk_start(s, wanted == 1 ? C : 0, wanted == 2 ? C : 0);
            b.n = 0;
            put_send(&b, true, 1, 100);
            tcp(s, 0, NEXT0, NEXT1, ACK, b.at, b.n);
            assert_int_equal(s->n_findings, 0);
            b.at[40] ^= 1;
            tcp(s, 0, NEXT0 + (uint32_t)b.n, NEXT1, ACK, b.at, b.n);
            assert_int_equal(s->n, 2);
            assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_CRC), wanted && checked);
            assert_int_equal(rpcrdma_net_stats(s->net)->bad_icrc, wanted && checked);
            seen_free(s);
        }
}

static void terminate_codes(void **state)
{
    static const uint16_t codes[] = {0x0000, 0x0101, 0x01ff, 0x0207,
                                     0x1205, 0x2003, 0x7777, 0x0202};
    struct seen *s = seen_new(NULL);
    uint32_t seq = NEXT0;

    (void)state;
    talk_start(s, 0, 0);
    for (size_t i = 0; i < 8; i++) {
        put_untagged(&u, 7, true, 0, 2, 1, 0);
        put(&u, codes[i], 2);
        put(&u, 0, 2);
        b.n = 0;
        put_fpdu(&b, false, false, &u);
        tcp(s, 0, seq, NEXT1, ACK, b.at, b.n);
        seq += (uint32_t)b.n;
        assert_int_equal(s->op[i].terminate, i < 7 ? codes[i] : 0x2002); /* as siw sends it */
        assert_non_null(s->finding[i].what);
    }
    assert_string_equal(s->finding[6].what, "a code that is not assigned");
    seen_free(s);
}

/* A header that cannot be: a finding, and the next FPDU is found again. A length below that of the
 * header has a rule of its own. */
static void malformed(void **state)
{
    static const struct {
        size_t off, n;
        uint64_t value;
    } wrong[] = {
        {0, 2, 0},                         /* ULPDU length */
        {0, 2, 17},          {2, 1, 0x42}, /* DDP version 2 */
        {2, 1, 0x45},                      /* reserved bit */
        {2, 1, 0xc1},                      /* a tagged Send */
        {3, 1, 0x83},                      /* RDMAP version 2 */
        {3, 1, 0x4c},                      /* opcode */
        {8, 4, 3},                         /* queue number */
        {16, 4, 0xffffffff},               /* offset beyond a message's end */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct seen *s = seen_new(NULL);
        uint32_t seq = NEXT0;

        talk_start(s, 0, 0);
        b.n = 0;
        put_send(&b, false, 1, 100);
        set(&b, wrong[i].off, wrong[i].value, wrong[i].n);
        tcp(s, 0, seq, NEXT1, ACK, b.at, b.n);
        seq += (uint32_t)b.n;
        for (uint32_t msn = 2; msn < 6; msn++) {
            b.n = 0;
            put_send(&b, false, msn, 100);
            tcp(s, 0, seq, NEXT1, ACK, b.at, b.n);
            seq += (uint32_t)b.n;
        }
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_LENGTH), wrong[i].off == 0);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MALFORMED), wrong[i].off != 0);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_SYNC), 1);
        assert_int_equal(count_kind(s, RPCRDMA_OP_LOST), 1);
        assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), 4);
        for (size_t n = 1; n < s->n; n++)
            assert_int_equal(s->op[n].seq, n + 1);
        /* the other direction never noticed */
        b.n = 0;
        put_send(&b, false, 1, 10);
        tcp(s, 1, NEXT1, seq, ACK, b.at, b.n);
        assert_int_equal(s->op[s->n - 1].src_port, 20049);
        seen_free(s);
    }
}

/* A length that is too great but possible swallows what follows, and no more than that. */
static void length_65535(void **state)
{
    struct seen *s = seen_new(NULL);
    uint32_t seq = NEXT0;

    (void)state;
    talk_start(s, 0, 0);
    put_tagged(&u, 0, true, 1, 0);
    put_payload(&u, 1, 1000);
    put_fpdu(&b, false, false, &u);
    set(&b, 0, 65535, 2);
    for (uint32_t i = 0; i < 100; i++) {
        if (i > 0) {
            b.n = 0;
            put_send(&b, false, i, 1000);
        }
        tcp(s, 0, seq, NEXT1, ACK, b.at, b.n);
        seq += (uint32_t)b.n;
    }
    /* what stands where the next FPDU should begin is part of a payload */
    assert_true(count_rule(s, RPCRDMA_RULE_MALFORMED) + count_rule(s, RPCRDMA_RULE_MPA_LENGTH) >=
                1);
    assert_int_equal(s->op[s->n < 64 ? s->n - 1 : 63].kind, RPCRDMA_OP_SEND);
    assert_true(s->n >= 99 - 66 - 3); /* 65541 bytes are 64 FPDUs of 1024 */
    assert_true(s->net->tcp->memory < 200000);
    seen_free(s);
}

/* Segments of Sends that do not follow on each other, and an end in the middle of an FPDU. */
static void out_of_sequence(void **state)
{
    static const struct {
        uint32_t msn, offset;
        bool last, wrong;
    } parts[] = {{1, 0, false, false}, {1, 50, false, true}, {1, 100, true, false},
                 {2, 0, true, false},  {2, 0, true, true},   {3, 10, true, true},
                 {4, 0, true, false}};
    struct seen *s = seen_new(NULL);
    uint32_t seq = NEXT0;
    size_t wrong = 0;

    (void)state;
    talk_start(s, 0, 0);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        put_untagged(&u, 3, parts[i].last, 0, 0, parts[i].msn, parts[i].offset);
        put_payload(&u, 1, 50 + (i == 0 ? 50 : 0));
        b.n = 0;
        put_fpdu(&b, false, false, &u);
        tcp(s, 0, seq, NEXT1, ACK, b.at, b.n);
        seq += (uint32_t)b.n;
        wrong += parts[i].wrong;
        assert_int_equal(count_rule(s, RPCRDMA_RULE_DDP_ORDER), wrong);
    }
    assert_int_equal(s->n, 7);
    tcp(s, 0, seq, NEXT1, ACK, b.at, 30);
    tcp(s, 0, seq + 30, NEXT1, RST, NULL, 0);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_CUT), 1);
    assert_int_equal(s->op[7].kind, RPCRDMA_OP_RESET);
    seen_free(s);
}
/* What is in a truncated packet: header and payload as far as they were captured. */
static void cut_at_every_byte(void **state)
{
    (void)state;
    for (size_t captured = 0; captured < 126; captured++) {
        struct seen *s = seen_new(NULL);

        talk_start(s, 0, 0);
        b.n = 0;
        put_send(&b, false, 7, 100);
        assert_int_equal(b.n, 124);
        tcp_cut(s, 0, NEXT0, NEXT1, ACK, b.at, b.n, captured < b.n ? captured : b.n);
        if (captured < 2) { /* how long it is was not captured */
            assert_int_equal(s->op[0].kind, RPCRDMA_OP_LOST);
        } else if (captured < 4) { /* nor what it is */
            assert_int_equal(s->op[0].kind, RPCRDMA_OP_LOST);
            assert_int_equal(s->finding[0].rule, RPCRDMA_RULE_TRUNCATED);
        } else {
            assert_int_equal(s->op[0].kind, RPCRDMA_OP_SEND);
            assert_int_equal(!!(s->op[0].flags & RPCRDMA_OP_TRUNCATED), captured < 20);
            assert_int_equal(s->op[0].seq, captured < 20 ? 0 : 7);
            assert_int_equal(s->op[0].len, 100);
            assert_int_equal(s->op[0].caplen, captured < 20    ? 0
                                              : captured > 120 ? 100
                                                               : captured - 20);
        }
        assert_int_equal(s->n, 1);
        /* the next one is in step, or in step again */
        b.n = 0;
        put_send(&b, false, 8, 100);
        tcp_cut(s, 0, NEXT0 + 124, NEXT1, ACK, b.at, b.n, 60);
        assert_int_equal(s->n, 2);
        assert_int_equal(s->op[1].kind, RPCRDMA_OP_SEND);
        assert_int_equal(s->op[1].seq, 8);
        seen_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_opcode, fresh),
        cmocka_unit_test_setup(crc, fresh),
        cmocka_unit_test_setup(terminate_codes, fresh),
        cmocka_unit_test_setup(malformed, fresh),
        cmocka_unit_test_setup(length_65535, fresh),
        cmocka_unit_test_setup(out_of_sequence, fresh),
        cmocka_unit_test_setup(cut_at_every_byte, fresh),
    };

    return cmocka_run_group_tests_name("iwarp", tests, NULL, NULL);
}
