/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of credits alone, on a connection: messages in, accounts out. */

#include "stage_above.h"

#include "flow/credit/credit_stage.h"

static struct stage_above s;
static struct flow_credits *credits;
static struct rpcrdma_credit_result result[2];
static size_t results;
static uint8_t bytes[256];

static void on_credits(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_credit_result *r, size_t n)
{
    (void)context;
    (void)connection;
    results = n;
    memcpy(result, r, n * sizeof(*r));
}

static int begin(void **state)
{
    (void)state;
    stage_above_begin(&s);
    s.on.stage.context.sink.credits = on_credits;
    credits = flow_credits_new(&s.on.stage.context, s.messages, false);
    assert_non_null(credits);
    s.conn = stage_connect(&s.on, NFS_PORT);
    results = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    flow_credit_close(credits, s.conn, true);
    flow_credits_free(credits);
    stage_above_end(&s);
    return 0;
}

static void message(int sender, uint32_t len)
{
    flow_credit_message(credits, s.conn, stage_message(&s, sender, bytes, len));
    flow_message_done(s.messages, s.making.event.call);
}

/* One Call until the first grant (RFC 8166 section 3.3.1), then as many as are granted. */
static void test_in_flight(void **state)
{
    (void)state;
    message(0, stage_call(bytes, 1, 32));
    message(1, stage_reply(bytes, 1, 2));
    message(0, stage_call(bytes, 2, 32));
    message(0, stage_call(bytes, 3, 32));
    message(1, stage_reply(bytes, 2, 2));
    flow_credits_report(credits, false);
    assert_int_equal(results, 1);
    assert_int_equal(result[0].calls, 3);
    assert_int_equal(result[0].replies, 2);
    assert_int_equal(result[0].unanswered, 1);
    assert_int_equal(result[0].at_limit_ns, 10000);
    assert_int_equal(result[0].in_flight.max, 2);
    assert_int_equal(result[0].granted.last, 2);
    assert_int_equal(result[0].requested.last, 32);
    assert_int_equal(result[0].bound_by, RPCRDMA_BOUND_GRANTED);
    assert_int_equal(result[0].violations, 0);
    assert_true(result[0].settled);
}

/* A third one is beyond the grant: known once the server's next message shows none was missed. */
static void test_overrun(void **state)
{
    (void)state;
    message(0, stage_call(bytes, 1, 32));
    message(1, stage_reply(bytes, 1, 2));
    for (uint32_t xid = 2; xid < 5; xid++)
        message(0, stage_call(bytes, xid, 32));
    assert_int_equal(s.on.stage.findings, 0);
    message(1, stage_reply(bytes, 2, 2));
    assert_int_equal(s.on.stage.findings, 1);
    assert_int_equal(s.on.stage.rule, RPCRDMA_RULE_CREDIT_OVERRUN);
}

/* A Call that the table has no place for any more is in flight all the same, and its Reply ends it.
 */
static void test_given_up(void **state)
{
    struct flow_call *call;

    (void)state;
    message(0, stage_call(bytes, 1, 32));
    message(1, stage_reply(bytes, 1, 4));
    message(0, stage_call(bytes, 2, 32));
    message(0, stage_call(bytes, 3, 32));
    call = flow_call_oldest(s.conn);
    flow_credit_give_up(credits, s.conn, call);
    flow_call_drop(s.messages, s.conn, call);
    flow_credits_report(credits, false);
    assert_true(result[0].memory);
    assert_int_equal(result[0].unanswered, 2);
    message(1, stage_reply(bytes, 2, 4));
    message(1, stage_reply(bytes, 3, 4));
    flow_credits_report(credits, false);
    assert_int_equal(result[0].replies, 3);
    assert_int_equal(result[0].unanswered, 0);
    assert_int_equal(result[0].stray, 0);
}

/* The same Call again is retransmitted; another one under its XID is another Call, and the one
 * before gets no Reply; and one under the XID of a Call that was answered is new. */
static void test_xid_again(void **state)
{
    enum { PROCEDURE = 4 * 12 + 3 };
    uint32_t len;

    (void)state;
    message(0, stage_call(bytes, 1, 32));
    message(1, stage_reply(bytes, 1, 4));
    message(0, stage_call(bytes, 2, 32));
    message(0, stage_call(bytes, 2, 32));
    flow_credits_report(credits, false);
    assert_int_equal(result[0].calls, 2);
    assert_int_equal(result[0].retransmitted, 1);
    len = stage_call(bytes, 2, 32);
    bytes[PROCEDURE] = 6;
    message(0, len);
    flow_credits_report(credits, false);
    assert_int_equal(result[0].calls, 3);
    assert_int_equal(result[0].retransmitted, 1);
    assert_int_equal(result[0].unanswered, 2);
    assert_int_equal(result[0].in_flight.max, 1);
    message(1, stage_reply(bytes, 2, 4));
    message(0, stage_call(bytes, 2, 32));
    message(1, stage_reply(bytes, 2, 4));
    flow_credits_report(credits, false);
    assert_int_equal(result[0].calls, 4);
    assert_int_equal(result[0].replies, 3);
    assert_int_equal(result[0].unanswered, 1);
    assert_int_equal(result[0].retransmitted, 1);
}

/* Where packets were lost nothing is accused. */
static void test_gap(void **state)
{
    const struct flow_gap gap = {.first = 10, .last = 10};

    (void)state;
    message(0, stage_call(bytes, 1, 32));
    message(1, stage_reply(bytes, 1, 1));
    message(0, stage_call(bytes, 2, 32));
    message(0, stage_call(bytes, 3, 32));
    flow_credit_gap(credits, s.conn, 1, &gap);
    message(1, stage_reply(bytes, 3, 1));
    assert_int_equal(s.on.stage.findings, 0);
    flow_credits_report(credits, false);
    assert_true(result[0].gaps);
}

/* An RNR Nak names the message it hit by its PSN. */
static void test_rnr(void **state)
{
    struct rpcrdma_op op;

    (void)state;
    message(0, stage_call(bytes, 1, 32));
    op = stage_op(&s.on.stage, RPCRDMA_OP_NAK, SERVER, CLIENT, CLIENT_QPN,
                  (uint32_t)s.on.stage.context.frame - 1);
    op.nak = RPCRDMA_NAK_RNR;
    flow_credit_nak(credits, s.conn, 1, &op);
    assert_int_equal(s.on.stage.rule, RPCRDMA_RULE_CREDIT_RNR);
    flow_credits_report(credits, false);
    assert_int_equal(result[0].rnr_naks, 1);
}

/* Time passes without a message: what is at the limit stays there. The message that comes then is
 * counted from there on, as is one of before; and the end is no step back. */
static void test_time_passes(void **state)
{
    struct flow_context *context = &s.on.stage.context;
    int64_t last_ns;

    (void)state;
    message(0, stage_call(bytes, 1, 32));
    message(1, stage_reply(bytes, 1, 1));
    message(0, stage_call(bytes, 2, 32));
    last_ns = context->time_ns;
    flow_credits_report(credits, true);
    context->passes = true;
    context->passed_ns = last_ns + 3000000000;
    flow_credits_report(credits, true);
    assert_int_equal(result[0].at_limit_ns, 3000000000);
    assert_int_equal(result[0].measured_ns, 3000000000);
    context->passed_ns = last_ns + 5000000000;
    flow_credits_report(credits, true);
    assert_int_equal(result[0].at_limit_ns, 2000000000);
    flow_credits_report(credits, true);
    assert_int_equal(result[0].at_limit_ns, 0);
    context->time_ns = last_ns + 6000000000;
    message(1, stage_reply(bytes, 2, 1));
    flow_credits_report(credits, true);
    assert_int_equal(result[0].at_limit_ns, 1000010000);
    assert_false(result[0].clock);
    message(0, stage_call(bytes, 3, 32));
    context->passed_ns = context->time_ns + 9000000000;
    flow_credits_report(credits, false);
    assert_int_equal(result[0].at_limit_ns, 9000000000);
    flow_credit_close(credits, s.conn, false); /* it was silent for long */
    assert_int_equal(result[0].at_limit_ns, 9000000000);
    assert_false(result[0].clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_in_flight, begin, end),
        cmocka_unit_test_setup_teardown(test_overrun, begin, end),
        cmocka_unit_test_setup_teardown(test_given_up, begin, end),
        cmocka_unit_test_setup_teardown(test_xid_again, begin, end),
        cmocka_unit_test_setup_teardown(test_gap, begin, end),
        cmocka_unit_test_setup_teardown(test_rnr, begin, end),
        cmocka_unit_test_setup_teardown(test_time_passes, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
