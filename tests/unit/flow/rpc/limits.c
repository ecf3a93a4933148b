/* SPDX-License-Identifier: BSD-2-Clause */
/* RPCs that come again, without end, or with RDMA that nobody offered: bounded, and said. */
#include "rpc_fixture.h"

#include "flow/message/message_state.h"

enum { HANDLE = 51, SIZE = 3000 };
#define ADDRESS UINT64_C(0x200000)

static bool told(const struct got_transaction *t, enum rpcrdma_rule_id rule)
{
    return rpc_has_rule(t->rules, t->n_rules, rule);
}

/* A Call of this procedure that offers a write chunk for its result. */
static void call(uint32_t xid, uint32_t procedure, uint32_t handle)
{
    struct rpc_header h;

    rpc_call_header(&part, xid, NFS, 3, procedure);
    rpc_header_init(&h, xid, MSG);
    rpc_add_write(&h, true, handle, ADDRESS, SIZE);
    rpc_send(&rig, true, &h, part.data, part.n);
}

/* The Reply of an NFSv3 READ; SIZE bytes in the chunk. */
static void reply(uint32_t xid, uint32_t handle)
{
    struct rpc_header h;

    rpc_reply_header(&part, xid);
    rpc_put(&part, 0);
    rpc_put(&part, 0);
    rpc_put(&part, SIZE);
    rpc_put(&part, 1);
    rpc_put(&part, SIZE);
    rpc_header_init(&h, xid, MSG);
    rpc_add_write(&h, true, handle, ADDRESS, SIZE);
    rpc_send(&rig, false, &h, part.data, part.n);
}

static void data(uint32_t handle)
{
    static uint8_t bytes[SIZE];

    memset(bytes, (int)handle, SIZE);
    rpc_write(&rig, false, handle, ADDRESS, bytes, SIZE, RIG_PMTU, UINT32_MAX);
}

/* A Call sent again on its connection while it is outstanding (RFC 5531 section 9) is one
 * transaction, timed from its first sending; what the second sending offers is what counts. */
static void a_call_again_while_outstanding(void **state)
{
    const struct got_transaction *t;
    uint64_t first;

    (void)state;
    first = rig.rig.frame + 1;
    call(1, READ, HANDLE);
    rig.rig.time_ns += 5000000;
    call(1, READ, HANDLE + 1);
    data(HANDLE + 1);
    reply(1, HANDLE + 1);
    assert_int_equal(rig.transactions, 1);
    t = rpc_transaction(&rig, 1);
    assert_true(t->t.retransmitted);
    assert_true(told(t, RPCRDMA_RULE_RPC_AGAIN));
    assert_int_equal(t->t.call_frame, first);
    assert_true(t->t.latency_ns > 5000000);
    assert_true(t->t.complete);
    assert_int_equal(t->t.write_chunk_length, SIZE);
}

/* A server without a Reply cache answers each sending: the second Reply is of the same RPC. A third
 * is of none that was seen. */
static void each_sending_is_answered(void **state)
{
    enum { GETATTR = 1, REPLIES = 3 };

    (void)state;
    for (uint32_t sendings = 1; sendings <= 2; sendings++) {
        for (uint32_t i = 0; i < sendings; i++) {
            call(30, GETATTR, HANDLE);
            rig.rig.time_ns += 5000000;
        }
        for (uint32_t i = 0; i < REPLIES; i++) {
            struct rpc_header h;

            rpc_reply_header(&part, 30);
            rpc_header_init(&h, 30, MSG);
            rpc_send(&rig, false, &h, part.data, part.n);
            rig.rig.time_ns += RPC_HOLD_NS + 1;
        }
        rpc_rig_end(&rig);
        assert_int_equal(rig.transactions, 1 + REPLIES - sendings);
        for (size_t i = 0; i < rig.transactions; i++)
            assert_int_equal(told(&rig.transaction[i], RPCRDMA_RULE_RPC_NO_CALL), i > 0);
        if (sendings < 2) {
            rpc_rig_free(&rig);
            rpc_rig_begin(&rig, NULL, true);
        }
    }
}

/* Another procedure, version or program under an outstanding XID is another RPC: the first has no
 * Reply. */
static void another_call_with_the_xid(void **state)
{
    static const struct {
        uint32_t program, version, procedure;
    } others[] = {{NFS, 3, 1}, {NFS, 4, READ}, {NFS + 2, 3, READ}};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct rpc_header h;
        size_t n = rig.transactions;

        call(10 + i, READ, HANDLE);
        rpc_call_header(&part, 10 + i, others[i].program, others[i].version, others[i].procedure);
        rpc_header_init(&h, 10 + i, MSG);
        rpc_send(&rig, true, &h, part.data, part.n);
        assert_int_equal(rig.transactions, n + 1);
        assert_true(told(&rig.transaction[n], RPCRDMA_RULE_RPC_UNANSWERED));
        assert_int_equal(rig.transaction[n].t.procedure, READ);
        rpc_reply_header(&part, 10 + i);
        rpc_header_init(&h, 10 + i, MSG);
        rpc_send(&rig, false, &h, part.data, part.n);
        assert_int_equal(rig.transactions, n + 2);
        assert_int_equal(rig.transaction[n + 1].t.program, others[i].program);
        assert_int_equal(rig.transaction[n + 1].t.procedure, others[i].procedure);
        assert_false(rig.transaction[n + 1].t.retransmitted);
    }
}

enum { FIVE = 5 * RIG_PMTU };

static uint8_t five[FIVE];

/* Offers FIVE bytes and writes them, but for packet `missing`; then time passes until that is given
 * up. Returns the missing packet's PSN. */
static uint32_t write_with_a_gap(uint32_t xid, uint32_t missing)
{
    struct rpc_header h;
    uint32_t psn;

    for (uint32_t i = 0; i < FIVE; i++)
        five[i] = (uint8_t)(i * 13 + i / 256 + xid);
    rpc_call_header(&part, xid, NFS, 3, READ);
    rpc_header_init(&h, xid, MSG);
    rpc_add_write(&h, true, HANDLE, ADDRESS, FIVE);
    rpc_send(&rig, true, &h, part.data, part.n);
    psn = rpcrdma_psn_add(rig.b.psn, missing);
    rpc_write(&rig, false, HANDLE, ADDRESS, five, FIVE, RIG_PMTU, missing);
    rig_ack(&rig.rig, &rig.a, &rig.b, rig.b.psn - 1); /* the receiver has it */
    for (uint32_t i = 0; i < 100; i++) {
        rig.rig.time_ns += 5000000;
        rig_send_call(&rig.rig, &rig.a, &rig.b, xid + 1000 + i);
        rig_send_reply(&rig.rig, &rig.b, &rig.a, xid + 1000 + i);
    }
    assert_int_equal(TAILQ_LAST(&rig.rig.flow->conns->all, conn_list)->dir[0]->lost, 1);
    return psn;
}

/* A packet that was given up, and was only captured late, still fills its place: with its header,
 * and in the middle by its PSN. */
static void a_write_captured_late(void **state)
{
    (void)state;
    for (uint32_t missing = 0; missing < 5; missing += 2) {
        struct rpcrdma_op op;
        struct rpc_header h;
        uint32_t psn, xid = 100 + missing;

        rpc_rig_free(&rig);
        rpc_rig_begin(&rig, NULL, true);
        psn = write_with_a_gap(xid, missing);
        op = rig_op(&rig.rig, RPCRDMA_OP_WRITE, &rig.b, &rig.a, psn);
        op.flags = (uint16_t)(missing == 0   ? RPCRDMA_OP_FIRST | RPCRDMA_OP_RETH
                              : missing == 4 ? RPCRDMA_OP_LAST
                                             : 0);
        op.data = five + missing * RIG_PMTU;
        op.caplen = op.len = RIG_PMTU;
        if (missing == 0) {
            op.rkey = HANDLE;
            op.remote_address = ADDRESS;
            op.length = FIVE;
        }
        rig_feed(&rig.rig, &op);
        rpc_reply_header(&part, xid);
        rpc_put(&part, 0);
        rpc_put(&part, 0);
        rpc_put(&part, FIVE);
        rpc_put(&part, 1);
        rpc_put(&part, FIVE);
        rpc_header_init(&h, xid, MSG);
        rpc_add_write(&h, true, HANDLE, ADDRESS, FIVE);
        rpc_send(&rig, false, &h, part.data, part.n);
        rpc_rig_end(&rig);
        rpc_fill(&part, FIVE, 0);
        memcpy(part.data + part.n - FIVE, five, FIVE);
        if (missing == 0) /* where the others belong was in the packet that came late */
            assert_false(rpc_find(&rig, xid, RPCRDMA_DIRECTION_REPLY)->whole);
        else
            rpc_check_bytes(rpc_find(&rig, xid, RPCRDMA_DIRECTION_REPLY), &part);
    }
}

/* Read requests that are outstanding together: as many as are kept are all answered; of more, the
 * oldest are forgotten, and what they bring is missing, not misplaced. */
static void reads_without_end(void **state)
{
    enum { EACH = 64 };
    static const uint32_t numbers[] = {FLOW_READS, FLOW_READS + 40};
    static uint8_t bytes[(FLOW_READS + 40) * EACH];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 5 + i / 256);
    for (size_t k = 0; k < 2; k++) {
        uint32_t xid = 200 + (uint32_t)k, n = numbers[k], psn[FLOW_READS + 40];
        const struct got_message *m;
        struct rpc_header h;

        rpc_rig_free(&rig);
        rpc_rig_begin(&rig, NULL, true);
        rpc_call_header(&part, xid, NFS, 3, WRITE);
        rpc_put(&part, n * EACH);
        whole = part;
        memcpy(whole.data + whole.n, bytes, n * EACH);
        whole.n += n * EACH;
        rpc_header_init(&h, xid, MSG);
        rpc_add_read(&h, part.n, HANDLE, ADDRESS, n * EACH);
        rpc_send(&rig, true, &h, part.data, part.n);
        for (uint32_t i = 0; i < n; i++)
            psn[i] = rpc_read_request(&rig, false, HANDLE, ADDRESS + i * EACH, EACH);
        for (uint32_t i = 0; i < n; i++)
            rpc_read_response(&rig, true, psn[i], 0, bytes + i * EACH, EACH, true);
        rig_send_reply(&rig.rig, &rig.b, &rig.a, xid);
        rpc_rig_end(&rig);
        m = rpc_find(&rig, xid, RPCRDMA_DIRECTION_CALL);
        assert_int_equal(m->length, whole.n);
        if (n <= FLOW_READS) {
            rpc_check_bytes(m, &whole);
        } else {
            uint32_t forgotten = (n - FLOW_READS) * EACH;

            assert_false(m->whole || m->complete);
            assert_memory_equal(m->bytes + part.n + forgotten, bytes + forgotten,
                                n * EACH - forgotten);
        }
    }
}

/* More Calls than are remembered: the oldest is told, without Reply, and the rest is answered. */
static void calls_without_end(void **state)
{
    enum { MORE = 100 };
    size_t given_up = 0;

    (void)state;
    rpc_rig_free(&rig);
    rpc_rig_begin(&rig, NULL, false);
    for (uint32_t i = 0; i < MESSAGE_CALLS + MORE; i++) {
        rig_send_call(&rig.rig, &rig.a, &rig.b, 1000 + i);
        if (i == 0)
            rig_ack(&rig.rig, &rig.b, &rig.a, rig.a.psn - 1);
    }
    assert_int_equal(rig.transactions, MORE);
    for (uint32_t i = 0; i < MORE; i++) {
        assert_int_equal(rig.transaction[i].t.xid, 1000 + i);
        given_up += told(&rig.transaction[i], RPCRDMA_RULE_RPC_GIVEN_UP);
    }
    assert_int_equal(given_up, MORE);
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 1000 + MORE);
    assert_int_equal(rig.transactions, MORE + 1);
    assert_true(rig.transaction[MORE].t.has_latency);
    rig.rig.flow->context.sink.transaction = NULL; /* there is no room for the others */
}

/* RDMA Writes with a handle that no message offered are told once per connection, and at its end
 * how many they were. */
static void a_handle_nobody_offered(void **state)
{
    size_t n;

    (void)state;
    rpc_rig_free(&rig);
    rig_begin(&rig.rig, NULL);
    rig.a = RIG_A;
    rig.b = RIG_B;
    rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
    rig_send_call(&rig.rig, &rig.a, &rig.b, 1);
    data(99);
    data(98);
    n = rig_count(&rig.rig, RPCRDMA_RULE_RPC_UNKNOWN_HANDLE);
    assert_int_equal(n, 1);
    assert_int_equal(rig.rig.finding[0].arg[0], 99);
    assert_int_equal(rig_count(&rig.rig, RPCRDMA_RULE_RPC_UNOFFERED), 0);
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(rig_count(&rig.rig, RPCRDMA_RULE_RPC_UNOFFERED), 1);
    assert_int_equal(rig.rig.finding[1].rule, RPCRDMA_RULE_RPC_UNOFFERED);
    assert_int_equal(rig.rig.finding[1].arg[0], 2 * SIZE);
    assert_int_equal(rig.rig.finding[1].arg[1], 2 * ((SIZE + RIG_PMTU - 1) / RIG_PMTU));
    rig_end(&rig.rig);
}

/* Bytes beyond the segment they go to (RFC 8166 section 3.4.5: its length). */
static void beyond_the_segment(void **state)
{
    static uint8_t bytes[SIZE + 500];
    const struct got_transaction *t;

    (void)state;
    call(20, READ, HANDLE);
    rpc_write(&rig, false, HANDLE, ADDRESS, bytes, sizeof(bytes), RIG_PMTU, UINT32_MAX);
    reply(20, HANDLE);
    t = rpc_transaction(&rig, 20);
    assert_true(told(t, RPCRDMA_RULE_RPC_OUTSIDE));
    assert_true(t->t.complete);
}

/* RDMA_MSG with a reply chunk that was used: which of the two is the message (RFC 8166 section 4.4)
 * cannot be told; the inline one is given. */
static void inline_and_reply_chunk(void **state)
{
    const struct got_message *m;
    struct rpc_header h;

    (void)state;
    rpc_call_header(&part, 30, NFS, 3, 0);
    rpc_header_init(&h, 30, MSG);
    rpc_add_reply(&h, HANDLE, ADDRESS, SIZE);
    rpc_send(&rig, true, &h, part.data, part.n);
    rpc_reply_header(&part, 30);
    rpc_header_init(&h, 30, MSG);
    rpc_add_reply(&h, HANDLE, ADDRESS, 100);
    rpc_send(&rig, false, &h, part.data, part.n);
    rig.rig.time_ns += RPC_HOLD_NS + 1; /* the chunk's bytes are waited for */
    rig_send_call(&rig.rig, &rig.a, &rig.b, 31);
    m = rpc_find(&rig, 30, RPCRDMA_DIRECTION_REPLY);
    assert_true(rpc_has_rule(m->rules, m->n_rules, RPCRDMA_RULE_RPC_TWO_BODIES));
    assert_int_equal(m->length, part.n);
    assert_memory_equal(m->bytes, part.data, part.n);
}

enum { MANY = RPC_SEGMENTS + 10, MANY_BYTES = 28 + 16 * MANY + 8, FIRST_HANDLE = 1000 };

/* A write chunk of MANY segments of 8 bytes, offered or returned. `other`: this one has another
 * handle; MANY: none. */
static void many_segments(bool call, uint32_t xid, uint32_t other)
{
    uint8_t *message = malloc(MANY_BYTES + 64), *p = message;
    struct rpc_bytes inner;

    assert_non_null(message);
    if (call)
        rpc_call_header(&inner, xid, NFS, 3, READ);
    else
        rpc_reply_header(&inner, xid);
    p = rig_word(rig_word(rig_word(rig_word(p, xid), 1), 32), MSG);
    p = rig_word(rig_word(p, 0), 1); /* no read list; a write list of one chunk */
    p = rig_word(p, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        p = rig_word(rig_word(p, FIRST_HANDLE + i + (i == other ? MANY : 0)), 8);
        p = rig_word(rig_word(p, 0), i * 8);
    }
    p = rig_word(rig_word(p, 0), 0); /* no more, and no reply chunk */
    memcpy(p, inner.data, inner.n < 64 ? inner.n : 64);
    rig_send(&rig.rig, call ? &rig.a : &rig.b, call ? &rig.b : &rig.a, message,
             MANY_BYTES + (inner.n < 64 ? inner.n : 64));
    free(message);
}

/* A write chunk of more segments than are followed: whether those beyond are returned as they were
 * offered is not known. */
static void segments_without_end(void **state)
{
    static const uint32_t others[] = {MANY, RPC_SEGMENTS, RPC_SEGMENTS - 1};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t xid = 40 + i;
        const struct got_message *m;

        many_segments(true, xid, MANY);
        many_segments(false, xid, others[i]);
        rig.rig.time_ns += RPC_HOLD_NS + 1; /* the chunk's bytes are waited for */
        rig_send_call(&rig.rig, &rig.a, &rig.b, 50 + i);
        assert_int_equal(rig.transactions, i + 1);
        assert_true(told(&rig.transaction[i], RPCRDMA_RULE_RPC_SEGMENTS));
        m = rpc_find(&rig, xid, RPCRDMA_DIRECTION_REPLY);
        assert_int_equal(rpc_has_rule(m->rules, m->n_rules, RPCRDMA_RULE_RPC_RETURNED_OTHER),
                         others[i] < RPC_SEGMENTS);
    }
}

/* A handle that the Reply invalidates may be one of those beyond. */
static void invalidated_beyond(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct rpcrdma_op op;
        uint8_t message[256];
        uint32_t n = rig_reply(message, 60 + i, 0);

        if (i == 0)
            many_segments(true, 60, MANY);
        else
            call(61, READ, HANDLE);
        op = rig_op(&rig.rig, RPCRDMA_OP_SEND, &rig.b, &rig.a, rig.b.psn++);
        op.flags = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST | RPCRDMA_OP_INVALIDATE;
        op.invalidate = FIRST_HANDLE + RPC_SEGMENTS;
        op.data = message;
        op.caplen = op.len = n;
        rig_feed(&rig.rig, &op);
        assert_int_equal(rig.transactions, i + 1);
        assert_int_equal(told(&rig.transaction[i], RPCRDMA_RULE_INVALIDATE_UNOFFERED), i);
    }
}

/* A read list of more, not by position: the first positions are taken. */
static void positions_without_end(void **state)
{
    enum { POSITIONS = 400 };
    static uint8_t message[28 + 24 * POSITIONS + 64];

    (void)state;
    rig_send(&rig.rig, &rig.a, &rig.b, message, rpc_backwards_call(message, 41, POSITIONS));
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 41);
    rig.rig.time_ns += RPC_HOLD_NS + 1;
    rig_send_call(&rig.rig, &rig.a, &rig.b, 42);
    assert_int_equal(rig.transactions, 1);
    assert_true(rig.transaction[0].t.has_latency);
    assert_false(rig.transaction[0].t.complete);
}

/* Replies that wait for data that does not come: more than are kept push the oldest out. */
static void waiting_replies_without_end(void **state)
{
    const int64_t now = rig.rig.time_ns;

    (void)state;
    rpc_rig_free(&rig);
    rpc_rig_begin(&rig, NULL, false);
    for (uint32_t i = 0; i <= RPC_HELD; i++) {
        assert_int_equal(rig.transactions, 0);
        call(5000 + i, READ, 100 + i);
        reply(5000 + i, 100 + i);
        rig.rig.time_ns = now; /* it is not time that lets go of them */
    }
    assert_int_equal(rig.rig.flow->rpcs->n_held, RPC_HELD);
    assert_int_equal(rig.transactions, 1);
    assert_int_equal(rig.transaction[0].t.xid, 5000);
    assert_false(rig.transaction[0].t.complete);
    rig.rig.flow->context.sink.transaction = NULL; /* there is no room for the others */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_call_again_while_outstanding),
        TEST(each_sending_is_answered),
        TEST(another_call_with_the_xid),
        TEST(a_write_captured_late),
        TEST(reads_without_end),
        TEST(calls_without_end),
        TEST(a_handle_nobody_offered),
        TEST(beyond_the_segment),
        TEST(inline_and_reply_chunk),
        TEST(segments_without_end),
        TEST(invalidated_beyond),
        TEST(positions_without_end),
        TEST(waiting_replies_without_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
