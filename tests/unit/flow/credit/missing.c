/* SPDX-License-Identifier: BSD-2-Clause */
/* An account in a capture that begins late, or that lacks packets. */
#include "account_rig.h"

static void test_lost_at_limit(void **state)
{
    (void)state;
    first(128, 2);
    call(2, 128);
    call(3, 128);
    now += 4 * MS;
    rpcrdma_credit_account_lost(&account, at());
    assert_string_equal(record_text(&record, RPCRDMA_RULE_CREDIT_LOST),
                        "connection lost while at its limit: 2 Calls in flight, limit 2");
    get();
    assert_int_equal(result.unanswered, 2);
    assert_int_equal(result.stalls.longest[0].ended_by, RPCRDMA_ENDED_BY_DISCONNECT);
    assert_int_equal(record.last.in_flight, 0);

    /* Said twice (DREQ and DREP): counted once. Time without connection is not measured. */
    now += S;
    rpcrdma_credit_account_lost(&account, at());
    now += S;
    opened();
    call(2, 128); /* sent again with its XID */
    call(3, 128); /* one beyond the first again */
    now += MS;
    reply(2, 64);
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_LOST), 1);
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_FIRST_CALL), 1);
    assert_int_equal(result.measured_ns, 6 * MS);
    assert_int_equal(result.unanswered, 3);
    assert_int_equal(result.calls, 5);
}

/* Where what the Responder sent began is not known, the Reply that allowed more may be missing. */
static void test_first_reply_missing(void **state)
{
    (void)state;
    account.late = true;
    opened();
    call(1, 128);
    call(2, 128);
    now += MS;
    reply(2, 2);
    acked();
    NO_FINDINGS();
    call(3, 128);
    call(4, 128);
    reply(4, 2);
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_OVERRUN), 1);
}

static void test_lost_below_limit(void **state)
{
    (void)state;
    first(128, 64);
    call(2, 128);
    rpcrdma_credit_account_lost(&account, at());
    get();
    NO_FINDINGS();
    assert_int_equal(result.unanswered, 1);
}

/* Opened again without a word of the loss. */
static void test_reopened(void **state)
{
    (void)state;
    first(128, 64);
    call(2, 128);
    opened();
    call(3, 128);
    get();
    NO_FINDINGS();
    assert_int_equal(result.unanswered, 2);
    assert_int_equal(record.last.in_flight, 1);
}

/* The capture starts with Calls in flight; the Requester fills its grant and so settles the count.
 */
static void test_midflight_filled(void **state)
{
    (void)state;
    call(100, 128);
    get();
    assert_false(result.settled);
    assert_false(result.limit.known);
    now += MS;
    reply(50, 4); /* to a Call from before */
    acked();
    get();
    assert_int_equal(result.earlier, 1);
    assert_false(result.settled);
    call(101, 128);
    call(102, 128);
    get();
    assert_false(result.settled); /* 3 or 4 in flight */
    now += MS;
    call(103, 128);
    get();
    assert_true(result.settled);
    assert_int_equal(result.unsettled_ns, 2 * MS);
    assert_int_equal(result.in_flight.max, 4);
    NO_FINDINGS();
    call(104, 128);
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_OVERRUN), 1);
}

/* The evidence adds up: no more than two can be unknown, and both were answered. */
static void test_midflight_answered(void **state)
{
    (void)state;
    reply(50, 4);
    acked();
    call(100, 128);
    call(101, 128);
    reply(51, 4);
    get();
    assert_false(result.settled);
    reply(52, 4);
    get();
    assert_true(result.settled);
    assert_int_equal(result.earlier, 3);
}

/* A first grant may itself be a shrink: it says nothing until it is acknowledged. */
static void test_midflight_first_grant(void **state)
{
    (void)state;
    call(100, 128);
    call(101, 128);
    reply(50, 1);
    call(102, 128);
    NO_FINDINGS();
    acked();
    call(103, 128);
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_OVERRUN), 1);
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_SHRINK), 0);
}

static void test_midflight_aged(void **state)
{
    (void)state;
    for (uint32_t xid = 1; xid <= 40; xid++) {
        call(xid, 128);
        now += MS;
        reply(xid, 64);
        if (xid == 2)
            reply(1000, 64);
        now += 40 * MS;
    }
    get();
    assert_true(result.settled);
    assert_int_equal(result.earlier, 1);
    /* one second and ten times the longest answer after the one to a Call from before */
    assert_between(result.unsettled_ns, 1010 * MS, 1150 * MS);
}

/* Calls that waited for long when the first Reply was captured may have been answered before that:
 * they do not count against the grant, and later ones do. */
static void test_midflight_answered_unseen(void **state)
{
    (void)state;
    for (uint32_t xid = 100; xid < 110; xid++)
        call(xid, 128);
    now += 200 * MS;
    reply(100, 4);
    acked();
    for (uint32_t xid = 200; xid < 204; xid++)
        call(xid, 128);
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_OVERRUN), 0);
    call(204, 128);
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_OVERRUN), 1);
}

/* RPCs one after another. */
static void answered(uint32_t first, uint32_t last)
{
    for (uint32_t xid = first; xid <= last; xid++) {
        call(xid, 128);
        now += MS;
        reply(xid, 64);
        now += 40 * MS;
    }
}

/* What the Requester sent was lost to the capture after the count was settled: it takes as long
 * again. */
static void test_missing_calls_age(void **state)
{
    (void)state;
    answered(1, 35);
    get();
    assert_true(result.settled);
    gap(true, 2);
    answered(36, 40);
    get();
    assert_false(result.settled);
    answered(41, 70);
    get();
    assert_true(result.settled);
}

/* Two packets of the Responder were lost to the capture: two Replies at most. */
static void test_missing_replies(void **state)
{
    (void)state;
    first(128, 4);
    for (uint32_t xid = 10; xid < 14; xid++)
        call(xid, 128);
    gap(false, 2);
    assert_int_equal(record.last.in_flight, 2);
    call(20, 128);
    call(21, 128);
    get();
    NO_FINDINGS();
    assert_false(result.settled);
    assert_int_equal(result.missed, 2);
    assert_int_equal(result.in_flight.max, 4);
    call(22, 128); /* one of the two may have granted more */
    reply(20, 4);
    acked();
    get();
    NO_FINDINGS();
    call(23, 128); /* but this one grants 4, and the Requester knows */
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_OVERRUN), 1);
    assert_true(result.gaps);
}

/* The Replies that come show that they were not among the lost ones. */
static void test_missing_none(void **state)
{
    (void)state;
    first(128, 64);
    call(10, 128);
    call(11, 128);
    call(12, 128);
    gap(false, 2);
    assert_int_equal(record.last.in_flight, 1);
    reply(10, 64);
    assert_int_equal(record.last.in_flight, 0);
    reply(11, 64);
    assert_int_equal(record.last.in_flight, 0);
    reply(12, 64);
    get();
    assert_true(result.settled);
    assert_int_equal(result.missed, 0);
    assert_int_equal(result.unanswered, 0);
    assert_int_equal(result.replies, 4);
}

/* A Call beyond the grant, and then it shows that the Reply before it was lost to the capture. */
static void test_missing_shows_late(void **state)
{
    (void)state;
    first(128, 2);
    call(2, 128);
    call(3, 128);
    call(4, 128); /* the Reply to 2 has passed the tap unseen */
    gap(false, 1);
    reply(3, 2);
    get();
    NO_FINDINGS();
    assert_int_equal(result.violations, 0);
    call(5, 128);
    call(6, 128);
    acked();
    call(7, 128);
    reply(5, 2); /* nothing is missing before this one: 7 was sent too early */
    get();
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_OVERRUN), 1);
}

static void test_missing_replies_age(void **state)
{
    (void)state;
    first(128, 64);
    call(10, 128);
    call(11, 128);
    gap(false, 1);
    reply(11, 64);
    for (uint32_t xid = 20; xid < 40; xid++) {
        now += 100 * MS;
        call(xid, 128);
        reply(xid, 64);
    }
    get();
    assert_int_equal(result.missed, 1);
    assert_int_equal(account.set.count, 0);
    assert_true(result.settled);
    assert_int_equal(result.unanswered, 0);
}

static void test_missing_calls(void **state)
{
    (void)state;
    first(128, 64);
    gap(true, 2);
    now += MS;
    reply(10, 64);
    get();
    assert_int_equal(result.earlier, 1);
    assert_false(result.settled);
    now += MS;
    reply(11, 64);
    now += MS;
    get();
    assert_true(result.settled); /* the two are found */
    assert_int_equal(result.unsettled_ns, 2 * MS);
    assert_int_equal(record.last.in_flight, 0);
}

/* A Call that gets no Reply does not count for ever. */
static void test_no_reply(void **state)
{
    (void)state;
    first(128, 64);
    call(7, 128);
    for (uint32_t xid = 100; xid < 1200; xid++) {
        now += 60 * MS;
        call(xid, 128);
        now += MS;
        reply(xid, 64);
    }
    get();
    assert_int_equal(account.set.count, 0);
    assert_int_equal(result.unanswered, 1);
    reply(7, 64); /* late after all */
    get();
    assert_int_equal(result.stray, 0);
    assert_int_equal(result.unanswered, 0);
    assert_int_equal(result.replies, 1102);
    assert_int_equal(record.last.in_flight, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(lost_at_limit),      TEST(lost_below_limit),    TEST(reopened),
        TEST(midflight_filled),   TEST(midflight_answered),  TEST(midflight_first_grant),
        TEST(midflight_aged),     TEST(missing_replies),     TEST(missing_none),
        TEST(missing_shows_late), TEST(missing_replies_age), TEST(missing_calls),
        TEST(no_reply),           TEST(first_reply_missing), TEST(midflight_answered_unseen),
        TEST(missing_calls_age),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
