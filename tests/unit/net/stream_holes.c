/* SPDX-License-Identifier: BSD-2-Clause */
/* Holes in TCP's bytes: what is acknowledged is waited for, and what follows is read all the same.
 */
#include "iwarp.h"

/* Not before the receiver has them are bytes lost, and they may be captured behind what says that
 * it has; what is behind them waits. */
static void lost_when_acknowledged(void **state)
{
    struct seen *s = seen_new(NULL);
    static struct bytes b;
    uint32_t size;

    (void)state;
    b.n = 0;
    talk_start(s, 0, 0);
    put_send(&b, false, 1, 100);
    size = (uint32_t)b.n;
    put_send(&b, false, 2, 100);
    tcp(s, 0, NEXT0 + size, NEXT1, ACK, b.at + size, size);
    tcp(s, 1, NEXT1, NEXT0, ACK, NULL, 0);
    assert_int_equal(s->n, 0);
    tcp(s, 1, NEXT1, NEXT0 + 2 * size, ACK, NULL, 0);
    assert_int_equal(s->n, 0);
    wait_in_vain(s, NEXT0 + 2 * size);
    assert_int_equal(s->n, 2);
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_LOST);
    assert_false(s->op[0].flags & RPCRDMA_OP_TRUNCATED);
    assert_int_equal(s->op[1].kind, RPCRDMA_OP_SEND);
    assert_int_equal(s->op[1].seq, 2);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), 1);
    tcp(s, 0, NEXT0, NEXT1, ACK, b.at, size); /* too late */
    assert_int_equal(s->n, 2);
    seen_free(s);
}

/* What an Ack shows to be lost was shown before by what follows: that, and each behind it, bears
 * its own packet, with that packet's time. So where an Ack is of a part of what is lost, too. */
static void own_packet_behind_lost(void **state)
{
    static struct bytes b;

    (void)state;
    for (uint32_t part = 0; part < 2; part++) {
        struct seen *s = seen_new(NULL);
        uint64_t first;
        uint32_t size;

        b.n = 0;
        talk_start(s, 0, 0);
        put_send(&b, false, 1, 100);
        size = (uint32_t)b.n;
        for (uint32_t msn = 2; msn <= 3; msn++)
            put_send(&b, false, msn, 100);
        first = s->frame + 1;
        for (uint32_t i = 1; i <= 2; i++)
            tcp(s, 0, NEXT0 + i * size, NEXT1, ACK, b.at + (size_t)i * size, size);
        if (part)
            wait_in_vain(s, NEXT0 + size / 2);
        wait_in_vain(s, NEXT0 + 3 * size);
        wait_in_vain(s, NEXT0 + 3 * size);
        assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), 2);
        assert_int_equal(s->n, 3 + part);
        for (size_t i = 0; i < s->n; i++) {
            assert_int_equal(s->op[i].kind, i > part ? RPCRDMA_OP_SEND : RPCRDMA_OP_LOST);
            assert_int_equal(s->op[i].frame, first + (i == 2 + part));
            assert_int_equal(s->op[i].time_ns, s->op[i].frame * 1000);
        }
        for (uint32_t i = 0; i < s->n_findings; i++) {
            assert_int_equal(s->finding[i].frame, first);
            assert_true(s->finding[i].has_time);
            assert_int_equal(s->finding[i].time_ns, first * 1000);
        }
        seen_free(s);
    }
}

/* The end of an FPDU is missing, and its DDP header, or all of it: of a packet that was cut, and of
 * one that is not there. Only the second is lost. */
static void cut_or_lost(void **state)
{
    enum { BYTES = 100, THERE = 12 }; /* less than a header */
    static struct bytes b;

    (void)state;
    for (uint32_t there = 0; there <= THERE; there += THERE) {
        for (int lost = 0; lost < 2; lost++) {
            struct seen *s = seen_new(NULL);
            uint32_t first, all;

            talk_start(s, 0, 0);
            b.n = 0;
            put_send(&b, false, 1, BYTES);
            first = (uint32_t)b.n + there;
            put_send(&b, false, 2, BYTES);
            all = (uint32_t)b.n;
            if (lost) {
                tcp(s, 0, NEXT0, NEXT1, ACK, b.at, first);
                tcp(s, 1, NEXT1, NEXT0 + all, ACK, NULL, 0);
                wait_in_vain(s, NEXT0 + all);
            } else {
                tcp_cut(s, 0, NEXT0, NEXT1, ACK, b.at, all, first);
            }
            assert_int_equal(s->n, 2);
            assert_int_equal(s->op[0].kind, RPCRDMA_OP_SEND);
            assert_int_equal(s->op[1].kind, there && !lost ? RPCRDMA_OP_SEND : RPCRDMA_OP_LOST);
            assert_int_equal(!(s->op[1].flags & RPCRDMA_OP_TRUNCATED), lost);
            assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), lost);
            assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_SYNC), lost && !there);
            assert_int_equal(count_rule(s, RPCRDMA_RULE_TRUNCATED), !lost && !there);
            seen_free(s);
        }
    }
}

/* A FIN that was not captured is no byte of the stream, however long nothing follows. */
static void fin_not_captured(void **state)
{
    struct seen *s = seen_new(NULL);
    static struct bytes b;

    (void)state;
    b.n = 0;
    talk_start(s, 0, 0);
    put_send(&b, false, 1, 100);
    tcp(s, 0, NEXT0, NEXT1, ACK, b.at, b.n);
    tcp(s, 1, NEXT1, NEXT0 + (uint32_t)b.n + 1, ACK, NULL, 0);
    wait_in_vain(s, NEXT0 + (uint32_t)b.n + 1);
    rpcrdma_net_end(s->net);
    assert_int_equal(s->n, 1);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), 0);
    seen_free(s);
}

/* What ends elsewhere than one byte behind an FPDU was no FIN: all of it is lost. */
static void ends_within_what_was_not_captured(void **state)
{
    static struct bytes b;

    (void)state;
    for (uint32_t n = 2; n < 9; n++) {
        struct seen *s = seen_new(NULL);
        const uint32_t lost = n % 4 == 1 ? n - 1 : n;

        b.n = 0;
        talk_start(s, 0, 0);
        put_send(&b, false, 1, 100);
        tcp(s, 0, NEXT0, NEXT1, ACK, b.at, b.n);
        tcp(s, 1, NEXT1, NEXT0 + (uint32_t)b.n + n, ACK, NULL, 0);
        wait_in_vain(s, NEXT0 + (uint32_t)b.n + n);
        rpcrdma_net_end(s->net);
        assert_int_equal(s->n, 2);
        assert_int_equal(s->op[1].kind, RPCRDMA_OP_LOST);
        assert_int_equal(s->op[1].len, lost);
        seen_free(s);
    }
}

/* Every third Call was not captured: the rest comes in the order of the wire, each with its own
 * packet, though each hole was waited for. */
static void lost_again_and_again(void **state)
{
    struct seen *s = seen_new(NULL);
    static struct bytes call, reply;
    uint32_t seq[2] = {NEXT0, NEXT1};
    uint64_t last = 0;
    uint32_t n = 0;

    (void)state;
    talk_start(s, 0, 0);
    for (uint32_t i = 0; i < 18; i++) {
        call.n = reply.n = 0;
        put_send(&call, false, 1 + i, 100);
        put_send(&reply, false, 1 + i, 60);
        if (i % 3 != 1)
            tcp(s, 0, seq[0], seq[1], ACK, call.at, call.n);
        seq[0] += (uint32_t)call.n;
        tcp(s, 1, seq[1], seq[0], ACK, reply.at, reply.n);
        seq[1] += (uint32_t)reply.n;
    }
    rpcrdma_net_end(s->net);
    for (size_t k = 0; k < s->n; k++) {
        const struct rpcrdma_op *op = &s->op[k];

        if (op->kind != RPCRDMA_OP_SEND)
            continue;
        assert_true(op->frame > last);
        last = op->frame;
        while (n % 6 == 2) /* the Call that is missing */
            n++;
        assert_int_equal(op->seq, 1 + n / 2);
        assert_int_equal(op->len, n % 2 ? 60 : 100);
        n++;
    }
    assert_int_equal(n, 36);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), 6);
    seen_free(s);
}

/* Two Sends are lost, one behind the other, and an Ack passed between them. What is missing of the
 * second is told when a third one is found, or the capture ends; and nothing that is seen is. */
static void lost_behind_lost(void **state)
{
    enum { ACK_FIRST, ACK_LAST, AT_THE_END, FAR_ACK, SENT_AGAIN, OVERTAKEN, CASES };
    static const bool lost[CASES] = {[ACK_FIRST] = true, [ACK_LAST] = true, [AT_THE_END] = true};
    static struct bytes b;

    (void)state;
    for (int i = 0; i < CASES; i++) {
        struct seen *s = seen_new(NULL);
        bool third = i != AT_THE_END && i != FAR_ACK;
        uint32_t first, second, all;
        uint64_t told = 0;

        b.n = 0;
        talk_start(s, 0, 0);
        put_send(&b, false, 1, 100);
        first = NEXT0 + (uint32_t)b.n;
        put_send(&b, false, 2, 60);
        second = NEXT0 + (uint32_t)b.n;
        put_send(&b, false, 3, 20);
        all = NEXT0 + (uint32_t)b.n;
        tcp(s, 1, NEXT1, first, ACK, NULL, 0);
        wait_in_vain(s, first);
        assert_int_equal(s->n, 1);
        if (i == FAR_ACK)
            tcp(s, 1, NEXT1, second + (1 << 29), ACK, NULL, 0);
        else if (i == OVERTAKEN)
            tcp(s, 1, NEXT1, all, ACK, NULL, 0);
        else if (i != ACK_LAST && i != SENT_AGAIN)
            tcp(s, 1, NEXT1, second, ACK, NULL, 0);
        assert_int_equal(s->n, 1); /* it may still come */
        if (third)
            tcp(s, 0, second, NEXT1, ACK, b.at + (second - NEXT0), all - second);
        if (i == SENT_AGAIN || i == OVERTAKEN)
            tcp(s, 0, first, NEXT1, ACK, b.at + (first - NEXT0), second - first);
        if (third)
            tcp(s, 1, NEXT1, all, ACK, NULL, 0);
        if (third)
            assert_int_equal(s->op[s->n - 1].seq, 3); /* read before the end */
        rpcrdma_net_end(s->net);
        assert_int_equal(count_kind(s, RPCRDMA_OP_LOST), 1 + lost[i]);
        assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), third + (third && !lost[i]));
        assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), 1 + lost[i]);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_SYNC), 1);
        for (size_t k = 0; k < s->n; k++)
            told += s->op[k].kind == RPCRDMA_OP_LOST ? s->op[k].len : 0;
        assert_int_equal(told, lost[i] ? second - NEXT0 : first - NEXT0);
        if (lost[i]) {
            assert_int_equal(s->op[1].kind, RPCRDMA_OP_LOST);
            assert_int_equal(s->op[1].seq, first);
        }
        seen_free(s);
    }
}

/* Out of step in the middle of a Send, of which one more piece is lost further on. */
static void lost_before_it_is_found(void **state)
{
    struct seen *s = seen_new(NULL);
    static struct bytes b;
    uint32_t size;

    (void)state;
    b.n = 0;
    talk_start(s, 0, 0);
    put_send(&b, false, 1, 3000);
    size = (uint32_t)b.n;
    put_send(&b, false, 2, 100);
    tcp(s, 1, NEXT1, NEXT0 + 1000, ACK, NULL, 0);
    wait_in_vain(s, NEXT0 + 1000);
    tcp(s, 0, NEXT0 + 1000, NEXT1, ACK, b.at + 1000, 1000);
    tcp(s, 0, NEXT0 + 2400, NEXT1, ACK, b.at + 2400, size - 2400);
    tcp(s, 0, NEXT0 + size, NEXT1, ACK, b.at + size, b.n - size);
    tcp(s, 1, NEXT1, NEXT0 + (uint32_t)b.n, ACK, NULL, 0);
    rpcrdma_net_end(s->net);
    assert_int_equal(s->n, 3);
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_LOST);
    assert_int_equal(s->op[0].len, 1000);
    assert_int_equal(s->op[1].kind, RPCRDMA_OP_LOST);
    assert_int_equal(s->op[1].seq, NEXT0 + 2000);
    assert_int_equal(s->op[1].len, 400);
    assert_int_equal(s->op[2].kind, RPCRDMA_OP_SEND);
    assert_int_equal(s->op[2].seq, 2);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), 2);
    seen_free(s);
}

/* A hole inside of an FPDU costs its bytes and nothing else. */
static void hole_in_payload(void **state)
{
    struct seen *s = seen_new(NULL);
    static struct bytes b;

    (void)state;
    b.n = 0;
    talk_start(s, 0, 0);
    put_send(&b, false, 1, 3000);
    tcp(s, 0, NEXT0, NEXT1, ACK, b.at, 1000);
    tcp(s, 0, NEXT0 + 2000, NEXT1, ACK, b.at + 2000, b.n - 2000);
    assert_int_equal(s->n, 0);
    tcp(s, 1, NEXT1, NEXT0 + (uint32_t)b.n, ACK, NULL, 0);
    wait_in_vain(s, NEXT0 + (uint32_t)b.n);
    assert_int_equal(s->n, 1);
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_SEND);
    assert_int_equal(s->op[0].len, 3000);
    assert_int_equal(s->op[0].caplen, 980);
    seen_free(s);
}

/* More than a window was not captured: the stream goes on behind it.
 * (FPDUs are multiples of 4 bytes long, and so is every hole.) */
static void hole_beyond_a_window(void **state)
{
    static const uint32_t far[] = {UINT32_C(3) << 29, (UINT32_C(1) << 30) + 4, INT32_MAX - 3};
    static struct bytes b;

    (void)state;
    for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
        struct seen *s = seen_new(NULL);
        uint32_t size, at = NEXT0 + far[i];

        b.n = 0;
        talk_start(s, 0, 0);
        put_send(&b, false, 1, 100);
        size = (uint32_t)b.n;
        tcp(s, 0, NEXT0, NEXT1, ACK, b.at, size);
        b.n = 0;
        put_send(&b, false, 9, 100);
        tcp(s, 0, NEXT0 + 5 * size, NEXT1, ACK, b.at, size); /* held */
        for (uint32_t k = 0; k < 4; k++) {
            b.n = 0;
            put_send(&b, false, 10 + k, 100);
            tcp(s, 0, at + size * k, NEXT1, ACK, b.at, size);
        }
        tcp(s, 1, NEXT1, at + 4 * size, ACK, NULL, 0);
        rpcrdma_net_end(s->net);
        assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), 6);
        assert_int_equal(s->op[s->n - 1].seq, 13);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), 2);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_MALFORMED), 0);
        seen_free(s);
    }
}

/* A Reply is not given out before the Call that a hole holds up. */
static void directions_in_order(void **state)
{
    struct seen *s = seen_new(NULL);
    static struct bytes b;
    uint32_t seq = NEXT0;

    (void)state;
    talk_start(s, 0, 0);
    b.n = 0;
    put_send(&b, false, 1, 100);
    seq += 50; /* the beginning is lost, and that is known */
    tcp(s, 0, seq, NEXT1, ACK, b.at + 50, b.n - 50);
    seq += (uint32_t)b.n - 50;
    tcp(s, 1, NEXT1, seq, ACK, NULL, 0);
    for (uint32_t i = 0; i < 3; i++) { /* Call in two segments, Reply */
        b.n = 0;
        put_send(&b, false, 10 + i, 1000);
        tcp(s, 0, seq, NEXT1, ACK, b.at, 600);
        tcp(s, 0, seq + 600, NEXT1, ACK, b.at + 600, b.n - 600);
        seq += (uint32_t)b.n;
        b.n = 0;
        put_send(&b, false, 20 + i, 20);
        tcp(s, 1, NEXT1 + i * (uint32_t)b.n, seq, ACK, b.at, b.n);
    }
    rpcrdma_net_end(s->net);
    assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), 6);
    for (size_t i = 0, k = 0; i < s->n; i++)
        if (s->op[i].kind == RPCRDMA_OP_SEND) {
            assert_int_equal(s->op[i].seq, (k % 2 ? 20 : 10) + k / 2);
            assert_true(i == 0 || s->op[i].frame >= s->op[i - 1].frame);
            k++;
        }
    seen_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_when_acknowledged),
        cmocka_unit_test(own_packet_behind_lost),
        cmocka_unit_test(cut_or_lost),
        cmocka_unit_test(fin_not_captured),
        cmocka_unit_test(ends_within_what_was_not_captured),
        cmocka_unit_test(lost_again_and_again),
        cmocka_unit_test(hole_in_payload),
        cmocka_unit_test(lost_behind_lost),
        cmocka_unit_test(lost_before_it_is_found),
        cmocka_unit_test(hole_beyond_a_window),
        cmocka_unit_test(directions_in_order),
    };

    return cmocka_run_group_tests_name("stream_holes", tests, NULL, NULL);
}
