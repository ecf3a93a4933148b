/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where FPDUs begin can be inferred: from what a Reply acknowledges, from the beginning of a
 * segment. What does not fit then says that the inference was wrong, not that the bytes are
 * malformed.
 */
#include "iwarp.h"

static struct bytes b;

/* Sends of n bytes in a segment each. */
static void sends(struct seen *s, uint32_t *seq, uint32_t *msn, uint32_t count, size_t n)
{
    while (count-- > 0) {
        b.n = 0;
        put_send(&b, false, (*msn)++, n);
        tcp(s, 0, *seq, NEXT1, ACK, b.at, b.n);
        *seq += (uint32_t)b.n;
    }
}

static void no_fpdu(struct seen *s, uint32_t *seq)
{
    static const uint8_t bytes[24] = {0, 0, 0, 2};

    tcp(s, 0, *seq, NEXT1, ACK, bytes, sizeof(bytes));
    *seq += sizeof(bytes);
}

/* A Reply that was sent again can acknowledge more than the Request: no FPDU need begin there.
 * After three that fit it is known that they do. */
static void by_the_reply(void **state)
{
    (void)state;
    for (uint32_t before = 0; before < 5; before++) {
        struct seen *s = seen_new(NULL);
        uint32_t seq = NEXT0, msn = 1;

        b.n = 0;
        put_start(&b, false, 0, 1, NULL, 0);
        tcp(s, 1, 5000, seq, ACK, b.at, b.n);
        sends(s, &seq, &msn, before, 50);
        no_fpdu(s, &seq);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_SYNC), 1);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_LENGTH), before >= 3);
        assert_int_equal(count_kind(s, RPCRDMA_OP_LOST), 1);
        sends(s, &seq, &msn, 4, 50);
        assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), before + 4);
        seen_free(s);
    }
}

/* Behind a hole, a cut segment that begins as an FPDU does: it is taken for one, though it is
 * longer than the segment. What comes where the next should begin disproves it; without a hole, it
 * shows that the FPDU is malformed. */
static void by_a_cut_segment(void **state)
{
    (void)state;
    for (uint32_t hole = 0; hole < 8; hole += 4) {
        struct seen *s = seen_new(NULL);
        uint32_t seq = NEXT0 + hole, msn = 1;

        talk_start(s, 0, 0);
        b.n = 0;
        put_send(&b, false, msn++, 200);
        tcp(s, 1, NEXT1, seq, ACK, NULL, 0);
        wait_in_vain(s, seq); /* the hole is one, and stays one */
        tcp_cut(s, 0, seq, NEXT1, ACK, b.at, b.n - 24, 64);
        seq += (uint32_t)b.n - 24;
        no_fpdu(s, &seq);
        no_fpdu(s, &seq);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_LENGTH), hole == 0);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_SYNC), hole == 0 ? 1 : 2);
        sends(s, &seq, &msn, 4, 50);
        assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), 5);
        seen_free(s);
    }
}

/* Likewise with markers: one that does not point to where its FPDU began disproves that it did;
 * where that is known, the marker is wrong. */
static void by_a_cut_segment_with_markers(void **state)
{
    static struct bytes u;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        bool lost = i & 1, wrong = i & 2;
        struct seen *s = seen_new(NULL);
        size_t first;

        talk_start(s, 0, M);
        b.n = 0;
        put_untagged(&u, 3, true, 0, 0, 1, 0);
        put_fpdu(&b, true, false, &u);
        first = b.n;
        put_untagged(&u, 3, true, 0, 0, 2, 0);
        put_payload(&u, 2, 600);
        put_fpdu(&b, true, false, &u);
        if (wrong)
            set(&b, 512 + 2, 512 - first + 4, 2);
        if (!lost)
            tcp(s, 0, NEXT0, NEXT1, ACK, b.at, first);
        tcp(s, 1, NEXT1, NEXT0 + (uint32_t)first, ACK, NULL, 0);
        tcp_cut(s, 0, NEXT0 + (uint32_t)first, NEXT1, ACK, b.at + first, b.n - first,
                b.n - first - 10);
        rpcrdma_net_end(s->net);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_SYNC), lost + (lost && wrong));
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_MARKER), wrong && !lost);
        assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), lost ? !wrong : 2);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_LENGTH), 0);
        seen_free(s);
    }
}

/* What only looked like an FPDU does not keep a Request of the other end from being read. */
static void request_from_the_other_end(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    b.n = 0;
    put_send(&b, false, 1, 50);
    tcp(s, 1, 7000, 900, ACK, b.at, b.n);
    assert_int_equal(s->net->tcp->n_connections, 1);
    b.n = 0;
    put_start(&b, true, 0, 1, NULL, 0);
    tcp(s, 0, 1000, 5000, ACK, b.at, b.n);
    assert_int_equal(s->n, 1);
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_CONNECT);
    assert_int_equal(s->net->tcp->n_connections, 1);
    seen_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_reply),
        cmocka_unit_test(by_a_cut_segment),
        cmocka_unit_test(by_a_cut_segment_with_markers),
        cmocka_unit_test(request_from_the_other_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
