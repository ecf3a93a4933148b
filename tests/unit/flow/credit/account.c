/* SPDX-License-Identifier: BSD-2-Clause */
/* Grants, stalls and overruns of a Requester whose Calls and Replies were all captured. */
#include "account_rig.h"

static void test_one_call(void **state)
{
    (void)state;
    first(128, 64);
    get();
    NO_FINDINGS();
    assert_int_equal(result.calls, 1);
    assert_int_equal(result.replies, 1);
    assert_int_equal(result.unanswered, 0);
    assert_int_equal(result.in_flight.max, 1);
    assert_true(result.in_flight.known && result.settled && result.unsettled_ns == 0);
    assert_int_equal(result.requested.last, 128);
    assert_int_equal(result.granted.last, 64);
    assert_int_equal(result.limit.last, 64);
    assert_int_equal(result.limit.min, 64);
    assert_int_equal(result.measured_ns, MS);
    assert_int_equal(result.bound_by, RPCRDMA_BOUND_NEITHER);
    assert_int_equal(result.stalls.count, 0);
}

/* The limit is the lower of the two: 8 asked for, 64 granted. */
static void test_bound_by_request(void **state)
{
    (void)state;
    first(8, 64);
    for (uint32_t xid = 10; xid < 18; xid++)
        call(xid, 8);
    now += 5 * MS;
    reply(12, 64); /* out of order */
    now += MS;
    call(18, 8);
    now += 2 * MS;
    for (uint32_t xid = 10; xid < 19; xid++)
        if (xid != 12)
            reply(xid, 64);
    now += 2 * MS;
    call(20, 8);
    get();
    NO_FINDINGS();
    assert_int_equal(result.in_flight.max, 8);
    assert_int_equal(result.measured_ns, 11 * MS);
    assert_int_equal(result.at_limit_ns, 7 * MS);
    assert_int_equal(result.bound_by, RPCRDMA_BOUND_REQUESTED);
    assert_int_equal(result.stalls.count, 2);
    assert_int_equal(result.stalls.longer, 2);
    assert_int_equal(result.stalls.longest[0].duration_ns, 5 * MS);
    assert_int_equal(result.stalls.longest[0].from_ns, S + MS);
    assert_int_equal(result.stalls.longest[0].to_ns, S + 6 * MS);
    assert_int_equal(result.stalls.longest[0].ended_by, RPCRDMA_ENDED_BY_REPLY);
    assert_int_equal(result.stalls.longest[1].duration_ns, 2 * MS);
    assert_int_equal(result.in_flight.p50, 8);
    assert_true(result.in_flight.mean == (1.0 + 8 * 5 + 7 + 8 * 2) / 11);
    assert_int_equal(result.busy_ns, 9 * MS);
    assert_int_equal(result.unanswered, 1);
}

static void test_bound_by_grant(void **state)
{
    (void)state;
    first(128, 2);
    call(2, 128);
    call(3, 128);
    now += MS;
    reply(2, 2);
    get();
    assert_int_equal(result.bound_by, RPCRDMA_BOUND_GRANTED);
    assert_int_equal(result.limit.max, 2);
    NO_FINDINGS();
}

/* All that was asked for was granted: to have more, the Requester must ask for more. */
static void test_bound_by_both(void **state)
{
    (void)state;
    first(2, 2);
    call(2, 2);
    call(3, 2);
    now += MS;
    reply(2, 2);
    get();
    assert_int_equal(result.bound_by, RPCRDMA_BOUND_REQUESTED);
}

static void test_stall_ended_by_grant(void **state)
{
    (void)state;
    first(128, 2);
    call(2, 128);
    call(3, 128);
    now += 3 * MS;
    reply(99, 4); /* a Reply that frees nothing, and grants more */
    get();
    assert_int_equal(result.stalls.count, 1);
    assert_int_equal(result.stalls.longest[0].ended_by, RPCRDMA_ENDED_BY_GRANT);
    assert_int_equal(result.stray, 1);
    assert_int_equal(account.set.count, 2);
}

static void test_stall_ended_by_request(void **state)
{
    (void)state;
    first(2, 64);
    call(2, 2);
    call(3, 2);
    now += 3 * MS;
    call(4, 64);
    get();
    NO_FINDINGS(); /* beyond what it asked for, within what was granted: no violation */
    assert_int_equal(result.stalls.longest[0].ended_by, RPCRDMA_ENDED_BY_REQUEST);
    assert_int_equal(result.requested.changes, 1);
}

static void test_overrun(void **state)
{
    (void)state;
    first(128, 2);
    call(2, 128);
    call(3, 128);
    call(0xbad, 128);
    get();
    assert_int_equal(result.violations, 1);
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_OVERRUN), 1);
    assert_string_equal(record_text(&record, RPCRDMA_RULE_CREDIT_OVERRUN),
                        "3 Calls in flight with this one (XID 0x00000bad), 2 granted");
    assert_int_equal(record_frame(&record, RPCRDMA_RULE_CREDIT_OVERRUN), frame);
}

static void test_zero_grant(void **state)
{
    (void)state;
    first(128, 0);
    get();
    assert_int_equal(result.violations, 1);
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_ZERO), 1);
    assert_int_equal(result.granted.min, 0);
    assert_int_equal(result.limit.last, 1); /* taken as 1 */
    call(2, 128);
    assert_int_equal(record.n_findings, 1);
    call(3, 128);
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_OVERRUN), 1);
}

static void test_call_before_first_reply(void **state)
{
    (void)state;
    opened();
    call(1, 32);
    NO_FINDINGS();
    call(2, 32);
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_FIRST_CALL), 1);
    assert_int_equal(record_frame(&record, RPCRDMA_RULE_CREDIT_FIRST_CALL), 3);
    get();
    assert_int_equal(result.violations, 1);
    assert_int_equal(result.stalls.count, 0); /* waiting for the first grant is no stall */
}

/* 64 granted, 8 in flight, then a grant of 4: it binds with the Ack of the Reply that brought it.
 */
static void test_shrink(void **state)
{
    (void)state;
    first(128, 64);
    for (uint32_t xid = 10; xid < 18; xid++)
        call(xid, 128);
    reply(10, 4);
    call(20, 128); /* the Requester may not know yet */
    NO_FINDINGS();
    acked();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_SHRINK), 1);
    assert_string_equal(record_text(&record, RPCRDMA_RULE_CREDIT_SHRINK),
                        "the grant shrinks from 64 to 4 with 8 Calls in flight");
    assert_int_equal(record_frame(&record, RPCRDMA_RULE_CREDIT_SHRINK), 12);
    get();
    assert_int_equal(result.violations, 0);
    call(21, 128); /* now it knows */
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_OVERRUN), 1);
}

static void test_shrink_in_time(void **state)
{
    (void)state;
    first(128, 64);
    for (uint32_t xid = 10; xid < 15; xid++)
        call(xid, 128);
    reply(10, 4);
    acked(); /* 4 in flight, 4 granted */
    NO_FINDINGS();
}

/* Down and up again: the way up is no shrink. */
static void test_shrink_and_raise(void **state)
{
    (void)state;
    first(128, 64);
    for (uint32_t xid = 10; xid < 40; xid++)
        call(xid, 128);
    reply(10, 4);
    reply(11, 8);
    acked();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_SHRINK), 1);
    reply(12, 16);
    acked();
    assert_int_equal(record.n_findings, 1);
}

static void test_error_answer(void **state)
{
    (void)state;
    first(128, 64);
    call(2, 128);
    assert_true(has(2));
    reply(2, 32);
    get();
    assert_int_equal(result.replies, 2);
    assert_int_equal(result.granted.last, 32);
    /* An XID nobody asked with: whose credits it carries cannot be known. */
    assert_false(has(77));
}

static void test_retransmitted(void **state)
{
    (void)state;
    first(128, 64);
    call(2, 128);
    call(2, 128);
    get();
    assert_int_equal(result.in_flight.max, 1);
    assert_int_equal(result.retransmitted, 1);
    reply(2, 64);
    reply(2, 64); /* and so is its Reply */
    get();
    assert_int_equal(result.replies, 2);
    assert_int_equal(result.stray, 1);
    assert_int_equal(account.set.count, 0);
    assert_int_equal(record.last.in_flight, 0);
    NO_FINDINGS();
}

/* A Reply passes while the Requester has more in flight than it may: as many are still without one
 * as the limit is, and it is at its limit until the next passes. */
static void test_reply_passes_above_the_limit(void **state)
{
    (void)state;
    first(128, 2);
    for (uint32_t xid = 2; xid < 5; xid++)
        call(xid, 128);
    for (uint32_t xid = 2; xid < 4; xid++) {
        now += 3 * MS;
        rpcrdma_credit_account_passed(
            &account, at(),
            &(struct rpcrdma_credit_reply){.call = find(xid), .granted = 2, .time_ns = now});
    }
    now += 5 * MS;
    get();
    assert_int_equal(result.least_ns, 6 * MS);
    assert_int_equal(result.least_longer, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_call),      TEST(bound_by_request),     TEST(bound_by_grant),
        TEST(bound_by_both), TEST(stall_ended_by_grant), TEST(stall_ended_by_request),
        TEST(overrun),       TEST(zero_grant),           TEST(call_before_first_reply),
        TEST(shrink),        TEST(shrink_in_time),       TEST(shrink_and_raise),
        TEST(error_answer),  TEST(retransmitted),        TEST(reply_passes_above_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
