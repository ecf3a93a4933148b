/* SPDX-License-Identifier: BSD-2-Clause */
/* The CM's messages (IBTA volume 1 chapter 12), again, alone, mixed up and without end; MPA's. */
#include "pair.h"

static int setup(void **state)
{
    pair_end(state);
    pair_begin(NULL);
    return 0;
}

enum { A_ID = 0xa1, B_ID = 0xb1 };

static void cm(enum rpcrdma_op_kind kind, const struct rig_end *from, const struct rig_end *to,
               struct rpcrdma_op_connect c)
{
    struct rig_end gsi = {to->address, 1, 0};
    struct rpcrdma_op op = rig_op(&rig, kind, from, &gsi, 0);

    op.connect = &c;
    rig_feed(&rig, &op);
}

static void req(const struct rig_end *from, const struct rig_end *to, uint32_t id, uint16_t port)
{
    cm(RPCRDMA_OP_CONNECT, from, to,
       (struct rpcrdma_op_connect){.local_comm_id = id,
                                   .service_id = 0x1060000 | port,
                                   .port = port,
                                   .qpn = from->qpn,
                                   .path_mtu = RIG_PMTU});
}

static void rep(const struct rig_end *from, const struct rig_end *to, uint32_t id, uint32_t to_id)
{
    cm(RPCRDMA_OP_ACCEPT, from, to,
       (struct rpcrdma_op_connect){.local_comm_id = id, .remote_comm_id = to_id, .qpn = from->qpn});
}

static void rpc(uint32_t xid)
{
    rig_send_call(&rig, &a, &b, xid);
    rig_send_reply(&rig, &b, &a, xid);
}

/* Each message sent again changes nothing. */
static void sent_again(void **state)
{
    (void)state;
    req(&a, &b, A_ID, 20049);
    req(&a, &b, A_ID, 20049);
    rep(&b, &a, B_ID, A_ID);
    rpc(1);
    req(&a, &b, A_ID, 20049);
    rep(&b, &a, B_ID, A_ID);
    rpc(2);
    rig_end(&rig);
    assert_int_equal(rig.connections, 1);
    assert_int_equal(rig.connection[0].paired_by, RPCRDMA_PAIRED_CM);
    assert_int_equal(rig.messages, 4);
    assert_int_equal(rig.findings, 0);
}

/* The REQ's sender waits for its answer before it sends it once more: what comes at once is the
 * same packet, captured at another place. */
static void captured_twice(void **state)
{
    (void)state;
    for (uint32_t again = 0; again < 3; again++) {
        req(&a, &b, A_ID, 20049);
        req(&a, &b, A_ID, 20049);
        rig.time_ns += INT64_C(4000000000);
    }
    rig_end(&rig);
    assert_int_equal(rig.connections, 1);
    assert_int_equal(rig.connection[0].life.requests, 3);
}

/* Two ports captured into one file: the client's first Call comes just before the REP that its
 * sender waited for; or so long before that the REQ alone was taken for its set-up. With a REP of
 * other PSNs it was another connection's. */
static void rep_captured_late(void **state)
{
    enum { JUST_BEFORE, LONG_BEFORE, OTHER_PSN, WAYS };

    (void)state;
    for (int way = 0; way < WAYS; way++) {
        pair_end(NULL);
        setup(NULL);
        req(&a, &b, A_ID, 20049);
        rig_send_call(&rig, &a, &b, 1);
        rig.time_ns += way == LONG_BEFORE ? INT64_C(1000000000) : INT64_C(1000000);
        a.psn += way == OTHER_PSN ? 70000 : 0;
        cm(RPCRDMA_OP_ACCEPT, &b, &a,
           (struct rpcrdma_op_connect){.local_comm_id = B_ID,
                                       .remote_comm_id = A_ID,
                                       .qpn = b.qpn,
                                       .start_psn = way == OTHER_PSN ? a.psn : a.psn - 1,
                                       .has_start_psn = true});
        if (way != OTHER_PSN)
            rig_send_reply(&rig, &b, &a, 1);
        rpc(2);
        rig_end(&rig);
        assert_int_equal(rig.connections, way == OTHER_PSN ? 2 : 1);
        assert_int_equal(rig.messages, way == OTHER_PSN ? 3 : 4);
        assert_int_equal(rig.findings, 0);
        assert_true(rig.message[rig.messages - 1].has_call);
        assert_int_equal(rig.connection[rig.connections - 1].paired_by, RPCRDMA_PAIRED_CM);
        assert_int_equal(rig.connection[rig.connections - 1].life.requests, 1);
    }
}

/* The same comm ID again with another QP, or after the end: another connection. */
static void comm_id_again(void **state)
{
    (void)state;
    for (int closed = 0; closed < 2; closed++) {
        setup(NULL);
        req(&a, &b, A_ID, 20049);
        rep(&b, &a, B_ID, A_ID);
        rpc(1);
        if (closed)
            cm(RPCRDMA_OP_DISCONNECT, &a, &b,
               (struct rpcrdma_op_connect){.local_comm_id = A_ID, .remote_comm_id = B_ID});
        else
            a.qpn++;
        req(&a, &b, A_ID, 20049);
        rep(&b, &a, B_ID + 1, A_ID);
        rpc(2);
        rig_end(&rig);
        assert_int_equal(rig.connections, 2);
        assert_int_equal(rig.connection[0].closed, closed);
        assert_int_equal(rig.connection[0].messages, 2);
        assert_int_equal(rig.connection[1].messages, 2);
        assert_int_equal(rig.message[3].connection, 2);
    }
}

/* Two hosts use the same comm ID towards the same server. */
static void comm_id_of_two_hosts(void **state)
{
    struct rig_end c = {3, 17, 4000}, d = {2, 90, 5000};

    (void)state;
    req(&a, &b, A_ID, 20049);
    req(&c, &b, A_ID, 20049);
    rep(&b, &a, B_ID, A_ID);
    rep(&d, &c, B_ID + 1, A_ID);
    rpc(1);
    rig_send_call(&rig, &c, &d, 1);
    rig_send_reply(&rig, &d, &c, 1);
    /* that one ends */
    cm(RPCRDMA_OP_DISCONNECT, &d, &c,
       (struct rpcrdma_op_connect){.local_comm_id = B_ID + 1, .remote_comm_id = A_ID});
    rig_end(&rig);
    assert_int_equal(rig.connections, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct rpcrdma_connection *conn = &rig.connection[i];

        assert_int_equal(conn->paired_by, RPCRDMA_PAIRED_CM);
        assert_int_equal(conn->messages, 2);
        assert_int_equal(conn->closed, conn->end[0].address.bytes[3] == 3);
    }
}

/* The REQ was not captured: the REP says whose QP answers, what is sent finds the other. */
static void rep_alone(void **state)
{
    (void)state;
    rep(&b, &a, B_ID, A_ID);
    rep(&b, &a, B_ID, A_ID); /* and again */
    rpc(1);
    rpc(2);
    rig_end(&rig);
    assert_int_equal(rig.messages, 4);
    assert_int_equal(rig.connections, 1);
    assert_int_equal(rig.connection[0].paired_by, RPCRDMA_PAIRED_INFERRED);
    assert_int_equal(rig.connection[0].role[0], RPCRDMA_ROLE_CLIENT);
    assert_int_equal(rig.connection[0].end[0].qpn, 17);
    assert_int_equal(rig.connection[0].end[1].qpn, 33);
    assert_int_equal(rig.connection[0].service_port, 0); /* in the REQ */
}

/* ... of a QP that was named on the command line. */
static void rep_of_a_known_qp(void **state)
{
    static const uint32_t qpns[] = {33};

    (void)state;
    pair_end(NULL);
    rig_begin(&rig, &(struct rpcrdma_flow_config){.qpns = qpns, .n_qpns = 1});
    rep(&b, &a, B_ID, A_ID);
    assert_int_equal(TAILQ_LAST(&rig.flow->conns->all, conn_list)->class, CONN_RPCRDMA);
    rpc(1);
    rig_end(&rig);
    assert_int_equal(rig.messages, 2);
    assert_int_equal(rig.connections, 1);
}

/* A second REP with another QP: what went to the first is not the connection's any more. */
static void rep_with_another_qp(void **state)
{
    struct rig_end first = b;

    (void)state;
    req(&a, &b, A_ID, 20049);
    rep(&b, &a, B_ID, A_ID);
    rig_send_call(&rig, &a, &first, 1);
    rig_send_reply(&rig, &first, &a, 1);
    first.psn += 2; /* a gap: what follows, either way, waits */
    rig_send_reply(&rig, &first, &a, 1001);
    rig_send_call(&rig, &a, &first, 2);
    assert_int_equal(rig.messages, 2);
    b.qpn = 34;
    b.psn = first.psn;
    rep(&b, &a, B_ID + 1, A_ID);
    rpc(3);
    rig_end(&rig);
    assert_int_equal(rig.connections, 1);
    assert_int_equal(rig.connection[0].end[1].qpn, 34);
    assert_int_equal(rig.message[rig.messages - 1].xid, 3);
    assert_int_equal(rig.message[rig.messages - 1].src_qpn, 34);
}

/* A DREQ with comm IDs nobody knows, but with the QP number of the connection (IBTA 12.6.10). */
static void known_by_the_qp(void **state)
{
    (void)state;
    rpc(1); /* without CM exchange */
    cm(RPCRDMA_OP_DISCONNECT, &a, &b,
       (struct rpcrdma_op_connect){
           .local_comm_id = 0x77, .remote_comm_id = 0x78, .remote_qpn = b.qpn});
    cm(RPCRDMA_OP_DISCONNECT, &a, &b, /* of something else */
       (struct rpcrdma_op_connect){.local_comm_id = 5, .remote_comm_id = 6, .remote_qpn = 999});
    rig_end(&rig);
    assert_int_equal(rig.connections, 1);
    assert_true(rig.connection[0].closed);
    assert_int_equal(rig.connection[0].messages, 2);
}

/* A message whose comm IDs fit one end only is of another connection. */
static void of_another(void **state)
{
    (void)state;
    req(&a, &b, A_ID, 20049);
    rep(&b, &a, B_ID, A_ID);
    rpc(1);
    cm(RPCRDMA_OP_DISCONNECT, &a, &b,
       (struct rpcrdma_op_connect){.local_comm_id = A_ID, .remote_comm_id = B_ID + 9});
    cm(RPCRDMA_OP_DISCONNECT, &b, &a,
       (struct rpcrdma_op_connect){.local_comm_id = B_ID + 9, .remote_comm_id = A_ID});
    rig_end(&rig);
    assert_false(rig.connection[0].closed);
}

/* The client was started again, and counts its connections and QPs from the same numbers on. */
static void started_again(void **state)
{
    struct rpcrdma_op_connect c = {.local_comm_id = A_ID,
                                   .service_id = 0x1060000 | 20049,
                                   .port = 20049,
                                   .qpn = a.qpn,
                                   .start_psn = b.psn,
                                   .has_start_psn = true,
                                   .path_mtu = RIG_PMTU};

    (void)state;
    cm(RPCRDMA_OP_CONNECT, &a, &b, c);
    rep(&b, &a, B_ID, A_ID);
    rpc(1);
    cm(RPCRDMA_OP_CONNECT, &a, &b, c); /* sent again */
    rpc(2);
    c.start_psn = b.psn = 7000;
    b.qpn++;
    a.psn = 9000;
    cm(RPCRDMA_OP_CONNECT, &a, &b, c);
    rep(&b, &a, B_ID + 1, A_ID);
    rpc(1);
    rig_end(&rig);
    assert_int_equal(rig.connections, 2);
    assert_int_equal(rig.connection[0].life.requests, 1);
    assert_int_equal(rig.connection[0].messages, 4);
    assert_int_equal(rig.connection[1].messages, 2);
    assert_int_equal(rig.connection[1].paired_by, RPCRDMA_PAIRED_CM);
}

/* A DREQ comes again when its QP number is a new connection's: it ends nothing. */
static void of_the_connection_before(void **state)
{
    const struct rpcrdma_op_connect dreq = {
        .local_comm_id = A_ID, .remote_comm_id = B_ID, .remote_qpn = b.qpn};

    (void)state;
    req(&a, &b, A_ID, 20049);
    rep(&b, &a, B_ID, A_ID);
    rpc(1);
    cm(RPCRDMA_OP_DISCONNECT, &a, &b, dreq);
    req(&a, &b, A_ID + 1, 20049);
    rep(&b, &a, B_ID + 1, A_ID + 1);
    rpc(2);
    cm(RPCRDMA_OP_DISCONNECT, &a, &b, dreq);
    rpc(3);
    rig_end(&rig);
    assert_int_equal(rig.connections, 2);
    assert_true(rig.connection[0].closed);
    assert_false(rig.connection[1].closed);
    assert_int_equal(rig.connection[1].life.ended, RPCRDMA_ENDED_NOT);
}

/* Closed connections are remembered for what still trails in, the latest of them: memory does not
 * grow with their number, and each is told once. */
static void closed_without_end(void **state)
{
    (void)state;
    rig.flow->context.sink.connection = NULL; /* more than there is room for */
    for (uint32_t i = 0; i < 2000; i++) {
        size_t used = rig.flow->context.memory.used;

        a = (struct rig_end){1, 100 + i, i * 3};
        b = (struct rig_end){2, 5000 + i, i * 7};
        req(&a, &b, i, 20049);
        rep(&b, &a, 100000 + i, i);
        rpc(i);
        cm(RPCRDMA_OP_DISCONNECT, &a, &b,
           (struct rpcrdma_op_connect){.local_comm_id = i, .remote_comm_id = 100000 + i});
        if (i > 1500)
            assert_int_equal(rig.flow->context.memory.used, used);
    }
    assert_int_equal(rig.flow->conns->n_conns, rig.flow->conns->n_closed);
    assert_true(rig.flow->conns->n_conns >= 64);
    assert_true(rig.flow->conns->n_conns < 70);
    /* what trails in to the last one is no connection of its own */
    rig_ack(&rig, &b, &a, a.psn - 1);
    assert_true(rig.flow->conns->n_conns < 70);
    assert_int_equal(rig.messages, 4000);
}

/* Open connections without end: those that are silent longest go, and it is said of each; no new
 * one is missed for want of room. */
static void open_without_end(void **state)
{
    size_t said = 0;

    (void)state;
    pair_end(NULL);
    rig_begin(&rig, &(struct rpcrdma_flow_config){.max_memory = 1 << 20});
    rig.flow->context.sink.connection = NULL;
    for (uint32_t i = 0; i < 2000; i++) {
        a = (struct rig_end){1, 100 + i, i * 3};
        b = (struct rig_end){2, 5000 + i, i * 7};
        req(&a, &b, i, 20049);
        rep(&b, &a, 100000 + i, i);
        rpc(i);
        assert_true(rig.flow->context.memory.used <= 1 << 20);
    }
    assert_int_equal(rig.messages, 4000);
    for (size_t i = 0; i < rig.findings; i++) {
        assert_int_equal(rig.finding[i].rule, RPCRDMA_RULE_MEMORY_LIMIT);
        said += rig.finding[i].connection != 0;
    }
    assert_true(said > 1000);
    assert_int_equal(rig.finding[0].connection, 1); /* the oldest goes first */
    assert_true(rig.flow->conns->n_conns > 100);
}

/* Streams of which nothing is known but a packet: as many as fit, the latest of them. */
static void strangers_without_end(void **state)
{
    static const uint64_t limits[] = {0, 1 << 18};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const struct rpcrdma_flow_config config = {.max_memory = limits[k]};
        struct rig_end last = {9, 0, 0}, peer = {8, 0, 0};

        pair_end(NULL);
        rig_begin(&rig, &config);
        for (uint32_t i = 1; i < 20000; i++) {
            last.qpn = i;
            rig_ack(&rig, &peer, &last, i);
            assert_true(rig.flow->streams->n_unowned <= 16384);
            assert_true(!limits[k] || rig.flow->context.memory.used <= limits[k]);
        }
        assert_true(rig.flow->streams->n_unowned > 100);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_MEMORY_LIMIT), limits[k] != 0);
        a = RIG_A;
        b = RIG_B;
        if (!limits[k])
            rpc(1); /* what matters is found among them */
        rig_end(&rig);
        assert_int_equal(rig.messages, limits[k] ? 0 : 2);
    }
}

/* An Ack of what was not sent, as another one shows: it does not say that anything is missing. */
static void an_ack_of_nothing(void **state)
{
    const struct flow_conn *conn;

    (void)state;
    pair_end(NULL);
    rig_begin_connected(&rig, &a, &b);
    rpc(1);
    conn = flow_conns_oldest(rig.flow->conns);
    rig_ack(&rig, &b, &a, a.psn - 1);
    assert_false(flow_conn_lacks(conn, 0));
    rig_ack(&rig, &b, &a, a.psn + 100);
    assert_true(flow_conn_lacks(conn, 0)); /* for all that is known */
    rpc(2);
    rig_ack(&rig, &b, &a, a.psn - 1);
    assert_false(flow_conn_lacks(conn, 0));
}

/* Whether a stream may still turn out to be RPC-over-RDMA: a filter must not drop it meanwhile. */
static void undecided(void **state)
{
    uint8_t buf[256];
    struct rpcrdma_op op;

    (void)state;
    op = rig_op(&rig, RPCRDMA_OP_SEND, &a, &b, 0);
    assert_false(rpcrdma_flow_undecided(rig.flow, &op)); /* nothing is known of it */
    assert_null(rpcrdma_flow_connection(rig.flow, &op));
    rig_send(&rig, &a, &b, buf, rig_nomsg_call(buf, 1)); /* could be */
    assert_true(rpcrdma_flow_undecided(rig.flow, &op));
    assert_null(rpcrdma_flow_connection(rig.flow, &op));
    rig_send_call(&rig, &a, &b, 2);
    assert_false(rpcrdma_flow_undecided(rig.flow, &op)); /* it is */
    assert_non_null(rpcrdma_flow_connection(rig.flow, &op));

    setup(NULL);
    memset(buf, 0xff, sizeof(buf));
    rig_send(&rig, &a, &b, buf, sizeof(buf)); /* is not, but what comes next could be */
    assert_true(rpcrdma_flow_undecided(rig.flow, &op));
    rig.time_ns += FLOW_ADMISSION_NS + 1;
    rig_ack(&rig, &b, &a, 5);
    assert_false(rpcrdma_flow_undecided(rig.flow, &op));

    setup(NULL);
    req(&a, &b, A_ID, 445); /* another port: the first message tells */
    rep(&b, &a, B_ID, A_ID);
    rig_ack(&rig, &a, &b, 5);
    op = rig_op(&rig, RPCRDMA_OP_SEND, &a, &b, 0);
    assert_true(rpcrdma_flow_undecided(rig.flow, &op));
    rig_send(&rig, &a, &b, buf, sizeof(buf));
    assert_false(rpcrdma_flow_undecided(rig.flow, &op));
    assert_null(rpcrdma_flow_connection(rig.flow, &op));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_end)
    const struct CMUnitTest tests[] = {
        TEST(sent_again),
        TEST(captured_twice),
        TEST(rep_captured_late),
        TEST(comm_id_again),
        TEST(comm_id_of_two_hosts),
        TEST(rep_alone),
        TEST(rep_of_a_known_qp),
        TEST(rep_with_another_qp),
        TEST(known_by_the_qp),
        TEST(of_another),
        TEST(of_the_connection_before),
        TEST(started_again),
        TEST(closed_without_end),
        TEST(open_without_end),
        TEST(strangers_without_end),
        TEST(an_ack_of_nothing),
        TEST(undecided),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
