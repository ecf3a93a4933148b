/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection that is captured from the middle on, or without its start-up frames, and some of its
 * packets are not. Whether it has markers shows in 512 bytes in a row. */
#include "iwarp.h"

enum { EXCHANGES = 26, CALL = 60, REPLY = 40 };

/* Calls and their Replies; a bit of `calls` or `replies`: it is not captured. */
static void talk(struct seen *s, uint32_t calls, uint32_t replies)
{
    static struct bytes call, reply;
    uint32_t seq[2] = {NEXT0, NEXT1};

    for (uint32_t i = 0; i < EXCHANGES; i++) {
        call.n = reply.n = 0;
        put_send(&call, false, 1 + i, CALL);
        put_send(&reply, false, 1 + i, REPLY);
        if (!(calls >> i & 1))
            tcp(s, 0, seq[0], seq[1], ACK, call.at, call.n);
        seq[0] += (uint32_t)call.n;
        if (!(replies >> i & 1))
            tcp(s, 1, seq[1], seq[0], ACK, reply.at, reply.n);
        seq[1] += (uint32_t)reply.n;
    }
}

static size_t count_sends(const struct seen *s, uint32_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += s->op[i].kind == RPCRDMA_OP_SEND && s->op[i].len == len;
    return n;
}

/* More places before the holes than are remembered could be where FPDUs begin. They give way, and
 * all is read as soon as it is known that there are no markers: what came before, too. */
static void holes_before_it_is_known(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    talk(s, 1 << 4 | 1 << 9, 0);
    assert_true(count_sends(s, CALL) >= EXCHANGES - 3); /* not at the end */
    rpcrdma_net_end(s->net);
    assert_int_equal(count_sends(s, CALL), EXCHANGES - 2);
    assert_int_equal(count_sends(s, REPLY), EXCHANGES);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), 2);
    seen_free(s);
}

/* What waited together is read in the order of the wire, with the packets that it came in, although
 * both directions lack some. */
static void in_order(void **state)
{
    static const uint32_t lost[][2] = {
        {1 << 4 | 1 << 9, 0},      {1 << 4 | 1 << 9, 1 << 3 | 1 << 8},
        {1 << 4, 1 << 6 | 1 << 7}, {0, 1 << 2 | 1 << 5},
        {1 << 9, 1 << 9},          {1 << 6 | 1 << 9, 1 << 6 | 1 << 9}};

    (void)state;
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
        struct seen *s = seen_new(NULL);
        uint32_t frame = 0, k = 0;

        talk(s, lost[i][0], lost[i][1]);
        rpcrdma_net_end(s->net);
        for (uint32_t n = 0; n < 2 * EXCHANGES; n++) {
            if (lost[i][n % 2] >> n / 2 & 1)
                continue;
            frame++;
            while (k < s->n && s->op[k].kind != RPCRDMA_OP_SEND)
                k++;
            assert_true(k < s->n);
            assert_int_equal(s->op[k].seq, 1 + n / 2);
            assert_int_equal(s->op[k].len, n % 2 ? REPLY : CALL);
            assert_int_equal(s->op[k++].frame, frame);
        }
        seen_free(s);
    }
}

enum { BULK = 60000, BULK_SEGMENT = BULK + 20 };

/* A Write of this direction in one segment. */
static void bulk(struct seen *s, int end, uint32_t *seq, uint32_t ack)
{
    static struct bytes u, b;

    b.n = 0;
    put_tagged(&u, 0, true, 0x1234, *seq);
    put_payload(&u, *seq, BULK);
    put_fpdu(&b, false, false, &u);
    assert_int_equal(b.n, BULK_SEGMENT);
    tcp(s, end, *seq, ack, ACK, b.at, b.n);
    *seq += (uint32_t)b.n;
}

static void message(struct seen *s, int end, uint32_t *seq, uint32_t ack, uint32_t msn)
{
    static struct bytes b;

    b.n = 0;
    put_send(&b, false, msn, end == 0 ? CALL : REPLY);
    tcp(s, end, *seq, ack, ACK, b.at, b.n);
    *seq += (uint32_t)b.n;
}

/* Frames are numbered as operations are where each packet brings one. */
static void all_in_order(const struct seen *s)
{
    for (size_t i = 0; i < s->n; i++)
        assert_int_equal(s->op[i].frame, i + 1);
    assert_int_equal(s->n, s->frame);
}

/* READs: of Calls there are few bytes, and what they ask for is much. It waits until it is known
 * where Calls begin, as a Reply must not be given before its Call. */
static void few_calls(void **state)
{
    struct seen *s = seen_new(NULL);
    uint32_t seq[2] = {NEXT0, NEXT1};

    (void)state;
    for (uint32_t i = 0; i < 9; i++) {
        message(s, 0, &seq[0], seq[1], 1 + i);
        for (int k = 0; k < 4; k++)
            bulk(s, 1, &seq[1], seq[0]);
        if (i < 5) /* not enough in a row to show that there are no markers */
            assert_int_equal(s->n, 0);
        message(s, 1, &seq[1], seq[0], 1 + i);
    }
    all_in_order(s);
    assert_int_equal(s->n_findings, 0);
    seen_free(s);
}

/* One Call, and ever more bytes of the other direction: not all of them wait, but the Call comes
 * first. */
static void one_call(uint64_t max_memory, uint64_t held_most)
{
    const struct rpcrdma_net_config config = {.max_memory = max_memory};
    struct seen *s = seen_new(&config);
    uint32_t seq[2] = {NEXT0, NEXT1};

    message(s, 0, &seq[0], seq[1], 1);
    for (uint64_t sent = 0; s->n == 0; sent += BULK_SEGMENT) {
        assert_true(sent < held_most + 2 * BULK_SEGMENT);
        bulk(s, 1, &seq[1], seq[0]);
        assert_true(s->net->tcp->memory < held_most + 3 * BULK_SEGMENT);
    }
    assert_int_equal(s->op[0].frame, 1);
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_SEND);
    assert_int_equal(s->op[1].frame, 2);
    assert_int_equal(s->n, s->frame);
    assert_int_equal(rpcrdma_net_stats(s->net)->memory_limit, 0);
    assert_int_equal(s->n_findings, 0);
    seen_free(s);
}

static void waiting_has_an_end(void **state)
{
    (void)state;
    one_call(0, RPCRDMA_HELD_MOST);
    one_call(1 << 20, 512 << 10);
}

/* Captured from within a loss: what fills the hole behind the first segment was captured by nobody.
 * That the connection is MPA shows behind it, and the Call is not forgotten before. */
static void begun_before_a_hole(void **state)
{
    struct seen *s = seen_new(NULL);
    uint32_t seq[2] = {NEXT0, NEXT1}, behind;

    (void)state;
    bulk(s, 1, &seq[1], seq[0]);
    behind = seq[1] + 10 * BULK_SEGMENT;
    message(s, 0, &seq[0], behind, 1);
    for (int i = 0; i < 3; i++)
        bulk(s, 1, &behind, seq[0]);
    for (uint32_t i = 0; i < 8; i++) {
        message(s, 1, &behind, seq[0], 1 + i);
        message(s, 0, &seq[0], behind, 2 + i);
    }
    rpcrdma_net_end(s->net);
    assert_int_equal(count_sends(s, CALL), 9);
    assert_int_equal(count_sends(s, REPLY), 8);
    assert_int_equal(count_kind(s, RPCRDMA_OP_WRITE), 4);
    seen_free(s);
}

/* The end of a connection: nothing shows where the last Calls begin before the end of the capture,
 * and that the server closes comes after them. */
static void closed_meanwhile(void **state)
{
    for (int closes_first = 0; closes_first < 2; closes_first++) {
        struct seen *s = seen_new(NULL);
        uint32_t seq[2] = {NEXT0, NEXT1};
        int end = closes_first;

        (void)state;
        bulk(s, 1, &seq[1], seq[0]);
        for (uint32_t i = 0; i < 3; i++) {
            message(s, 0, &seq[0], seq[1], 1 + i);
            message(s, 1, &seq[1], seq[0], 1 + i);
        }
        tcp(s, end, seq[end], seq[1 - end], ACK | FIN, NULL, 0);
        end = 1 - end;
        tcp(s, end, seq[end], seq[1 - end] + 1, ACK | FIN, NULL, 0);
        rpcrdma_net_end(s->net);
        all_in_order(s);
        seen_free(s);
    }
}

/* Of cut packets with two messages the second's header is not there, so nothing shows that the
 * first is one. However many there are, those that follow one another later are found. */
static void cut(void **state)
{
    static struct bytes b;
    struct seen *s = seen_new(NULL);
    uint32_t seq[2] = {NEXT0, NEXT1};

    (void)state;
    for (uint32_t i = 0; i < 12; i++) {
        b.n = 0;
        put_send(&b, false, 1 + 2 * i, CALL);
        put_send(&b, false, 2 + 2 * i, CALL);
        tcp_cut(s, 0, seq[0], seq[1], ACK, b.at, b.n, 40);
        seq[0] += (uint32_t)b.n;
        message(s, 1, &seq[1], seq[0], 1 + i);
    }
    for (uint32_t i = 0; i < 8; i++)
        message(s, 0, &seq[0], seq[1], 25 + i);
    assert_true(count_sends(s, CALL) >= 8);
    assert_int_equal(count_sends(s, REPLY), 12);
    seen_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holes_before_it_is_known),
        cmocka_unit_test(in_order),
        cmocka_unit_test(few_calls),
        cmocka_unit_test(waiting_has_an_end),
        cmocka_unit_test(begun_before_a_hole),
        cmocka_unit_test(closed_meanwhile),
        cmocka_unit_test(cut),
    };

    return cmocka_run_group_tests_name("stream_midway", tests, NULL, NULL);
}
