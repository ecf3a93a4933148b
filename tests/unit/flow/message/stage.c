/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of messages, on those below it: Sends in, decoded messages out. */

#include "stage_conn.h"

static struct stage_conns s;
static struct flow_messages *messages;
static struct flow_conn *conn;
static uint8_t bytes[256];
static unsigned emitted;

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    (void)context;
    (void)message;
    emitted++;
}

static int begin(void **state)
{
    (void)state;
    stage_conns_begin(&s);
    s.stage.context.sink.message = on_message;
    messages = flow_messages_new(&s.stage.context, s.conns, NULL, false);
    assert_non_null(messages);
    conn = stage_connect(&s, NFS_PORT);
    emitted = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    flow_message_end(messages, conn);
    flow_message_close(messages, conn);
    flow_messages_free(messages);
    stage_conns_end(&s);
    return 0;
}

static struct flow_making make(int sender, uint32_t len)
{
    static struct flow_send send;
    struct flow_making making = {0};

    send = stage_send(&s.stage, bytes, len, 1);
    flow_message_make(messages, conn, flow_conn_direction(conn, 1 - sender), &send, &making);
    assert_int_equal(making.event.sender, sender);
    flow_message_done(messages, making.event.call);
    return making;
}

static void test_call_and_reply(void **state)
{
    struct flow_making m;

    (void)state;
    m = make(0, stage_call(bytes, 0x1234, 32));
    assert_int_equal(m.out.direction, RPCRDMA_DIRECTION_CALL);
    assert_int_equal(m.out.sender, RPCRDMA_ROLE_CLIENT);
    assert_false(m.out.reverse);
    assert_int_equal(m.rpc.program, NFS);
    assert_int_equal(m.message.credits, 32);
    assert_int_equal(m.findings.count, 0);
    m = make(1, stage_reply(bytes, 0x1234, 16));
    assert_int_equal(m.out.direction, RPCRDMA_DIRECTION_REPLY);
    assert_non_null(m.out.call); /* it knows which Call it answers */
    assert_int_equal(m.call.program, NFS);
    m = make(1, stage_reply(bytes, 0x1234, 16));
    assert_null(m.out.call); /* which is answered now */
    assert_int_equal(flow_conn_public(conn)->version, 1);
    assert_int_equal(flow_conn_public(conn)->messages, 3);
}

/* What most messages are is read at one glance once version 1 is settled: as any other is. */
static void test_plain_as_any(void **state)
{
    uint32_t (*const fill[])(uint8_t *, uint32_t, uint32_t) = {stage_call, stage_reply, stage_call};

    (void)state;
    make(0, stage_call(bytes, 1, 32));
    for (unsigned i = 0; i < sizeof(fill) / sizeof(fill[0]); i++) {
        uint32_t len = fill[i](bytes, 2 + i, 32);
        struct flow_making plain = make(i % 2, len), any;

        assert_true(plain.plain_message && plain.plain_rpc);
        flow_conn_public(conn)->version = 0;
        any = make(i % 2, len);
        assert_false(any.plain_rpc);
        assert_int_equal(flow_conn_public(conn)->version, 1);
        assert_int_equal(any.out.direction, plain.out.direction);
        assert_int_equal(any.out.part, plain.out.part);
        assert_int_equal(any.event.continues, plain.event.continues);
        assert_int_equal(any.event.malformed, plain.event.malformed);
        assert_int_equal(any.findings.count, plain.findings.count);
        assert_int_equal(any.out.rpc != NULL, plain.out.rpc != NULL);
        assert_int_equal(any.rpc.present, plain.rpc.present);
        assert_int_equal(any.rpc.program, plain.rpc.program);
    }
}

/* A forward and a reverse Call with the same XID are two (RFC 8167 section 4.1). */
static void test_both_directions(void **state)
{
    struct flow_making m;

    (void)state;
    make(0, stage_call(bytes, 7, 32));
    m = make(1, stage_call(bytes, 7, 32));
    assert_int_equal(m.out.direction, RPCRDMA_DIRECTION_CALL);
    assert_true(m.out.reverse);
    m = make(1, stage_reply(bytes, 7, 32));
    assert_int_equal(m.out.direction, RPCRDMA_DIRECTION_REPLY);
    assert_false(m.out.reverse);
    assert_non_null(m.out.call);
    m = make(0, stage_reply(bytes, 7, 32));
    assert_true(m.out.reverse);
    assert_non_null(m.out.call);
}

static void test_truncated(void **state)
{
    struct flow_send send;
    struct flow_making m = {0};

    (void)state;
    send = stage_send(&s.stage, bytes, stage_call(bytes, 7, 32), 1);
    send.caplen = 20;
    flow_message_make(messages, conn, flow_conn_direction(conn, 1), &send, &m);
    flow_message_done(messages, m.event.call);
    assert_int_equal(m.message.status, RPCRDMA_TRUNCATED);
    assert_int_equal(m.findings.count, 1);
    assert_int_equal(m.findings.at[0].rule, RPCRDMA_RULE_TRUNCATED);
}

/* RDMA2_MSG of union-family dialects fits several formats: the connection waits for more. */
static void test_undecided_dialect(void **state)
{
    static const uint32_t words[] = {9, 2, 32, 4, 1, 1, 2};
    struct flow_send send;

    (void)state;
    send = stage_send(&s.stage, bytes, stage_words(bytes, words, 7), 1);
    flow_message_evidence(messages, conn, flow_conn_direction(conn, 1), &send);
    assert_int_equal(flow_conn_waiting(conn), FLOW_WAIT_DIALECT);
    flow_conn_wait_over(s.conns, conn, FLOW_WAIT_DIALECT);
    flow_message_settle(messages, conn);
    assert_non_null(flow_conn_public(conn)->dialect);
    assert_int_equal(s.stage.rule, RPCRDMA_RULE_DIALECT_UNDECIDED);
}

static void test_gap(void **state)
{
    const struct flow_gap gap = {.first = 10, .last = 12, .frame = 3};

    (void)state;
    flow_message_gap(messages, conn, 0, &gap);
    assert_int_equal(s.stage.findings, 1);
    assert_int_equal(s.stage.rule, RPCRDMA_RULE_PACKETS_LOST);
}

/* While nothing is held back, a message goes straight on. */
static void test_emitted(void **state)
{
    struct flow_making m = make(0, stage_call(bytes, 7, 32));

    (void)state;
    m.out.message = &m.message;
    m.out.findings = m.findings.at;
    flow_message_emit(messages, conn, &m.out);
    assert_int_equal(emitted, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_call_and_reply, begin, end),
        cmocka_unit_test_setup_teardown(test_plain_as_any, begin, end),
        cmocka_unit_test_setup_teardown(test_both_directions, begin, end),
        cmocka_unit_test_setup_teardown(test_truncated, begin, end),
        cmocka_unit_test_setup_teardown(test_undecided_dialect, begin, end),
        cmocka_unit_test_setup_teardown(test_gap, begin, end),
        cmocka_unit_test_setup_teardown(test_emitted, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
