/* SPDX-License-Identifier: BSD-2-Clause */

/* Captured at two places: what passed both, when, and what was lost in between. The times are those
 * that the packets are given here. */

#include "delivery_rig.h"

enum { NEAR = 1, FAR = 2 };
#define WAY (30 * US)

static struct rpcrdma_op op(enum rpcrdma_op_kind kind, uint32_t psn, uint16_t id, int64_t time_ns)
{
    return delivery_packet(kind, psn, ONLY, id, time_ns);
}

/* A Send towards the one end, as seen at this place. */
static void sent(uint8_t tap, uint32_t psn, uint16_t id, int64_t time_ns)
{
    const struct rpcrdma_op packet = op(RPCRDMA_OP_SEND, psn, id, time_ns);

    flow_delivery_tap(d, tap);
    flow_delivery_request(&memory, d, &packet, 1);
}

static void returned(uint8_t tap, uint32_t psn, uint16_t id, int64_t time_ns)
{
    const struct rpcrdma_op packet = op(RPCRDMA_OP_SEND, psn, id, time_ns);

    flow_delivery_tap(back, tap);
    flow_delivery_request(&memory, back, &packet, 1);
}

static struct rpcrdma_delivery find(uint32_t psn)
{
    struct rpcrdma_delivery found;

    assert_true(flow_delivery_find(d, true, psn, psn, &found));
    return found;
}

static const struct rpcrdma_path *path(enum flow_ends ends)
{
    assert_int_equal(flow_delivery_ends(d, back), ends);
    flow_delivery_transit(d, ends);
    return path_to(d);
}

/* Fifty Sends, ten on their way at once; every tenth is lost in between. */
static void test_times_and_losses(void **state)
{
    const struct rpcrdma_path *told;

    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        int64_t now = (int64_t)(i + 1) * WAY / 10;

        if (i >= 10 && (i - 10) % 10 != 9)
            sent(FAR, 1000 + i - 10, (uint16_t)(100 + i - 10), now);
        if (i < 50)
            sent(NEAR, 1000 + i, (uint16_t)(100 + i), now);
    }
    returned(FAR, 1, 1, 100 * WAY);
    returned(NEAR, 1, 1, 101 * WAY);
    told = path(FLOW_ENDS_BOTH);
    assert_true(told->both_ends);
    assert_int_equal(told->packets, 50);
    assert_int_equal(told->transits, 45);
    assert_int_equal(told->lost_between, 5);
    assert_int_equal(told->transit_min_ns, WAY);
    assert_int_equal(told->transit_max_ns, WAY);
    assert_int_equal(told->transit_mean_ns, WAY);
    assert_int_equal(told->retransmitted, 0);
    assert_int_equal(told->duplicated, 0);
    assert_int_equal(find(1003).transit_ns, WAY);
    assert_int_equal(find(1003).arrived_ns, 4 * WAY / 10 + WAY);
    assert_int_equal(find(1009).arrived_frame, 0);
}

/* Sent again: of the first transmission nothing arrived; of the second the time on the way is its
 * own. */
static void test_sent_again(void **state)
{
    (void)state;
    sent(NEAR, 999, 6, 0);
    sent(FAR, 999, 6, WAY);
    sent(NEAR, 1000, 7, 1000 * US);
    sent(NEAR, 1000, 8, 9000 * US);
    sent(FAR, 1000, 8, 9000 * US + WAY);
    returned(FAR, 1, 1, 10000 * US);
    returned(NEAR, 1, 1, 10000 * US + WAY);
    assert_int_equal(find(1000).transmissions, 2);
    assert_int_equal(find(1000).transit_ns, WAY);
    assert_int_equal(find(1000).arrived_ns, 9000 * US + WAY);
    assert_int_equal(path(FLOW_ENDS_BOTH)->lost_between, 1);
    assert_int_equal(path(FLOW_ENDS_BOTH)->retransmitted, 1);
}

/* One place is first both ways: its clock is behind. Even where it is so far behind that packets
 * were forgotten meanwhile they are not taken for sent again. */
static void test_clocks(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 5000; i++) {
        sent(NEAR, 1000 + i, (uint16_t)(1 + i), i * US);
        if (i >= 3000)
            sent(FAR, 1000 + i - 3000, (uint16_t)(1 + i - 3000), i * US);
        if (i < 2) /* so that there are some to be known */
            sent(FAR, 1000 + i, (uint16_t)(1 + i), i * US);
    }
    returned(NEAR, 1, 1, 10000 * US);
    returned(FAR, 1, 1, 10001 * US);
    assert_false(path(FLOW_ENDS_CLOCKS)->both_ends);
    assert_true(path(FLOW_ENDS_CLOCKS)->clocks_differ);
    assert_int_equal(path(FLOW_ENDS_CLOCKS)->retransmitted, 0);
    assert_int_equal(path(FLOW_ENDS_CLOCKS)->packets, 5000);
}

static void test_one_place(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        sent(NEAR, 1000 + i, (uint16_t)(1 + i), i * US);
    returned(NEAR, 1, 1, 1000 * US);
    assert_int_equal(flow_delivery_ends(d, back), FLOW_ENDS_ONE);
    assert_false(path_to(d)->both_ends);
}

/* Two ports of one host share the packets: none passes both. */
static void test_two_ports(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        sent(i % 2 ? NEAR : FAR, 1000 + i, (uint16_t)(1 + i), i * US);
    returned(NEAR, 1, 1, 1000 * US);
    assert_int_equal(flow_delivery_ends(d, back), FLOW_ENDS_ONE);
    assert_int_equal(path_to(d)->retransmitted, 0);
    assert_int_equal(path_to(d)->packets, 100);
}

/* The clock of the second place is behind by more packets than are remembered: all of them were
 * seen at the first one, the latest, too. */
static void test_far_behind(void **state)
{
    enum { PACKETS = 3000 };

    (void)state;
    for (uint32_t i = 0; i < PACKETS; i++)
        sent(NEAR, 1000 + i, (uint16_t)(1 + i), i * US);
    for (uint32_t i = 0; i < PACKETS; i++)
        sent(FAR, 1000 + i, (uint16_t)(1 + i), (int64_t)600 * MS + i * US);
    assert_int_equal(path_to(d)->packets, PACKETS);
    assert_int_equal(path_to(d)->retransmitted, 0);
    assert_int_equal(path_to(d)->timeouts, 0);
}

/* More Naks of one PSN on their way at once than a place in the table has room for: none is lost.
 */
static void test_naks_of_one_psn(void **state)
{
    enum { NAKS = 12 };
    const struct rpcrdma_path *told;

    (void)state;
    sent(NEAR, 1, 1, 0);
    sent(FAR, 1, 1, WAY);
    returned(FAR, 500, 1, 2 * WAY);
    returned(NEAR, 500, 1, 3 * WAY);
    for (uint32_t i = 0; i < 2 * NAKS; i++) {
        uint16_t id = (uint16_t)(2 + i % NAKS);
        const struct rpcrdma_op nak = op(RPCRDMA_OP_NAK, 501, id, 4 * WAY + i * WAY / NAKS);

        flow_delivery_tap(d, i < NAKS ? NEAR : FAR);
        flow_delivery_answer(&memory, back, d, &nak);
    }
    told = path(FLOW_ENDS_BOTH);
    assert_int_equal(told->packets, 1 + NAKS);
    assert_int_equal(told->transits, 1 + NAKS);
    assert_int_equal(told->lost_between, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_times_and_losses, delivery_begin, delivery_end),
        cmocka_unit_test_setup_teardown(test_sent_again, delivery_begin, delivery_end),
        cmocka_unit_test_setup_teardown(test_clocks, delivery_begin, delivery_end),
        cmocka_unit_test_setup_teardown(test_one_place, delivery_begin, delivery_end),
        cmocka_unit_test_setup_teardown(test_two_ports, delivery_begin, delivery_end),
        cmocka_unit_test_setup_teardown(test_far_behind, delivery_begin, delivery_end),
        cmocka_unit_test_setup_teardown(test_naks_of_one_psn, delivery_begin, delivery_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
