/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture has none of the Acks, as a filter or an adapter left them out: what they would have
 * shown is not waited for. It is where they are, however late. */
#include "credit_rig.h"

enum { RPCS = 400, THINKS_NS = 3000000 };

static void begin(void)
{
    const struct rpcrdma_flow_config config = {.credits = true, .delivery = true};

    pair_begin(&config);
    rig_connect(&rig, &a, &b, 20049);
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

/* The server's are captured, so that the first Replies wait for the client's: until it is known
 * that there are none. */
static void test_one_way(void **state)
{
    const struct rpcrdma_credit_result *result;

    (void)state;
    begin();
    for (uint32_t xid = 1; xid < 100; xid++) {
        call(xid, 128);
        rig_ack(&rig, &b, &a, (a.psn - 1) & 0xffffff);
        if (xid == 50)
            call(1000, 128);
        reply(xid, 64);
        if (xid == 50)
            reply(1000, 64);
        if (xid < 10)
            assert_int_equal(now()->in_flight.max, xid <= 4 ? xid : 1);
        rig.time_ns += THINKS_NS;
    }
    result = now();
    assert_false(result->followed);
    assert_int_equal(result->in_flight.max, 2);
    assert_int_equal(result->in_flight.p99, 1);
    assert_int_equal(result->replies, 100);
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
        cmocka_unit_test(test_one_way),
        cmocka_unit_test(test_far),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
