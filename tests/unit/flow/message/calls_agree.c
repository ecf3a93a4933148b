/* SPDX-License-Identifier: BSD-2-Clause */
/* What is outstanding, what was answered and what was retransmitted is the same for transactions
 * and for credits, and for credits alone. */
#include "rpc_rig.h"

enum { NFS = 100003, READ = 6, WRITE = 7 };
#define MS INT64_C(1000000)

static struct rpc_rig rig;
static struct rpc_bytes bytes;

static void begin(bool rpcs)
{
    const struct rpcrdma_flow_config config = {.credits = true};
    const struct rpcrdma_flow_sink sink = {.credits = rig_credits, .context = &rig};

    if (rpcs) {
        rpc_rig_begin(&rig, &config, false);
        return;
    }
    rig = (struct rpc_rig){.a = RIG_A, .b = RIG_B};
    rig.rig.time_ns = INT64_C(1700000000000000000);
    rig.rig.flow = rpcrdma_flow_new(&config, &sink);
    rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
    assert_null(rig.rig.flow->rpcs);
}

static void end(bool rpcs)
{
    if (rpcs)
        rpc_rig_free(&rig);
}

static void end_run(bool rpcs)
{
    if (rpcs)
        rpc_rig_end(&rig);
    else
        rig_end(&rig.rig);
}

static void call(uint32_t xid, uint32_t procedure)
{
    struct rpc_header h;

    rpc_call_header(&bytes, xid, NFS, 3, procedure);
    rpc_header_init(&h, xid, 0);
    rpc_send(&rig, true, &h, bytes.data, bytes.n);
}

static void reply(uint32_t xid)
{
    struct rpc_header h;

    rpc_reply_header(&bytes, xid);
    rpc_header_init(&h, xid, 0);
    rpc_send(&rig, false, &h, bytes.data, bytes.n);
}

static bool found(uint32_t xid, enum rpcrdma_rule_id rule)
{
    for (size_t i = 0; i < rig.transactions; i++)
        if (rig.transaction[i].t.xid == xid &&
            rpc_has_rule(rig.transaction[i].rules, rig.transaction[i].n_rules, rule))
            return true;
    return false;
}

/* A capture of two ports shows a Reply just before its Call. */
static void check_reply_first(bool rpcs)
{
    begin(rpcs);
    call(1, READ);
    reply(1);
    reply(2);
    rig.rig.time_ns += FLOW_REORDER_NS / 2;
    call(2, READ);
    call(2, WRITE); /* another one: the Reply answers one Call */
    reply(2);
    end_run(rpcs);
    if (rpcs) {
        assert_int_equal(rig.transactions, 3);
        assert_true(rig.transaction[1].t.call_frame > rig.transaction[1].t.reply_frame);
        assert_int_equal(rig.transaction[1].t.procedure, READ);
        assert_false(rig.transaction[1].t.has_latency);
        for (uint32_t i = 0; i < rig.transactions; i++)
            assert_true(rig.transaction[i].t.complete);
        assert_false(found(2, RPCRDMA_RULE_RPC_NO_CALL) || found(2, RPCRDMA_RULE_RPC_UNANSWERED) ||
                     found(2, RPCRDMA_RULE_TIME_BACKWARDS));
    }
    assert_int_equal(rig.rig.credits, 1);
    assert_int_equal(rig.rig.credit[0].calls, 3);
    assert_int_equal(rig.rig.credit[0].replies, 3);
    assert_int_equal(rig.rig.credit[0].stray + rig.rig.credit[0].unanswered, 0);
    end(rpcs);
}

static void reply_first(void **state)
{
    (void)state;
    check_reply_first(true);
    check_reply_first(false);
}

/* Too far apart for that: a Reply whose Call is missing, and a Call that nobody answers. */
static void check_reply_to_another(bool rpcs)
{
    begin(rpcs);
    call(1, READ);
    reply(1);
    reply(2);
    rig.rig.time_ns += FLOW_REORDER_NS + MS;
    call(2, READ);
    end_run(rpcs);
    if (rpcs) {
        assert_int_equal(rig.transactions, 3);
        assert_true(found(2, RPCRDMA_RULE_RPC_NO_CALL));
        assert_true(found(2, RPCRDMA_RULE_RPC_UNANSWERED));
    }
    assert_int_equal(rig.rig.credit[0].calls, 2);
    assert_int_equal(rig.rig.credit[0].replies, 1);
    assert_int_equal(rig.rig.credit[0].stray, 1);
    assert_int_equal(rig.rig.credit[0].unanswered, 1);
    end(rpcs);
}

static void reply_to_another(void **state)
{
    (void)state;
    check_reply_to_another(true);
    check_reply_to_another(false);
}

/* The first connection has a Call outstanding; a second one, of the same hosts, brings `procedure`
 * under the same XID; then the first one brings a Reply. */
static void two_connections(bool rpcs, uint32_t procedure)
{
    struct rig_end a, b;

    begin(rpcs);
    call(1, READ);
    reply(1);
    call(2, READ);
    a = rig.a;
    b = rig.b;
    rig.rig.time_ns += 1000 * MS;
    rig.a = (struct rig_end){1, 19, 500};
    rig.b = (struct rig_end){2, 34, 9000};
    rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
    call(2, procedure);
    reply(2);
    rig.a = a;
    rig.b = b;
    reply(2);
    end_run(rpcs);
    assert_int_equal(rig.rig.credits, 2);
    assert_int_equal(rig.rig.credit_connection[0], 1);
}

/* The same Call: the connection it was sent on before is given up. */
static void check_retransmitted(bool rpcs)
{
    two_connections(rpcs, READ);
    assert_true(!rpcs || found(2, RPCRDMA_RULE_RPC_AGAIN));
    assert_int_equal(rig.rig.credit[0].unanswered, 1);
    assert_int_equal(rig.rig.credit[1].unanswered, 0);
    end(rpcs);
}

/* Another one, as it happens under the same XID: both connections go on. */
static void check_same_xid(bool rpcs)
{
    two_connections(rpcs, WRITE);
    assert_false(rpcs && found(2, RPCRDMA_RULE_RPC_AGAIN));
    assert_int_equal(rig.rig.credit[0].replies, 2);
    assert_int_equal(rig.rig.credit[0].unanswered, 0);
    end(rpcs);
}

static void retransmitted_elsewhere(void **state)
{
    (void)state;
    check_retransmitted(true);
    check_retransmitted(false);
}

static void same_xid_elsewhere(void **state)
{
    (void)state;
    check_same_xid(true);
    check_same_xid(false);
}

/* All Calls of a client whose XIDs count, in either order of their bytes: none takes the place of
 * another among those that are remembered. */
static void check_counted(bool swapped)
{
    enum { CALLS = 512 };
    size_t again = 0;

    begin(true);
    for (int n = 0; n < 2; n++) {
        for (uint32_t i = 0; i < CALLS; i++) {
            call(swapped ? __builtin_bswap32(1000 + i) : 1000 + i, READ);
            reply(swapped ? __builtin_bswap32(1000 + i) : 1000 + i);
        }
        rig.rig.time_ns += 1000 * MS;
        rig.a = (struct rig_end){1, 19, 500};
        rig.b = (struct rig_end){2, 34, 9000};
        if (n == 0)
            rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
    }
    end_run(true);
    for (size_t i = 0; i < rig.transactions; i++)
        again += rig.transaction[i].t.retransmitted;
    assert_int_equal(again, CALLS);
    end(true);
}

static void counted_xids(void **state)
{
    (void)state;
    check_counted(false);
    check_counted(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reply_first),
        cmocka_unit_test(reply_to_another),
        cmocka_unit_test(retransmitted_elsewhere),
        cmocka_unit_test(same_xid_elsewhere),
        cmocka_unit_test(counted_xids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
