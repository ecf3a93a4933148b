/* SPDX-License-Identifier: BSD-2-Clause */
/* What is told of a message that is held back; which connection an operation belongs to. */
#include "rig.h"

static struct rig rig;

/* What is given at once is not held back. */
static void not_held(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    rig_send_call(&rig, &a, &b, 1);
    rig_send_reply(&rig, &b, &a, 1);
    rig_end(&rig);
    assert_int_equal(rig.messages, 2);
    assert_int_equal(rig.n_held_back, 0);
}

/* The peer is not known yet: the Call is told at its frame all the same, and then again. */
static void peer_unknown(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin(&rig, NULL);
    rig_send_call(&rig, &a, &b, 1);
    assert_int_equal(rig.messages, 0);
    assert_int_equal(rig.n_held_back, 1);
    rig_send_reply(&rig, &b, &a, 1);
    rig_end(&rig);
    assert_int_equal(rig.messages, 2);
    assert_int_equal(rig.n_held_back, 1);
    assert_int_equal(rig.held_back[0].frame, rig.message[0].frame);
    assert_int_equal(rig.held_back[0].xid, 1);
    assert_int_equal(rig.held_back[0].direction, RPCRDMA_DIRECTION_CALL);
    assert_int_equal(rig.held_back[0].program, 100003);
    assert_int_equal(rig.held_back[0].dst_qpn, 33);
    assert_false(rig.held_back[0].has_src);
    assert_true(rig.held_back[0].has_rpc);
}

/* A live capture, and nothing comes any more: what waits for a packet is given all the same, and
 * the end of the capture stays where its last packet is. */
static void nothing_comes(void **state)
{
    (void)state;
    for (int gap = 0; gap < 2; gap++) {
        struct rig_end a = RIG_A, b = RIG_B;
        int64_t last_ns;

        rig_begin(&rig, NULL);
        if (gap) {
            rig_connect(&rig, &a, &b, 20049);
            rig_send_call(&rig, &a, &b, 1);
            a.psn++;
        }
        rig_send_call(&rig, &a, &b, 2);
        last_ns = rig.flow->context.time_ns;
        rpcrdma_flow_time(rig.flow, last_ns + 100);
        assert_int_equal(rig.messages, gap);
        rpcrdma_flow_time(rig.flow, last_ns + INT64_C(10000000000));
        assert_int_equal(rig.messages, gap + 1);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_PACKETS_LOST), gap);
        assert_true(rig.flow->context.time_ns == last_ns);
        rpcrdma_flow_time(rig.flow, 0); /* the clock was set back */
        rig_send_reply(&rig, &b, &a, 2);
        rig_end(&rig);
        assert_int_equal(rig.messages, gap + 2);
    }
}

/* The Calls' stream has one name, before and after; so the Reply finds what the Call was given. */
static void stream_name(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint64_t name;

    (void)state;
    rig_begin(&rig, NULL);
    rig_send_call(&rig, &a, &b, 1);
    rig_send_reply(&rig, &b, &a, 1);
    rig_send_call(&rig, &a, &b, 2);
    rig_end(&rig);
    name = rig.held_back[0].stream[0];
    assert_int_not_equal(name, 0);
    assert_int_equal(rig.held_back[0].stream[1], 0);
    assert_int_equal(rig.message[0].stream[0], name);
    assert_int_equal(rig.message[1].stream[1], name);
    assert_int_equal(rig.message[2].stream[0], name);
    assert_int_not_equal(rig.message[1].stream[0], name);
}

/* The same QP numbers, another connection: another name. */
static void stream_name_renewed(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    rig_send_call(&rig, &a, &b, 1);
    rig_disconnect(&rig, &a, &b);
    a = RIG_A, b = RIG_B;
    rig_connect(&rig, &a, &b, 20049);
    rig_send_call(&rig, &a, &b, 1);
    rig_end(&rig);
    assert_int_equal(rig.messages, 2);
    assert_int_not_equal(rig.message[0].stream[0], rig.message[1].stream[0]);
}

/* A packet is missing: what comes behind it is given at its frame, and in order once the gap is
 * given up; the first changes nothing of the second. */
static void behind_gap(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    rig_send_call(&rig, &a, &b, 1);
    a.psn++;
    rig_send_call(&rig, &a, &b, 3);
    assert_int_equal(rig.messages, 1);
    assert_int_equal(rig.n_held_back, 1);
    assert_int_equal(rig.held_back[0].xid, 3);
    assert_int_equal(rig.held_back[0].connection, 1);
    assert_true(rig.held_back[0].has_src);
    rig_end(&rig);
    assert_int_equal(rig.messages, 2);
    assert_int_equal(rig.n_held_back, 1);
    assert_int_equal(rig.message[1].xid, 3);
    assert_int_equal(rig.message[1].frame, rig.held_back[0].frame);
}

/* Nothing is said of an unknown protocol. */
static void unclaimed(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t buf[256];

    (void)state;
    rig_begin(&rig, NULL);
    rig_send(&rig, &a, &b, buf, rig_nomsg_call(buf, 1));
    rig_end(&rig);
    assert_int_equal(rig.messages, 0);
    assert_int_equal(rig.n_held_back, 0);
}

static void connection_of(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B, c = {3, 17, 1};
    const struct rpcrdma_connection *connection;
    struct rpcrdma_op op;

    (void)state;
    rig_begin_connected(&rig, &a, &b);
    rig_send_call(&rig, &a, &b, 1);
    op = rig_op(&rig, RPCRDMA_OP_WRITE, &b, &a, b.psn);
    rig_feed(&rig, &op);
    connection = rpcrdma_flow_connection(rig.flow, &op);
    assert_non_null(connection);
    assert_int_equal(connection->number, 1);
    op = rig_op(&rig, RPCRDMA_OP_WRITE, &c, &a, 5);
    rig_feed(&rig, &op);
    assert_null(rpcrdma_flow_connection(rig.flow, &op));
    op = rig_op(&rig, RPCRDMA_OP_WRITE, &a, &c, 5); /* never given */
    assert_null(rpcrdma_flow_connection(rig.flow, &op));
    rig_end(&rig);
}

/* A packet is named before its connection is known, and by a name that the connection has then. */
static void test_stream_of(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    struct rpcrdma_op op;
    uint64_t ack, req;

    (void)state;
    rig_begin(&rig, NULL);
    op = rig_op(&rig, RPCRDMA_OP_ACK, &b, &a, 1);
    rig_feed(&rig, &op);
    assert_null(rpcrdma_flow_connection(rig.flow, &op));
    ack = rpcrdma_flow_stream(rig.flow, &op);
    assert_int_not_equal(ack, 0);
    rig_send_call(&rig, &a, &b, 1);
    rig_send_reply(&rig, &b, &a, 1);
    rig_end(&rig);
    assert_int_equal(rig.connections, 1);
    assert_true(ack == rig.connection[0].stream[0] || ack == rig.connection[0].stream[1]);

    rig_begin(&rig, NULL);
    rig_connect(&rig, &a, &b, 20049);
    op = rig_op(&rig, RPCRDMA_OP_DISCONNECT, &a, &b, 0);
    op.connect = &(struct rpcrdma_op_connect){.local_comm_id = 1u << 24 | 17,
                                              .remote_comm_id = 2u << 24 | 33};
    req = rpcrdma_flow_stream(rig.flow, &op);
    rig_end(&rig);
    assert_int_equal(rig.connections, 1);
    assert_int_equal(req, rig.connection[0].stream[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_held),      cmocka_unit_test(peer_unknown),
        cmocka_unit_test(stream_name),   cmocka_unit_test(stream_name_renewed),
        cmocka_unit_test(behind_gap),    cmocka_unit_test(unclaimed),
        cmocka_unit_test(connection_of), cmocka_unit_test(test_stream_of),
        cmocka_unit_test(nothing_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
