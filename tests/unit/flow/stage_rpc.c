/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of RPCs alone, on a connection: messages, Writes and Reads in, transactions out. */

#include "stage_above.h"

#include "flow/rpc/rpc_stage.h"

enum { XID = 0x55, HANDLE = 0xabc, ADDRESS = 0x2000, CHUNK = 8 };

static struct stage_conns s;
static struct flow_rpcs *rpcs;
static struct flow_conn *conn;
static struct rpcrdma_transaction told;
static struct rpcrdma_data_transfer moved;
static unsigned transactions, transfers;
static uint8_t bytes[256];

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    (void)context;
    told = *transaction;
    transactions++;
}

static void on_transfer(void *context, const struct rpcrdma_data_transfer *transfer)
{
    (void)context;
    moved = *transfer;
    transfers++;
}

static int begin(void **state)
{
    (void)state;
    stage_conns_begin(&s);
    s.stage.context.sink.transaction = on_transaction;
    s.stage.context.sink.data_transfer = on_transfer;
    rpcs = flow_rpcs_new(&s.stage.context);
    assert_non_null(rpcs);
    conn = stage_connect(&s, NFS_PORT);
    transactions = transfers = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    flow_rpc_close(rpcs, conn);
    flow_rpcs_free(rpcs);
    stage_conns_end(&s);
    return 0;
}

static void message(int sender, uint32_t len)
{
    struct stage_message m;

    stage_decode(&s.stage, &m, sender, bytes, len);
    flow_rpc_message(rpcs, conn, &m.event);
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

static void test_unanswered(void **state)
{
    (void)state;
    message(0, stage_call(bytes, XID, 32));
    flow_rpc_close(rpcs, conn);
    assert_int_equal(transactions, 1);
    assert_int_equal(told.reply_frame, 0);
    assert_false(told.complete);
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

/* A data item of the Reply, written by the server (RFC 8166 section 3.4.5). */
static void test_write(void **state)
{
    static const uint32_t call[] = {XID, 1,   32, 0, 0,   1, 1, HANDLE, CHUNK, 0, ADDRESS, 0,
                                    0,   XID, 0,  2, NFS, 3, 6, 0,      0,     0, 0};
    struct rpcrdma_op op = stage_op(&s.stage, RPCRDMA_OP_WRITE, SERVER, CLIENT, CLIENT_QPN, 9);
    struct flow_write write = {.placed = true, .rkey = HANDLE, .address = ADDRESS + 4};

    (void)state;
    message(0, stage_words(bytes, call, sizeof(call) / sizeof(call[0])));
    stage_data(&op, "datadata", 4);
    flow_rpc_write(rpcs, conn, 1, &op, &write);
    assert_int_equal(transfers, 1);
    assert_int_equal(moved.chunk, RPCRDMA_CHUNK_WRITE);
    assert_int_equal(moved.offset, 4);
    assert_int_equal(moved.length, 4);
    assert_int_equal(moved.chunk_length, CHUNK);
    assert_int_equal(moved.xid, XID);
    write.rkey++;
    flow_rpc_write(rpcs, conn, 1, &op, &write);
    assert_int_equal(transfers, 1);
    assert_int_equal(s.stage.rule, RPCRDMA_RULE_RPC_UNKNOWN_HANDLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_transaction, begin, end),
        cmocka_unit_test_setup_teardown(test_unanswered, begin, end),
        cmocka_unit_test_setup_teardown(test_retransmitted, begin, end),
        cmocka_unit_test_setup_teardown(test_write, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
