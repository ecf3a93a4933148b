/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "flow/credit/message_credits.h"
#include "record_rig.h"

#define MS INT64_C(1000000)

static struct flow_memory memory;
static struct rpcrdma_credit_count count;
static struct record record;
static int64_t now;
static uint64_t frame, place;
static struct rpcrdma_credit_result result;

static int setup(void **state)
{
    struct rpcrdma_credit_sink sink = record_sink(&record);

    (void)state;
    memset(&record, 0, sizeof(record));
    now = 1000 * MS;
    frame = place = 0;
    memory = (struct flow_memory){.limit = SIZE_MAX};
    rpcrdma_credit_count_init(&count, &memory, &sink);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rpcrdma_credit_count_free(&count);
    assert_int_equal(memory.used, 0);
    return 0;
}

static struct rpcrdma_credit_at at(void)
{
    return (struct rpcrdma_credit_at){now, ++frame};
}

static void opened(void)
{
    rpcrdma_credit_count_opened(&count, at());
}

static void sent(unsigned n)
{
    while (n-- > 0)
        rpcrdma_credit_count_sent(&count, at(), false);
}

static void received(uint32_t credits)
{
    rpcrdma_credit_count_received(&count, at(), credits, ++place);
}

static void get(void)
{
    rpcrdma_credit_count_end(&count, (struct rpcrdma_credit_at){now, frame});
    rpcrdma_credit_count_result(&count, &result);
}

#define NO_FINDINGS() assert_int_equal(record.n_findings, 0)

/* The first message, and the peer's first: it takes 4 beyond what it has received. */
static void first(void)
{
    opened();
    sent(1);
    now += MS;
    received(1 + 4);
}

static void test_within(void **state)
{
    (void)state;
    first();
    sent(4);
    assert_int_equal(record.last.bound, RPCRDMA_BOUND_GRANTED);
    assert_false(record.last.has_sent || record.last.has_received);
    now += 2 * MS;
    received(5 + 4);
    assert_true(record.last.counting);
    assert_int_equal(record.last.bound, RPCRDMA_BOUND_NEITHER);
    assert_true(record.last.has_sent && record.last.has_received);
    assert_int_equal(record.last.advertised_sent, 5 + 4 - 1);
    assert_int_equal(record.last.advertised_received, 5 + 4 - 5);
    sent(1);
    get();
    NO_FINDINGS();
    assert_int_equal(result.messages, 6);
    assert_true(result.counting && result.remaining_known && result.settled);
    assert_int_equal(result.remaining_min, 0);
    assert_int_equal(result.remaining_last, 3);
    assert_int_equal(result.limit.min, 5);
    assert_int_equal(result.limit.last, 9);
    assert_int_equal(result.in_flight.max, 4);
    assert_int_equal(result.at_limit_ns, 2 * MS);
    assert_int_equal(result.bound_by, RPCRDMA_BOUND_GRANTED);
    assert_int_equal(result.stalls.count, 1);
    assert_int_equal(result.stalls.longest[0].ended_by, RPCRDMA_ENDED_BY_GRANT);
    assert_int_equal(record.last.granted, 4);
    assert_int_equal(record.last.in_flight, 1);
}

static void test_overrun(void **state)
{
    (void)state;
    first();
    sent(5);
    get();
    assert_int_equal(result.violations, 1);
    get();
    assert_string_equal(record_text(&record, RPCRDMA_RULE_CREDIT_COUNT_OVERRUN),
                        "message 6, the peer takes messages up to 5");
    assert_int_equal(result.remaining_last, 0); /* never negative */
    assert_int_equal(result.remaining_min, 0);
}

/* Section 4.2.1.1: one credit update beyond the limit, and only one. */
static void test_grant_beyond(void **state)
{
    (void)state;
    first();
    sent(4);
    rpcrdma_credit_count_sent(&count, at(), true);
    NO_FINDINGS();
    rpcrdma_credit_count_sent(&count, at(), true);
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_COUNT_OVERRUN), 1);
}

static void test_first_message(void **state)
{
    (void)state;
    opened();
    sent(1);
    NO_FINDINGS();
    sent(1);
    get();
    assert_string_equal(record_text(&record, RPCRDMA_RULE_CREDIT_COUNT_FIRST),
                        "message 2 before the peer's first, 1 allowed");
}

/* A grant of zero is allowed; an RDMA2_GRANT ends the wait. */
static void test_zero(void **state)
{
    (void)state;
    opened();
    sent(1);
    received(1);
    get();
    NO_FINDINGS();
    assert_int_equal(result.remaining_last, 0);
    assert_int_equal(result.received.last, 0);
    now += 7 * MS;
    received(3);
    sent(2);
    get();
    NO_FINDINGS();
    assert_int_equal(result.stalls.longest[0].duration_ns, 7 * MS);
    assert_int_equal(result.at_limit_ns, 7 * MS);
}

/* Both counters pass 2^32. */
static void test_wrap(void **state)
{
    (void)state;
    opened();
    count.sent = count.sent_before = UINT32_MAX - 2;
    count.peer_sent = UINT32_MAX - 5;
    received(UINT32_MAX - 2 + 4); /* 1, modulo 2^32 */
    sent(4);
    NO_FINDINGS();
    get();
    assert_int_equal(result.remaining_last, 0);
    sent(1);
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_COUNT_OVERRUN), 1);
    received(2 + 4);
    sent(1);
    assert_int_equal(record.n_findings, 1);
    get();
    assert_int_equal(result.limit.min, 1);
    assert_int_equal(result.limit.max, 6);
    assert_int_equal(result.received.misfits, 0);
}

static void test_range(void **state)
{
    (void)state;
    opened();
    sent(1);
    received(UINT32_MAX);
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_COUNT_RANGE), 1);
    received(UINT32_C(0x80000000)); /* 2^31 - 1 beyond the one received, and the one sent */
    assert_int_equal(record.n_findings, 2);
    received(UINT32_C(0x7fffffff));
    assert_int_equal(record.n_findings, 2);
    get();
    assert_int_equal(result.violations, 2);
    assert_int_equal(result.received.misfits, 2);
    assert_int_equal(result.remaining_last, 0x7ffffffe);
}

static void test_shrink(void **state)
{
    (void)state;
    first();
    sent(4);
    received(3);
    NO_FINDINGS();
    rpcrdma_credit_count_acked(&count, at(), place);
    assert_string_equal(record_text(&record, RPCRDMA_RULE_CREDIT_COUNT_SHRINK),
                        "the limit shrinks from 5 to 3 after 5 messages");
    get();
    assert_int_equal(result.violations, 0);
    assert_int_equal(result.remaining_last, 0);
}

/* The sender talks more than the peer, which counts what it receives. */
static void test_reading_received(void **state)
{
    (void)state;
    first();
    for (uint32_t n = 1; n < 20; n += 2) {
        sent(2);
        received(n + 2 + 4);
    }
    get();
    NO_FINDINGS();
    assert_int_equal(result.reading, RPCRDMA_READING_RECEIVED);
    assert_int_equal(result.received.min, 4);
    assert_int_equal(result.received.max, 4);
}

/* The same, tapped late: what the peer has received is known a little wrong. */
static void test_reading_received_in_transit(void **state)
{
    uint32_t n = 1;

    (void)state;
    opened();
    sent(1);
    received(1 + 8);
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t burst = i % 4;

        sent(burst);
        n += burst;
        received(n - (i % 3 ? 0 : burst / 2) + 8);
    }
    get();
    assert_int_equal(result.reading, RPCRDMA_READING_RECEIVED);
}

/* The peer counts what it sends, as the draft is written, and has sent more. */
static void test_reading_sent(void **state)
{
    uint32_t peer = 0;

    (void)state;
    opened();
    sent(1);
    for (int i = 0; i < 20; i++) {
        received(peer++ + 32);
        if (i % 2)
            sent(1);
    }
    get();
    NO_FINDINGS();
    assert_int_equal(result.reading, RPCRDMA_READING_SENT);
    assert_int_equal(result.sent.min, 32);
    assert_int_equal(result.sent.changes, 0);
}

/* A value that only one reading can mean. */
static void test_reading_misfit(void **state)
{
    (void)state;
    first();
    received(5);
    received(5);
    for (int i = 0; i < 8; i++)
        received(5); /* peer's messages 4 to 11, credits 5: sent + advertised would be negative */
    get();
    assert_true(result.sent.misfits > 0);
    assert_int_equal(result.reading, RPCRDMA_READING_RECEIVED);
    assert_int_equal(record.last.reading, RPCRDMA_READING_RECEIVED);
    assert_false(record.last.has_sent);
    assert_true(record.last.has_received);
}

/* One for one, as Calls and Replies are: both readings fit. */
static void test_reading_undecided(void **state)
{
    (void)state;
    opened();
    for (uint32_t n = 0; n < 50; n++) {
        sent(1);
        received(n + 1 + 32);
    }
    get();
    NO_FINDINGS();
    assert_int_equal(result.reading, RPCRDMA_READING_UNDECIDED);
    assert_int_equal(result.sent.last, 33);
    assert_int_equal(result.received.last, 32);
}

/* Without the set-up the counters' values are not known; how they move still is. */
static void test_midflight(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 20; n++) {
        sent(3);
        now += MS;
        received(1000 + 3 * n);
    }
    get();
    NO_FINDINGS();
    assert_false(result.settled);
    assert_false(result.remaining_known);
    assert_false(result.sent.known || result.received.known);
    assert_int_equal(result.reading, RPCRDMA_READING_RECEIVED);
    assert_int_equal(result.in_flight.max, 3);
    assert_int_equal(result.at_limit_ns, 0);
}

static void test_gap(void **state)
{
    (void)state;
    first();
    rpcrdma_credit_count_gap(&count);
    sent(100);
    get();
    NO_FINDINGS();
    assert_true(result.gaps);
    assert_false(result.settled);
    assert_int_equal(result.received.last, 4); /* of before */
}

static void test_lost(void **state)
{
    (void)state;
    first();
    sent(4);
    now += MS;
    rpcrdma_credit_count_lost(&count, at());
    rpcrdma_credit_count_lost(&count, at());
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_COUNT_LOST), 1);
    opened();
    sent(2);
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_COUNT_FIRST), 1);
    assert_int_equal(result.messages, 7);
    assert_int_equal(result.stalls.longest[0].ended_by, RPCRDMA_ENDED_BY_DISCONNECT);
}

static void test_rnr(void **state)
{
    (void)state;
    first();
    sent(1);
    rpcrdma_credit_count_rnr(&count, at(), 0x10, 4, false);
    get();
    assert_int_equal(result.rnr_naks, 1);
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_RNR), 1);
}

/* A new interval: what is in flight and how much is left go on, what was counted does not. */
static void test_restart(void **state)
{
    (void)state;
    first();
    sent(4); /* none is left: 5 of 5 */
    now += 2 * MS;
    rpcrdma_credit_count_rnr(&count, at(), 0x10, 4, false);
    rpcrdma_credit_count_rnr(&count, at(), 0x10, 4, true); /* once more: counted, not told */
    get();
    assert_int_equal(result.rnr_naks, 2);
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_RNR), 1);
    assert_int_equal(result.messages, 5);
    assert_int_equal(result.remaining_min, 0);
    rpcrdma_credit_count_restart(&count);
    now += 3 * MS;
    received(5 + 4);
    sent(2);
    now += MS;
    get();
    assert_int_equal(result.messages, 2);
    assert_int_equal(result.rnr_naks, 0);
    assert_int_equal(result.violations, 0);
    assert_int_equal(result.measured_ns, 4 * MS);
    assert_int_equal(result.at_limit_ns, 3 * MS); /* from the beginning of the interval on */
    assert_int_equal(result.limit.min, 5);
    assert_int_equal(result.limit.max, 9);
    assert_int_equal(result.limit.changes, 1);
    assert_int_equal(result.remaining_min, 0);
    assert_int_equal(result.remaining_last, 2);
}

static void test_one_direction(void **state)
{
    (void)state;
    opened();
    received(32);
    get();
    assert_false(result.in_flight.known);
    NO_FINDINGS();
}

static void test_anything(void **state)
{
    uint32_t seed = 3;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        seed = seed * 1664525 + 1013904223;
        now += (int32_t)(seed >> 4) % (int32_t)MS;
        switch ((seed >> 9) % 8) {
        case 0:
            if ((seed >> 20) % 16 == 0)
                opened();
            break;
        case 1:
            if ((seed >> 20) % 16 == 0)
                rpcrdma_credit_count_lost(&count, at());
            break;
        case 2:
            if ((seed >> 20) % 64 == 0)
                rpcrdma_credit_count_gap(&count);
            break;
        case 3:
            rpcrdma_credit_count_acked(&count, at(), place);
            break;
        case 4:
        case 5:
            received((uint32_t)count.sent + (seed >> 13) % 64);
            break;
        case 6:
            received(seed * 77);
            break;
        default:
            rpcrdma_credit_count_sent(&count, at(), seed & 1024);
        }
        get();
        assert_true(result.remaining_last >= 0 && result.remaining_min >= 0);
        assert_true(result.in_flight.max <= 200000);
        assert_true(result.at_limit_ns <= result.measured_ns);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(within),
        TEST(overrun),
        TEST(grant_beyond),
        TEST(first_message),
        TEST(zero),
        TEST(wrap),
        TEST(range),
        TEST(shrink),
        TEST(reading_received),
        TEST(reading_received_in_transit),
        TEST(reading_sent),
        TEST(reading_misfit),
        TEST(reading_undecided),
        TEST(midflight),
        TEST(gap),
        TEST(lost),
        TEST(rnr),
        TEST(restart),
        TEST(one_direction),
        TEST(anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
