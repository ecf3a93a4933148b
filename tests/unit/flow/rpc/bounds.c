/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that are cut, connections that are not alone or begin before the capture, and memory that
 * is short: never a wrong byte, and what is missing is said. */
#include "rpc_nfs.h"

static void cut_packets_are_said_once(void **state)
{
    const struct got_message *m;
    const struct got_transaction *t;

    (void)state;
    read_call(50, HANDLE, ADDRESS);
    prepare_reply(50, 0);
    for (uint32_t i = 0; i < 5; i++) {
        struct rpcrdma_op op = rig_op(&rig.rig, RPCRDMA_OP_WRITE, &rig.b, &rig.a, rig.b.psn);

        op.flags = (uint16_t)((i == 0 ? RPCRDMA_OP_FIRST | RPCRDMA_OP_RETH : 0u) |
                              (i == 4 ? RPCRDMA_OP_LAST : 0u));
        op.rkey = i == 0 ? HANDLE : 0;
        op.remote_address = i == 0 ? ADDRESS : 0;
        op.length = i == 0 ? SIZE : 0;
        op.data = whole.data + at + i * RIG_PMTU;
        op.len = i == 4 ? SIZE - 4 * RIG_PMTU : RIG_PMTU;
        op.caplen = 100;
        rig_feed(&rig.rig, &op);
        rig.b.psn = rpcrdma_psn_add(rig.b.psn, 1);
    }
    read_reply(50, HANDLE, ADDRESS);
    m = rpc_find(&rig, 50, RPCRDMA_DIRECTION_REPLY);
    t = rpc_transaction(&rig, 50);
    assert_false(m->whole);
    assert_true(m->complete); /* by what passed on the wire */
    assert_true(t->t.complete);
    assert_int_equal(t->t.reply_length, whole.n);
    /* one finding, not one a packet: there is room for few, and more to say */
    assert_int_equal(m->n_rules, 1);
    assert_int_equal(m->rules[0], RPCRDMA_RULE_RPC_CUT);
    assert_int_equal(m->arg[0][0], at + 100);
    assert_int_equal(m->arg[0][1], at + SIZE - 1);
    assert_int_equal(m->arg[0][2], SIZE - 5 * 100);
    for (uint32_t i = 0; i < 5; i++)
        assert_memory_equal(m->bytes + at + i * RIG_PMTU, whole.data + at + i * RIG_PMTU, 100);
}

static void a_call_sent_again_on_a_new_connection(void **state)
{
    (void)state;
    read_call(60, HANDLE, ADDRESS);
    rig.a = (struct rig_end){1, 18, 77}; /* a new QP; the server's is used again */
    rig.b.psn = 4000;
    run_on(1000000000);
    rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
    read_call(60, HANDLE, ADDRESS);
    prepare_reply(60, 9);
    rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
    read_reply(60, HANDLE, ADDRESS);
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(rig.transactions, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct got_transaction *t = &rig.transaction[i];
        bool second = t->t.reply_frame != 0;

        assert_int_equal(t->t.retransmitted, second);
        assert_int_equal(t->t.complete, second);
        assert_int_equal(
            rpc_has_rule(t->rules, t->n_rules,
                         second ? RPCRDMA_RULE_RPC_AGAIN : RPCRDMA_RULE_RPC_UNANSWERED),
            true);
    }
    rpc_check_bytes(rpc_find(&rig, 60, RPCRDMA_DIRECTION_REPLY), &whole);
}

static void two_connections_with_the_same_xids_and_handles(void **state)
{
    struct rig_end a[2], b[2];
    struct rpc_bytes replies[2];

    (void)state;
    a[0] = rig.a;
    b[0] = rig.b;
    rig.a = (struct rig_end){1, 19, 500};
    rig.b = (struct rig_end){2, 34, 9000};
    rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
    a[1] = rig.a;
    b[1] = rig.b;
    for (int step = 0; step < 3; step++)
        for (int i = 0; i < 2; i++) { /* one after the other, all the time */
            rig.a = a[i];
            rig.b = b[i];
            prepare_reply(70, (uint8_t)(i * 100));
            replies[i] = whole;
            if (step == 0)
                read_call(70, HANDLE, ADDRESS);
            else if (step == 1)
                rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU,
                          UINT32_MAX);
            else
                read_reply(70, HANDLE, ADDRESS);
            a[i] = rig.a;
            b[i] = rig.b;
        }
    assert_int_equal(rig.transactions, 2);
    for (size_t i = 0; i < rig.messages; i++) {
        if (rig.message[i].direction == RPCRDMA_DIRECTION_REPLY)
            rpc_check_bytes(&rig.message[i], &replies[rig.message[i].connection - 1]);
    }
    assert_false(rig.transaction[0].t.retransmitted || rig.transaction[1].t.retransmitted);
}

static void a_capture_that_begins_after_the_call(void **state)
{
    const struct got_transaction *t;

    (void)state;
    nudge(79); /* the connection is known */
    prepare_reply(80, 0);
    rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
    read_reply(80, HANDLE, ADDRESS);
    run_on(RPC_HOLD_NS + 1);
    nudge(81);
    t = rpc_transaction(&rig, 80);
    assert_int_equal(t->t.call_frame, 0);
    assert_false(t->t.complete || t->t.has_latency || t->t.has_program);
    assert_true(rpc_has_rule(t->rules, t->n_rules, RPCRDMA_RULE_RPC_NO_CALL));
    assert_false(rpc_find(&rig, 80, RPCRDMA_DIRECTION_REPLY)->whole);
}

static void without_data_wanted_nothing_is_kept(void **state)
{
    size_t used;

    (void)state;
    rpc_rig_free(&rig);
    rpc_rig_begin(&rig, NULL, false);
    nudge(89);
    read_call(90, HANDLE, ADDRESS);
    used = rig.rig.flow->context.memory.used;
    prepare_reply(90, 0);
    rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
    assert_true(rig.rig.flow->context.memory.used < used + 512);
    read_reply(90, HANDLE, ADDRESS);
    assert_true(rpc_transaction(&rig, 90)->t.complete);
    assert_int_equal(rpc_transaction(&rig, 90)->t.reply_length, whole.n);
}

/* What somebody else does not use of his may be used, as long as he does not. */
static void memory_that_is_shared(void **state)
{
    enum { OWN = 1 << 20, SHARED = 2 << 20, MOST = 3 << 19 };
    uint64_t theirs = 0;
    struct rpcrdma_flow_config config = {
        .max_memory = OWN, .shared_memory = SHARED, .shared_used = &theirs};
    struct flow_memory *memory;
    void *taken;

    (void)state;
    rpc_rig_free(&rig);
    rpc_rig_begin(&rig, &config, true);
    memory = &rig.rig.flow->context.memory;
    taken = flow_alloc(memory, MOST); /* more than its own */
    assert_non_null(taken);
    assert_int_equal(flow_memory_limit(memory), OWN + SHARED);
    theirs = SHARED / 2;
    assert_int_equal(flow_memory_limit(memory), OWN + SHARED / 2);
    theirs = SHARED;
    assert_int_equal(flow_memory_limit(memory), OWN);
    assert_null(flow_alloc(memory, 1));
    theirs = UINT64_MAX;
    assert_int_equal(flow_memory_limit(memory), OWN);
    flow_release(memory, taken, MOST);
    assert_true(flow_memory_fits(memory, OWN / 2));
    assert_false(flow_memory_fits(memory, OWN));
}

/* A segment said to be 4 GB long costs what passed; the limit drops bytes and says so. */
static void memory_is_bounded(void **state)
{
    struct rpcrdma_flow_config config = {.max_memory = 1 << 20};
    const struct got_message *m;
    struct rpc_header h;
    struct rpc_bytes call;
    static uint8_t data[1 << 20];

    (void)state;
    rpc_rig_free(&rig);
    rpc_rig_begin(&rig, &config, true);
    rpc_call_header(&call, 95, NFS, 3, READ);
    rpc_header_init(&h, 95, MSG);
    rpc_add_write(&h, true, HANDLE, 0, UINT32_MAX);
    rpc_send(&rig, true, &h, call.data, call.n);
    assert_true(rig.rig.flow->context.memory.used < 300 << 10);
    for (uint32_t i = 0; i < 3; i++)
        rpc_write(&rig, false, HANDLE, (uint64_t)i << 20, data, 1 << 20, 4096, UINT32_MAX);
    assert_true(rig.rig.flow->context.memory.used <= 1 << 20);
    rpc_reply_header(&part, 95);
    rpc_put(&part, 0);
    rpc_put(&part, 0);
    rpc_put(&part, 3 << 20);
    rpc_put(&part, 1);
    rpc_put(&part, 3 << 20);
    rpc_header_init(&h, 95, MSG);
    rpc_add_write(&h, true, HANDLE, 0, 3 << 20);
    rpc_send(&rig, false, &h, part.data, part.n);
    m = rpc_find(&rig, 95, RPCRDMA_DIRECTION_REPLY);
    assert_false(m->whole);
    assert_true(m->complete);
    assert_true(rpc_has_rule(m->rules, m->n_rules, RPCRDMA_RULE_RPC_DROPPED));
    assert_true(rpc_has_rule(rpc_transaction(&rig, 95)->rules, rpc_transaction(&rig, 95)->n_rules,
                             RPCRDMA_RULE_MEMORY_LIMIT));
    read_call(96, HANDLE, ADDRESS); /* and it goes on */
    prepare_reply(96, 0);
    rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
    read_reply(96, HANDLE, ADDRESS);
    rpc_check_bytes(rpc_find(&rig, 96, RPCRDMA_DIRECTION_REPLY), &whole);
}

static void calls_without_end_are_bounded(void **state)
{
    struct rpcrdma_flow_config config = {.max_memory = 512 << 10};
    size_t transactions;

    (void)state;
    rpc_rig_free(&rig);
    rpc_rig_begin(&rig, &config, false);
    for (uint32_t i = 0; i < 200; i++) {
        struct rpc_header h;
        struct rpc_bytes call;

        rpc_call_header(&call, 5000 + i, NFS, 3, READ);
        rpc_header_init(&h, 5000 + i, MSG);
        for (uint32_t k = 0; k < 16; k++)
            rpc_add_write(&h, k == 0, i * 16 + k, 0x1000, 4096);
        rpc_send(&rig, true, &h, call.data, call.n);
        assert_true(rig.rig.flow->context.memory.used <= 512 << 10);
    }
    transactions = rig.transactions;
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(rig.transactions, 200); /* each is told once */
    (void)transactions;
}

/* malloc fails at every place in turn: false comes back, nothing is leaked or overrun. */
static void a_failing_malloc_is_reported(void **state)
{
    bool failed = true;

    (void)state;
    for (uint64_t k = 1; failed && k < 400; k++) {
        uint8_t buf[512];
        size_t n = 0;

        rpc_rig_free(&rig);
        rpc_rig_begin_late(&rig, NULL, true);
        rig.rig.flow->context.memory.fail_after = rig.rig.flow->context.memory.count + k;
        failed = false;
        for (uint32_t i = 0; i < 6 && !failed; i++) {
            struct rpcrdma_op op;

            n = i % 2 ? rig_reply(buf, 1 + i / 2, 40) : rig_call(buf, 1 + i / 2, NFS, 40);
            op = rig_op(&rig.rig, RPCRDMA_OP_SEND, i % 2 ? &rig.b : &rig.a, i % 2 ? &rig.a : &rig.b,
                        100 + i);
            op.data = buf;
            op.caplen = op.len = (uint32_t)n;
            failed = !rpcrdma_flow_op(rig.rig.flow, &op);
        }
    }
    assert_false(failed);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(cut_packets_are_said_once),
        TEST(a_call_sent_again_on_a_new_connection),
        TEST(two_connections_with_the_same_xids_and_handles),
        TEST(a_capture_that_begins_after_the_call),
        TEST(without_data_wanted_nothing_is_kept),
        TEST(memory_is_bounded),
        TEST(memory_that_is_shared),
        TEST(calls_without_end_are_bounded),
        TEST(a_failing_malloc_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
