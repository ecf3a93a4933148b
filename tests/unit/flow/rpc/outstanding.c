/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma_flow_waiting: Calls that have no Reply now. */
#include "rpc_rig.h"

#define SECOND INT64_C(1000000000)

static struct rpc_rig rig;
static struct {
    uint32_t connection, xid, times;
    uint64_t calls;
    int64_t since_ns;
} got;

static void on_waiting(void *context, const struct rpcrdma_waiting *waiting)
{
    (void)context;
    got.times++;
    got.calls = waiting->calls;
    got.since_ns = waiting->since_ns;
    got.connection = waiting->connection->number;
    got.xid = waiting->oldest->xid;
    assert_ptr_equal(waiting->oldest->connection, waiting->connection);
    assert_int_equal(waiting->connection->role[waiting->caller_end], RPCRDMA_ROLE_CLIENT);
}

static uint64_t look(void)
{
    memset(&got, 0, sizeof(got));
    rpcrdma_flow_waiting(rig.rig.flow, on_waiting, NULL);
    return got.calls;
}

static int setup(void **state)
{
    static const struct rpcrdma_flow_config config = {.size = sizeof(config), .delivery = true};

    (void)state;
    rpc_rig_begin(&rig, &config, true);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rpc_rig_free(&rig);
    return 0;
}

static void call(uint32_t xid)
{
    rpc_send_read_call(&rig, xid);
    rig.rig.time_ns += SECOND;
}

static void until_their_replies(void **state)
{
    int64_t first_ns;

    (void)state;
    assert_int_equal(look(), 0);
    assert_int_equal(got.times, 0);
    first_ns = rig.rig.time_ns;
    call(1);
    call(2);
    call(3);
    assert_int_equal(look(), 3);
    assert_int_equal(got.times, 1);
    assert_int_equal(got.xid, 1);
    assert_true(got.since_ns >= first_ns && got.since_ns < first_ns + SECOND);
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 1);
    assert_int_equal(look(), 2);
    assert_int_equal(got.xid, 2);
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 3);
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 2);
    assert_int_equal(look(), 0);
}

/* The Reply was not captured, and its Ack was. */
static void the_reply_was_acknowledged(void **state)
{
    (void)state;
    call(1);
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 1);
    call(2);
    assert_int_equal(look(), 1);
    rig.rig.time_ns += SECOND;
    rig_ack(&rig.rig, &rig.a, &rig.b, rig.b.psn);
    assert_int_equal(look(), 0);
    call(3);
    assert_int_equal(look(), 1);
    assert_int_equal(got.xid, 3);
}

/* The Reply may have been among the packets that are missing; a later Call has none. */
static void packets_were_not_captured(void **state)
{
    (void)state;
    call(1);
    call(2);
    rig.b.psn++;
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 2);
    rig.rig.time_ns += 10 * SECOND;
    rig.rig.frame += 10;
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 9);
    assert_int_equal(look(), 0);
    call(3);
    assert_int_equal(look(), 1);
    assert_int_equal(got.xid, 3);
}

static void of_a_connection_that_ended(void **state)
{
    (void)state;
    call(1);
    rig_disconnect(&rig.rig, &rig.a, &rig.b);
    assert_int_equal(look(), 0);
}

/* The client gives up the connection and sends it again on another: it waits since its first
 * sending, and once. */
static void on_the_next_connection(void **state)
{
    int64_t first_ns = rig.rig.time_ns;

    (void)state;
    call(1);
    rig.rig.time_ns += 60 * SECOND;
    rig_disconnect(&rig.rig, &rig.a, &rig.b);
    rig.a = (struct rig_end){1, 18, 77};
    rig.b = (struct rig_end){2, 34, 4000};
    rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
    call(1);
    assert_int_equal(look(), 1);
    assert_int_equal(got.connection, 2);
    assert_true(got.since_ns < first_ns + SECOND);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(until_their_replies),       TEST(the_reply_was_acknowledged),
        TEST(packets_were_not_captured), TEST(of_a_connection_that_ended),
        TEST(on_the_next_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
