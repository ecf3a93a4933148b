/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose memory a handle is, and for how long: from the Call that offers it to its Reply. */
#include "rpc_nfs.h"

static void on_finding(void *context, const struct rpcrdma_connection *c,
                       const struct rpcrdma_finding *f)
{
    struct rpc_rig *r = context;

    (void)c;
    assert_true(r->rig.findings < RIG_MAX);
    r->rig.finding[r->rig.findings++].rule = f->rule;
}

static int setup_with_findings(void **state)
{
    setup(state);
    rig.rig.flow->context.sink.finding = on_finding;
    return 0;
}

static bool found(uint32_t xid, enum rpcrdma_rule_id rule)
{
    return rpc_has_rule(rpc_transaction(&rig, xid)->rules, rpc_transaction(&rig, xid)->n_rules,
                        rule);
}

static void error_reply(uint32_t xid)
{
    struct rpc_bytes reply;
    struct rpc_header h;

    rpc_reply_header(&reply, xid);
    rpc_put(&reply, 70); /* NFS3ERR_STALE */
    rpc_put(&reply, 0);
    rpc_put(&reply, 0);
    rpc_header_init(&h, xid, MSG);
    rpc_send(&rig, false, &h, reply.data, reply.n);
}

/* A Responder that refuses a Call need not pull its Read chunk: the Requester has its memory back
 * with the Reply, although that waits for data that may have been captured late. */
static void memory_is_given_back_with_the_reply(void **state)
{
    (void)state;
    nudge(1); /* both ends are seen from the beginning */
    write_call(2, HANDLE, ADDRESS);
    error_reply(2);
    write_call(3, HANDLE, ADDRESS);
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(rig_count(&rig.rig, RPCRDMA_RULE_HANDLE_SHARED), 0);
    assert_false(found(3, RPCRDMA_RULE_HANDLE_SHARED));
}

static void memory_of_two_outstanding_calls_is_shared(void **state)
{
    (void)state;
    nudge(1); /* both ends are seen from the beginning */
    write_call(2, HANDLE, ADDRESS);
    write_call(3, HANDLE, ADDRESS);
    error_reply(2);
    rpcrdma_flow_end(rig.rig.flow);
    assert_true(found(3, RPCRDMA_RULE_HANDLE_SHARED));
}

/* What a Reply offers to be read is not given back with that Reply. */
static void memory_of_two_replies_is_shared(void **state)
{
    (void)state;
    nudge(1);
    for (uint32_t xid = 2; xid < 4; xid++)
        rpc_send_read_call(&rig, xid);
    for (uint32_t xid = 2; xid < 4; xid++) {
        struct rpc_header h;

        prepare_reply(xid, 0);
        rpc_header_init(&h, xid, MSG);
        rpc_add_read(&h, at, HANDLE, ADDRESS, SIZE);
        rpc_send(&rig, false, &h, part.data, part.n);
    }
    rpcrdma_flow_end(rig.rig.flow);
    assert_true(found(3, RPCRDMA_RULE_HANDLE_SHARED));
}

/* Of a read list that is not by position 256 segments are followed: the handle of one behind them
 * may be what the Reply invalidates. */
static void a_handle_behind_those_that_are_followed(void **state)
{
    enum { FOLLOWED = 256 };
    static uint8_t message[28 + 24 * (FOLLOWED + 1) + 64];

    (void)state;
    nudge(1);
    for (uint32_t more = 0; more < 2; more++) {
        uint32_t xid = 2 + more, n = FOLLOWED + more;
        struct rpcrdma_op op;

        rig_send(&rig.rig, &rig.a, &rig.b, message, rpc_backwards_call(message, xid, n));
        op = rig_op(&rig.rig, RPCRDMA_OP_SEND, &rig.b, &rig.a, rig.b.psn++);
        op.flags = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST | RPCRDMA_OP_INVALIDATE;
        op.invalidate = 1000 + FOLLOWED;
        op.data = message;
        op.caplen = op.len = rig_reply(message, xid, 0);
        rig_feed(&rig.rig, &op);
    }
    rpcrdma_flow_end(rig.rig.flow);
    assert_true(found(2, RPCRDMA_RULE_INVALIDATE_UNOFFERED));
    assert_false(found(3, RPCRDMA_RULE_INVALIDATE_UNOFFERED));
}

/* A Call has a Write chunk for no result: the one that has room, behind an empty one, is what is
 * wrong. */
static void the_place_of_a_chunk_that_is_not_needed(void **state)
{
    enum { GETATTR = 1, SECOND = 32 };
    static uint8_t message[256];
    const struct got_transaction *t;
    struct rpc_bytes inner;
    uint8_t *p = message;

    (void)state;
    nudge(1);
    rpc_call_header(&inner, 2, NFS, 3, GETATTR);
    p = rig_word(rig_word(rig_word(rig_word(p, 2), 1), 32), MSG);
    p = rig_word(rig_word(rig_word(p, 0), 1), 0); /* no read list; an empty chunk */
    p = rig_word(rig_word(p, 1), 1);
    p = rig_word(rig_word(rig_word(rig_word(p, HANDLE), 8), 0), 0);
    p = rig_word(rig_word(p, 0), 0);
    memcpy(p, inner.data, inner.n);
    rig_send(&rig.rig, &rig.a, &rig.b, message, (uint32_t)(p - message) + inner.n);
    plain_reply(2);
    rpcrdma_flow_end(rig.rig.flow);
    assert_true(found(2, RPCRDMA_RULE_WRITE_CHUNK_UNNEEDED));
    t = rpc_transaction(&rig, 2);
    for (size_t i = 0; i < t->n_rules; i++)
        if (t->rules[i] == RPCRDMA_RULE_WRITE_CHUNK_UNNEEDED)
            assert_int_equal(t->offset[i], SECOND);
}

static void read_twice(uint32_t xid)
{
    write_call(xid, HANDLE, ADDRESS);
    rpc_read(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE);
    rpc_read(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE);
    plain_reply(xid);
}

/* Until the Reply a Responder may read a chunk more than once, and what it says of the handle that
 * another Call offers later is nothing. */
static void a_chunk_read_twice(void **state)
{
    (void)state;
    nudge(1);
    read_twice(2);
    read_twice(3);
    for (uint32_t xid = 2; xid < 4; xid++) {
        assert_int_equal(rpc_transaction(&rig, xid)->n_rules, 0);
        assert_true(rpc_transaction(&rig, xid)->t.complete);
    }
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(rig.rig.findings, 0);
}

/* What was read once more without a fault does not hide one. */
static void a_chunk_read_after_the_reply(void **state)
{
    (void)state;
    nudge(1);
    read_twice(2);
    rpc_read(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE);
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(rig_count(&rig.rig, RPCRDMA_RULE_RDMA_AFTER_REPLY), 1);
}

/* RDMA in the direction that a Call does not offer: before its chunk was read, and after. */
static void a_read_chunk_written_to(void **state)
{
    (void)state;
    nudge(1);
    for (uint32_t xid = 2; xid < 4; xid++) {
        write_call(xid, HANDLE + xid, ADDRESS);
        if (xid == 3)
            rpc_read(&rig, false, HANDLE + xid, ADDRESS, whole.data + at, SIZE);
        rpc_write(&rig, false, HANDLE + xid, ADDRESS, whole.data, 100, 100, UINT32_MAX);
        if (xid == 2)
            rpc_read(&rig, false, HANDLE + xid, ADDRESS, whole.data + at, SIZE);
        plain_reply(xid);
    }
    write_call(4, HANDLE + 3, ADDRESS); /* does not come too late */
    rpc_read(&rig, false, HANDLE + 3, ADDRESS, whole.data + at, SIZE);
    plain_reply(4);
    assert_false(found(4, RPCRDMA_RULE_RDMA_BEFORE_CALL));
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(rig_count(&rig.rig, RPCRDMA_RULE_READ_CHUNK_WRITTEN), 2);
    assert_int_equal(rig_count(&rig.rig, RPCRDMA_RULE_RPC_UNKNOWN_HANDLE), 0);
    assert_int_equal(rig_count(&rig.rig, RPCRDMA_RULE_RPC_UNOFFERED), 0);
}

static void a_write_chunk_read(void **state)
{
    (void)state;
    nudge(1);
    read_call(2, HANDLE, ADDRESS);
    prepare_reply(2, 0);
    rpc_read(&rig, false, HANDLE, ADDRESS, whole.data + at, 100);
    rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
    read_reply(2, HANDLE, ADDRESS);
    rpc_check_bytes(rpc_find(&rig, 2, RPCRDMA_DIRECTION_REPLY), &whole);
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(rig_count(&rig.rig, RPCRDMA_RULE_WRITE_CHUNK_READ), 1);
}

/* The Call, the Reply to it, and what comes so long after that. */
static void read_and_go_on(uint32_t xid, int64_t ns)
{
    read_call(xid, HANDLE + xid, ADDRESS);
    prepare_reply(xid, 0);
    read_reply(xid, HANDLE + xid, ADDRESS);
    run_on(ns);
    nudge(10 + xid);
}

/* Data that was captured just before its Call is not missing; what passed long before that, is. */
static void data_before_its_call(void **state)
{
    (void)state;
    nudge(1);
    for (uint32_t xid = 2; xid < 4; xid++) {
        prepare_reply(xid, 0);
        rpc_write(&rig, false, HANDLE + xid, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
        if (xid == 3)
            run_on(1000000000);
        read_and_go_on(xid, 1000000000);
        assert_int_equal(found(xid, RPCRDMA_RULE_DATA_MISSING), xid == 3);
        assert_true(found(xid, RPCRDMA_RULE_RDMA_BEFORE_CALL));
    }
}

/* Nor data that stands a few packets before its Call in the file, and by the times passed after it,
 * however long. What a clock that was set back makes so, and stands far before it, is. */
static void data_before_its_call_in_the_file(void **state)
{
    (void)state;
    nudge(1);
    for (uint32_t xid = 2; xid < 4; xid++) {
        prepare_reply(xid, 0);
        run_on(1000000000);
        rpc_write(&rig, false, HANDLE + xid, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
        run_on(-1000000000);
        for (uint32_t i = 0; xid == 3 && i < 100; i++)
            nudge(1000 + i);
        read_and_go_on(xid, 2000000000);
        assert_int_equal(found(xid, RPCRDMA_RULE_DATA_MISSING), xid == 3);
        assert_false(found(xid, RPCRDMA_RULE_RDMA_BEFORE_CALL));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_with_findings, teardown)
    const struct CMUnitTest tests[] = {
        TEST(memory_is_given_back_with_the_reply),
        TEST(memory_of_two_outstanding_calls_is_shared),
        TEST(memory_of_two_replies_is_shared),
        TEST(a_handle_behind_those_that_are_followed),
        TEST(the_place_of_a_chunk_that_is_not_needed),
        TEST(a_chunk_read_twice),
        TEST(a_chunk_read_after_the_reply),
        TEST(a_read_chunk_written_to),
        TEST(a_write_chunk_read),
        TEST(data_before_its_call),
        TEST(data_before_its_call_in_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
