/* SPDX-License-Identifier: BSD-2-Clause */
/* What DDP carries besides RFC 5040's operations, FPDUs with wrong or costly markers, and headers
 * that end where they must not. */
#include "iwarp.h"

static struct bytes b, u;

static void give_fpdu(struct seen *s, uint32_t *seq)
{
    b.n = 0;
    put_fpdu(&b, false, false, &u);
    tcp(s, 0, *seq, NEXT1, ACK, b.at, b.n);
    *seq += (uint32_t)b.n;
}

/* RFC 7306: Immediate Data (section 6) is 8 bytes on the Send queue, and no message; Atomics
 * (section 5) go by queues 1 and 3. */
static void rfc7306(void **state)
{
    struct seen *s = seen_new(NULL);
    uint32_t seq = NEXT0;

    (void)state;
    talk_start(s, 0, 0);
    for (uint8_t opcode = 8; opcode <= 9; opcode++) {
        const struct rpcrdma_op *op = &s->op[opcode - 8];

        put_untagged(&u, opcode, true, 0, 0, opcode, 0);
        put(&u, 0x1122334455667788, 8);
        give_fpdu(s, &seq);
        assert_int_equal(op->kind, RPCRDMA_OP_SEND);
        assert_int_equal(op->seq, opcode);
        assert_int_equal(op->immediate, 0x11223344);
        assert_int_equal(op->len, 0);
        assert_int_equal(op->flags, RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST | RPCRDMA_OP_IMMEDIATE |
                                        (opcode == 9 ? RPCRDMA_OP_SOLICITED : 0));
    }
    put_untagged(&u, 10, true, 0, 1, 5, 0); /* Atomic Request: 52 bytes, section 5.1 */
    put_fill(&u, 0xaa, 52);
    give_fpdu(s, &seq);
    assert_int_equal(s->op[2].kind, RPCRDMA_OP_ATOMIC);
    assert_int_equal(s->op[2].seq, 5);
    put_untagged(&u, 11, true, 0, 3, 6, 0); /* Response: 12 bytes, section 5.2 */
    put_fill(&u, 0xbb, 12);
    give_fpdu(s, &seq);
    assert_int_equal(s->op[3].kind, RPCRDMA_OP_ATOMIC_RESPONSE);
    assert_int_equal(s->op[3].seq, 6);
    assert_int_equal(s->n, 4);
    assert_int_equal(s->n_findings, 0);
    seen_free(s);
}

/* Headers of fixed length, of another length or not at their beginning. */
static void no_such_fpdu(void **state)
{
    static const struct {
        uint8_t opcode, queue;
        uint32_t offset, bytes;
    } wrong[] = {
        {8, 0, 0, 7},   /* Immediate Data is 8 bytes, */
        {8, 0, 0, 9},   /* */
        {10, 1, 0, 51}, /* an Atomic Request 52, */
        {11, 3, 0, 13}, /* a Response 12, */
        {10, 3, 0, 52}, /* each with its queue */
        {11, 1, 0, 12}, /* */
        {1, 1, 4, 28},  /* a Read Request is one segment, */
        {7, 2, 4, 4},   /* and so is Terminate */
        {7, 2, 0, 3},   /* which has a header of its own */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct seen *s = seen_new(NULL);
        uint32_t seq = NEXT0;

        talk_start(s, 0, 0);
        put_untagged(&u, wrong[i].opcode, true, 0, wrong[i].queue, 1, wrong[i].offset);
        put_fill(&u, 0, wrong[i].bytes);
        give_fpdu(s, &seq);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MALFORMED), 1);
        assert_int_equal(count_kind(s, RPCRDMA_OP_LOST), 1);
        for (uint32_t msn = 1; msn < 5; msn++) {
            put_untagged(&u, 3, true, 0, 0, msn, 0);
            put_payload(&u, msn, 80);
            give_fpdu(s, &seq);
        }
        assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), 4);
        seen_free(s);
    }
}

/* Terminate and Read Request of which the capture has the DDP header and not what is in it. */
static void cut_behind_the_header(void **state)
{
    static const struct {
        uint8_t opcode, queue;
        uint32_t bytes, kind;
    } cut[] = {{7, 2, 4, RPCRDMA_OP_TERMINATE}, {1, 1, 28, RPCRDMA_OP_READ_REQUEST}};

    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t more = 0; more < 2; more++) {
            struct seen *s = seen_new(NULL);

            talk_start(s, 0, 0);
            put_untagged(&u, cut[i].opcode, true, 0, cut[i].queue, 9, 0);
            put_fill(&u, 0x11, cut[i].bytes);
            b.n = 0;
            put_fpdu(&b, false, false, &u);
            tcp_cut(s, 0, NEXT0, NEXT1, ACK, b.at, b.n, 2 + 18 + more);
            assert_int_equal(s->n, 1);
            assert_int_equal(s->op[0].kind, cut[i].kind);
            assert_int_equal(s->op[0].seq, 9);
            assert_true(s->op[0].flags & RPCRDMA_OP_TRUNCATED);
            assert_false(s->op[0].flags & RPCRDMA_OP_RETH);
            assert_int_equal(count_rule(s, RPCRDMA_RULE_TERMINATE), 0);
            seen_free(s);
        }
}

/* A marker (RFC 5044 section 4.3) that points elsewhere is told; its bytes are not taken for data.
 */
static void wrong_marker(void **state)
{
    static const struct {
        uint64_t value;
        size_t wrong;
    } markers[] = {{512, 0}, {511, 1}, {0x10000 + 512, 1}, {0, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++) {
        struct seen *s = seen_new(NULL);

        talk_start(s, 0, M); /* whoever receives wants them */
        b.n = 0;
        put_untagged(&u, 3, true, 0, 0, 1, 0);
        put_payload(&u, 1, 800);
        put_fpdu(&b, true, false, &u);
        assert_int_equal(get(b.at, 4), 0);         /* before the length: points nowhere; */
        assert_int_equal(get(b.at + 512, 4), 508); /* 508 bytes behind the length */
        set(&b, 512, markers[i].value == 512 ? 508 : markers[i].value, 4);
        tcp(s, 0, NEXT0, NEXT1, ACK, b.at, b.n);
        assert_int_equal(s->n, 1);
        assert_int_equal(s->op[0].kind, RPCRDMA_OP_SEND);
        assert_int_equal(s->op[0].len, 800);
        assert_memory_equal(s->data[0], u.at + 18, 800);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_MARKER), markers[i].wrong);
        assert_int_equal(s->n_findings, markers[i].wrong);
        seen_free(s);
    }
}

/* With markers, too, what cannot be an FPDU is told, whether it comes in one segment or in two. */
static void malformed_with_markers(void **state)
{
    (void)state;
    for (int segments = 1; segments <= 2; segments++) {
        struct seen *s = seen_new(NULL);
        size_t first;

        talk_start(s, 0, M);
        b.n = 0;
        put_untagged(&u, 3, true, 0, 0, 1, 0);
        put_payload(&u, 1, 100);
        put_fpdu(&b, true, false, &u);
        b.at[4 + 3] = 0x83; /* RDMAP version 2 */
        first = segments == 1 ? b.n : 40;
        tcp(s, 0, NEXT0, NEXT1, ACK, b.at, first);
        if (first < b.n)
            tcp(s, 0, NEXT0 + (uint32_t)first, NEXT1, ACK, b.at + first, b.n - first);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MALFORMED), 1);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_SYNC), 1);
        assert_int_equal(count_kind(s, RPCRDMA_OP_LOST), 1);
        assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), 0);
        seen_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc7306),
        cmocka_unit_test(no_such_fpdu),
        cmocka_unit_test(cut_behind_the_header),
        cmocka_unit_test(wrong_marker),
        cmocka_unit_test(malformed_with_markers),
    };

    return cmocka_run_group_tests_name("ddp", tests, NULL, NULL);
}
