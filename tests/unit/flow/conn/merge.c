/* SPDX-License-Identifier: BSD-2-Clause */
/* Two streams that prove to be one connection late, after they were told as two; and what must not
 * make one of two. */
#include "pair.h"

static int setup(void **state)
{
    pair_end(state);
    pair_begin(NULL);
    return 0;
}

/* Both directions were given up on and told as connections of their own: for a second no Ack and no
 * Reply that was captured said more. */
static void tell_apart(void)
{
    rig_send_call(&rig, &a, &b, 1);
    rig_send_reply(&rig, &b, &a, 1001);
    rig.time_ns += FLOW_ADMISSION_NS + 1;
    rig_send_call(&rig, &a, &b, 2);
    rig_send_reply(&rig, &b, &a, 1002);
    assert_int_equal(rig.messages, 4);
    assert_int_equal(rig.message[0].connection + rig.message[1].connection, 1 + 2);
}

/* What ties them: an Ack; the XID of a Call and its Reply. The connection of the older stream goes
 * on, the other ends and says whose it is. */
static void told_as_two(void **state)
{
    (void)state;
    for (int by_xid = 0; by_xid < 2; by_xid++) {
        uint32_t goes_on, ends;

        setup(NULL);
        tell_apart();
        goes_on = rig.message[0].connection;
        ends = rig.message[1].connection;
        rig_send_call(&rig, &a, &b, 3);
        if (!by_xid)
            rig_ack(&rig, &b, &a, a.psn - 1);
        rig_send_reply(&rig, &b, &a, 3);
        assert_int_equal(rig.messages, 6);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CONNECTION_MERGED), 1);
        assert_int_equal(rig.finding[0].connection, ends);
        assert_int_equal(rig.finding[0].arg[0], goes_on);
        assert_int_equal(rig.connections, 1); /* which is over */
        assert_int_equal(rig.connection[0].number, ends);
        rig_send_call(&rig, &a, &b, 4);
        rig_send_reply(&rig, &b, &a, 4);
        rig_end(&rig);
        for (size_t i = 5; i < 8; i++) {
            assert_int_equal(rig.message[i].connection, goes_on);
            assert_true(rig.message[i].has_src);
            assert_true(rig.message[i].sender != RPCRDMA_ROLE_UNKNOWN);
        }
        assert_true(rig.message[5].has_call);
        assert_true(rig.message[7].has_call);
        assert_int_equal(rig.connections, 2);
        assert_int_equal(rig.connection[1].number, goes_on);
        assert_int_equal(rig.connection[1].paired_by, RPCRDMA_PAIRED_INFERRED);
        assert_int_equal(rig.connection[1].end[0].qpn + rig.connection[1].end[1].qpn, 17 + 33);
        assert_int_equal(rig.connection[1].first_frame, 1);
        assert_int_equal(rig.connection[1].messages, 8);
    }
}

/* A direction that waits for its peer is full, and so gives up on a gap; behind the gap is a Reply
 * that ties it to the Call of an older connection, which takes its place. */
static void while_it_is_full(void **state)
{
    struct rpcrdma_flow_config config = {.credits = true}; /* who is told of Acks */

    (void)state;
    rig_end(&rig);
    rig_begin(&rig, &config);
    rig_send_call(&rig, &a, &b, 1);
    for (uint32_t i = 1; i < CONN_ADMISSION_EVENTS; i++)
        rig_send_reply(&rig, &b, &a, 1000 + i);
    b.psn++; /* not captured */
    rig_send_reply(&rig, &b, &a, 1);
    assert_int_equal(rig.messages, 0);
    rig_ack(&rig, &b, &a, 77); /* one more to keep */
    assert_int_equal(rig.messages, CONN_ADMISSION_EVENTS + 1);
    rig_end(&rig);
    assert_int_equal(rig.connections, 1);
    assert_int_equal(rig.connection[0].paired_by, RPCRDMA_PAIRED_INFERRED);
    assert_int_equal(rig.connection[0].messages, CONN_ADMISSION_EVENTS + 1);
    for (size_t i = 0; i < rig.messages; i++)
        assert_int_equal(rig.message[i].has_call,
                         rig.message[i].xid == 1 &&
                             rig.message[i].direction == RPCRDMA_DIRECTION_REPLY);
}

/* The same hosts and the same XIDs, on two connections of which the CM exchange tells: nothing is
 * merged. */
static void two_of_them(void **state)
{
    struct rig_end c = {1, 18, 70}, d = {2, 34, 80};

    (void)state;
    rig_connect(&rig, &a, &b, 20049);
    rig_connect(&rig, &c, &d, 20049);
    for (uint32_t i = 0; i < 5; i++) {
        rig_send_call(&rig, &a, &b, i);
        rig_send_call(&rig, &c, &d, i);
        rig_send_reply(&rig, &d, &c, i);
        rig_send_reply(&rig, &b, &a, i);
    }
    rig_end(&rig);
    assert_int_equal(rig.messages, 20);
    assert_int_equal(rig.connections, 2);
    assert_int_equal(rig.findings, 0);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(rig.message[i].connection, i % 4 == 0 || i % 4 == 3 ? 1 : 2);
}

/* After many Acks of packets that were not captured, one that fits could be chance: the second
 * decides. */
static void chance(void **state)
{
    (void)state;
    rig_send_call(&rig, &a, &b, 1);
    rig_send_reply(&rig, &b, &a, 1001); /* claims the other half */
    for (uint32_t i = 0; i < 100; i++)
        rig_ack(&rig, &b, &a, 0x400000 + i);
    rig_ack(&rig, &b, &a, a.psn - 1);
    assert_int_equal(rig.messages, 0);
    rig_send_call(&rig, &a, &b, 2);
    rig_ack(&rig, &b, &a, a.psn - 1);
    assert_int_equal(rig.messages, 3);
    rig_end(&rig);
    assert_int_equal(rig.connections, 1);
    assert_int_equal(rig.connection[0].paired_by, RPCRDMA_PAIRED_INFERRED);
}

static void request(const struct rig_end *from, const struct rig_end *to, uint32_t comm_id)
{
    struct rpcrdma_op_connect c = {.local_comm_id = comm_id,
                                   .service_id = 0x1060000 | 20049,
                                   .port = 20049,
                                   .qpn = from->qpn,
                                   .path_mtu = RIG_PMTU};
    struct rig_end gsi = {to->address, 1, 0};
    struct rpcrdma_op op = rig_op(&rig, RPCRDMA_OP_CONNECT, from, &gsi, 0);

    op.connect = &c;
    rig_feed(&rig, &op);
}

/* A stream that only one direction of was captured is not that of a REQ of long ago. */
static void an_old_request(void **state)
{
    (void)state;
    for (int old = 0; old < 2; old++) {
        setup(NULL);
        request(&a, &b, 5);
        if (old)
            rig.time_ns += INT64_C(6000000000);
        rig_send_call(&rig, &a, &b, 1);
        rig.time_ns += FLOW_ADMISSION_NS + 1;
        rig_send_call(&rig, &a, &b, 2);
        rig_end(&rig);
        assert_int_equal(rig.messages, 2);
        assert_int_equal(rig.message[0].connection, old ? 2 : 1);
        assert_int_equal(rig.message[0].has_src, !old);
    }
}

/* What waited, of a stream nobody knows to be RPC-over-RDMA, is bounded; what decides later is
 * told, what was given up is not. */
static void given_up(void **state)
{
    uint8_t buf[256];

    (void)state;
    for (uint32_t i = 0; i < 2 * CONN_ADMISSION_EVENTS; i++) /* could be: nobody answers */
        rig_send(&rig, &a, &b, buf, rig_nomsg_call(buf, i));
    assert_int_equal(rig.messages, 0);
    assert_true(rig.flow->context.memory.used < 1 << 20);
    rig_send_call(&rig, &a, &b, 5000);
    rig_send_reply(&rig, &b, &a, 5000);
    rig_end(&rig);
    assert_int_equal(rig.connections, 1);
    assert_true(rig.messages >= 2);
    assert_int_equal(rig.message[rig.messages - 1].xid, 5000);
    assert_int_equal(rig.message[rig.messages - 2].xid, 5000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_end)
    const struct CMUnitTest tests[] = {
        TEST(told_as_two), TEST(two_of_them),    TEST(chance),
        TEST(given_up),    TEST(an_old_request), TEST(while_it_is_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
