/* SPDX-License-Identifier: BSD-2-Clause */
/* What arrived, and when, of the first RPCs in a capture that begins in the middle of a connection.
 */
#include "rpc_rig.h"

#define MS INT64_C(1000000)

static struct rpc_rig rpcs;
static struct rig *const rig = &rpcs.rig;
static struct rig_end *const client = &rpcs.a, *const server = &rpcs.b;

static int begin(void **state)
{
    static const struct rpcrdma_flow_config follow = {.delivery = true};

    (void)state;
    rpc_rig_begin_late(&rpcs, &follow, true);
    return 0;
}

static int end(void **state)
{
    (void)state;
    rpc_rig_free(&rpcs);
    return 0;
}

static uint64_t last_frame(void)
{
    return rig->frame;
}

/* Of what was sent last. Returns the frame. */
static uint64_t acked_by(const struct rig_end *from, const struct rig_end *to)
{
    rig_ack(rig, from, to, to->psn - 1);
    return last_frame();
}

static uint64_t call(uint32_t xid)
{
    rig_send_call(rig, client, server, xid);
    return last_frame();
}

static uint64_t reply(uint32_t xid)
{
    rig_send_reply(rig, server, client, xid);
    return last_frame();
}

static void assert_delivered(const struct rpcrdma_delivery *delivery, uint64_t sent, uint64_t acked)
{
    assert_int_equal(delivery->state, RPCRDMA_DELIVERED);
    assert_int_equal(delivery->transmissions, 1);
    assert_int_equal(delivery->first_frame, sent);
    assert_int_equal(delivery->frame, acked);
}

/* The Call shows who is the client, though a Reply to an earlier one came before it: as soon as the
 * two are known to be one connection nothing is held back any more. */
static void a_reply_before_the_first_call(void **state)
{
    uint64_t sent, acked, answered, taken;

    (void)state;
    reply(9);
    sent = call(10);
    acked_by(client, server);
    acked = acked_by(server, client);
    answered = reply(10);
    taken = acked_by(client, server);
    assert_delivered(&rpc_transaction(&rpcs, 10)->t.call, sent, acked);
    assert_delivered(&rpc_transaction(&rpcs, 10)->t.reply, answered, taken);
    rpc_rig_end(&rpcs);
}

/* The Reply itself shows the connection, and with that both messages are told. */
static void a_reply_that_shows_the_connection(void **state)
{
    uint64_t sent, taken;

    (void)state;
    call(1);
    sent = reply(1);
    assert_int_equal(rpcs.transactions, 0); /* its Ack may be seen yet */
    taken = acked_by(client, server);
    assert_int_equal(rpcs.transactions, 1);
    assert_delivered(&rpcs.transaction[0].t.reply, sent, taken);
    rpc_rig_end(&rpcs);
}

/* The client's QP number is in use again, for a connection to another QP of the same server: an Ack
 * is the first that is sent there. */
static void a_queue_pair_used_again(void **state)
{
    uint64_t sent, acked, answered, taken;

    (void)state;
    call(1);
    acked_by(server, client);
    reply(1);
    acked_by(client, server);
    *client = (struct rig_end){1, client->qpn, 9000000};
    *server = (struct rig_end){2, server->qpn + 1, 7000000};
    rig->time_ns += 1000 * MS;
    sent = call(2);
    acked = acked_by(server, client);
    answered = reply(2);
    taken = acked_by(client, server);
    assert_int_equal(rpcs.transactions, 2);
    assert_delivered(&rpcs.transaction[1].t.call, sent, acked);
    assert_delivered(&rpcs.transaction[1].t.reply, answered, taken);
    assert_int_equal(rpcs.transaction[0].connection, 1);
    assert_int_equal(rpcs.transaction[1].connection, 2);
    rpc_rig_end(&rpcs);
}

/* Nothing says what a packet is of before the last one of the first message. */
static void a_first_call_of_several_packets(void **state)
{
    enum { PART = 40 };
    uint8_t bytes[512];
    uint32_t n = rig_call(bytes, 1, 100003, 20);
    uint64_t first, acked;

    (void)state;
    rig_packet(rig, client, server, client->psn++, RPCRDMA_OP_FIRST, bytes, PART);
    first = last_frame();
    rig->time_ns += MS;
    rig_packet(rig, client, server, client->psn++, RPCRDMA_OP_LAST | RPCRDMA_OP_ACK_REQUEST,
               bytes + PART, n - PART);
    acked = acked_by(server, client);
    reply(1);
    acked_by(client, server);
    assert_int_equal(rpcs.transactions, 1);
    assert_delivered(&rpcs.transaction[0].t.call, first, acked);
    assert_int_equal(rpcs.transaction[0].t.call.last_frame, first + 1);
    assert_true(
        rpcs.transaction[0].t.call.last_time_ns - rpcs.transaction[0].t.call.first_time_ns >= MS);
    rpc_rig_end(&rpcs);
}

/* Replies alone do not show who is the client. What is held back until a Call does has its
 * delivery, however long ago it was acknowledged. */
static void what_is_held_back_for_long(void **state)
{
    enum { REPLIES = 9 };
    uint64_t sent[REPLIES], acked[REPLIES];

    (void)state;
    for (uint32_t i = 0; i < REPLIES; i++) {
        sent[i] = reply(100 + i);
        acked[i] = acked_by(client, server);
        rig->time_ns += 100 * MS;
    }
    assert_int_equal(rpcs.transactions, 0);
    call(1);
    acked_by(server, client);
    assert_int_equal(rpcs.transactions, REPLIES);
    for (uint32_t i = 0; i < REPLIES; i++)
        assert_delivered(&rpc_transaction(&rpcs, 100 + i)->t.reply, sent[i], acked[i]);
    rpc_rig_end(&rpcs);
}

/* So many Acks answered what was sent before the capture began that one of what is in it could be
 * chance: the next one shows that it was none. Each says when what it acknowledges had arrived. */
static void an_ack_among_many(void **state)
{
    enum { BEFORE = 100 };
    struct rig_end other = {3, 99, 3000000}, peer = {4, 98, 4000000};
    uint64_t sent[2], acked[2];

    (void)state;
    rig_send_call(rig, &other, &peer, 77); /* its answer is awaited from now on */
    for (uint32_t i = 0; i < BEFORE; i++)
        rig_ack(rig, client, server, server->psn - BEFORE + i);
    for (uint32_t i = 0; i < 2; i++) {
        sent[i] = reply(100 + i);
        rig->time_ns += MS;
        acked[i] = acked_by(client, server);
        rig->time_ns += 100 * MS;
    }
    call(1);
    rpc_rig_end(&rpcs);
    for (uint32_t i = 0; i < 2; i++)
        assert_delivered(&rpc_transaction(&rpcs, 100 + i)->t.reply, sent[i], acked[i]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_reply_before_the_first_call, begin, end),
        cmocka_unit_test_setup_teardown(a_reply_that_shows_the_connection, begin, end),
        cmocka_unit_test_setup_teardown(a_queue_pair_used_again, begin, end),
        cmocka_unit_test_setup_teardown(a_first_call_of_several_packets, begin, end),
        cmocka_unit_test_setup_teardown(what_is_held_back_for_long, begin, end),
        cmocka_unit_test_setup_teardown(an_ack_among_many, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
