/* SPDX-License-Identifier: BSD-2-Clause */
/* An account where order, time, values or memory are not as they should be. */
#include "account_rig.h"

/* A capture of two ports may show a Reply just before its Call. */
static void test_reply_before_call(void **state)
{
    (void)state;
    first(128, 64);
    reply(2, 64);
    now += MS / 10;
    call(2, 128);
    get();
    assert_int_equal(account.set.count, 0);
    assert_int_equal(result.calls, 2);
    assert_int_equal(result.replies, 2);
    assert_int_equal(result.stray, 0);
    now += S;
    call(2, 128); /* another one, by now */
    assert_int_equal(account.set.count, 1);
}

static void test_clock(void **state)
{
    (void)state;
    first(1, 64);
    call(2, 1);
    now += 2 * MS;
    rpcrdma_credit_account_heard(&account, true);
    call(3, 64);
    now -= MS; /* out of order: no time passes, none is counted twice */
    reply(2, 64);
    now += 2 * MS;
    reply(3, 64);
    get();
    assert_int_equal(result.measured_ns, 4 * MS);
    assert_false(result.clock);

    call(4, 1);
    now = -5 * S; /* set back */
    call(5, 1);
    now += MS;
    reply(4, 64);
    reply(5, 64);
    get();
    assert_true(result.clock);
    assert_int_equal(result.measured_ns, 5 * MS);
    for (uint32_t i = 0; i < result.stalls.kept; i++) {
        assert_true(result.stalls.longest[i].from_ns <= result.stalls.longest[i].to_ns);
        assert_true(result.stalls.longest[i].duration_ns <= 2 * (uint64_t)MS);
    }

    now = INT64_MAX; /* no overflow, either way */
    call(6, 1);
    now = INT64_MIN;
    reply(6, 64);
    get();
}

static void test_one_direction(void **state)
{
    (void)state;
    for (uint32_t xid = 1; xid < 200000; xid++)
        call(xid, 128);
    get();
    NO_FINDINGS();
    assert_false(result.in_flight.known);
    assert_true(result.requested.known && !result.granted.known && !result.limit.known);
    assert_int_equal(result.at_limit_ns, 0);
    assert_true(result.memory);
}

static void test_only_replies(void **state)
{
    (void)state;
    for (uint32_t xid = 1; xid < 1000; xid++) {
        now += MS;
        reply(xid, 64);
    }
    get();
    NO_FINDINGS();
    assert_false(result.in_flight.known);
    assert_true(result.granted.known && !result.requested.known);
    assert_int_equal(result.in_flight.max, 0);
    assert_int_equal(result.earlier + result.stray, 999);
}

static void test_huge_credits(void **state)
{
    (void)state;
    first(UINT32_MAX, UINT32_MAX);
    call(2, UINT32_MAX);
    get();
    NO_FINDINGS();
    assert_int_equal(result.limit.last, UINT32_MAX);
    assert_int_equal(result.stalls.count, 0);
}

static void test_rnr(void **state)
{
    (void)state;
    first(128, 64);
    call(0xaffe, 128);
    rpcrdma_credit_account_rnr(&account, at(), 0xaffe, 4, false);
    rpcrdma_credit_account_rnr(&account, at(), 0xaffe, 4, true);
    rpcrdma_credit_account_rnr(&account, at(), 0, 0, false);
    get();
    assert_int_equal(result.rnr_naks, 3);
    assert_int_equal(record.n_findings, 2);
    assert_string_equal(
        record_text(&record, RPCRDMA_RULE_CREDIT_RNR),
        "RNR Nak: no receive buffer for the message in frame 4 (XID 0x0000affe), 1 in flight");
    assert_int_equal(record_count(&record, RPCRDMA_RULE_CREDIT_RNR_UNKNOWN), 1);
}

/* Memory is short: the count stays right as far as Replies tell, and it is said. */
static void test_memory_short(void **state)
{
    (void)state;
    opened();
    memory.limit = 0;
    call(1, 128);
    memory.limit = SIZE_MAX;
    reply(1, 64);
    call(2, 128);
    get();
    assert_true(result.memory);
    assert_int_equal(record.last.in_flight, 1);
    NO_FINDINGS();
}

static void longest_stalls_kept(uint32_t stride)
{
    first(1, 64);
    for (uint32_t i = 0; i < 100; i++) {
        call(i + 10, 1);
        now += ((i * stride) % 100 + 1) * MS / 10;
        reply(i + 10, 64);
    }
    call(1000, 1);
    now += 20 * MS; /* still open */
    call(1000, 1);
    get();
    assert_int_equal(result.stalls.count, 101);
    assert_int_equal(result.stalls.longer, 92);
    assert_int_equal(result.stalls.kept, RPCRDMA_CREDIT_STALLS);
    assert_int_equal(result.stalls.longest[0].duration_ns, 20 * MS);
    assert_int_equal(result.stalls.longest[0].ended_by, RPCRDMA_ENDED_BY_CAPTURE);
    for (uint32_t i = 1; i < RPCRDMA_CREDIT_STALLS; i++)
        assert_int_equal(result.stalls.longest[i].duration_ns, (101 - i) * MS / 10);
}

/* In whatever order they come. */
static void test_longest_stalls_kept(void **state)
{
    static const uint32_t strides[] = {37, 1, 3, 7, 9, 11, 21, 51, 63, 99};

    for (size_t i = 0; i < sizeof(strides) / sizeof(strides[0]); i++) {
        longest_stalls_kept(strides[i]);
        teardown(state);
        setup(state);
    }
}

/* Of the same length, the earlier first, whatever shorter one came between. */
static void test_stalls_of_one_length(void **state)
{
    static const int64_t lengths[] = {5 * MS, 5 * MS, MS, 5 * MS, 2 * MS, 5 * MS};
    uint64_t before = 0;

    (void)state;
    first(1, 64);
    for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        call(i + 10, 1);
        now += lengths[i];
        reply(i + 10, 64);
    }
    get();
    assert_int_equal(result.stalls.kept, sizeof(lengths) / sizeof(lengths[0]));
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(result.stalls.longest[i].duration_ns, 5 * MS);
        assert_true(result.stalls.longest[i].from_frame > before);
        before = result.stalls.longest[i].from_frame;
    }
}

/* A step back of a second is packets out of order; of more, a clock that was set. */
static void test_clock_back_by_a_second(void **state)
{
    (void)state;
    for (int64_t more = 0; more < 2; more++) {
        first(64, 64);
        now += 10 * S;
        call(2, 64);
        now -= S + more;
        call(3, 64);
        get();
        assert_int_equal(result.clock, more);
        teardown(state);
        setup(state);
    }
}

/* A report at intervals: counts start again, what is in flight stays. */
static void test_restart(void **state)
{
    (void)state;
    first(2, 64);
    call(2, 2);
    call(3, 2);
    now += 3 * MS;
    rpcrdma_credit_account_heard(&account, true);
    call(2, 2);
    rpcrdma_credit_account_restart(&account);
    now += MS;
    reply(3, 64);
    get();
    assert_int_equal(result.calls, 0);
    assert_int_equal(result.replies, 1);
    assert_int_equal(result.in_flight.max, 2);
    assert_int_equal(result.measured_ns, MS);
    assert_int_equal(result.at_limit_ns, MS);
    assert_int_equal(result.stalls.longest[0].duration_ns, MS);
    assert_int_equal(result.unanswered, 1);
}

/* Whatever comes in whatever order: no count below zero (or far above), no crash. */
static void test_anything(void **state)
{
    uint32_t seed = 7;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint32_t random, xid, credits;

        seed = seed * 1664525 + 1013904223;
        random = seed >> 16;
        xid = random % 97;
        credits = random % 5 == 0 ? UINT32_MAX - random % 3 : random % 11;
        now += (int32_t)(seed >> 4) % (int32_t)(2 * MS) - MS / 2;
        switch ((seed >> 9) % 16) {
        case 0:
            opened();
            break;
        case 1:
            rpcrdma_credit_account_lost(&account, at());
            break;
        case 2:
            rpcrdma_credit_account_gap(&account, random & 1, random % 9 ? random % 3 : UINT64_MAX);
            break;
        case 3:
            if (has(xid))
                rpcrdma_credit_account_reply(&account, at(), find(xid), credits,
                                             random % 3 ? ++place : 0);
            break;
        case 4:
            rpcrdma_credit_account_rnr(&account, at(), xid, random & 1, random & 2);
            break;
        case 5:
            acked();
            break;
        case 6:
            if (random % 50 == 0)
                rpcrdma_credit_account_restart(&account);
            break;
        case 7:
        case 8:
        case 9:
        case 10:
            reply(xid, credits);
            break;
        default:
            call(xid, credits);
        }
        get();
        assert_true(record.last.in_flight <= 97);
        assert_true(result.in_flight.max <= 97);
        assert_true(!account.rare || account.rare->doubtful <= account.set.count);
        assert_true(result.at_limit_ns <= result.measured_ns);
        assert_true(result.unsettled_ns <= account.gauge.elapsed_ns);
        assert_true(result.replies + result.unanswered + result.missed <= 400000);
        assert_true(result.earlier <= 200000 && result.stray <= 200000);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(reply_before_call),
        TEST(clock),
        TEST(one_direction),
        TEST(only_replies),
        TEST(huge_credits),
        TEST(rnr),
        TEST(memory_short),
        TEST(longest_stalls_kept),
        TEST(stalls_of_one_length),
        TEST(clock_back_by_a_second),
        TEST(restart),
        TEST(anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
