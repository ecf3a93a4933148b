/* SPDX-License-Identifier: BSD-2-Clause */
/* config.linger_ns: a connection that was disconnected is reported when it is silent for so long.
 */
#include "rpc_rig.h"

enum { LINGER = 10, MOST = 8 };
#define SECOND INT64_C(1000000000)

static struct rpc_rig rig;
static struct rpcrdma_connection told[MOST];
static size_t n_told;

static void on_connection(void *context, const struct rpcrdma_connection *c)
{
    (void)context;
    assert_true(n_told < MOST);
    told[n_told++] = *c;
}

static int begin(bool delivery, uint64_t linger_ns)
{
    const struct rpcrdma_flow_config config = {
        .size = sizeof(config), .delivery = delivery, .linger_ns = linger_ns};

    rpc_rig_begin(&rig, &config, true);
    rig.rig.flow->context.sink.connection = on_connection;
    n_told = 0;
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return begin(false, LINGER * (uint64_t)SECOND);
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
}

/* The Call before it has no Reply. */
static void close_it(void)
{
    call(1);
    rig_disconnect(&rig.rig, &rig.a, &rig.b);
}

/* Another one, which goes on: from now on packets are its. */
static void another(uint32_t qpn)
{
    rig.a = (struct rig_end){1, qpn, 77};
    rig.b = (struct rig_end){2, qpn + 1, 4000};
    rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
}

static void after(int64_t ns)
{
    static uint32_t xid = 1000;

    rig.rig.time_ns += ns;
    call(xid++);
}

static void by_packets_of_another(void **state)
{
    (void)state;
    for (int delivery = 0; delivery < 2; delivery++) {
        rpc_rig_free(&rig);
        begin(delivery, LINGER * (uint64_t)SECOND);
        close_it();
        another(100);
        for (int i = 0; i < LINGER / 2; i++)
            after(2 * SECOND - SECOND / 100);
        assert_int_equal(n_told, 0);
        assert_int_equal(rig.transactions, 0);
        after(2 * SECOND);
        assert_int_equal(n_told, 1);
        assert_int_equal(told[0].number, 1);
        assert_true(told[0].closed);
        assert_true(rpc_has_rule(rpc_transaction(&rig, 1)->rules, rpc_transaction(&rig, 1)->n_rules,
                                 RPCRDMA_RULE_RPC_UNANSWERED));
        rpcrdma_flow_end(rig.rig.flow);
        assert_int_equal(n_told, 2);
    }
}

static void by_time_alone(void **state)
{
    int64_t at;

    (void)state;
    close_it();
    at = rig.rig.time_ns;
    rpcrdma_flow_time(rig.rig.flow, at + 9 * SECOND);
    assert_int_equal(n_told, 0);
    rpcrdma_flow_time(rig.rig.flow, at + 11 * SECOND);
    assert_int_equal(n_told, 1);
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(n_told, 1);
}

/* What trails in is a part of it, and it waits on. */
static void its_own_packets(void **state)
{
    (void)state;
    close_it();
    for (int i = 0; i < 3; i++)
        after(6 * SECOND);
    assert_int_equal(n_told, 0);
    another(100);
    after(11 * SECOND);
    assert_int_equal(n_told, 1);
    assert_int_equal(told[0].messages, 4);
}

/* Its time begins anew; it is not lost, nor waited for as long as the clock was set back. */
static void a_clock_set_back(void **state)
{
    (void)state;
    rig.rig.time_ns = 5000 * SECOND;
    close_it();
    another(100);
    after(5 * SECOND);
    after(-4000 * SECOND);
    after(9 * SECOND);
    assert_int_equal(n_told, 0);
    after(2 * SECOND);
    assert_int_equal(n_told, 1);
}

/* An open one stays, and without the setting, one that was closed does, too. */
static void not_asked_for(void **state)
{
    (void)state;
    for (int closed = 0; closed < 2; closed++) {
        rpc_rig_free(&rig);
        begin(true, closed ? 0 : LINGER * (uint64_t)SECOND);
        call(1);
        if (closed)
            close_it();
        another(100);
        after(1000 * SECOND);
        rpcrdma_flow_time(rig.rig.flow, rig.rig.time_ns + 1000 * SECOND);
        assert_int_equal(n_told, 0);
    }
}

/* Longer than times can be apart. */
static void for_ever(void **state)
{
    (void)state;
    rpc_rig_free(&rig);
    begin(false, UINT64_MAX);
    close_it();
    rpcrdma_flow_time(rig.rig.flow, INT64_MAX);
    rpcrdma_flow_time(rig.rig.flow, INT64_MIN);
    rpcrdma_flow_time(rig.rig.flow, INT64_MAX);
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(n_told, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(by_packets_of_another), TEST(by_time_alone), TEST(its_own_packets),
        TEST(a_clock_set_back),      TEST(not_asked_for), TEST(for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
