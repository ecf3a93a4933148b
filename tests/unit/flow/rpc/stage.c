/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of RPCs alone, on a connection: messages, Writes and Reads in, transactions out. */

#include "stage_above.h"

#include "flow/rpc/rpc_stage.h"
#include "flow/rpc/rpc_state.h"

enum { XID = 0x55, HANDLE = 0xabc, ADDRESS = 0x2000, CHUNK = 8 };

static struct stage_above s;
static struct flow_rpcs *rpcs;
static struct rpcrdma_transaction told;
static struct rpcrdma_data_transfer moved;
static enum rpcrdma_rule_id rule;                              /* of its first finding */
static unsigned messages, transactions, transfers, streams[2]; /* of Calls, of Replies */
static uint8_t bytes[256];

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    (void)context;
    told = *transaction;
    if (told.n_findings > 0)
        rule = told.findings[0].rule;
    transactions++;
}

static void on_transfer(void *context, const struct rpcrdma_data_transfer *transfer)
{
    (void)context;
    moved = *transfer;
    transfers++;
}

static void on_stream(void *context, const struct rpcrdma_payload_stream *stream)
{
    (void)context;
    streams[stream->direction == RPCRDMA_DIRECTION_REPLY]++;
}

static int begin(void **state)
{
    (void)state;
    stage_above_begin(&s);
    s.on.stage.context.sink.transaction = on_transaction;
    s.on.stage.context.sink.data_transfer = on_transfer;
    rpcs = flow_rpcs_new(&s.on.stage.context, s.messages);
    assert_non_null(rpcs);
    s.conn = stage_connect(&s.on, NFS_PORT);
    messages = transactions = transfers = streams[0] = streams[1] = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    flow_rpc_close(rpcs, s.conn);
    flow_rpcs_free(rpcs);
    stage_above_end(&s);
    return 0;
}

static void message(int sender, uint32_t len)
{
    flow_rpc_message(rpcs, s.conn, stage_message(&s, sender, bytes, len));
    flow_message_done(s.messages, s.making.event.call);
}

static void test_transaction(void **state)
{
    (void)state;
    message(0, stage_call(bytes, XID, 32));
    assert_int_equal(transactions, 0);
    message(1, stage_reply(bytes, XID, 16));
    assert_int_equal(transactions, 1);
    assert_int_equal(told.xid, XID);
    assert_int_equal(told.program, NFS);
    assert_true(told.complete);
    assert_true(told.has_latency);
    assert_int_equal(told.latency_ns, 10000);
    assert_int_equal(told.credits_granted, 16);
    assert_int_equal(told.call_length, 40);
    assert_int_equal(told.reply_length, 24);
}

/* Payload streams of both, or those of Replies alone. */
static void test_streams(void **state)
{
    struct rpcrdma_flow_sink *sink = &s.on.stage.context.sink;

    (void)state;
    sink->payload_stream = on_stream;
    for (unsigned i = 0; i < 2; i++) {
        sink->replies_only = i == 1;
        message(0, stage_call(bytes, XID + i, 32));
        message(1, stage_reply(bytes, XID + i, 16));
        assert_int_equal(streams[0], 1);
        assert_int_equal(streams[1], i + 1);
    }
}

static void test_unanswered(void **state)
{
    (void)state;
    message(0, stage_call(bytes, XID, 32));
    flow_rpc_close(rpcs, s.conn);
    assert_int_equal(transactions, 1);
    assert_int_equal(told.reply_frame, 0);
    assert_false(told.complete);
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    (void)context;
    assert_true(message->n_findings > 0);
    assert_memory_equal(&message->src, &message->connection->end[0], sizeof(message->src));
    assert_int_not_equal(message->src.address.family, RPCRDMA_ADDRESS_NONE);
    messages++;
}

/* What has no findings is not given, but messages are counted. */
static void test_without_findings(void **state)
{
    uint64_t without = 0;
    struct rpcrdma_flow_sink *sink = &s.on.stage.context.sink;
    uint32_t n;

    (void)state;
    sink->message = on_message;
    sink->without_findings = &without;
    message(0, stage_call(bytes, XID, 32));
    flow_message_emit(s.messages, s.conn, &s.making.out);
    message(1, stage_reply(bytes, XID, 16));
    flow_message_emit(s.messages, s.conn, &s.making.out);
    assert_int_equal(transactions, 0);
    assert_int_equal(without, 2);
    n = stage_call(bytes, XID + 1, 32);
    bytes[11] = 0; /* asks for no credits */
    message(0, n);
    flow_message_emit(s.messages, s.conn, &s.making.out);
    assert_int_equal(messages, 1);
    assert_int_equal(without, 2);
    flow_rpc_close(rpcs, s.conn);
    assert_int_equal(transactions, 1);
    assert_int_equal(rule, RPCRDMA_RULE_RPC_UNANSWERED);
}

/* The same Call while it is outstanding is the same transaction, retransmitted. */
static void test_retransmitted(void **state)
{
    (void)state;
    message(0, stage_call(bytes, XID, 32));
    message(0, stage_call(bytes, XID, 32));
    message(1, stage_reply(bytes, XID, 16));
    assert_int_equal(transactions, 1);
    assert_true(told.retransmitted);
    assert_int_equal(told.latency_ns, 20000); /* from its first sending on */
}

/* Of a direction that is not captured no Reply is awaited: its Call is told, and that none came. */
static void test_given_up_unheard(void **state)
{
    (void)state;
    message(0, stage_call(bytes, XID, 32));
    flow_rpc_give_up(rpcs, flow_call_find(s.messages, s.conn, 0, XID));
    assert_int_equal(transactions, 1);
    assert_int_equal(told.n_findings, 1);
    assert_int_equal(rule, RPCRDMA_RULE_RPC_UNANSWERED);
}

/* Its Call is given up: it is told, with that, and a Reply to it is one without Call. */
static void test_given_up(void **state)
{
    (void)state;
    flow_conn_direction(s.conn, 0)->last_frame = s.on.stage.context.frame;
    message(0, stage_call(bytes, XID, 32));
    flow_rpc_give_up(rpcs, flow_call_find(s.messages, s.conn, 0, XID));
    assert_int_equal(transactions, 1);
    assert_int_equal(told.n_findings, 2);
    assert_int_equal(rule, RPCRDMA_RULE_RPC_GIVEN_UP);
    message(1, stage_reply(bytes, XID, 16));
    assert_int_equal(transactions, 1); /* it waits: its Call may have been captured late */
    message(0, stage_call(bytes, XID, 32));
    assert_int_equal(transactions, 2); /* this one is another */
    assert_int_equal(told.call_frame, 0);
}

/* A data item of the Reply, written by the server (RFC 8166 section 3.4.5). */
static void test_write(void **state)
{
    static const uint32_t call[] = {XID, 1,   32, 0, 0,   1, 1, HANDLE, CHUNK, 0, ADDRESS, 0,
                                    0,   XID, 0,  2, NFS, 3, 6, 0,      0,     0, 0};
    struct rpcrdma_op op = stage_op(&s.on.stage, RPCRDMA_OP_WRITE, SERVER, CLIENT, CLIENT_QPN, 9);
    struct flow_write write = {.placed = true, .rkey = HANDLE, .address = ADDRESS + 4};

    (void)state;
    message(0, stage_words(bytes, call, sizeof(call) / sizeof(call[0])));
    stage_data(&op, "datadata", 4);
    flow_rpc_write(rpcs, s.conn, 1, &op, &write);
    assert_int_equal(transfers, 1);
    assert_int_equal(moved.chunk, RPCRDMA_CHUNK_WRITE);
    assert_int_equal(moved.offset, 4);
    assert_int_equal(moved.length, 4);
    assert_int_equal(moved.chunk_length, CHUNK);
    assert_int_equal(moved.xid, XID);
    write.rkey++;
    flow_rpc_write(rpcs, s.conn, 1, &op, &write);
    assert_int_equal(transfers, 1);
    assert_int_equal(s.on.stage.rule, RPCRDMA_RULE_RPC_UNKNOWN_HANDLE);
}

/* The map grows with flow's ring, though not all of its requests came to this connection. */
static void test_read_map(void **state)
{
    enum { RING = 8, ID = 2 * RING };
    struct flow_region one = {.handle = HANDLE}, next = {.handle = HANDLE + 1};
    struct rpc_read_map map = {0};

    (void)state;
    rpc_read_map_add(rpcs, &map, RING, ID, &one);
    rpc_read_map_add(rpcs, &map, 2 * RING, ID + 1, &next);
    assert_ptr_equal(rpc_read_map_find(&map, ID), &one);
    assert_ptr_equal(rpc_read_map_find(&map, ID + 1), &next);
    rpc_read_map_free(rpcs, &map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_transaction, begin, end),
        cmocka_unit_test_setup_teardown(test_streams, begin, end),
        cmocka_unit_test_setup_teardown(test_unanswered, begin, end),
        cmocka_unit_test_setup_teardown(test_without_findings, begin, end),
        cmocka_unit_test_setup_teardown(test_retransmitted, begin, end),
        cmocka_unit_test_setup_teardown(test_given_up, begin, end),
        cmocka_unit_test_setup_teardown(test_given_up_unheard, begin, end),
        cmocka_unit_test_setup_teardown(test_write, begin, end),
        cmocka_unit_test_setup_teardown(test_read_map, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
