/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of connections, on that of streams: set-ups and events in; who they belong to out. */

#include "stage_conn.h"

static struct stage_conns s;
static uint8_t bytes[256];

static int begin(void **state)
{
    (void)state;
    stage_conns_begin(&s);
    return 0;
}

static int end(void **state)
{
    (void)state;
    stage_conns_end(&s);
    return 0;
}

static struct flow_direction *towards(uint8_t from, uint8_t to, uint32_t qpn)
{
    struct rpcrdma_op op = stage_op(&s.stage, RPCRDMA_OP_SEND, from, to, qpn, 0);
    struct flow_direction *dir = flow_direction_find(s.streams, &op);

    assert_non_null(dir);
    return dir;
}

static struct flow_stream_event sent(uint32_t len, uint32_t psn)
{
    struct flow_stream_event event = {.kind = FLOW_STREAM_SEND, .taken = true, .seq = psn};

    event.send = stage_send(&s.stage, bytes, len, psn);
    event.order = event.send.frame;
    return event;
}

static void test_set_up(void **state)
{
    struct flow_conn *conn = stage_connect(&s, NFS_PORT);
    const struct rpcrdma_connection *pub = flow_conn_public(conn);

    (void)state;
    assert_true(flow_conn_is_rpcrdma(conn));
    assert_true(flow_conn_set_up_seen(conn));
    assert_int_equal(pub->number, 1);
    assert_int_equal(pub->paired_by, RPCRDMA_PAIRED_CM);
    assert_int_equal(pub->role[0], RPCRDMA_ROLE_CLIENT);
    assert_int_equal(pub->end[0].qpn, CLIENT_QPN);
    assert_int_equal(pub->end[1].qpn, SERVER_QPN);
    assert_int_equal(flow_conn_waiting(conn), 0);
    assert_ptr_equal(towards(CLIENT, SERVER, SERVER_QPN), flow_conn_direction(conn, 1));
    assert_true(flow_conn_direction(conn, 0)->paired);
    assert_true(flow_conn_direction(conn, 0)->classified);
}

/* Another port tells nothing: its Sends do. */
static void test_other_port(void **state)
{
    struct flow_conn *conn = stage_connect(&s, 4420);
    struct flow_direction *dir = flow_conn_direction(conn, 1);
    struct flow_stream_event event;

    (void)state;
    assert_false(flow_conn_is_rpcrdma(conn));
    event = sent(stage_call(bytes, 77, 32), 100);
    assert_ptr_equal(flow_conn_event(s.conns, dir, &event, false), conn);
    assert_true(flow_conn_is_rpcrdma(conn));
}

/* The same REQ with another QP: the older connection has to go first. */
static void test_obstacle(void **state)
{
    struct flow_conn *conn = stage_connect(&s, NFS_PORT);
    struct rpcrdma_op_connect req = {.local_comm_id = 5, .port = NFS_PORT, .qpn = CLIENT_QPN};
    struct rpcrdma_op op = stage_op(&s.stage, RPCRDMA_OP_CONNECT, CLIENT, SERVER, 1, 0);

    (void)state;
    op.connect = &req;
    assert_null(flow_setup_obstacle(s.conns, &op)); /* sent again */
    req.qpn++;
    assert_ptr_equal(flow_setup_obstacle(s.conns, &op), conn);
    flow_conn_free(s.conns, conn);
    assert_null(flow_setup_obstacle(s.conns, &op));
    assert_non_null(flow_setup(s.conns, &op));
}

/* Without set-up: a Call waits for its peer to be known; the Reply's XID tells it. */
static void test_paired_by_xid(void **state)
{
    struct flow_direction *to_server = towards(CLIENT, SERVER, SERVER_QPN);
    struct flow_direction *to_client = towards(SERVER, CLIENT, CLIENT_QPN);
    struct flow_conn *conn, *over, *into;
    struct flow_stream_event event = sent(stage_call(bytes, 9, 32), 100);
    struct flow_kept *kept;
    bool swapped;

    (void)state;
    conn = flow_conn_event(s.conns, to_server, &event, false);
    assert_non_null(conn);
    assert_true(flow_conn_is_rpcrdma(conn));
    assert_true(flow_conn_keeps(conn));
    flow_admission_keep(s.conns, conn, to_server, &event);
    assert_null(flow_admission_next(s.conns, conn));
    event = sent(stage_reply(bytes, 9, 32), 500);
    conn = flow_conn_event(s.conns, to_client, &event, false);
    assert_ptr_equal(conn, to_server->conn);
    assert_ptr_equal(conn, to_client->conn);
    assert_int_equal(flow_conn_public(conn)->paired_by, RPCRDMA_PAIRED_INFERRED);
    while ((over = flow_conn_overdue(s.conns, &into, &swapped))) {
        assert_ptr_equal(into, conn);
        flow_conn_free(s.conns, over);
    }
    kept = flow_admission_next(s.conns, conn);
    assert_non_null(kept);
    assert_int_equal(kept->event.kind, FLOW_STREAM_SEND);
    assert_int_equal(kept->event.seq, 100);
    assert_ptr_equal(kept->dir, to_server);
    flow_admission_free(s.conns, kept);
    assert_false(flow_conn_keeps(conn));
}

/* Its peer does not come: it waits a second (FLOW_ADMISSION_NS), and no longer. */
static void test_patience(void **state)
{
    struct flow_direction *dir = towards(CLIENT, SERVER, SERVER_QPN);
    struct flow_stream_event event = sent(stage_call(bytes, 9, 32), 100);
    struct flow_conn *conn = flow_conn_event(s.conns, dir, &event, false);
    struct flow_kept *kept;

    (void)state;
    assert_non_null(conn);
    flow_admission_keep(s.conns, conn, dir, &event);
    assert_int_equal(flow_admission_review(s.conns, conn), FLOW_PATIENCE_LEFT);
    assert_int_equal(flow_admission_oldest(s.conns), event.order);
    s.stage.context.time_ns += FLOW_ADMISSION_NS + 1;
    assert_ptr_equal(flow_admission_silent(s.conns), conn);
    assert_null(flow_admission_silent(s.conns)); /* once for each time */
    assert_int_equal(flow_admission_review(s.conns, conn), FLOW_PATIENCE_OVER);
    kept = flow_admission_next(s.conns, conn);
    assert_non_null(kept);
    flow_admission_free(s.conns, kept);
    assert_int_equal(flow_admission_oldest(s.conns), UINT64_MAX);
}

/* A gap makes it wait, and its end ends that. */
static void test_gap(void **state)
{
    struct flow_conn *conn = stage_connect(&s, NFS_PORT);
    struct flow_direction *dir = flow_conn_direction(conn, 1);
    struct flow_stream_event waits = {.kind = FLOW_STREAM_WAITS};
    struct flow_stream_event resumes = {.kind = FLOW_STREAM_RESUMES};

    (void)state;
    assert_null(flow_conn_event(s.conns, dir, &waits, false));
    assert_int_equal(flow_conn_waiting(conn), FLOW_WAIT_GAP1);
    assert_null(flow_conn_event(s.conns, dir, &resumes, false));
    assert_int_equal(flow_conn_waiting(conn), 0);
}

/* What is no message of any version is of no interest. */
static void test_not_rpcrdma(void **state)
{
    struct flow_direction *dir = towards(CLIENT, SERVER, SERVER_QPN);
    struct flow_stream_event event;

    (void)state;
    memset(bytes, 0xee, sizeof(bytes));
    event = sent(64, 100);
    assert_null(flow_conn_event(s.conns, dir, &event, false));
    assert_null(dir->conn);
}

/* No memory for a connection: it is said, nothing was changed, and it works once there is. */
static void test_no_memory(void **state)
{
    struct flow_direction *dir = towards(CLIENT, SERVER, SERVER_QPN);
    struct flow_stream_event event = sent(stage_call(bytes, 9, 32), 100);

    (void)state;
    s.stage.context.memory.limit = s.stage.context.memory.used;
    assert_null(flow_conn_event(s.conns, dir, &event, false));
    assert_null(dir->conn);
    assert_true(flow_conns_lacked_memory(s.conns));
    assert_false(flow_conns_lacked_memory(s.conns));
    s.stage.context.memory.limit = 1 << 24;
    assert_non_null(flow_conn_event(s.conns, dir, &event, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_set_up, begin, end),
        cmocka_unit_test_setup_teardown(test_other_port, begin, end),
        cmocka_unit_test_setup_teardown(test_obstacle, begin, end),
        cmocka_unit_test_setup_teardown(test_paired_by_xid, begin, end),
        cmocka_unit_test_setup_teardown(test_patience, begin, end),
        cmocka_unit_test_setup_teardown(test_gap, begin, end),
        cmocka_unit_test_setup_teardown(test_not_rpcrdma, begin, end),
        cmocka_unit_test_setup_teardown(test_no_memory, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
