/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture has none or few of the Acks: a filter or an adapter left them out, or packets were
 * sampled. What they would have shown is not waited for. */
#include "credit_rig.h"

enum { RPCS = 400, THINKS_NS = 3000000 };

static void begin(void)
{
    const struct rpcrdma_flow_config config = {.credits = true, .delivery = true};

    pair_begin(&config);
    rig_connect(&rig, &a, &b, 20049);
}

static void acked(void)
{
    rig_ack(&rig, &a, &b, (b.psn - 1) & 0xffffff);
}

/* The server's adapter asks for data, and the client's sends it: which acknowledges what the server
 * sent before, and is no Ack. */
static void read_and_response(void)
{
    struct rpcrdma_op op = rig_op(&rig, RPCRDMA_OP_READ_REQUEST, &b, &a, b.psn);

    op.length = 64;
    rig_feed(&rig, &op);
    op = rig_op(&rig, RPCRDMA_OP_READ_RESPONSE, &a, &b, b.psn);
    op.flags = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST;
    op.len = 64;
    rig_feed(&rig, &op);
    b.psn = (b.psn + 1) & 0xffffff;
}

static const struct rpcrdma_credit_result *now(void)
{
    rpcrdma_flow_credits(rig.flow, false);
    return &rig.credit[rig.credits - 1];
}

/* RPC after RPC; of the client's Acks one of so many was captured, of the server's all. */
static void work(uint32_t first, uint32_t requested, uint32_t one_of)
{
    for (uint32_t xid = first; xid < first + RPCS; xid++) {
        call(xid, requested);
        rig_ack(&rig, &b, &a, (a.psn - 1) & 0xffffff);
        reply(xid, 64);
        if (xid % one_of == 0)
            acked();
        rig.time_ns += THINKS_NS;
    }
}

static void end(void)
{
    rig_end(&rig);
    assert_int_equal(rig.findings, 0);
}

/* Read responses alone are captured: Calls count until their Replies pass. */
static void test_responses_alone(void **state)
{
    const struct rpcrdma_credit_result *result;

    (void)state;
    begin();
    for (uint32_t xid = 1; xid < 100; xid++) {
        call(xid, 128);
        if (xid % 50 == 1)
            read_and_response();
        reply(xid, 64);
        rig.time_ns += THINKS_NS;
    }
    result = now();
    assert_false(result->followed);
    assert_int_equal(result->in_flight.max, 1);
    assert_int_equal(result->replies, 99);
    assert_true(result->busy_ns < 99 * THINKS_NS / 10);
    end();
}

/* All Acks were cut so that they may be Naks. */
static void test_cut_acks(void **state)
{
    const struct rpcrdma_credit_result *result;

    (void)state;
    begin();
    for (uint32_t xid = 1; xid < 100; xid++) {
        struct rpcrdma_op op;

        call(xid, 128);
        reply(xid, 64);
        op = rig_op(&rig, RPCRDMA_OP_ACK, &a, &b, (b.psn - 1) & 0xffffff);
        op.flags = RPCRDMA_OP_TRUNCATED | RPCRDMA_OP_ACK_OR_NAK;
        rig_feed(&rig, &op);
        rig.time_ns += THINKS_NS;
    }
    result = now();
    assert_false(result->followed);
    assert_int_equal(result->in_flight.max, 1);
    assert_int_equal(result->replies, 99);
    end();
}

/* One Ack of twenty to a hundred. */
static void test_few(void **state)
{
    (void)state;
    for (uint32_t one_of = 20; one_of <= 100; one_of += 16) {
        const struct rpcrdma_credit_result *result;

        begin();
        work(1, 128, one_of);
        result = now();
        assert_false(result->followed);
        /* once, until it is known how long an Ack takes */
        assert_true(result->in_flight.max <= 36);
        assert_int_equal(result->in_flight.p50, 0);
        assert_int_equal(result->stalls.count, 0);
        assert_int_equal(result->replies, RPCS);
        end();
    }
}

/* None of the client's, and it asks for few credits: it could not go on, were it waiting. */
static void test_small_limit(void **state)
{
    const struct rpcrdma_credit_result *result;

    (void)state;
    begin();
    work(1, 3, UINT32_MAX);
    result = now();
    assert_false(result->followed);
    assert_int_equal(result->in_flight.max, 2);
    assert_int_equal(result->stalls.count, 0);
    end();
}

/* They are captured again: a Reply that waits for its Ack returns no credit. */
static void test_all_again(void **state)
{
    (void)state;
    begin();
    work(1, 128, 64);
    assert_false(now()->followed);
    work(1 + RPCS, 128, 1);
    assert_true(now()->followed);
    call(9999, 128);
    reply(9999, 64);
    assert_int_equal(now()->unanswered, 1);
    acked();
    assert_int_equal(now()->unanswered, 0);
    end();
}

/* Half of them, as an adapter that acknowledges two Replies at once: that is enough. */
static void test_half(void **state)
{
    (void)state;
    begin();
    work(1, 128, 2);
    assert_true(now()->followed);
    assert_int_equal(now()->in_flight.max, 2);
    end();
}

/* The client is 10 ms away and the capture near the server: each Ack comes so late, for one Reply
 * or for eight, and all of them come. */
static void test_far(void **state)
{
    enum { GRANTS = 64, STEP_NS = 150000, AWAY = GRANTS };

    (void)state;
    for (uint32_t of = 1; of <= 8; of *= 8) {
        uint32_t ack = 0, psn[RPCS * 5];

        begin();
        for (uint32_t i = 0; i < RPCS * 5; i++) {
            call(i + 1, GRANTS);
            reply(i + 1, GRANTS);
            psn[i] = (b.psn - 1) & 0xffffff;
            rig.time_ns += STEP_NS;
            if (i + 1 < AWAY || (i + 1) % of != 0)
                continue;
            while (ack + of <= i + 1 - (AWAY - of)) {
                ack += of;
                rig_ack(&rig, &a, &b, psn[ack - 1]);
            }
        }
        assert_true(now()->followed);
        assert_true(now()->in_flight.p50 >= AWAY - 2 * 8);
        rig_end(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_responses_alone),
        cmocka_unit_test(test_cut_acks),
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_small_limit),
        cmocka_unit_test(test_all_again),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_far),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
