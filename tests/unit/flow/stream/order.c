/* SPDX-License-Identifier: BSD-2-Clause */
/* PSN order: wrap, duplicates, reordering, go-back-N, QP numbers used again. */
#include "order.h"

static void wrap(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t buf[8192];
    uint32_t n = rig_call(buf, 7, 100003, 3 * RIG_PMTU);

    (void)state;
    a.psn = 0xfffffd;
    rig_begin_connected(&rig, &a, &b);
    rig_send_call(&rig, &a, &b, 6);
    rig_send(&rig, &a, &b, buf, n); /* 0xfffffe ... 1 */
    rig_send_call(&rig, &a, &b, 8);
    rig_end(&rig);
    XIDS(6, 7, 8);
    assert_int_equal(rig.message[1].len, n);
    assert_int_equal(rig.message[1].caplen, n);
    assert_int_equal(rig.message[1].frame - rig.message[1].first_frame, 3);
    assert_int_equal(rig.findings, 0);
    assert_int_equal(rig.message[0].n_rules, 0);
}

static void duplicate(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    for (uint32_t i = 0; i < 4; i++) {
        call_at(&a, &b, a.psn + i, i + 1);
        call_at(&a, &b, a.psn + i, i + 1);
    }
    call_at(&a, &b, a.psn + 1, 2);
    rig_end(&rig);
    XIDS(1, 2, 3, 4);
    assert_int_equal(rig.findings, 0);
}

static void reorder(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    call_at(&a, &b, a.psn + 0, 1);
    call_at(&a, &b, a.psn + 3, 4);
    call_at(&a, &b, a.psn + 2, 3);
    call_at(&a, &b, a.psn + 2, 3);
    assert_int_equal(rig.messages, 1);
    call_at(&a, &b, a.psn + 1, 2);
    assert_int_equal(rig.messages, 4);
    rig_end(&rig);
    XIDS(1, 2, 3, 4);
    assert_int_equal(rig.findings, 0);
}

/* The Reply was captured before the Call it answers was put in order: it comes after it. */
static void reorder_across(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    call_at(&a, &b, a.psn + 1, 2);
    rig_send_reply(&rig, &b, &a, 2);
    assert_int_equal(rig.messages, 0);
    call_at(&a, &b, a.psn + 0, 1);
    rig_end(&rig);
    XIDS(1, 2, 2);
    assert_int_equal(rig.message[2].direction, RPCRDMA_DIRECTION_REPLY);
    assert_true(rig.message[2].has_call);
}

static void go_back_n(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    call_at(&a, &b, a.psn, 1);
    for (uint32_t i = 2; i < 6; i++)
        call_at(&a, &b, a.psn + i, i + 1); /* PSN + 1 was lost before the tap */
    rig_nak(&rig, &b, &a, a.psn + 1, RPCRDMA_NAK_PSN_SEQUENCE);
    rig.time_ns += 100000000; /* far longer than reordering */
    for (uint32_t i = 1; i < 6; i++)
        call_at(&a, &b, a.psn + i, i + 1);
    rig_end(&rig);
    XIDS(1, 2, 3, 4, 5, 6);
    assert_int_equal(rig.findings, 0);
}

/* Headers only: PSNs and lengths are the wire's. */
static void sliced(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t buf[8192];
    uint32_t n = rig_call(buf, 7, 100003, 2 * RIG_PMTU);

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    for (uint32_t i = 0; i < 3; i++) {
        struct rpcrdma_op op = rig_op(&rig, RPCRDMA_OP_SEND, &a, &b, a.psn + i);

        op.flags = (uint16_t)((i == 0 ? RPCRDMA_OP_FIRST : 0u) | (i == 2 ? RPCRDMA_OP_LAST : 0u));
        op.data = buf + i * RIG_PMTU;
        op.len = i == 2 ? n - 2 * RIG_PMTU : RIG_PMTU;
        op.caplen = op.len < 74 ? op.len : 74;
        rig_feed(&rig, &op);
    }
    rig_end(&rig);
    XIDS(7);
    assert_int_equal(rig.message[0].len, n);
    assert_int_equal(rig.message[0].caplen, 74);
    assert_int_equal(rig.message[0].n_rules, 1);
    assert_int_equal(rig.message[0].rules[0], RPCRDMA_RULE_TRUNCATED);
}

/* b reads what takes four PSNs of its own, and answers: both messages come, nothing is missing. */
static void read_and_reply(struct rig_end *a, struct rig_end *b)
{
    struct rpcrdma_op op = rig_op(&rig, RPCRDMA_OP_READ_REQUEST, b, a, b->psn);

    op.flags |= RPCRDMA_OP_RETH;
    op.length = 3 * RIG_PMTU + 1;
    rig_feed(&rig, &op);
    b->psn += 4;
    rig_send_reply(&rig, b, a, 1);
    rig_end(&rig);
    XIDS(1, 1);
    assert_int_equal(rig.findings, 0);
}

static void read_takes_psns(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    rig_send_call(&rig, &a, &b, 1);
    read_and_reply(&a, &b);
}

/* The path MTU is not known: the packet after the Read request tells how many PSNs it took. */
static void read_unknown_mtu(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin(&rig, NULL);
    rig_send_call(&rig, &a, &b, 1);
    rig_ack(&rig, &b, &a, a.psn - 1);
    read_and_reply(&a, &b);
}

/* The same QP numbers, other PSNs, no CM exchange seen: another connection. */
static void used_again(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    for (uint32_t i = 1; i < 4; i++) {
        rig_send_call(&rig, &a, &b, i);
        rig_ack(&rig, &b, &a, a.psn - 1);
        rig_send_reply(&rig, &b, &a, i);
    }
    a.psn = 0x900000;
    b.psn = 0x300000;
    for (uint32_t i = 11; i < 14; i++) {
        rig_send_call(&rig, &a, &b, i);
        rig_ack(&rig, &b, &a, a.psn - 1);
        rig_send_reply(&rig, &b, &a, i);
    }
    rig_end(&rig);
    XIDS(1, 1, 2, 2, 3, 3, 11, 11, 12, 12, 13, 13);
    assert_int_equal(rig.connections, 2);
    assert_int_equal(rig.message[5].connection, 1);
    assert_int_equal(rig.message[6].connection, 2);
    assert_int_equal(rig.message[11].connection, 2);
    assert_int_equal(rig.connection[1].paired_by, RPCRDMA_PAIRED_INFERRED);
    assert_int_equal(rig.findings, 0);
}

/* ... and captured from the middle of a message on: the second packet that fits the first of them,
 * and nothing else, shows it. One that strays alone is left out. */
static void used_again_in_the_middle(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t data[RIG_PMTU] = {0};

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    for (uint32_t i = 1; i < 4; i++) {
        rig_send_call(&rig, &a, &b, i);
        rig_send_reply(&rig, &b, &a, i);
    }
    rig_packet(&rig, &a, &b, 0x700000, 0, data, sizeof(data)); /* strays */
    rig_send_call(&rig, &a, &b, 4);
    rig_send_reply(&rig, &b, &a, 4);
    a.psn = 0x900000;
    rig_packet(&rig, &a, &b, a.psn, 0, data, sizeof(data));
    rig_packet(&rig, &a, &b, a.psn + 1, RPCRDMA_OP_LAST, data, sizeof(data));
    a.psn += 2;
    for (uint32_t i = 11; i < 13; i++) {
        rig_send_call(&rig, &a, &b, i);
        rig_send_reply(&rig, &b, &a, i);
    }
    rig_end(&rig);
    XIDS(1, 1, 2, 2, 3, 3, 4, 4, 11, 11, 12, 12);
    assert_int_equal(rig.message[7].connection, 1);
    assert_int_equal(rig.message[8].connection, 2);
}

/* A Send with another XID on a PSN that was used: a retransmission out of a buffer that is in use
 * again, and the receiver takes none of it; or, of a connection that ended, another one. */
static void same_psn_other_send(void **state)
{
    (void)state;
    for (int ended = 0; ended < 2; ended++) {
        struct rig_end a = RIG_A, b = RIG_B;

        rig_begin_connected(&rig, &a, &b);
        call_at(&a, &b, a.psn, 1);
        call_at(&a, &b, a.psn + 1, 2);
        if (ended)
            rig_disconnect(&rig, &a, &b);
        call_at(&a, &b, a.psn, ended ? 77 : 2);
        call_at(&a, &b, a.psn + 1, ended ? 78 : 2);
        call_at(&a, &b, a.psn + 2, 79);
        rig_end(&rig);
        if (ended)
            XIDS(1, 2, 77, 78, 79);
        else
            XIDS(1, 2, 79);
        assert_int_equal(rig.connections, 1 + ended);
    }
}

static void used_again_by_cm(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    rig_send_call(&rig, &a, &b, 1);
    rig_disconnect(&rig, &a, &b);
    b.qpn++; /* only A's number is used again */
    rig_connect(&rig, &a, &b, 20049);
    rig_send_call(&rig, &a, &b, 1);
    rig_send_reply(&rig, &b, &a, 1);
    rig_end(&rig);
    XIDS(1, 1, 1);
    assert_int_equal(rig.connections, 2);
    assert_int_equal(rig.connection[0].number, 1);
    assert_true(rig.connection[0].closed);
    assert_int_equal(rig.message[1].connection, 2);
    assert_int_equal(rig.message[2].connection, 2);
    assert_true(rig.message[2].has_call);
}

/* Two connections between one pair of hosts, the same QP numbers on both hosts crosswise. */
static void two_connections(void **state)
{
    struct rig_end a1 = {1, 17, 100}, b1 = {2, 17, 90000}, a2 = {1, 18, 100}, b2 = {2, 18, 90000};

    (void)state;
    rig_begin(&rig, NULL);
    rig_connect(&rig, &a1, &b1, 20049);
    rig_connect(&rig, &a2, &b2, 20049);
    for (uint32_t i = 0; i < 3; i++) {
        rig_send_call(&rig, &a1, &b1, 5);
        rig_send_call(&rig, &a2, &b2, 5);
        rig_send_reply(&rig, &b2, &a2, 5);
        rig_send_reply(&rig, &b1, &a1, 5);
    }
    rig_end(&rig);
    assert_int_equal(rig.messages, 12);
    assert_int_equal(rig.connections, 2);
    for (size_t i = 0; i < 12; i++)
        assert_int_equal(rig.message[i].connection, (i % 4 == 1 || i % 4 == 2) ? 2 : 1);
}

/* The capture begins in the middle of a Send. */
static void begins_inside(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t buf[8192];
    uint32_t n = rig_call(buf, 7, 100003, RIG_PMTU);

    (void)state;
    rig_begin(&rig, NULL);
    rig_packet(&rig, &a, &b, a.psn + 1, RPCRDMA_OP_LAST, buf + RIG_PMTU, n - RIG_PMTU);
    call_at(&a, &b, a.psn + 2, 8);
    rig_end(&rig);
    XIDS(8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrap),
        cmocka_unit_test(duplicate),
        cmocka_unit_test(reorder),
        cmocka_unit_test(reorder_across),
        cmocka_unit_test(go_back_n),
        cmocka_unit_test(sliced),
        cmocka_unit_test(read_takes_psns),
        cmocka_unit_test(read_unknown_mtu),
        cmocka_unit_test(used_again),
        cmocka_unit_test(used_again_in_the_middle),
        cmocka_unit_test(same_psn_other_send),
        cmocka_unit_test(used_again_by_cm),
        cmocka_unit_test(two_connections),
        cmocka_unit_test(begins_inside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
