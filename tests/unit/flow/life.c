/* SPDX-License-Identifier: BSD-2-Clause */
/* How connections end and which take their place; Calls that are sent again on another. */
#include "rpc_rig.h"

#include "flow/life.h"

enum { MSG = 0, NFS = 100003, READ = 6, INVALID_SERVICE_ID = 8 };
#define SECOND INT64_C(1000000000)

static struct rpc_rig rig;
static const struct rpcrdma_flow_config follow = {.delivery = true};

static int teardown(void **state)
{
    (void)state;
    rpc_rig_free(&rig);
    return 0;
}

static struct rpcrdma_connection told[8];
static size_t n_told;
static uint32_t rejections, storms;

static void on_connection(void *context, const struct rpcrdma_connection *c)
{
    (void)context;
    assert_true(n_told < 8);
    told[n_told++] = *c;
}

static void on_finding(void *context, const struct rpcrdma_connection *c,
                       const struct rpcrdma_finding *finding)
{
    (void)context;
    (void)c;
    rejections += finding->rule == RPCRDMA_RULE_CONNECTION_REJECTED;
    storms += finding->rule == RPCRDMA_RULE_RECONNECT_STORM;
}

static void begin(void)
{
    rpc_rig_begin(&rig, &follow, true);
    rig.rig.flow->context.sink.connection = on_connection;
    rig.rig.flow->context.sink.finding = on_finding;
    n_told = rejections = storms = 0;
}

static int setup(void **state)
{
    (void)state;
    begin();
    return 0;
}

static void call(uint32_t xid, uint32_t procedure, uint32_t arguments)
{
    struct rpc_header h;
    struct rpc_bytes bytes;

    rpc_call_header(&bytes, xid, NFS, 3, procedure);
    rpc_fill(&bytes, arguments, 1);
    rpc_header_init(&h, xid, MSG);
    rpc_send(&rig, true, &h, bytes.data, bytes.n);
}

static void reply(uint32_t xid)
{
    rig_send_reply(&rig.rig, &rig.b, &rig.a, xid);
}

/* The hosts meet again after `ns`, with other QPs. */
static void reconnect(int64_t ns)
{
    rig.a = (struct rig_end){1, rig.a.qpn + 1, 77};
    rig.b = (struct rig_end){2, rig.b.qpn + 1, 4000};
    rig.rig.time_ns += ns;
    rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
}

/* The same, but the client has the same QP number again: its adapter was taken away and came back.
 */
static void reconnect_with_the_same_qp(int64_t ns)
{
    rig.a.psn = 77;
    rig.b = (struct rig_end){2, rig.b.qpn + 1, 4000};
    rig.rig.time_ns += ns;
    rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
}

static void cm(enum rpcrdma_op_kind kind, const struct rig_end *from, const struct rig_end *to,
               struct rpcrdma_op_connect connect)
{
    struct rpcrdma_op op = rig_op(&rig.rig, kind, from, to, 0);

    op.dst_qpn = 1;
    op.connect = &connect;
    rig_feed(&rig.rig, &op);
}

static const struct rpcrdma_connection *connection(uint32_t number)
{
    for (size_t i = 0; i < n_told; i++)
        if (told[i].number == number)
            return &told[i];
    fail_msg("no connection %u", number);
    return NULL;
}

/* A Call that was captured before the REP that its sender had waited for, or before anything of its
 * connection, is followed as any other. */
static void a_call_before_its_connection(void **state)
{
    (void)state;
    for (int set_up = 0; set_up < 2; set_up++) {
        const struct got_transaction *t;
        uint64_t first, acked;

        rpc_rig_free(&rig);
        rpc_rig_begin_late(&rig, &follow, true);
        if (set_up)
            cm(RPCRDMA_OP_CONNECT, &rig.a, &rig.b,
               (struct rpcrdma_op_connect){.local_comm_id = 1,
                                           .service_id = 0x1060000 | 20049,
                                           .port = 20049,
                                           .qpn = rig.a.qpn,
                                           .start_psn = rig.b.psn,
                                           .has_start_psn = true});
        call(1, READ, 100);
        first = rig.rig.frame;
        if (set_up)
            cm(RPCRDMA_OP_ACCEPT, &rig.b, &rig.a,
               (struct rpcrdma_op_connect){.local_comm_id = 2,
                                           .remote_comm_id = 1,
                                           .qpn = rig.b.qpn,
                                           .start_psn = rig.a.psn - 1,
                                           .has_start_psn = true});
        rig_ack(&rig.rig, &rig.b, &rig.a, rig.a.psn - 1);
        acked = rig.rig.frame;
        reply(1);
        rig_ack(&rig.rig, &rig.a, &rig.b, rig.b.psn - 1);
        call(2, READ, 100);
        rig_ack(&rig.rig, &rig.b, &rig.a, rig.a.psn - 1);
        reply(2);
        rig_ack(&rig.rig, &rig.a, &rig.b, rig.b.psn - 1);
        rpc_rig_end(&rig);
        t = rpc_transaction(&rig, 1);
        assert_int_equal(t->t.call.transmissions, 1);
        assert_int_equal(t->t.call.first_frame, first);
        assert_int_equal(t->t.call.state, RPCRDMA_DELIVERED);
        assert_int_equal(t->t.reply.state, RPCRDMA_DELIVERED);
        if (set_up)
            assert_int_equal(t->t.call.frame, acked);
    }
}

static void a_call_sent_again_on_two_more_connections(void **state)
{
    (void)state;
    for (int answered = 0; answered < 2; answered++) {
        rpc_rig_free(&rig);
        begin();
        for (int n = 0; n < 3; n++) {
            call(60, READ, 20);
            if (answered)
                reply(60);
            rig_disconnect(&rig.rig, &rig.a, &rig.b);
            if (n < 2)
                reconnect(SECOND);
        }
        rpcrdma_flow_end(rig.rig.flow);
        assert_int_equal(rig.transactions, 3);
        for (size_t i = 0; i < 3; i++) {
            const struct got_transaction *t = &rig.transaction[i];
            const struct got_transaction *first = &rig.transaction[0];

            assert_int_equal(t->connection, i + 1);
            assert_int_equal(t->t.retransmitted, i > 0);
            assert_int_equal(rpc_has_rule(t->rules, t->n_rules, RPCRDMA_RULE_RPC_AGAIN), i > 0);
            assert_int_equal(t->t.original_connection, i > 0 ? 1 : 0);
            assert_int_equal(t->t.original_frame, i > 0 ? first->t.call_frame : 0);
            assert_int_equal(t->t.transmissions, 3); /* known at the end */
        }
    }
}

/* The same XID by chance: another procedure, or arguments of another length. */
static void an_xid_used_again_for_another_call(void **state)
{
    (void)state;
    call(60, READ, 20);
    reconnect(SECOND);
    call(60, READ + 1, 20);
    reconnect(SECOND);
    call(60, READ, 24);
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(rig.transactions, 3);
    for (size_t i = 0; i < 3; i++)
        assert_false(rig.transaction[i].t.retransmitted);
}

static void closed_in_order_is_not_lost(void **state)
{
    const struct rpcrdma_life *life;

    (void)state;
    call(1, READ, 20);
    reply(1);
    rig_disconnect(&rig.rig, &rig.a, &rig.b);
    reconnect(10 * SECOND);
    rpcrdma_flow_end(rig.rig.flow);
    life = &connection(1)->life;
    assert_int_equal(life->requests, 1);
    assert_int_not_equal(life->established_frame, 0);
    assert_int_equal(life->ended, RPCRDMA_ENDED_DISCONNECTED);
    assert_int_equal(life->ended_by, 0);
    assert_true(life->has_pending);
    assert_int_equal(life->pending, 0);
    assert_int_equal(life->next, 0);
    assert_int_equal(connection(2)->life.previous, 0);
    assert_false(connection(2)->life.has_down);
    assert_int_equal(connection(2)->life.ended, RPCRDMA_ENDED_NOT);
}

/* The server disconnects, and comes back after 5 s. */
static void the_server_disconnects(void **state)
{
    (void)state;
    call(1, READ, 20);
    reply(1);
    rig_disconnect(&rig.rig, &rig.b, &rig.a);
    reconnect(5 * SECOND);
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(connection(1)->life.ended_by, 1);
    assert_int_equal(connection(1)->life.next, 2);
    assert_int_equal(connection(2)->life.previous, 1);
    assert_true(connection(2)->life.has_down);
    assert_between(connection(2)->life.down_ns, 5 * SECOND, 5 * SECOND + 1000000);
}

/* Nothing ends it: packets stop, Calls are outstanding, and the client comes back. An attempt is
 * refused in between; a REQ is sent twice. */
static void a_cable_pulled(void **state)
{
    const struct rig_end third = {1, 90, 5}, server = {2, 91, 6};
    struct rpcrdma_op_connect c = {.local_comm_id = 0x9000, .port = 20049, .qpn = 90};
    const struct rpcrdma_connection *refused, *last;

    (void)state;
    call(1, READ, 20);
    call(2, READ, 20);
    rig.rig.time_ns += 36 * SECOND;
    cm(RPCRDMA_OP_CONNECT, &third, &server, c);
    rig.rig.time_ns += 4 * SECOND;
    cm(RPCRDMA_OP_CONNECT, &third, &server, c);
    c = (struct rpcrdma_op_connect){.remote_comm_id = 0x9000, .reason = INVALID_SERVICE_ID};
    cm(RPCRDMA_OP_REJECT, &server, &third, c);
    reconnect(7 * SECOND);
    rpcrdma_flow_end(rig.rig.flow);
    refused = connection(2);
    last = connection(3);
    assert_int_equal(connection(1)->life.pending, 2);
    assert_int_equal(connection(1)->life.ended, RPCRDMA_ENDED_NOT);
    assert_int_equal(connection(1)->life.next, 2);
    assert_int_equal(refused->life.requests, 2);
    assert_int_equal(refused->life.ended, RPCRDMA_ENDED_REJECTED);
    assert_int_equal(refused->life.ended_by, 1);
    assert_int_equal(refused->life.reject_reason, INVALID_SERVICE_ID);
    assert_string_equal(rpcrdma_reject_reason(refused->life.reject_reason), "invalid service ID");
    assert_false(refused->life.has_down);
    assert_int_equal(last->life.previous, 2);
    assert_between(last->life.down_ns, 47 * SECOND, 47 * SECOND + 1000000);
    assert_int_equal(rejections, 1);
}

/* Nothing is outstanding, packets stop, and the client's next Call is on a new connection, with the
 * next XID (of a little-endian host): the first was lost though nothing of that was captured. With
 * any other XID it is another mount. */
static void a_cable_pulled_while_idle(void **state)
{
    (void)state;
    for (int same = 0; same < 2; same++) {
        rpc_rig_free(&rig);
        begin();
        call(0x11f33cd2, READ, 20);
        reply(0x11f33cd2);
        reconnect(47 * SECOND);
        call(same ? 0x12f33cd2 : 0x42f33cd3, READ, 20);
        rpcrdma_flow_end(rig.rig.flow);
        assert_int_equal(connection(1)->life.next, same ? 2 : 0);
        assert_int_equal(connection(2)->life.previous, same ? 1 : 0);
        assert_int_equal(connection(2)->life.has_down, same);
        if (same)
            assert_between(connection(2)->life.down_ns, 47 * SECOND, 47 * SECOND + 1000000);
    }
}

/* Likewise after minutes, when the client may have closed it: then nothing was down. */
static void left_idle(void **state)
{
    (void)state;
    call(0x11f33cd2, READ, 20);
    reply(0x11f33cd2);
    reconnect(400 * SECOND);
    call(0x12f33cd2, READ, 20);
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(connection(1)->life.next, 2);
    assert_int_equal(connection(2)->life.previous, 1);
    assert_false(connection(2)->life.has_down);
}

/* That ends what is known of the first connection before its Calls go on, or come again. */
static void a_qp_number_used_again(void **state)
{
    (void)state;
    for (int answered = 0; answered < 2; answered++) {
        rpc_rig_free(&rig);
        begin();
        call(0x11f33cd2, READ, 20);
        if (answered)
            reply(0x11f33cd2);
        rig_disconnect(&rig.rig, &rig.a, &rig.b);
        reconnect_with_the_same_qp(9 * SECOND);
        call(answered ? 0x12f33cd2 : 0x11f33cd2, READ, 20);
        rpcrdma_flow_end(rig.rig.flow);
        assert_int_equal(connection(2)->life.previous, 1);
        assert_int_equal(connection(2)->life.has_down, !answered);
        assert_int_equal(rig.transaction[1].t.original_connection, answered ? 0 : 1);
    }
}

/* A DREP alone: who sent it was asked to disconnect. */
static void only_the_answer_to_a_disconnect(void **state)
{
    (void)state;
    call(1, READ, 20);
    reply(1);
    cm(RPCRDMA_OP_DISCONNECT, &rig.b, &rig.a,
       (struct rpcrdma_op_connect){.local_comm_id = UINT32_C(2) << 24 | rig.b.qpn,
                                   .remote_comm_id = UINT32_C(1) << 24 | rig.a.qpn,
                                   .drep = true});
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(connection(1)->life.ended_by, 0);
}

/* Whose Reply was not acknowledged waits for 30 s: packets of another connection, or time that
 * passes without any, end it. */
static void time_passes_on_another_connection(void **state)
{
    (void)state;
    for (int packets = 0; packets < 2; packets++) {
        rpc_rig_free(&rig);
        begin();
        call(1, READ, 20);
        reply(1);
        assert_int_equal(rig.transactions, 0);
        if (packets) {
            rig.a = (struct rig_end){3, 50, 77};
            rig.b = (struct rig_end){4, 60, 4000};
            rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
            for (uint32_t i = 0; i < 10; i++) {
                rig.rig.time_ns += 3 * SECOND;
                assert_int_equal(rig.transactions, 0);
                call(100 + i, READ, 20);
            }
            rig.rig.time_ns += 3 * SECOND;
            call(200, READ, 20);
        } else {
            rpcrdma_flow_time(rig.rig.flow, rig.rig.time_ns + 29 * SECOND);
            assert_int_equal(rig.transactions, 0);
            rpcrdma_flow_time(rig.rig.flow, rig.rig.time_ns + 31 * SECOND);
        }
        assert_int_equal(rig.transactions, 1);
        assert_int_equal(rig.transaction[0].t.xid, 1);
        assert_int_equal(rig.transaction[0].t.reply.state, RPCRDMA_DELIVERY_UNKNOWN);
    }
}

static void reasons(void **state)
{
    (void)state;
    /* IBTA volume 1 table 100 */
    assert_string_equal(rpcrdma_reject_reason(4), "timeout");
    assert_string_equal(rpcrdma_reject_reason(10), "stale connection");
    assert_string_equal(rpcrdma_reject_reason(28), "consumer reject");
    assert_null(rpcrdma_reject_reason(0));
    assert_null(rpcrdma_reject_reason(34));
    assert_null(rpcrdma_reject_reason(65535));
}

/* A Call waits for long, and the client opens one more connection: it takes the place of the first
 * only where nothing is sent on that any more. */
static void one_more(void **state)
{
    (void)state;
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        struct rig_end a, b;

        rpc_rig_free(&rig);
        begin();
        call(1, READ, 100);
        a = rig.a;
        b = rig.b;
        reconnect(2 * SECOND);
        if (goes_on) {
            rig_send_reply(&rig.rig, &b, &a, 1);
            rig_send_call(&rig.rig, &a, &b, 2);
        }
        rig_end(&rig.rig);
        assert_int_equal(connection(1)->life.next, goes_on ? 0 : 2);
        assert_int_equal(connection(2)->life.previous, goes_on ? 0 : 1);
        assert_int_equal(connection(2)->life.has_down, !goes_on);
    }
}

/* Of two connections the server ends one, while a Call waits for long on the other: what the client
 * opens then takes the place of the one that ended. */
static void one_of_two(void **state)
{
    struct rig_end a = rig.a, b = rig.b;

    (void)state;
    reconnect(0);
    call(1, READ, 100);
    rig.rig.time_ns += 2 * SECOND;
    rig_disconnect(&rig.rig, &b, &a);
    reconnect(SECOND / 100);
    reply(1);
    rig_end(&rig.rig);
    assert_int_equal(connection(3)->life.previous, 1);
    assert_int_equal(connection(1)->life.next, 3);
    assert_int_equal(connection(2)->life.next, 0);
    assert_true(connection(3)->life.has_down);
    assert_true(connection(3)->life.down_ns < SECOND);
}

/* Said at once, and not again for a while: also where times count from the capture's beginning. */
static void a_storm(void **state)
{
    const int64_t begins[] = {INT64_C(1700000000) * SECOND, 0, -10 * SECOND};

    (void)state;
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        rpc_rig_free(&rig);
        begin();
        rig.rig.time_ns = begins[i];
        for (uint32_t n = 0; n < 7; n++) {
            reconnect(2 * SECOND);
            call(60 + n, READ, 20);
        }
        rpcrdma_flow_end(rig.rig.flow);
        assert_int_equal(storms, 1);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_call_before_its_connection),
        TEST(a_call_sent_again_on_two_more_connections),
        TEST(an_xid_used_again_for_another_call),
        TEST(closed_in_order_is_not_lost),
        TEST(the_server_disconnects),
        TEST(a_cable_pulled),
        TEST(a_cable_pulled_while_idle),
        TEST(left_idle),
        TEST(a_qp_number_used_again),
        TEST(only_the_answer_to_a_disconnect),
        TEST(time_passes_on_another_connection),
        TEST(one_more),
        TEST(one_of_two),
        TEST(a_storm),
        cmocka_unit_test(reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
