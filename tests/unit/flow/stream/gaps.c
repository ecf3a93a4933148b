/* SPDX-License-Identifier: BSD-2-Clause */
/* Gaps in the PSNs: how long what is missing is waited for, and what comes of what waited. */
#include "order.h"

/* The receiver acknowledged what we did not see: it will not come again. */
static void gap_evident(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    call_at(&a, &b, a.psn, 1);
    call_at(&a, &b, a.psn + 3, 4);
    rig_ack(&rig, &b, &a, a.psn + 3);
    assert_int_equal(rig.messages, 1); /* capture may have reordered: not yet */
    rig.time_ns += 2000000;
    rig.frame += 10;
    call_at(&a, &b, a.psn + 4, 5);
    assert_int_equal(rig.messages, 3);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_PACKETS_LOST), 1);
    assert_int_equal(rig.finding[0].arg[0], 2);
    assert_int_equal(rig.finding[0].arg[1], a.psn + 1);
    assert_int_equal(rig.finding[0].arg[2], a.psn + 2);
    /* one of them comes after all, a whole Send, once */
    call_at(&a, &b, a.psn + 2, 3);
    call_at(&a, &b, a.psn + 2, 3);
    rig_end(&rig);
    XIDS(1, 4, 5, 3);
}

/* Packets stand a few places from their own, at whatever times: what is missing is one of the next
 * ten, also where the receiver has acknowledged it and 8 s are over, or was not captured. */
static void gap_of_few_packets(void **state)
{
    (void)state;
    for (int acked = 0; acked < 2; acked++)
        for (uint32_t behind = 9; behind <= 10; behind++) {
            struct rig_end a = RIG_A, b = RIG_B;

            rig_begin_connected(&rig, &a, &b);
            call_at(&a, &b, a.psn + 1, 2);
            if (acked)
                rig_ack(&rig, &b, &a, a.psn + 1);
            rig.time_ns += INT64_C(9000000000);
            rig.frame += behind - 2 - (unsigned)acked;
            rig_ack(&rig, &a, &b, b.psn - 1);
            assert_int_equal(rig.messages, 0);
            call_at(&a, &b, a.psn, 1);
            rig_end(&rig);
            if (behind == 9)
                XIDS(1, 2);
            else
                XIDS(2, 1);
            assert_int_equal(rig_count(&rig, RPCRDMA_RULE_PACKETS_LOST), behind - 9);
        }
}

/* No packets come, and time passes: it alone says that what is missing was not captured. */
static void gap_in_silence(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    call_at(&a, &b, a.psn + 1, 2);
    rpcrdma_flow_time(rig.flow, rig.time_ns + INT64_C(7900000000));
    assert_int_equal(rig.messages, 0);
    rpcrdma_flow_time(rig.flow, rig.time_ns + INT64_C(8100000000));
    assert_int_equal(rig.messages, 1);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_PACKETS_LOST), 1);
    rig_end(&rig);
}

/* Where packets stand a few places from their own an error may stand before its Call. What comes
 * later was retransmitted, and says nothing of the order: then the error answers nothing. */
static void error_before_its_call(void **state)
{
    (void)state;
    for (uint32_t behind = 9; behind <= 10; behind++) {
        struct rig_end a = RIG_A, b = RIG_B;
        uint8_t buf[20], *p = buf;

        rig_begin_connected(&rig, &a, &b);
        call_at(&a, &b, a.psn + 1, 2);
        rig.frame += behind - 1;
        call_at(&a, &b, a.psn, 1);
        p = rig_word(p, 3);
        p = rig_word(p, 1);
        p = rig_word(p, 32);
        p = rig_word(p, 4);
        p = rig_word(p, 2);
        rig_send(&rig, &b, &a, buf, (uint32_t)(p - buf));
        call_at(&a, &b, a.psn + 2, 3);
        rig_end(&rig);
        XIDS(1, 2, 3, 3);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_ERROR_UNEXPECTED), behind - 9);
        assert_int_equal(rig.message[2].direction,
                         behind == 9 ? RPCRDMA_DIRECTION_REPLY : RPCRDMA_DIRECTION_UNKNOWN);
    }
}

static void gap_bounded(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint32_t n = FLOW_REORDER_PACKETS + 10;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    call_at(&a, &b, a.psn, 1);
    for (uint32_t i = 0; i < n; i++)
        call_at(&a, &b, a.psn + 2 + i, 100 + i);
    assert_int_equal(rig.messages, n + 1);
    rig_end(&rig);
    assert_int_equal(rig.messages, n + 1);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_PACKETS_LOST), 1);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(rig.message[i + 1].xid, 100 + i);
}

/* As many wait as may, behind a gap of two: what fills its end makes it one. */
static void full_and_before(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    call_at(&a, &b, a.psn, 1);
    for (uint32_t i = 0; i < FLOW_REORDER_PACKETS; i++)
        call_at(&a, &b, a.psn + 3 + i, 100 + i);
    assert_int_equal(rig.messages, 1);
    call_at(&a, &b, a.psn + 2, 99);
    rig_end(&rig);
    assert_int_equal(rig.messages, FLOW_REORDER_PACKETS + 2);
    for (size_t i = 1; i < rig.messages; i++)
        assert_int_equal(rig.message[i].xid, 98 + i);
    assert_int_equal(rig.findings, 1);
    assert_int_equal(rig.finding[0].rule, RPCRDMA_RULE_PACKETS_LOST);
    assert_int_equal(rig.finding[0].arg[0], 1);
    assert_int_equal(rig.connections, 1);
}

/* And what stands in the place of one that waited, and is another, is that one retransmitted. */
static void full_and_other_send(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    call_at(&a, &b, a.psn, 1);
    for (uint32_t i = 0; i < FLOW_REORDER_PACKETS; i++)
        call_at(&a, &b, a.psn + 2 + i, 100 + i);
    call_at(&a, &b, a.psn + 1 + FLOW_REORDER_PACKETS, 77);
    rig_end(&rig);
    assert_int_equal(rig.messages, FLOW_REORDER_PACKETS + 1);
    assert_int_equal(rig.message[FLOW_REORDER_PACKETS].xid, 100 + FLOW_REORDER_PACKETS - 1);
    assert_int_equal(rig.connections, 1);
}

static void gap_at_end(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    call_at(&a, &b, a.psn + 1, 2);
    rig_end(&rig);
    XIDS(2);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_PACKETS_LOST), 1);
    assert_int_equal(rig.finding[0].arg[0], 1);
}

/* One lost packet in the middle of a Send: a prefix is known. Two: another Send may begin there. */
static void gap_in_send(void **state)
{
    uint8_t buf[8192];

    (void)state;
    for (uint32_t lost = 1; lost <= 2; lost++) {
        struct rig_end a = RIG_A, b = RIG_B;
        uint32_t n = rig_call(buf, 7, 100003, 4 * RIG_PMTU);

        rig_begin(&rig, NULL);
        rig_connect(&rig, &a, &b, 20049);
        for (uint32_t i = 0; i < 5; i++) {
            if (i >= 1 && i < 1 + lost)
                continue;
            rig_packet(&rig, &a, &b, a.psn + i,
                       (i == 0 ? RPCRDMA_OP_FIRST : 0u) | (i == 4 ? RPCRDMA_OP_LAST : 0u),
                       buf + i * RIG_PMTU, i == 4 ? n - 4 * RIG_PMTU : RIG_PMTU);
        }
        call_at(&a, &b, a.psn + 5, 8);
        rig_end(&rig);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_PACKETS_LOST), 1);
        if (lost == 1) {
            XIDS(7, 8);
            assert_int_equal(rig.message[0].len, n);
            assert_int_equal(rig.message[0].caplen, RIG_PMTU);
            assert_int_equal(rig.message[0].rules[0], RPCRDMA_RULE_TRUNCATED);
            assert_true(rig.message[0].has_header_length);
        } else {
            XIDS(8);
            assert_int_equal(rig_count(&rig, RPCRDMA_RULE_SEND_INCOMPLETE), 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gap_evident),         cmocka_unit_test(gap_of_few_packets),
        cmocka_unit_test(gap_in_silence),      cmocka_unit_test(error_before_its_call),
        cmocka_unit_test(gap_bounded),         cmocka_unit_test(full_and_before),
        cmocka_unit_test(full_and_other_send), cmocka_unit_test(gap_at_end),
        cmocka_unit_test(gap_in_send),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
