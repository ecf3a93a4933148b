/* SPDX-License-Identifier: BSD-2-Clause */

/* What the stage of delivery keeps to know a packet again: little where few come, enough where many
 * do. A duplicate has the same IP ID (RFC 6864), a retransmission another one. */

#include "delivery_rig.h"

enum { PSN = 1000, FEW = 4, MANY = 32, KEPT_OF_FEW = 600 };

static int64_t now;

static void sent(uint32_t i, uint16_t id)
{
    const struct rpcrdma_op packet = delivery_packet(RPCRDMA_OP_SEND, PSN + i, ONLY, id, now);

    flow_delivery_request(&memory, d, &packet, 1);
}

static void acked(uint32_t i)
{
    const struct rpcrdma_op packet = delivery_packet(RPCRDMA_OP_ACK, PSN + i, 0, 0, now);

    flow_delivery_answer(&memory, d, back, &packet);
}

static void response(uint32_t i, uint16_t id)
{
    const struct rpcrdma_op packet = delivery_packet(RPCRDMA_OP_READ_RESPONSE, PSN + i, 0, id, now);

    now += US;
    flow_delivery_answer(&memory, d, back, &packet);
}

static void test_few_take_little(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < FEW; i++) {
        now += 20 * MS; /* as of one of many connections */
        sent(i, (uint16_t)(i + 1));
        acked(i);
    }
    assert_true(memory.used <= (size_t)2 * KEPT_OF_FEW);
    sent(FEW - 1, FEW);
    assert_int_equal(path_to(d)->duplicated, 1);
    assert_int_equal(path_to(d)->retransmitted, 0);
}

static void test_many_are_known_again(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        now += US;
        sent(i, (uint16_t)(i + 1));
    }
    for (uint32_t i = 0; i < MANY; i++)
        sent(i, (uint16_t)(i + 1));
    assert_int_equal(path_to(d)->duplicated, MANY);
    assert_int_equal(path_to(d)->retransmitted, 0);
}

/* In the direction of the i-th packet, an Ack that answers what comes from its receiver. */
static void sent_with_ack_of(uint32_t i, uint32_t psn)
{
    const struct rpcrdma_op packet =
        delivery_packet(RPCRDMA_OP_ACK, psn, 0, (uint16_t)(2 * i + 2), now);

    sent(i, (uint16_t)(2 * i + 1));
    flow_delivery_answer(&memory, back, d, &packet);
}

static void sent_with_ack(uint32_t i)
{
    sent_with_ack_of(i, 10 * PSN + i);
}

/* A Call and an Ack that come together on one of many connections are both known again, whatever
 * their PSNs, and take no memory besides. */
static void test_few_with_acks_take_little(void **state)
{
    for (uint32_t apart = 0; apart < MANY; apart++) {
        uint32_t replies = 10 * PSN + apart;

        for (uint32_t i = 0; i < FEW; i++) {
            const struct rpcrdma_op reply =
                delivery_packet(RPCRDMA_OP_SEND, replies + i, ONLY, (uint16_t)(i + 1), now);

            flow_delivery_request(&memory, back, &reply, 1);
            now += 20 * MS;
            sent_with_ack_of(i, replies + i);
            acked(i);
        }
        assert_true(memory.used <= (size_t)2 * KEPT_OF_FEW);
        sent_with_ack_of(FEW - 1, replies + FEW - 1);
        assert_int_equal(path_to(d)->duplicated, 2);
        delivery_end(NULL);
        assert_int_equal(delivery_begin(state), 0);
    }
}

/* A microsecond apart, each once more so many later. */
static void copied(uint32_t packets, uint32_t later)
{
    for (uint32_t i = 0; i < packets + later; i++) {
        now += US;
        if (i < packets)
            sent_with_ack(i);
        if (i >= later)
            sent_with_ack(i - later);
    }
    assert_int_equal(path_to(d)->retransmitted, 0);
}

/* Behind many others: those of Acks, which no record shows, are known, too, but for the first. */
static void test_copies_late(void **state)
{
    enum { PACKETS = 4000, LATER = 200 };

    (void)state;
    copied(PACKETS, LATER);
    assert_true(path_to(d)->duplicated >= 2 * PACKETS - 3 * LATER);
}

/* No memory for more: what can be told without is told. */
static void test_without_memory(void **state)
{
    uint64_t known;

    (void)state;
    memory.limit = memory.used;
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < MANY; i++)
            sent(i, (uint16_t)(i + 1));
    acked(MANY - 1);
    assert_int_equal(path_to(d)->packets, 2 * MANY);
    known = path_to(d)->duplicated;
    assert_true(known < MANY);
    memory.limit = 1 << 20;
    sent(MANY, MANY + 1);
    sent(MANY, MANY + 1);
    assert_int_equal(path_to(d)->duplicated, known + 1);
}

/* Responses that are captured in another order than they were sent in are not sent again, whether
 * the host counts the IP IDs or not. */
static void test_responses_out_of_order(void **state)
{
    (void)state;
    for (uint16_t counted = 0; counted < 2; counted++) {
        uint32_t first = 10u * counted;
        const struct rpcrdma_op packet =
            delivery_packet(RPCRDMA_OP_READ_REQUEST, PSN + first, ONLY, 0, now);

        flow_delivery_request(&memory, d, &packet, 3);
        response(first, (uint16_t)(counted * 100));
        response(first + 2, (uint16_t)(counted * 102));
        response(first + 1, (uint16_t)(counted * 101));
        assert_int_equal(path_to(back)->reordered, counted + 1);
        assert_int_equal(path_to(back)->retransmitted, 0);
    }
    now += 20 * MS;
    response(11, 103);
    assert_int_equal(path_to(back)->retransmitted, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, delivery_begin, delivery_end)
    const struct CMUnitTest tests[] = {
        TEST(test_few_take_little),      TEST(test_few_with_acks_take_little),
        TEST(test_many_are_known_again), TEST(test_copies_late),
        TEST(test_without_memory),       TEST(test_responses_out_of_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
