/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that are lost, late or doubled: never a wrong byte, and what is missing is said. */
#include "rpc_nfs.h"

static void one_write_packet_missing(void **state)
{
    const struct got_message *m;

    (void)state;
    read_call(1, HANDLE, ADDRESS);
    prepare_reply(1, 0);
    rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, 2);
    read_reply(1, HANDLE, ADDRESS);
    for (uint32_t i = 0; i < 400; i++) { /* the gap is given up, the Reply no longer held */
        run_on(1000000);
        nudge(1000 + i);
        if (i > 2 && rig.transactions > i)
            break;
    }
    rpcrdma_flow_end(rig.rig.flow);
    m = rpc_find(&rig, 1, RPCRDMA_DIRECTION_REPLY);
    assert_false(m->whole);
    assert_false(m->complete);
    assert_int_equal(m->length, whole.n);
    assert_int_equal(m->n_rules, 1);
    assert_int_equal(m->rules[0], RPCRDMA_RULE_RPC_LOST);
    assert_int_equal(m->arg[0][0], at + 2 * RIG_PMTU);
    assert_int_equal(m->arg[0][1], at + 3 * RIG_PMTU - 1);
    for (uint32_t i = 0; i < whole.n; i++)
        if (i < at + 2 * RIG_PMTU || i >= at + 3 * RIG_PMTU)
            assert_int_equal(m->bytes[i], whole.data[i]);
    assert_false(rpc_transaction(&rig, 1)->t.complete);
}

/* Without its first packet nothing says where a Write goes: that it did not pass is not known. */
static void first_write_packet_missing(void **state)
{
    const struct got_message *m;

    (void)state;
    read_call(1, HANDLE, ADDRESS);
    prepare_reply(1, 0);
    rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, 0);
    read_reply(1, HANDLE, ADDRESS);
    run_on(RPC_HOLD_NS + 1);
    nudge(2);
    rpcrdma_flow_end(rig.rig.flow);
    m = rpc_find(&rig, 1, RPCRDMA_DIRECTION_REPLY);
    assert_false(m->complete);
    assert_int_equal(m->n_rules, 1);
    assert_int_equal(m->rules[0], RPCRDMA_RULE_RPC_UNPLACED);
    assert_int_equal(m->arg[0][0], at);
    assert_int_equal(m->arg[0][1], at + SIZE - 1);
}

/* Likewise Read Responses without their request; what comes after is judged by itself. */
static void read_request_missing(void **state)
{
    const struct got_message *m;
    uint32_t psn;

    (void)state;
    write_call(2, HANDLE, ADDRESS);
    for (uint32_t i = 0; i < 5; i++)
        rpc_read_response(&rig, true, rig.b.psn + 100, i, whole.data + at + i * RIG_PMTU,
                          i == 4 ? SIZE - 4 * RIG_PMTU : RIG_PMTU, i == 4);
    plain_reply(2);
    run_on(RPC_HOLD_NS + 1);
    nudge(3);
    m = rpc_find(&rig, 2, RPCRDMA_DIRECTION_CALL);
    assert_false(m->complete);
    assert_int_equal(m->n_rules, 1);
    assert_int_equal(m->rules[0], RPCRDMA_RULE_RPC_UNPLACED);
    assert_false(rpc_transaction(&rig, 2)->t.reads_known);
    assert_true(rpc_transaction(&rig, 2)->t.offers_known);

    write_call(4, HANDLE + 1, ADDRESS);
    psn = rpc_read_request(&rig, false, HANDLE + 1, ADDRESS, SIZE);
    rpc_read_response(&rig, true, psn, 0, whole.data + at, RIG_PMTU, false);
    plain_reply(4);
    run_on(RPC_HOLD_NS + 1);
    nudge(5);
    m = rpc_find(&rig, 4, RPCRDMA_DIRECTION_CALL);
    assert_int_equal(m->n_rules, 1);
    assert_int_equal(m->rules[0], RPCRDMA_RULE_RPC_LOST);
}

static void one_read_response_missing(void **state)
{
    const struct got_message *m;
    uint32_t psn;

    (void)state;
    write_call(2, HANDLE, ADDRESS);
    psn = rpc_read_request(&rig, false, HANDLE, ADDRESS, SIZE);
    for (uint32_t i = 0; i < 5; i++)
        if (i != 3)
            rpc_read_response(&rig, true, psn, i, whole.data + at + i * RIG_PMTU,
                              i == 4 ? SIZE - 4 * RIG_PMTU : RIG_PMTU, i == 4);
    plain_reply(2);
    assert_int_equal(rig.transactions, 0); /* it may come yet */
    run_on(RPC_HOLD_NS + 1);
    nudge(3);
    m = rpc_find(&rig, 2, RPCRDMA_DIRECTION_CALL);
    assert_false(m->whole);
    assert_int_equal(m->rules[0], RPCRDMA_RULE_RPC_LOST);
    assert_int_equal(m->arg[0][0], at + 3 * RIG_PMTU);
    assert_int_equal(m->arg[0][1], at + 4 * RIG_PMTU - 1);
    assert_false(rpc_transaction(&rig, 2)->t.complete);
    assert_int_equal(rpc_transaction(&rig, 2)->t.read_chunk_length, SIZE - RIG_PMTU);
    assert_false(rpc_transaction(&rig, 2)->t.reads_known);
    assert_true(rpc_transaction(&rig, 2)->t.has_latency);
}

/* The capture has the Reply before the last response: both are right all the same. */
static void a_reply_before_the_last_data(void **state)
{
    uint32_t psn;

    (void)state;
    write_call(4, HANDLE, ADDRESS);
    psn = rpc_read_request(&rig, false, HANDLE, ADDRESS, SIZE);
    for (uint32_t i = 0; i < 4; i++)
        rpc_read_response(&rig, true, psn, i, whole.data + at + i * RIG_PMTU, RIG_PMTU, false);
    plain_reply(4);
    assert_int_equal(rig.messages, 0);
    rpc_read_response(&rig, true, psn, 4, whole.data + at + 4 * RIG_PMTU, SIZE - 4 * RIG_PMTU,
                      true);
    assert_int_equal(rig.messages, 2);
    rpc_check_bytes(rpc_find(&rig, 4, RPCRDMA_DIRECTION_CALL), &whole);
    assert_true(rpc_find(&rig, 4, RPCRDMA_DIRECTION_REPLY)->whole);
    assert_true(rpc_transaction(&rig, 4)->t.complete);
}

/* The order of the direction itself is mended before: a Write captured after the Send that follows.
 */
static void a_write_captured_after_its_reply(void **state)
{
    struct rpc_header h;
    uint32_t first, second;

    (void)state;
    read_call(5, HANDLE, ADDRESS);
    prepare_reply(5, 0);
    first = rig.b.psn;
    second = rpcrdma_psn_add(first, 5);
    rig.b.psn = second; /* the Send goes first into the capture */
    rpc_header_init(&h, 5, MSG);
    rpc_add_write(&h, true, HANDLE, ADDRESS, SIZE);
    rpc_send(&rig, false, &h, part.data, part.n);
    assert_int_equal(rig.transactions, 0);
    second = rig.b.psn;
    rig.b.psn = first;
    rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
    rig.b.psn = second;
    rpc_check_bytes(rpc_find(&rig, 5, RPCRDMA_DIRECTION_REPLY), &whole);
    assert_true(rpc_transaction(&rig, 5)->t.complete);
}

static void retransmitted_writes_and_replies_count_once(void **state)
{
    uint32_t first;

    (void)state;
    read_call(6, HANDLE, ADDRESS);
    prepare_reply(6, 0);
    first = rig.b.psn;
    rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
    rig.b.psn = rpcrdma_psn_add(first, 2); /* go-back-N */
    for (uint32_t i = 2; i < 5; i++) {
        struct rpcrdma_op op = rig_op(&rig.rig, RPCRDMA_OP_WRITE, &rig.b, &rig.a, rig.b.psn);

        op.flags = i == 4 ? RPCRDMA_OP_LAST : 0;
        op.data = whole.data + at + i * RIG_PMTU;
        op.caplen = op.len = i == 4 ? SIZE - 4 * RIG_PMTU : RIG_PMTU;
        rig_feed(&rig.rig, &op);
        rig.b.psn = rpcrdma_psn_add(rig.b.psn, 1);
    }
    first = rig.b.psn;
    read_reply(6, HANDLE, ADDRESS);
    rig.b.psn = first;
    read_reply(6, HANDLE, ADDRESS); /* the Send once more */
    assert_int_equal(rig.transactions, 1);
    assert_int_equal(rig.messages, 2);
    rpc_check_bytes(rpc_find(&rig, 6, RPCRDMA_DIRECTION_REPLY), &whole);
    assert_int_equal(rpc_transaction(&rig, 6)->n_rules, 0);
}

/* Every path MTU, aligned to nothing, across the wrap of the PSN. */
static void writes_of_any_mtu_across_the_wrap(void **state)
{
    static const uint32_t parts[] = {256, 512, 1024, 2048, 4096};

    (void)state;
    rpc_rig_free(&rig);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        rpc_rig_begin_late(&rig, NULL, true);
        rig.b.psn = 0xfffffe; /* wraps within the Write, or within the Reply */
        rig.a.psn = 0xffffff;
        rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
        read_call(7, HANDLE, ADDRESS);
        prepare_reply(7, (uint8_t)i);
        rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, parts[i], UINT32_MAX);
        read_reply(7, HANDLE, ADDRESS);
        rpc_check_bytes(rpc_find(&rig, 7, RPCRDMA_DIRECTION_REPLY), &whole);
        rpc_rig_free(&rig);
    }
    rpc_rig_begin(&rig, NULL, true);
}

/* Several messages of one segment: three Writes of 100, 100 and 800 bytes. */
static void a_segment_in_several_writes(void **state)
{
    static const uint32_t lengths[] = {100, 100, 800, 3000, SIZE - 4000};
    uint32_t done = 0;

    (void)state;
    read_call(8, HANDLE, ADDRESS);
    prepare_reply(8, 0);
    for (size_t i = 0; i < 5; i++) {
        rpc_write(&rig, false, HANDLE, ADDRESS + done, whole.data + at + done, lengths[i], RIG_PMTU,
                  UINT32_MAX);
        done += lengths[i];
    }
    read_reply(8, HANDLE, ADDRESS);
    rpc_check_bytes(rpc_find(&rig, 8, RPCRDMA_DIRECTION_REPLY), &whole);
}

static void reads_across_the_wrap_and_outstanding_together(void **state)
{
    struct rpc_bytes first;
    uint32_t psn[2], at_first;

    (void)state;
    rpc_rig_free(&rig);
    rpc_rig_begin_late(&rig, NULL, true);
    rig.b.psn = 0xfffffc;
    rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
    write_call(9, 1, 0);
    first = whole;
    at_first = at;
    write_call(10, 2, 0x5000);
    psn[0] = rpc_read_request(&rig, false, 1, 0, SIZE);
    psn[1] = rpc_read_request(&rig, false, 2, 0x5000, SIZE);
    for (uint32_t k = 0; k < 2; k++) /* the first one's are sent again while the second is out */
        for (uint32_t i = k; i < 5; i++)
            rpc_read_response(&rig, true, psn[0], i, first.data + at_first + i * RIG_PMTU,
                              i == 4 ? SIZE - 4 * RIG_PMTU : RIG_PMTU, i == 4);
    rpc_check_bytes(rpc_find(&rig, 9, RPCRDMA_DIRECTION_CALL), &first);
    assert_int_equal(rig.messages, 1); /* not the second one before its time */
    for (uint32_t i = 0; i < 5; i++)
        rpc_read_response(&rig, true, psn[1], i, whole.data + at + i * RIG_PMTU,
                          i == 4 ? SIZE - 4 * RIG_PMTU : RIG_PMTU, i == 4);
    rpc_check_bytes(rpc_find(&rig, 10, RPCRDMA_DIRECTION_CALL), &whole);
    plain_reply(9);
    plain_reply(10);
    assert_true(rpc_transaction(&rig, 9)->t.complete && rpc_transaction(&rig, 10)->t.complete);
}

/* RC: the responses from the third on were lost to the requester, which asks for the rest anew. */
static void a_read_issued_again_from_the_middle(void **state)
{
    uint32_t psn, after;

    (void)state;
    write_call(11, HANDLE, ADDRESS);
    psn = rpc_read_request(&rig, false, HANDLE, ADDRESS, SIZE);
    after = rig.b.psn;
    rpc_read_response(&rig, true, psn, 0, whole.data + at, RIG_PMTU, false);
    rpc_read_response(&rig, true, psn, 1, whole.data + at + RIG_PMTU, RIG_PMTU, false);
    rig.b.psn = rpcrdma_psn_add(psn, 2);
    psn = rpc_read_request(&rig, false, HANDLE, ADDRESS + 2 * RIG_PMTU, SIZE - 2 * RIG_PMTU);
    rig.b.psn = after;
    for (uint32_t i = 2; i < 5; i++)
        rpc_read_response(&rig, true, psn, i - 2, whole.data + at + i * RIG_PMTU,
                          i == 4 ? SIZE - 4 * RIG_PMTU : RIG_PMTU, i == 4);
    plain_reply(11);
    rpc_check_bytes(rpc_find(&rig, 11, RPCRDMA_DIRECTION_CALL), &whole);
    assert_true(rpc_transaction(&rig, 11)->t.complete);
}

static void the_same_handle_again_and_again(void **state)
{
    (void)state;
    for (uint32_t xid = 20; xid < 24; xid++) { /* same rkey, same address: other bytes */
        read_call(xid, HANDLE, ADDRESS);
        prepare_reply(xid, (uint8_t)(xid * 31));
        rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
        read_reply(xid, HANDLE, ADDRESS);
        rpc_check_bytes(rpc_find(&rig, xid, RPCRDMA_DIRECTION_REPLY), &whole);
    }
    /* advertised again while the first Call is still out: the second's bytes are its own */
    read_call(30, HANDLE, ADDRESS);
    read_call(31, HANDLE, ADDRESS);
    prepare_reply(31, 5);
    rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
    read_reply(31, HANDLE, ADDRESS);
    rpc_check_bytes(rpc_find(&rig, 31, RPCRDMA_DIRECTION_REPLY), &whole);
}

static void an_invalidated_handle_takes_no_bytes(void **state)
{
    struct rpc_bytes buf;
    uint8_t send[256];
    struct rpcrdma_op op;
    uint32_t n;

    (void)state;
    read_call(40, HANDLE, ADDRESS);
    nudge(41);
    n = rig_reply(send, 42, 0); /* answers nothing that was seen, and invalidates */
    op = rig_op(&rig.rig, RPCRDMA_OP_SEND, &rig.b, &rig.a, rig.b.psn);
    op.flags |= RPCRDMA_OP_INVALIDATE;
    op.invalidate = HANDLE;
    op.data = send;
    op.caplen = op.len = n;
    rig_feed(&rig.rig, &op);
    rig.b.psn = rpcrdma_psn_add(rig.b.psn, 1);
    buf.n = 0;
    rpc_fill(&buf, 100, 1);
    rpc_write(&rig, false, HANDLE, ADDRESS, buf.data, 100, RIG_PMTU, UINT32_MAX);
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(rpc_transaction(&rig, 40)->t.write_chunk_length, 0);
    assert_false(rpc_transaction(&rig, 40)->t.returns_known);
    assert_true(rpc_has_rule(rpc_transaction(&rig, 42)->rules, rpc_transaction(&rig, 42)->n_rules,
                             RPCRDMA_RULE_RPC_NO_CALL));
}

/* What a Responder did not ask for before it replied, it did not read. What moved for a Call
 * without Reply is known where nothing more could, or everything was captured until the end. */
static void what_moved_is_known(void **state)
{
    const struct rpcrdma_transaction *t;
    uint32_t psn;

    (void)state;
    write_call(2, HANDLE, ADDRESS);
    plain_reply(2);
    read_call(4, HANDLE, ADDRESS);
    rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
    write_call(6, HANDLE + 1, ADDRESS);
    write_call(8, HANDLE + 2, ADDRESS);
    psn = rpc_read_request(&rig, false, HANDLE + 2, ADDRESS, SIZE);
    for (uint32_t i = 0; i < 5; i++)
        rpc_read_response(&rig, true, psn, i, whole.data + at + i * RIG_PMTU,
                          i == 4 ? SIZE - 4 * RIG_PMTU : RIG_PMTU, i == 4);
    rpcrdma_flow_end(rig.rig.flow);
    t = &rpc_transaction(&rig, 2)->t;
    assert_true(t->reads_known);
    assert_int_equal(t->read_chunk_length, 0);
    t = &rpc_transaction(&rig, 4)->t;
    assert_false(t->returns_known); /* there is room for more */
    assert_int_equal(t->write_chunk_length, SIZE);
    t = &rpc_transaction(&rig, 8)->t;
    assert_true(t->returns_known && t->reads_known);
    assert_int_equal(t->read_chunk_length, SIZE);
    t = &rpc_transaction(&rig, 6)->t;
    assert_true(t->returns_known); /* there is no chunk that it would be in */
    assert_false(t->reads_known);
}

static void what_moved_until_the_end_is_known(void **state)
{
    const struct rpcrdma_transaction *t;

    (void)state;
    write_call(2, HANDLE, ADDRESS);
    read_call(4, HANDLE + 1, ADDRESS);
    nudge(5);
    rig_disconnect(&rig.rig, &rig.a, &rig.b);
    rpcrdma_flow_end(rig.rig.flow);
    t = &rpc_transaction(&rig, 2)->t;
    assert_int_equal(t->reply_frame, 0);
    assert_true(t->reads_known);
    assert_int_equal(t->read_chunk_length, 0);
    t = &rpc_transaction(&rig, 4)->t;
    assert_true(t->returns_known);
    assert_int_equal(t->write_chunk_length, 0);
    assert_int_equal(t->write_chunk_room, 8192);
}

/* The RPC message has another XID than its header: that is a finding, and no part is missing. */
static void another_xid_inside(void **state)
{
    struct rpc_bytes call, reply;
    struct rpc_header h;

    (void)state;
    rpc_call_header(&call, 99, NFS, 3, 0);
    rpc_header_init(&h, 50, MSG);
    rpc_send(&rig, true, &h, call.data, call.n);
    rpc_reply_header(&reply, 98);
    rpc_header_init(&h, 50, MSG);
    rpc_send(&rig, false, &h, reply.data, reply.n);
    assert_true(rpc_find(&rig, 50, RPCRDMA_DIRECTION_CALL)->complete);
    assert_true(rpc_find(&rig, 50, RPCRDMA_DIRECTION_REPLY)->complete);
    assert_false(rpc_find(&rig, 50, RPCRDMA_DIRECTION_REPLY)->whole); /* not to be handed on */
    assert_true(rpc_transaction(&rig, 50)->t.complete);
    assert_int_equal(rpc_transaction(&rig, 50)->n_rules, 0);
    assert_int_equal(rpc_find(&rig, 50, RPCRDMA_DIRECTION_CALL)->n_rules, 0);
}

/* A snap length that ends within a Reply's lists: whether what the Call offered comes back is
 * behind it.
 */
static void reply_cut_within_the_lists(void **state)
{
    enum { TYPE = 16, HEADER = 52 };
    (void)state;
    for (uint32_t caplen = TYPE, xid = 1; caplen <= HEADER; caplen += 4, xid++) {
        const struct got_transaction *t;
        struct rpc_header h;

        read_call(xid, HANDLE, ADDRESS);
        prepare_reply(xid, 3);
        rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
        rpc_header_init(&h, xid, MSG);
        rpc_add_write(&h, true, HANDLE, ADDRESS, SIZE);
        rpc_send_cut(&rig, false, &h, &part, caplen);
        t = rpc_transaction(&rig, xid);
        assert_non_null(t);
        assert_int_not_equal(t->t.reply_frame, 0);
        assert_false(rpc_has_rule(t->rules, t->n_rules, RPCRDMA_RULE_RPC_WRITE_LIST_USED));
        assert_false(rpc_has_rule(t->rules, t->n_rules, RPCRDMA_RULE_RPC_WRITE_LIST));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_write_packet_missing),
        TEST(first_write_packet_missing),
        TEST(read_request_missing),
        TEST(one_read_response_missing),
        TEST(a_reply_before_the_last_data),
        TEST(a_write_captured_after_its_reply),
        TEST(retransmitted_writes_and_replies_count_once),
        TEST(writes_of_any_mtu_across_the_wrap),
        TEST(a_segment_in_several_writes),
        TEST(reads_across_the_wrap_and_outstanding_together),
        TEST(a_read_issued_again_from_the_middle),
        TEST(the_same_handle_again_and_again),
        TEST(an_invalidated_handle_takes_no_bytes),
        TEST(what_moved_is_known),
        TEST(what_moved_until_the_end_is_known),
        TEST(another_xid_inside),
        TEST(reply_cut_within_the_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
