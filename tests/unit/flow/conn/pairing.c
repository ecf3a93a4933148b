/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections without a CM exchange; roles; directions. */
#include "rig.h"

static struct rig rig;

static void assert_one_pair(enum rpcrdma_paired_by by)
{
    assert_int_equal(rig.connections, 1);
    assert_int_equal(rig.connection[0].paired_by, by);
    for (size_t i = 0; i < rig.messages; i++) {
        assert_int_equal(rig.message[i].connection, 1);
        assert_true(rig.message[i].has_src);
        assert_int_equal(rig.message[i].src_qpn + rig.message[i].dst_qpn, 17 + 33);
    }
}

/* The Ack of the Call tells the peer before anything else comes; roles from the program. */
static void by_ack(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin(&rig, NULL);
    rig_send_call(&rig, &a, &b, 1);
    assert_int_equal(rig.messages, 0); /* held back: its sender is not known */
    rig_ack(&rig, &b, &a, a.psn - 1);
    assert_int_equal(rig.messages, 1);
    rig_end(&rig);
    assert_one_pair(RPCRDMA_PAIRED_INFERRED);
    assert_int_equal(rig.message[0].sender, RPCRDMA_ROLE_CLIENT);
    assert_int_equal(rig.message[0].src_qpn, 17);
    assert_int_equal(rig.connection[0].first_frame, 1);
    assert_int_equal(rig.connection[0].threshold_call, 1024);
}

static void by_xid(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin(&rig, NULL);
    rig_send_call(&rig, &a, &b, 1);
    rig_send_reply(&rig, &b, &a, 1);
    assert_int_equal(rig.messages, 2);
    rig_end(&rig);
    assert_one_pair(RPCRDMA_PAIRED_INFERRED);
    assert_int_equal(rig.message[0].xid, 1);
    assert_int_equal(rig.message[0].direction, RPCRDMA_DIRECTION_CALL);
    assert_int_equal(rig.message[1].sender, RPCRDMA_ROLE_SERVER);
    assert_true(rig.message[1].has_call);
    assert_int_equal(rig.message[1].program, 100003);
}

/* The Reply comes first (the capture begins between): a later Call pairs them. Held, not lost. */
static void reply_first(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin(&rig, NULL);
    rig_send_reply(&rig, &b, &a, 9);
    rig_send_call(&rig, &a, &b, 10);
    rig_send_reply(&rig, &b, &a, 10);
    rig_end(&rig);
    assert_int_equal(rig.messages, 3);
    assert_one_pair(RPCRDMA_PAIRED_INFERRED);
    assert_int_equal(rig.message[0].xid, 9);
    assert_int_equal(rig.message[0].sender, RPCRDMA_ROLE_SERVER);
    assert_false(rig.message[0].has_call);
}

/* A Read response and a Nak tell as well as an Ack. */
static void by_read_response(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    struct rpcrdma_op op;

    (void)state;
    rig_begin(&rig, NULL);
    rig_send_call(&rig, &a, &b, 1);
    rig_send_reply(&rig, &b, &a, 77); /* claims the other half; answers nothing */
    op = rig_op(&rig, RPCRDMA_OP_READ_REQUEST, &b, &a, b.psn);
    op.flags |= RPCRDMA_OP_RETH;
    op.length = 100;
    rig_feed(&rig, &op);
    assert_int_equal(rig.messages, 0);
    op = rig_op(&rig, RPCRDMA_OP_READ_RESPONSE, &a, &b, b.psn);
    op.len = 100;
    rig_feed(&rig, &op);
    assert_int_equal(rig.messages, 2);
    rig_end(&rig);
    assert_one_pair(RPCRDMA_PAIRED_INFERRED);
}

static void by_nak(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin(&rig, NULL);
    rig_send_call(&rig, &a, &b, 1);
    rig_nak(&rig, &b, &a, a.psn - 1, RPCRDMA_NAK_RNR);
    assert_int_equal(rig.messages, 1);
    rig_end(&rig);
    assert_one_pair(RPCRDMA_PAIRED_INFERRED);
}

/* A host talks to itself: what is sent towards one QP answers nothing that is sent towards the same
 * QP, though both addresses fit. */
static void one_host(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct rig_end a = {1, 17, 1000}, b = {1, 33, way == 3 ? 1000 : 5000};

        rig_begin(&rig, NULL);
        rig_send_call(&rig, &a, &b, 1);
        if (way == 0)
            rig_send_reply(&rig, &a, &b, 1);
        else if (way == 1)
            rig_ack(&rig, &a, &b, 1000);
        else
            rig_send_reply(&rig, &b, &a, 1);
        rig_end(&rig);
        assert_int_equal(rig.connections, 1);
        assert_int_equal(rig.messages, way == 1 ? 1 : 2);
        assert_int_equal(rig.connection[0].paired_by,
                         way < 2 ? RPCRDMA_PAIRED_NOT : RPCRDMA_PAIRED_INFERRED);
    }
}

/* Two connections between two hosts await the same PSN: its Ack tells nothing, the XIDs do. */
static void ambiguous_psn(void **state)
{
    struct rig_end a1 = {1, 17, 100}, a2 = {1, 18, 100}, b1 = {2, 33, 900}, b2 = {2, 34, 7000};

    (void)state;
    rig_begin(&rig, NULL);
    rig_send_call(&rig, &a1, &b1, 1);
    rig_send_call(&rig, &a2, &b2, 2);
    rig_ack(&rig, &b2, &a2, 100);
    rig_ack(&rig, &b1, &a1, 100);
    assert_int_equal(rig.messages, 0);
    rig_send_reply(&rig, &b2, &a2, 2);
    rig_send_reply(&rig, &b1, &a1, 1);
    rig_end(&rig);
    assert_int_equal(rig.messages, 4);
    assert_int_equal(rig.connections, 2);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(rig.message[i].src_qpn % 2, rig.message[i].xid % 2);
}

/* Only one direction was captured: given out, said to be unpaired. */
static void one_way(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin(&rig, NULL);
    for (uint32_t i = 0; i < 10; i++)
        rig_send_call(&rig, &a, &b, i);
    assert_int_equal(rig.messages, 0);
    rig.time_ns += FLOW_ADMISSION_NS;
    rig_send_call(&rig, &a, &b, 10);
    assert_int_equal(rig.messages, 11);
    for (uint32_t i = 11; i < 600; i++)
        rig_send_call(&rig, &a, &b, i);
    rig_end(&rig);
    assert_int_equal(rig.messages, 600);
    assert_int_equal(rig.connections, 1);
    assert_int_equal(rig.connection[0].paired_by, RPCRDMA_PAIRED_NOT);
    for (uint32_t i = 0; i < 600; i++) {
        assert_int_equal(rig.message[i].xid, i);
        assert_false(rig.message[i].has_src);
        assert_int_equal(rig.message[i].sender, RPCRDMA_ROLE_CLIENT);
    }
}

static void cm(enum rpcrdma_op_kind kind, const struct rig_end *from, const struct rig_end *to,
               struct rpcrdma_op_connect c)
{
    struct rpcrdma_op op = rig_op(&rig, kind, from, to, 0);

    op.dst_qpn = 1;
    op.connect = &c;
    rig_feed(&rig, &op);
}

/* A CM message of the client's, with that QP as its own. */
static void set_up(enum rpcrdma_op_kind kind, const struct rig_end *a, const struct rig_end *b,
                   uint32_t comm_id, uint32_t qpn)
{
    cm(kind, a, b,
       (struct rpcrdma_op_connect){.local_comm_id = comm_id,
                                   .service_id = 0x1060000 | 20049,
                                   .port = 20049,
                                   .qpn = qpn,
                                   .path_mtu = 1024});
}

/* ... with the REQ: its ports, QP and private data are this stream's, if there is no other. */
static void one_way_with_req(void **state)
{
    (void)state;
    for (int others = 0; others < 2; others++) {
        struct rig_end a = RIG_A, b = RIG_B;

        rig_begin(&rig, NULL);
        for (uint32_t i = 0; i <= (uint32_t)others; i++)
            set_up(RPCRDMA_OP_CONNECT, &a, &b, 5 + i, a.qpn + i);
        for (uint32_t i = 0; i < 3; i++)
            rig_send_call(&rig, &a, &b, i);
        rig.time_ns += FLOW_ADMISSION_NS;
        rig_send_call(&rig, &a, &b, 3);
        rig_end(&rig);
        assert_int_equal(rig.messages, 4);
        assert_int_equal(rig.message[0].connection, others ? 3 : 1);
        assert_int_equal(rig.message[0].has_src, !others);
        if (!others) {
            assert_one_pair(RPCRDMA_PAIRED_INFERRED);
            assert_int_equal(rig.connection[0].service_port, 20049);
        }
    }
}

/* ... and where another REQ was not accepted, it is known to be no rival once it waits no longer.
 */
static void one_way_behind_another_req(void **state)
{
    const int64_t soon_ns = 100000000, later_ns = 2000000000;

    (void)state;
    for (int early = 0; early < 2; early++) {
        struct rig_end a = RIG_A, b = RIG_B;

        rig_begin(&rig, NULL);
        set_up(RPCRDMA_OP_CONNECT, &a, &b, 5, a.qpn + 1);
        rig.time_ns += soon_ns;
        set_up(RPCRDMA_OP_CONNECT, &a, &b, 6, a.qpn);
        rig.time_ns += early ? soon_ns : later_ns;
        set_up(RPCRDMA_OP_ESTABLISHED, &a, &b, 6, a.qpn);
        rig.time_ns += early ? soon_ns : later_ns;
        for (uint32_t i = 0; i < 3; i++)
            rig_send_call(&rig, &a, &b, i);
        rig.time_ns += FLOW_ADMISSION_NS;
        rig_send_call(&rig, &a, &b, 3);
        rig_end(&rig);
        assert_int_equal(rig.messages, 4);
        assert_int_equal(rig.message[0].connection, early ? 3 : 2);
        assert_int_equal(rig.message[0].has_src, !early);
    }
}

/* The REP was lost: the acceptor's QP is found by its answers. */
static void rep_lost(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin(&rig, NULL);
    set_up(RPCRDMA_OP_CONNECT, &a, &b, 5, a.qpn);
    rig_send_call(&rig, &a, &b, 1);
    rig_ack(&rig, &b, &a, a.psn - 1);
    rig_send_reply(&rig, &b, &a, 1);
    rig_end(&rig);
    assert_int_equal(rig.messages, 2);
    assert_one_pair(RPCRDMA_PAIRED_INFERRED);
    assert_int_equal(rig.connection[0].service_port, 20049);
    assert_int_equal(rig.connection[0].role[0], RPCRDMA_ROLE_CLIENT);
}

/* Two ports captured into one file: the REP, which says nothing of RPC-over-RDMA, and the server's
 * first Reply, which shows it, stand before the REQ. All is of the connection that was set up. */
static void req_behind_reply(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    struct rpcrdma_op_connect accepts = {.local_comm_id = 6, .remote_comm_id = 5, .qpn = b.qpn};
    struct rpcrdma_op_connect asks = {.local_comm_id = 5,
                                      .service_id = 0x1060000 | 20049,
                                      .port = 20049,
                                      .qpn = a.qpn,
                                      .start_psn = b.psn,
                                      .has_start_psn = true,
                                      .path_mtu = 1024};

    (void)state;
    rig_begin(&rig, NULL);
    cm(RPCRDMA_OP_ACCEPT, &b, &a, accepts);
    rig_send_reply(&rig, &b, &a, 1);
    cm(RPCRDMA_OP_CONNECT, &a, &b, asks);
    rig_send_call(&rig, &a, &b, 1);
    rig_send_call(&rig, &a, &b, 2);
    rig_send_reply(&rig, &b, &a, 2);
    rig_end(&rig);
    assert_int_equal(rig.messages, 4);
    assert_one_pair(RPCRDMA_PAIRED_CM);
    assert_int_equal(rig.connection[0].service_port, 20049);
    assert_int_equal(rig.connection[0].role[0], RPCRDMA_ROLE_CLIENT);
    assert_int_equal(rig.connection[0].life.requests, 1);
}

/* A callback's Call tells the server; a forward and a reverse Call with one XID are two. */
static void reverse(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t buf[256];

    (void)state;
    rig_begin(&rig, NULL);
    rig_send(&rig, &b, &a, buf, rig_call(buf, 5, 0x40000000, 0));
    rig_send_call(&rig, &a, &b, 5);
    rig_send_reply(&rig, &a, &b, 5); /* of the callback */
    rig_send_reply(&rig, &b, &a, 5);
    rig_end(&rig);
    assert_one_pair(RPCRDMA_PAIRED_INFERRED);
    assert_int_equal(rig.messages, 4);
    assert_int_equal(rig.message[0].sender, RPCRDMA_ROLE_SERVER);
    assert_true(rig.message[0].reverse);
    assert_false(rig.message[1].reverse);
    assert_true(rig.message[2].reverse);
    assert_int_equal(rig.message[2].program, 0x40000000);
    assert_false(rig.message[3].reverse);
    assert_int_equal(rig.message[3].program, 100003);
}

/* The same without an RPC header in the forward Call: what a client offers to be read is a Call's.
 */
static void reverse_and_nomsg(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t buf[256];

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    rig_send_call(&rig, &a, &b, 4); /* a Call before any callback, as has to be */
    rig_send_reply(&rig, &b, &a, 4);
    rig_send(&rig, &b, &a, buf, rig_call(buf, 5, 0x40000000, 0));
    rig_send(&rig, &a, &b, buf, rig_nomsg_call(buf, 5));
    rig_send_reply(&rig, &b, &a, 5);
    rig_send_reply(&rig, &a, &b, 5); /* of the callback */
    rig_end(&rig);
    assert_int_equal(rig.messages, 6);
    assert_int_equal(rig.message[3].direction, RPCRDMA_DIRECTION_CALL);
    assert_false(rig.message[3].reverse);
    assert_int_equal(rig.message[4].direction, RPCRDMA_DIRECTION_REPLY);
    assert_false(rig.message[4].reverse);
    assert_true(rig.message[5].reverse);
    assert_int_equal(rig.message[5].program, 0x40000000);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(rig.message[i].n_rules, 0);
}

/* A program nobody knows: the messages come, roles do not. */
static void unknown_program(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t buf[256];

    (void)state;
    rig_begin(&rig, NULL);
    rig_send(&rig, &a, &b, buf, rig_call(buf, 5, 300000, 0));
    rig_send_reply(&rig, &b, &a, 5);
    rig_end(&rig);
    assert_one_pair(RPCRDMA_PAIRED_INFERRED);
    assert_int_equal(rig.messages, 2);
    assert_int_equal(rig.message[0].sender, RPCRDMA_ROLE_UNKNOWN);
    assert_int_equal(rig.message[0].direction, RPCRDMA_DIRECTION_CALL);
    assert_true(rig.message[1].has_call);
}

/* Messages without RPC header: their XIDs tell the direction. */
static void nomsg(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t buf[256];

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    rig_send(&rig, &a, &b, buf, rig_nomsg_call(buf, 1));
    rig_send_reply(&rig, &b, &a, 1);
    rig_send_call(&rig, &a, &b, 2);
    rig_send(&rig, &b, &a, buf, rig_nomsg_reply(buf, 2));
    /* RDMA_ERROR, ERR_CHUNK */
    rig_send_call(&rig, &a, &b, 3);
    rig_word(rig_word(rig_word(rig_word(rig_word(buf, 3), 1), 32), 4), 2);
    rig_send(&rig, &b, &a, buf, 20);
    rig_end(&rig);
    assert_int_equal(rig.messages, 6);
    assert_int_equal(rig.message[0].direction, RPCRDMA_DIRECTION_CALL);
    assert_false(rig.message[0].has_rpc);
    assert_int_equal(rig.message[3].direction, RPCRDMA_DIRECTION_REPLY);
    assert_int_equal(rig.message[3].program, 100003);
    assert_int_equal(rig.message[5].direction, RPCRDMA_DIRECTION_REPLY);
    assert_true(rig.message[5].has_call);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(rig.message[i].n_rules, 0);
}

/* What one connection holds back does not come after younger messages of another. */
static void across_connections(void **state)
{
    struct rig_end a1 = {1, 17, 100}, b1 = {2, 33, 900}, a2 = {1, 18, 3000}, b2 = {2, 34, 7000};

    (void)state;
    rig_begin(&rig, NULL);
    rig_connect(&rig, &a2, &b2, 20049);
    rig_send_call(&rig, &a1, &b1, 1); /* unpaired: held back */
    rig_send_call(&rig, &a2, &b2, 2);
    rig_send_reply(&rig, &b2, &a2, 2);
    assert_int_equal(rig.messages, 0);
    rig_send_reply(&rig, &b1, &a1, 1);
    assert_int_equal(rig.messages, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(rig.message[i].xid, (i == 0 || i == 3) ? 1 : 2);
        if (i > 0)
            assert_true(rig.message[i].frame > rig.message[i - 1].frame);
    }
    /* nobody waits for ever */
    rig_send_call(&rig, &a2, &b2, 3);
    a1.qpn = 40, b1.qpn = 41;
    rig_send_call(&rig, &a1, &b1, 4);
    rig_send_call(&rig, &a2, &b2, 5);
    assert_int_equal(rig.messages, 5);
    rig.time_ns += FLOW_ADMISSION_NS + 1;
    rig_send_call(&rig, &a2, &b2, 6);
    assert_int_equal(rig.messages, 8);
    rig_end(&rig);
    for (size_t i = 1; i < 8; i++)
        assert_true(rig.message[i].frame > rig.message[i - 1].frame);
    assert_true(rig.message[4].has_src);
    assert_int_equal(rig.message[5].xid, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_ack),
        cmocka_unit_test(by_xid),
        cmocka_unit_test(reply_first),
        cmocka_unit_test(by_read_response),
        cmocka_unit_test(by_nak),
        cmocka_unit_test(one_host),
        cmocka_unit_test(ambiguous_psn),
        cmocka_unit_test(one_way),
        cmocka_unit_test(one_way_with_req),
        cmocka_unit_test(one_way_behind_another_req),
        cmocka_unit_test(rep_lost),
        cmocka_unit_test(req_behind_reply),
        cmocka_unit_test(reverse),
        cmocka_unit_test(reverse_and_nomsg),
        cmocka_unit_test(unknown_program),
        cmocka_unit_test(nomsg),
        cmocka_unit_test(across_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
