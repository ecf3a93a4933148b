/* SPDX-License-Identifier: BSD-2-Clause */
/* Acknowledgements, and answers, that are captured before what they acknowledge: tcp_late.c. */
#include "iwarp.h"

/* A tap of each direction, or several receive queues: the acknowledgement, with the answer, is
 * captured before what it acknowledges. Nothing is lost, and the answer stays behind. */
static void acknowledged_before_it_is_seen(void **state)
{
    struct seen *s = seen_new(NULL);
    static struct bytes call, reply;

    (void)state;
    call.n = reply.n = 0;
    talk_start(s, 0, 0);
    put_send(&call, false, 1, 100);
    put_send(&reply, false, 1, 60);
    tcp(s, 1, NEXT1, NEXT0 + (uint32_t)call.n, ACK, reply.at, reply.n);
    assert_int_equal(s->n, 0);
    tcp(s, 0, NEXT0, NEXT1, ACK, call.at, call.n);
    assert_int_equal(s->n, 2);
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_SEND);
    assert_int_equal(s->op[0].len, 100);
    assert_int_equal(s->op[1].len, 60);
    /* the same of FIN, which is no byte that could be lost */
    tcp(s, 1, NEXT1 + (uint32_t)reply.n, NEXT0 + (uint32_t)call.n + 1, ACK, NULL, 0);
    tcp(s, 0, NEXT0 + (uint32_t)call.n, NEXT1 + (uint32_t)reply.n, ACK | FIN, NULL, 0);
    rpcrdma_net_end(s->net);
    assert_int_equal(s->n, 3);
    assert_int_equal(s->op[2].kind, RPCRDMA_OP_DISCONNECT);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), 0);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_SYNC), 0);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_CUT), 0);
    seen_free(s);
}

/* One direction is captured 5 ms late, and thousands of segments of the other are before it: time
 * says what was not captured, not their number. In the second round the clock stands still; then so
 * many do, and it is told. */
static void late_by_time(void **state)
{
    static struct bytes call, b;

    (void)state;
    call.n = 0;
    put_send(&call, false, 1, 100);
    for (int still = 0; still < 2; still++) {
        struct seen *s = seen_new(NULL);
        uint32_t seq = NEXT1, n = still ? 8200 : 5000, most = 0;

        talk_start(s, 0, 0);
        for (uint32_t i = 0; i < n; i++) {
            b.n = 0;
            put_send(&b, false, 1 + i, 60);
            tcp(s, 1, seq, NEXT0 + (uint32_t)call.n, ACK, b.at, b.n);
            seq += (uint32_t)b.n;
            s->later_ns -= still * 1000;
            if (s->n == 0)
                most = i + 1;
        }
        assert_int_equal(most, still ? 8192 : n);
        tcp(s, 0, NEXT0, NEXT1, ACK, call.at, call.n);
        assert_int_equal(count_kind(s, RPCRDMA_OP_LOST), still);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), still);
        assert_int_equal(s->n, n + 1);
        seen_free(s);
    }
}

/* Nor do more bytes wait than 16 MiB, or than 256 KiB where all connections have taken more than
 * half of what there is. */
static void late_by_bytes(void **state)
{
    enum { SEGMENT = 4000, HELD = SEGMENT + 256 }; /* and what is kept of one, at most */
    static const struct {
        uint64_t max_memory, least, most;
    } cases[] = {{1 << 30, 16 << 20, 16 << 20}, {2 << 20, 1 << 20, 1 << 20}};
    static struct bytes call, b;

    (void)state;
    call.n = 0;
    put_send(&call, false, 1, 100);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rpcrdma_net_config config = {.size = sizeof(config),
                                            .max_memory = cases[i].max_memory};
        struct seen *s = seen_new(&config);
        uint32_t seq = NEXT1, n = 0;

        talk_start(s, 0, 0);
        while (s->n == 0 && n < 8000) {
            b.n = 0;
            put_send(&b, false, ++n, SEGMENT);
            tcp(s, 1, seq, NEXT0 + (uint32_t)call.n, ACK, b.at, b.n);
            seq += (uint32_t)b.n;
            s->later_ns -= 1000;
        }
        assert_true((uint64_t)n * HELD > cases[i].least);
        assert_true((uint64_t)(n - 1) * SEGMENT <= cases[i].most);
        seen_free(s);
    }
}

/* Packets stand a few places from their own, at whatever times: what is missing is one of the next
 * ten, or was not captured. */
static void late_by_packets(void **state)
{
    static struct bytes call, reply;

    (void)state;
    call.n = reply.n = 0;
    put_send(&call, false, 1, 100);
    put_send(&reply, false, 1, 60);
    for (uint32_t behind = LATE_PACKETS - 1; behind <= LATE_PACKETS; behind++) {
        struct seen *s = seen_new(NULL);
        bool lost = behind == LATE_PACKETS;

        talk_start(s, 0, 0);
        tcp(s, 1, NEXT1, NEXT0 + (uint32_t)call.n, ACK, reply.at, reply.n);
        s->later_ns += 100 * (int64_t)LATE_NS;
        seen_others(s, behind - 1);
        tcp(s, 1, NEXT1 + (uint32_t)reply.n, NEXT0 + (uint32_t)call.n, ACK, NULL, 0);
        assert_int_equal(count_kind(s, RPCRDMA_OP_LOST), lost);
        tcp(s, 0, NEXT0, NEXT1, ACK, call.at, call.n);
        assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), lost ? 1 : 2);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), lost);
        seen_free(s);
    }
}

/* The client opens another connection, a moment after packets of the one before that lack others.
 * These are taken first, so that its end is not told behind the beginning of the next; but where
 * the clock tells that packets are out of order, what they lack is waited for. */
static void late_before_the_next(void **state)
{
    static struct bytes b, reply;

    (void)state;
    reply.n = 0;
    put_send(&reply, false, 1, 60);
    for (int back = 0; back < 2; back++) {
        struct seen *s = seen_new(NULL);

        talk_start(s, 0, 0);
        tcp(s, 0, NEXT0, NEXT1 + (uint32_t)reply.n, ACK, NULL, 0);
        s->later_ns += 2 * (int64_t)LATE_NS;
        tcp(s, 0, NEXT0, NEXT1 + (uint32_t)reply.n, ACK, NULL, 0);
        assert_int_equal(s->n, 0);
        put_tcp(&b, 0, 3000, 0, SYN, NULL, 0);
        set(&b, 34, 40001, 2); /* its port */
        s->later_ns -= back ? 5000 : 0;
        give(s, 1, &b);
        tcp(s, 1, NEXT1, NEXT0, ACK, reply.at, reply.n);
        assert_int_equal(count_kind(s, RPCRDMA_OP_LOST), !back);
        assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), back);
        assert_int_equal(s->op[!back].kind, RPCRDMA_OP_SYN);
        seen_free(s);
    }
}

/* What was waited for in vain comes all the same: then what follows is waited for as long as at
 * first. */
static void late_after_vain(void **state)
{
    enum { PIECE = 200 };
    static struct bytes b;

    (void)state;
    for (int late = 0; late < 2; late++) {
        struct seen *s = seen_new(NULL);
        uint32_t seq = NEXT0 + PIECE;

        b.n = 0;
        put_send(&b, false, 1, 2000);
        talk_start(s, 0, 0);
        tcp(s, 0, NEXT0, NEXT1, ACK, b.at, PIECE);
        for (uint32_t i = 0; i < 6; i++, seq += PIECE) { /* each is waited for half as long */
            tcp(s, 1, NEXT1, seq + PIECE, ACK, NULL, 0);
            wait_in_vain(s, seq + PIECE);
        }
        assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), 6);
        if (late)
            tcp(s, 0, seq - PIECE, NEXT1, ACK, b.at + (seq - PIECE - NEXT0), PIECE);
        tcp(s, 1, NEXT1, seq + PIECE, ACK, NULL, 0);
        s->later_ns += LATE_NS / 2;
        seen_others(s, LATE_PACKETS);
        tcp(s, 1, NEXT1, seq + PIECE, ACK, NULL, 0);
        tcp(s, 0, seq, NEXT1, ACK, b.at + (seq - NEXT0), PIECE);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), late ? 6 : 7);
        seen_free(s);
    }
}

/* After two waits in vain packets are not waited for any more, until one comes late. */
static void packets_in_vain(void **state)
{
    enum { PIECE = 200 };
    static struct bytes b;

    (void)state;
    for (int late = 0; late < 2; late++) {
        struct seen *s = seen_new(NULL);
        uint32_t seq = NEXT0 + PIECE;

        b.n = 0;
        put_send(&b, false, 1, 2000);
        talk_start(s, 0, 0);
        tcp(s, 0, NEXT0, NEXT1, ACK, b.at, PIECE);
        for (uint32_t i = 0; i < 2; i++, seq += PIECE) {
            tcp(s, 1, NEXT1, seq + PIECE, ACK, NULL, 0);
            wait_in_vain(s, seq + PIECE);
        }
        assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), 2);
        if (late)
            tcp(s, 0, seq - PIECE, NEXT1, ACK, b.at + (seq - PIECE - NEXT0), PIECE);
        tcp(s, 1, NEXT1, seq + PIECE, ACK, NULL, 0);
        s->later_ns += LATE_NS;
        tcp(s, 1, NEXT1, seq + PIECE, ACK, NULL, 0);
        assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), late ? 2 : 3);
        seen_free(s);
    }
}

/* The client's direction is captured late: SYN and MPA's Request behind the Reply. */
static void reply_before_request(void **state)
{
    struct seen *s = seen_new(NULL);
    static struct bytes request, reply, call, answer;

    (void)state;
    request.n = reply.n = call.n = answer.n = 0;
    put_start(&request, true, 0, 1, "abc", 4);
    put_start(&reply, false, 0, 1, NULL, 0);
    put_send(&call, false, 1, 100);
    put_send(&answer, false, 1, 60);
    tcp(s, 1, 5000, 1000 + (uint32_t)request.n, ACK, reply.at, reply.n);
    assert_int_equal(count_kind(s, RPCRDMA_OP_ACCEPT), 0);
    tcp(s, 0, 999, 0, SYN, NULL, 0);
    tcp(s, 0, 1000, 5000, ACK, NULL, 0);
    tcp(s, 1, 5000 + (uint32_t)reply.n, 1000 + (uint32_t)(request.n + call.n), ACK, answer.at,
        answer.n);
    tcp(s, 0, 1000, 5000, ACK, request.at, request.n);
    tcp(s, 0, 1000 + (uint32_t)request.n, 5000 + (uint32_t)reply.n, ACK, call.at, call.n);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), 0);
    assert_int_equal(count_kind(s, RPCRDMA_OP_CONNECT), 1);
    assert_int_equal(count_kind(s, RPCRDMA_OP_ACCEPT), 1);
    assert_int_equal(s->op[s->n - 2].kind, RPCRDMA_OP_SEND);
    assert_int_equal(s->op[s->n - 2].len, 100);
    assert_int_equal(s->op[s->n - 1].len, 60);
    seen_free(s);

    s = seen_new(NULL); /* there is none */
    tcp(s, 1, 5000, 1000 + (uint32_t)request.n, ACK, reply.at, reply.n);
    s->later_ns += LATE_NS;
    tcp(s, 0, 1000 + (uint32_t)request.n, 5000 + (uint32_t)reply.n, ACK, call.at, call.n);
    assert_int_equal(count_kind(s, RPCRDMA_OP_ACCEPT), 1);
    assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), 1);
    seen_free(s);
}

/* A SYN-ACK that is captured behind the client's FPDU ends nobody's waiting. */
static void late_syn_ack(void **state)
{
    struct seen *s = seen_new(NULL);
    static struct bytes b, call;

    (void)state;
    b.n = call.n = 0;
    put_start(&b, true, 0, 1, NULL, 0);
    tcp(s, 0, 1000, 5000, ACK, b.at, b.n);
    b.n = 0;
    put_start(&b, false, 0, 1, NULL, 0);
    put_send(&call, false, 1, 100);
    tcp(s, 0, NEXT0, NEXT1, ACK, call.at, call.n);
    tcp(s, 1, 4999, 1000, SYN | ACK, NULL, 0);
    tcp(s, 1, 5000, NEXT0, ACK, b.at, b.n);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), 0);
    assert_int_equal(count_kind(s, RPCRDMA_OP_ACCEPT), 1);
    assert_int_equal(s->op[s->n - 1].kind, RPCRDMA_OP_SEND);
    seen_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acknowledged_before_it_is_seen),
        cmocka_unit_test(late_by_time),
        cmocka_unit_test(late_by_bytes),
        cmocka_unit_test(late_by_packets),
        cmocka_unit_test(late_before_the_next),
        cmocka_unit_test(late_after_vain),
        cmocka_unit_test(packets_in_vain),
        cmocka_unit_test(reply_before_request),
        cmocka_unit_test(late_syn_ack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
