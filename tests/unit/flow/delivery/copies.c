/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of delivery alone: each packet is captured twice, the second time so many packets later
 * that the first is not remembered. A sender that was not asked (IBTA volume 1 section 9.7.5) and
 * had no time for a timer to end did not send it again; nor did one that counts IP IDs with an old
 * one (RFC 6864). */

#include "delivery_rig.h"

enum { PSN = 1000, MANY = 400, BEHIND = 300 };
#define START INT64_C(1700000000000000000)

static int64_t now;

static int begin(void **state)
{
    now = START;
    return delivery_begin(state);
}

static uint16_t flags_of(uint32_t i, uint32_t packets)
{
    return (uint16_t)((i % packets == 0 ? RPCRDMA_OP_FIRST : 0) |
                      (i % packets == packets - 1 ? RPCRDMA_OP_LAST : 0));
}

/* The i-th of Writes of so many packets. */
static void sent(uint32_t i, uint32_t packets, bool counts)
{
    const struct rpcrdma_op packet = delivery_packet(
        RPCRDMA_OP_WRITE, PSN + i, flags_of(i, packets), counts ? (uint16_t)(i + 1) : 0, now += US);

    flow_delivery_request(&memory, d, &packet, 1);
}

static void answer(enum rpcrdma_op_kind kind, uint32_t i)
{
    const struct rpcrdma_op packet = delivery_packet(kind, PSN + i, 0, 0, now += US);

    flow_delivery_answer(&memory, d, back, &packet);
}

static void read_request(uint32_t i, uint32_t packets)
{
    const struct rpcrdma_op packet =
        delivery_packet(RPCRDMA_OP_READ_REQUEST, PSN + i, ONLY, 0, now += US);

    flow_delivery_request(&memory, d, &packet, packets);
}

static void response(uint32_t i, uint16_t id)
{
    const struct rpcrdma_op packet =
        delivery_packet(RPCRDMA_OP_READ_RESPONSE, PSN + i, 0, id, now += US);

    flow_delivery_answer(&memory, d, back, &packet);
}

static void paths_are(uint64_t retransmitted, uint64_t duplicated)
{
    assert_int_equal(path_to(d)->retransmitted, retransmitted);
    assert_int_equal(path_to(d)->duplicated, duplicated);
    assert_int_equal(path_to(d)->timeouts, 0);
}

static void copies(uint32_t packets, bool counts)
{
    for (uint32_t i = 0; i < MANY + BEHIND; i++) {
        if (i < MANY)
            sent(i, packets, counts);
        if (i >= BEHIND)
            sent(i - BEHIND, packets, counts);
    }
    paths_are(0, MANY);
    assert_int_equal(path_to(d)->reordered, 0);
}

static void test_writes(void **state)
{
    (void)state;
    copies(1, false);
}

/* A message that goes out for longer than copies may take. */
static void test_long_writes(void **state)
{
    (void)state;
    copies(MANY, false);
}

static void test_counted(void **state)
{
    (void)state;
    copies(4, true);
}

/* Later a timer may have ended. */
static void test_late(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        sent(i, 1, false);
    now += 2 * MS;
    sent(0, 1, false);
    assert_int_equal(path_to(d)->retransmitted, 1);
}

/* What a Nak asks for comes at once, and all behind it. */
static void test_behind_nak(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        sent(i, 1, false);
    answer(RPCRDMA_OP_NAK, 10);
    for (uint32_t i = 10; i < MANY; i++)
        sent(i, 1, false);
    paths_are(MANY - 10, 0);
}

/* One of these is lost once more: those behind it are retransmitted all the same. */
static void test_behind_nak_lost_again(void **state)
{
    enum { SENT = 20, NAKED = 5, LOST = 7 };

    (void)state;
    for (uint32_t i = 0; i < SENT; i++)
        sent(i, 1, false);
    answer(RPCRDMA_OP_NAK, NAKED);
    for (uint32_t i = NAKED; i < SENT; i++)
        if (i != LOST)
            sent(i, 1, false);
    paths_are(SENT - NAKED - 1, 0);
    sent(NAKED, 1, false);
    paths_are(SENT - NAKED - 1, 1);
}

/* What had not passed was not seen twice. */
static void test_gap(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        if (i != 10)
            sent(i, MANY, false);
    now += 2 * MS;
    sent(10, MANY, false);
    assert_int_equal(path_to(d)->retransmitted, 1);
    assert_int_equal(path_to(d)->duplicated, 0);
}

/* Reads, and Writes between them: copies of requests and of responses. */
static void test_reads(void **state)
{
    enum { AWAY = 128, OF = 4, READS = 64 };

    (void)state;
    for (uint32_t i = 0; i < READS + AWAY / OF; i++) {
        for (uint32_t copy = 0; copy < 2; copy++) {
            uint32_t first = (i - copy * AWAY / OF) * OF;

            if (copy ? i < AWAY / OF : i >= READS)
                continue;
            read_request(first, OF - 1);
            for (uint32_t at = first; at < first + OF - 1; at++)
                response(at, 0);
            sent(first + OF - 1, 1, false);
        }
    }
    paths_are(0, (uint64_t)2 * READS);
    assert_int_equal(path_to(back)->retransmitted, 0);
    assert_int_equal(path_to(back)->duplicated, (uint64_t)(OF - 1) * READS);
}

/* A response is missing, as those behind it show: it is asked for again at once, and sent again. */
static void test_read_again(void **state)
{
    (void)state;
    read_request(0, MANY);
    for (uint32_t at = 0; at < MANY; at++)
        if (at != 10)
            response(at, 0);
    now += 2 * MS;
    read_request(10, MANY - 10);
    assert_int_equal(path_to(d)->retransmitted, 1);
    for (uint32_t at = 10; at < MANY; at++)
        response(at, 0);
    assert_int_equal(path_to(back)->retransmitted, MANY - 10);
    assert_int_equal(path_to(back)->duplicated, 0);
}

/* One was lost, here or behind here, and is asked for at once: what passed before that is sent
 * again, what passed since is a copy. */
static void test_read_again_at_once(void **state)
{
    enum { RESPONSES = 20, LOST = 2, REST = RESPONSES - LOST };

    for (uint32_t passed = 0; passed < 2; passed++) {
        read_request(0, RESPONSES);
        for (uint32_t at = 0; at < RESPONSES; at++)
            if (at != LOST || passed)
                response(at, 0);
        read_request(LOST, REST);
        for (uint32_t at = LOST; at < RESPONSES; at++) {
            response(at, 0);
            response(at, 0);
        }
        response(0, 0);
        assert_int_equal(path_to(d)->retransmitted, 1);
        assert_int_equal(path_to(back)->retransmitted, REST);
        assert_int_equal(path_to(back)->duplicated, REST + 1);
        assert_int_equal(path_to(back)->reordered, 0);
        delivery_end(NULL);
        assert_int_equal(begin(state), 0);
    }
}

/* Some change places, and gaps stand beside gaps: what was not there is no copy. */
static void test_response_late(void **state)
{
    static const uint32_t order[] = {0, 2, 4, 1, 3, 5, 8, 10, 6, 9, 7, 11};

    (void)state;
    read_request(0, sizeof(order) / sizeof(order[0]));
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        response(order[i], 0);
    assert_int_equal(path_to(back)->duplicated, 0);
    assert_int_equal(path_to(back)->retransmitted, 0);
    assert_int_equal(path_to(back)->reordered, 5);
    response(9, 0);
    assert_int_equal(path_to(back)->duplicated, 1);
}

/* It is asked for again as a later one came, and comes late, before that or behind it: it was not
 * lost. Where it does not come until it was asked for, it was. */
static void test_asked_for_late(void **state)
{
    enum { LATE = MANY - 3, REST = 3 };
    enum { BEFORE, AFTER, NEVER };

    for (int when = BEFORE; when <= NEVER; when++) {
        read_request(0, MANY);
        for (uint32_t at = 0; at < MANY - 1; at++)
            if (at != LATE)
                response(at, (uint16_t)(at + 1));
        if (when == BEFORE)
            response(LATE, LATE + 1);
        read_request(LATE, REST);
        if (when == AFTER)
            response(LATE, LATE + 1);
        for (uint32_t at = LATE; at < MANY; at++)
            response(at, (uint16_t)(at + REST + 1));
        assert_int_equal(path_to(d)->asked_again, 1);
        assert_int_equal(path_to(d)->asked_late, when != NEVER);
        assert_int_equal(path_to(back)->reordered, when != NEVER);
        delivery_end(NULL);
        assert_int_equal(begin(state), 0);
    }
}

/* What came between two that are missing is there twice; these come late. */
static void test_copy_between_gaps(void **state)
{
    enum { FIRST = 10, BETWEEN = 20, SECOND = 30 };

    (void)state;
    read_request(0, MANY);
    for (uint32_t at = 0; at < MANY; at++)
        if (at != FIRST && at != SECOND)
            response(at, (uint16_t)(at + 1));
    response(BETWEEN, BETWEEN + 1);
    assert_int_equal(path_to(back)->duplicated, 1);
    response(FIRST, FIRST + 1);
    response(SECOND, SECOND + 1);
    assert_int_equal(path_to(back)->reordered, 2);
    assert_int_equal(path_to(back)->duplicated, 1);
}

/* Without IP IDs, what passed a moment ago: the responses, not their request. */
static void test_copy_of_slow_responses(void **state)
{
    (void)state;
    read_request(0, MANY);
    now += 2 * MS;
    for (uint32_t at = 0; at < MANY; at++)
        response(at, 0);
    response(0, 0);
    assert_int_equal(path_to(back)->duplicated, 1);
    assert_int_equal(path_to(back)->retransmitted, 0);
    now += 2 * MS;
    response(1, 0);
    assert_int_equal(path_to(back)->retransmitted, 1);
}

/* More gaps than are remembered, or in the middle of one: what is missing is never a copy. */
static void test_many_gaps(void **state)
{
    for (int counts = 0; counts < 2; counts++) {
        read_request(0, MANY + MANY);
        for (uint32_t at = 1; at < MANY; at += 2)
            response(at, counts ? (uint16_t)(at + 1) : 0);
        for (uint32_t at = 0; at < MANY; at += 2)
            response(at, counts ? (uint16_t)(at + 1) : 0);
        assert_int_equal(path_to(back)->reordered, MANY / 2);
        response(MANY + MANY - 1, counts ? MANY + MANY : 0);
        for (uint32_t at = MANY + 1; at < MANY + MANY - 1; at += 2)
            response(at, counts ? (uint16_t)(at + 1) : 0);
        assert_int_equal(path_to(back)->reordered, MANY / 2 + MANY / 2 - 1);
        assert_int_equal(path_to(back)->duplicated, 0);
        assert_int_equal(path_to(back)->retransmitted, 0);
        delivery_end(NULL);
        assert_int_equal(begin(state), 0);
    }
}

/* All of a Read's responses, behind those of the next one; a Send is between. */
static void test_read_late(void **state)
{
    (void)state;
    read_request(0, 2);
    sent(2, 1, false);
    read_request(3, 1);
    sent(4, 1, false);
    read_request(5, 2);
    response(0, 0);
    response(1, 0);
    response(5, 0);
    response(3, 0);
    response(6, 0);
    assert_int_equal(path_to(back)->duplicated, 0);
    assert_int_equal(path_to(back)->retransmitted, 0);
    assert_int_equal(path_to(back)->reordered, 1);
}

/* What a request asks for that was not captured, or comes yet, may be missing as well. */
static void test_request_missing(void **state)
{
    static const uint32_t order[] = {0, 1, 3, 5, 4, 6};

    for (int late = 0; late < 2; late++) {
        read_request(0, 2);
        sent(2, 1, false);
        sent(7, 1, false);
        if (late)
            read_request(3, 4);
        for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
            response(order[i], 0);
        assert_int_equal(path_to(back)->retransmitted, 0);
        assert_int_equal(path_to(back)->reordered, 1);
        delivery_end(NULL);
        assert_int_equal(begin(state), 0);
    }
}

/* A Read request stands behind so many of its responses, and a request sent after it: each was
 * taken for one that had been sent and was not captured. */
static void test_request_behind_responses(void **state)
{
    static const uint32_t behind[] = {1, 6, 20};
    enum { RESPONSES = 20 };

    for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
        sent(0, 1, false);
        answer(RPCRDMA_OP_ACK, 0);
        sent(RESPONSES + 1, 1, false);
        for (uint32_t at = 1; at <= behind[i]; at++)
            response(at, 0);
        assert_int_equal(path_to(d)->uncaptured, behind[i]);
        read_request(1, RESPONSES);
        assert_int_equal(path_to(d)->uncaptured, 0);
        for (uint32_t at = behind[i] + 1; at <= RESPONSES; at++)
            response(at, 0);
        answer(RPCRDMA_OP_ACK, RESPONSES + 1);
        paths_are(0, 0);
        assert_int_equal(path_to(d)->uncaptured, 0);
        assert_int_equal(path_to(d)->reordered, 1);
        delivery_end(NULL);
        assert_int_equal(begin(state), 0);
    }
}

static void segment(uint32_t i, uint16_t id)
{
    const struct rpcrdma_tcp_segment one = {.frame = ++frame,
                                            .time_ns = now += US,
                                            .seq = PSN + i * LENGTH,
                                            .len = LENGTH,
                                            .ip_id = id};

    flow_delivery_segment(&memory, d, back, &one);
}

/* TCP sends again what its receiver lacks, and soon: without IP IDs it must be acknowledged. */
static void test_tcp(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        segment(i, (uint16_t)(i + 1));
    for (uint32_t i = 0; i < MANY; i++)
        segment(i, (uint16_t)(i + 1));
    paths_are(0, MANY);
    segment(0, MANY + 1);
    assert_int_equal(path_to(d)->retransmitted, 1);
}

static void test_tcp_not_counted(void **state)
{
    const struct rpcrdma_tcp_segment ack = {
        .frame = 1, .ack = PSN + MANY / 2 * LENGTH, .has_ack = true, .time_ns = START};

    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        segment(i, 0);
    flow_delivery_segment(&memory, back, d, &ack);
    segment(0, 0);
    assert_int_equal(path_to(d)->retransmitted, 0);
    segment(MANY / 2, 0);
    assert_int_equal(path_to(d)->retransmitted, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, delivery_end)
    const struct CMUnitTest tests[] = {
        TEST(test_writes),
        TEST(test_long_writes),
        TEST(test_counted),

        TEST(test_gap),
        TEST(test_late),
        TEST(test_reads),
        TEST(test_behind_nak),
        TEST(test_behind_nak_lost_again),
        TEST(test_tcp),
        TEST(test_read_again),
        TEST(test_response_late),
        TEST(test_asked_for_late),
        TEST(test_read_late),
        TEST(test_tcp_not_counted),

        TEST(test_read_again_at_once),
        TEST(test_copy_between_gaps),
        TEST(test_many_gaps),
        TEST(test_copy_of_slow_responses),
        TEST(test_request_missing),
        TEST(test_request_behind_responses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
