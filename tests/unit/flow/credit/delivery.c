/* SPDX-License-Identifier: BSD-2-Clause */
/* A credit returns when its Reply is delivered: RFC 8166 section 3.3.1 counts what the Requester
 * has received, IBTA volume 1 section 9.7.5 says by which Acks the capture shows that. */
#include "credit_rig.h"

enum { LATE_NS = 50000000 };

static void begin(bool delivery)
{
    const struct rpcrdma_flow_config config = {.credits = true, .delivery = delivery};

    pair_begin(&config);
    rig_connect(&rig, &a, &b, 20049);
}

/* What was sent last, once more, later. */
static void reply_again(uint32_t xid, uint32_t granted)
{
    rig.time_ns += LATE_NS;
    b.psn = (b.psn - 1) & 0xffffff;
    reply(xid, granted);
}

static void acked(void)
{
    rig_ack(&rig, &a, &b, (b.psn - 1) & 0xffffff);
}

static const struct rpcrdma_credit_result *now(void)
{
    rpcrdma_flow_credits(rig.flow, false);
    return &rig.credit[rig.credits - 1];
}

static void first(uint32_t requested, uint32_t granted)
{
    call(1, requested);
    rig_ack(&rig, &b, &a, (a.psn - 1) & 0xffffff);
    reply(1, granted);
    acked();
}

/* Of a Call of two packets the second is lost, and comes after 2 s: the credit was taken by the
 * first. A Reply that is delivered meanwhile returns its own. */
static void test_call_of_two_packets(void **state)
{
    const struct rpcrdma_credit_result *result;
    uint8_t buf[2 * RIG_PMTU] = {0};
    uint64_t busy;

    (void)state;
    for (int other = 0; other < 2; other++) {
        begin(true);
        first(128, 64);
        busy = now()->busy_ns;
        if (other)
            call(2, 128);
        rig_call(buf, 3, 100003, 0);
        rig_word(buf + 8, 128);
        rig_packet(&rig, &a, &b, a.psn++, RPCRDMA_OP_FIRST, buf, RIG_PMTU);
        rig.time_ns += LATE_NS;
        if (other) {
            reply(2, 64);
            acked();
        }
        rig.time_ns += 40 * LATE_NS;
        rig_packet(&rig, &a, &b, a.psn++, RPCRDMA_OP_LAST, buf + RIG_PMTU, RIG_PMTU);
        reply(3, 64);
        acked();
        result = now();
        assert_int_equal(result->calls, other ? 3 : 2);
        assert_int_equal(result->replies, other ? 3 : 2);
        assert_int_equal(result->in_flight.max, 1);
        busy = result->busy_ns - busy;
        assert_true(busy >= UINT64_C(41) * LATE_NS && busy < UINT64_C(42) * LATE_NS);
        rig_end(&rig);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_OVERRUN), 0);
    }
}

static void test_late(void **state)
{
    const struct rpcrdma_credit_result *result;

    (void)state;
    begin(false);
    first(128, 64);
    call(2, 128);
    reply(2, 32);
    result = now();
    assert_true(result->followed);
    assert_int_equal(result->replies, 1);
    assert_int_equal(result->unanswered, 1);
    assert_int_equal(result->undelivered, 0); /* it may still come */
    assert_int_equal(result->granted.last, 64);
    reply_again(2, 32);
    acked();
    result = now();
    assert_int_equal(result->replies, 2);
    assert_int_equal(result->unanswered, 0);
    assert_int_equal(result->undelivered, 0);
    assert_int_equal(result->granted.last, 32);
    assert_true(result->busy_ns >= LATE_NS);
    rig_end(&rig);
    assert_int_equal(rig.findings, 0);
}

/* What may be a Nak returns the credits of what is before its PSN, and not its own. */
static void test_ack_or_nak(void **state)
{
    struct rpcrdma_op op;

    (void)state;
    begin(true);
    first(128, 64);
    call(2, 128);
    reply(2, 48);
    call(3, 128);
    reply(3, 32);
    op = rig_op(&rig, RPCRDMA_OP_ACK, &a, &b, (b.psn - 1) & 0xffffff);
    op.flags = RPCRDMA_OP_TRUNCATED | RPCRDMA_OP_ACK_OR_NAK;
    rig_feed(&rig, &op);
    assert_int_equal(now()->replies, 2);
    assert_int_equal(now()->granted.last, 48);
    acked();
    assert_int_equal(now()->replies, 3);
    assert_int_equal(now()->granted.last, 32);
    rig_end(&rig);
}

/* Seven times sent, never acknowledged; the server disconnects. */
static void never(bool delivery)
{
    const struct rpcrdma_credit_result *result;

    begin(delivery);
    first(128, 64);
    call(2, 128);
    reply(2, 64);
    for (int i = 0; i < 6; i++)
        reply_again(2, 64);
    rig_disconnect(&rig, &b, &a);
    rig_end(&rig);
    result = &rig.credit[rig.credits - 1];
    assert_int_equal(result->calls, 2);
    assert_int_equal(result->replies, 1);
    assert_int_equal(result->unanswered, 1);
    assert_int_equal(result->undelivered, 1);
}

static void test_never(void **state)
{
    (void)state;
    never(false);
    never(true);
}

/* A Call that was under way when the connection was closed comes long after that: time passes on.
 */
static void test_behind_the_end(void **state)
{
    const struct rpcrdma_credit_result *result;

    (void)state;
    begin(true);
    first(128, 64);
    rig_disconnect(&rig, &b, &a);
    rig.time_ns += 60 * INT64_C(1000000000);
    call(2, 128);
    rig_end(&rig);
    result = &rig.credit[rig.credits - 1];
    assert_int_equal(result->calls, 2);
    assert_int_equal(result->unanswered, 1);
    assert_false(result->clock);
}

/* The Ack of the last Reply is not in the capture: that it was not delivered would be a guess. */
static void test_sent_once(void **state)
{
    const struct rpcrdma_credit_result *result;

    (void)state;
    begin(false);
    first(128, 64);
    call(2, 128);
    reply(2, 64);
    rig_disconnect(&rig, &a, &b);
    rig_end(&rig);
    result = &rig.credit[rig.credits - 1];
    assert_int_equal(result->replies, 2);
    assert_int_equal(result->unanswered, 0);
    assert_int_equal(result->undelivered, 0);
}

static void test_no_acks(void **state)
{
    const struct rpcrdma_credit_result *result;

    (void)state;
    begin(false);
    call(1, 128);
    reply(1, 64);
    call(2, 128);
    reply(2, 64);
    result = now();
    assert_false(result->followed);
    assert_int_equal(result->replies, 2);
    assert_int_equal(result->unanswered, 0);
    rig_end(&rig);
}

/* The server's Acks are there, the client's are not: after a few Replies nobody waits any more. */
static void test_acks_of_one_end(void **state)
{
    const struct rpcrdma_credit_result *result;

    (void)state;
    begin(false);
    for (uint32_t xid = 1; xid < 20; xid++) {
        call(xid, 128);
        rig_ack(&rig, &b, &a, (a.psn - 1) & 0xffffff);
        reply(xid, 64);
    }
    result = now();
    assert_false(result->followed);
    assert_int_equal(result->replies, 19);
    assert_int_equal(result->unanswered, 0);
    rig_end(&rig);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_OVERRUN), 0);
}

/* An adapter acknowledges several Replies at once; what their Requester sends before is proof
 * enough that it has them: no overrun, and never more in flight than granted. */
static void test_call_before_ack(void **state)
{
    const struct rpcrdma_credit_result *result;

    (void)state;
    begin(false);
    first(128, 2);
    call(2, 128);
    call(3, 128);
    reply(2, 2);
    call(4, 128);
    acked();
    reply(3, 2);
    call(5, 128);
    acked();
    result = now();
    assert_int_equal(result->in_flight.max, 2);
    assert_int_equal(result->unanswered, 2);
    assert_int_equal(result->violations, 0);
    rig_end(&rig);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_OVERRUN), 0);
}

/* A Nak acknowledges what is before the PSN that it names, not that. */
static void test_nak(void **state)
{
    (void)state;
    begin(false);
    first(128, 64);
    call(2, 128);
    call(3, 128);
    reply(2, 64);
    reply(3, 64);
    rig_nak(&rig, &a, &b, (b.psn - 1) & 0xffffff, RPCRDMA_NAK_PSN_SEQUENCE);
    assert_int_equal(now()->replies, 2);
    assert_int_equal(now()->unanswered, 1);
    rig_end(&rig);
}

/* More Replies on their way than there is room for at first. */
static void test_many_on_the_way(void **state)
{
    (void)state;
    begin(false);
    first(128, 64);
    for (uint32_t xid = 2; xid < 42; xid++)
        call(xid, 128);
    for (uint32_t xid = 2; xid < 42; xid++)
        reply(xid, 64);
    assert_int_equal(now()->unanswered, 40);
    acked();
    assert_int_equal(now()->unanswered, 0);
    assert_int_equal(now()->replies, 41);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_of_two_packets),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_ack_or_nak),
        cmocka_unit_test(test_never),
        cmocka_unit_test(test_behind_the_end),
        cmocka_unit_test(test_sent_once),
        cmocka_unit_test(test_no_acks),
        cmocka_unit_test(test_acks_of_one_end),
        cmocka_unit_test(test_call_before_ack),
        cmocka_unit_test(test_nak),
        cmocka_unit_test(test_many_on_the_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
