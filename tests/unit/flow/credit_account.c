/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "credit_record.h"
#include "flow/credit/account.h"

#define MS INT64_C(1000000)
#define S (1000 * MS)

static struct flow_memory memory;
static struct rpcrdma_credit_account account;
static struct record record;
static int64_t now; /* set by a test before an event */
static uint64_t frame, place;
static struct rpcrdma_credit_result result;

/* The table of Calls, as far as an account needs one: by the low bits of the XID, the older one
 * goes. */
enum { SLOTS = 65536 };
static struct {
    uint32_t xid;
    bool outstanding;
    struct rpcrdma_credit_call call;
} slots[SLOTS];

static int setup(void **state)
{
    struct rpcrdma_credit_sink sink = record_sink(&record);

    (void)state;
    memset(&record, 0, sizeof(record));
    now = S;
    frame = place = 0;
    memory = (struct flow_memory){.limit = SIZE_MAX};
    memset(slots, 0, sizeof(slots));
    rpcrdma_credit_account_init(&account, &memory, &sink);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rpcrdma_credit_account_free(&account);
    assert_int_equal(memory.used, 0);
    return 0;
}

static struct rpcrdma_credit_at at(void)
{
    return (struct rpcrdma_credit_at){now, ++frame};
}

static void opened(void)
{
    rpcrdma_credit_account_opened(&account, at());
}

static struct rpcrdma_credit_call *find(uint32_t xid)
{
    return slots[xid % SLOTS].xid == xid ? &slots[xid % SLOTS].call : NULL;
}

static bool has(uint32_t xid)
{
    return rpcrdma_credit_call_in_flight(find(xid));
}

static void call(uint32_t xid, uint32_t requested)
{
    struct rpcrdma_credit_call *slot = memory.limit > 0 ? &slots[xid % SLOTS].call : NULL;
    bool again = find(xid) && slots[xid % SLOTS].outstanding;

    if (slot && !find(xid)) {
        rpcrdma_credit_account_give_up(&account, slot);
        memset(slot, 0, sizeof(*slot));
        slots[xid % SLOTS].xid = xid;
    }
    rpcrdma_credit_account_call(&account, at(), slot, again, xid, requested);
    slots[xid % SLOTS].outstanding = true;
}

static void reply(uint32_t xid, uint32_t granted)
{
    rpcrdma_credit_account_reply(&account, at(), find(xid), xid, granted, ++place);
    slots[xid % SLOTS].outstanding = false;
}

static void acked(void)
{
    rpcrdma_credit_account_acked(&account, at(), place);
}

/* The first Call and its Reply. */
static void first(uint32_t requested, uint32_t granted)
{
    opened();
    call(1, requested);
    now += MS;
    reply(1, granted);
}

static void get(void)
{
    /* no more: what waits for the other end's next message to prove it is taken as proven */
    rpcrdma_credit_account_end(&account, (struct rpcrdma_credit_at){now, frame});
    rpcrdma_credit_account_result(&account, &result);
}

#define NO_FINDINGS() assert_int_equal(record.n_findings, 0)

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

static void gap(bool from_requester, uint64_t packets)
{
    rpcrdma_credit_account_gap(&account, from_requester, packets);
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
        "RNR NAK: no receive buffer for the message in frame 4 (XID 0x0000affe), 1 in flight");
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

static void test_longest_stalls_kept(void **state)
{
    (void)state;
    first(1, 64);
    for (uint32_t i = 0; i < 100; i++) {
        call(i + 10, 1);
        now += ((i * 37) % 100 + 1) * MS / 10;
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
                rpcrdma_credit_account_reply(&account, at(), find(xid), xid, credits,
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
        assert_true(account.doubtful <= account.set.count);
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
        TEST(one_call),
        TEST(bound_by_request),
        TEST(bound_by_grant),
        TEST(bound_by_both),
        TEST(stall_ended_by_grant),
        TEST(stall_ended_by_request),
        TEST(overrun),
        TEST(zero_grant),
        TEST(call_before_first_reply),
        TEST(shrink),
        TEST(shrink_in_time),
        TEST(shrink_and_raise),
        TEST(error_answer),
        TEST(retransmitted),
        TEST(lost_at_limit),
        TEST(lost_below_limit),
        TEST(reopened),
        TEST(midflight_filled),
        TEST(midflight_answered),
        TEST(midflight_first_grant),
        TEST(midflight_aged),
        TEST(missing_replies),
        TEST(missing_none),
        TEST(missing_shows_late),
        TEST(missing_replies_age),
        TEST(missing_calls),
        TEST(no_reply),
        TEST(reply_before_call),
        TEST(clock),
        TEST(one_direction),
        TEST(only_replies),
        TEST(huge_credits),
        TEST(rnr),
        TEST(memory_short),
        TEST(longest_stalls_kept),
        TEST(restart),
        TEST(anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
