/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations that are announced (rpcrdma_flow_ahead) give what they give without that, also where
 * the memory limit ends connections that were announced. */
#include "rig.h"

enum { CONNS = 1500, ROUNDS = 3, PER_RPC = 4, PSN = 1000, OPS = CONNS * ROUNDS * PER_RPC };
enum { LITTLE = 1 << 20 };

struct world {
    struct rpcrdma_flow *flow;
    uint64_t frame, messages, replies, calls, delivered, crowded;
    uint64_t log; /* of all that came out, in order */
};

static void note(struct world *world, uint64_t value)
{
    world->log = flow_hash2(world->log, value);
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct world *world = context;

    world->messages++;
    world->replies += message->direction == RPCRDMA_DIRECTION_REPLY;
    note(world, message->frame);
    note(world, message->connection->number);
    note(world, message->message->xid);
    note(world, message->call ? message->call->procedure : UINT64_MAX);
    note(world, (uint64_t)message->sender_end);
}

static void on_credits(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_credit_result *results, size_t n)
{
    struct world *world = context;

    note(world, connection->number);
    for (size_t i = 0; i < n; i++) {
        world->calls += results[i].calls;
        note(world, results[i].calls);
        note(world, results[i].replies);
    }
}

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct world *world = context;

    world->delivered += transaction->call.state == RPCRDMA_DELIVERED;
    note(world, transaction->call_frame);
    note(world, transaction->call.frame);
    note(world, transaction->reply.frame);
}

/* A Call, its Ack, the Reply and its Ack, of connections in turn. */
static void make(struct rpcrdma_op *op, uint8_t *data, uint32_t number)
{
    uint32_t conn = number / PER_RPC % CONNS, round = number / PER_RPC / CONNS;
    uint32_t part = number % PER_RPC;
    bool to_server = part == 0 || part == 3;

    *op = (struct rpcrdma_op){
        .frame = number + 1,
        .time_ns = INT64_C(1000000000000) + (int64_t)number * 1000,
        .carrier = RPCRDMA_CARRIER_ROCEV2,
        .kind = part % 2 == 0 ? RPCRDMA_OP_SEND : RPCRDMA_OP_ACK,
        .flags = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST,
        .dst_qpn = (to_server ? 100000 : 200000) + conn,
        .seq = PSN + round,
        .data = data,
    };
    op->src.family = op->dst.family = RPCRDMA_ADDRESS_IPV4;
    op->src.bytes[3] = to_server ? 1 : 2;
    op->dst.bytes[3] = to_server ? 2 : 1;
    if (part == 0)
        op->len = op->caplen = rig_call(data, number / PER_RPC, 100003, 0);
    else if (part == 2)
        op->len = op->caplen = rig_reply(data, number / PER_RPC, 0);
}

static struct world run(bool announced, uint64_t max_memory)
{
    enum { STEP = RPCRDMA_FLOW_AHEAD };
    static uint8_t data[STEP][512];
    struct world world = {.frame = 0};
    struct rpcrdma_flow_config config = {
        .all = true, .credits = true, .delivery = true, .max_memory = max_memory};
    struct rpcrdma_flow_sink sink = {
        .message = on_message,
        .transaction = on_transaction,
        .credits = on_credits,
        .context = &world,
    };
    struct rpcrdma_op ops[STEP];

    config.size = sizeof(config);
    sink.size = sizeof(sink);
    world.flow = rpcrdma_flow_new(&config, &sink);
    assert_non_null(world.flow);
    for (uint32_t at = 0; at < OPS; at += STEP) {
        uint32_t n = OPS - at < STEP ? OPS - at : STEP;

        for (uint32_t i = 0; i < n; i++)
            make(&ops[i], data[i], at + i);
        if (announced)
            rpcrdma_flow_ahead(world.flow, ops, n);
        world.crowded += rpcrdma_flow_crowded(world.flow);
        for (uint32_t i = 0; i < n; i++)
            assert_true(rpcrdma_flow_op(world.flow, &ops[i]));
    }
    assert_true(rpcrdma_flow_end(world.flow));
    rpcrdma_flow_free(world.flow);
    return world;
}

static void test_same(void **state)
{
    struct world plain = run(false, 0), announced = run(true, 0);

    (void)state;
    assert_int_equal(plain.messages, CONNS * ROUNDS * 2);
    assert_int_equal(plain.replies, CONNS * ROUNDS);
    assert_int_equal(plain.calls, CONNS * ROUNDS);
    assert_true(plain.delivered > 0);
    assert_true(plain.crowded > 0);
    assert_int_equal(announced.log, plain.log);
}

static void test_same_where_connections_end(void **state)
{
    struct world plain = run(false, LITTLE), announced = run(true, LITTLE);

    (void)state;
    assert_int_equal(plain.messages, CONNS * ROUNDS * 2);
    assert_int_equal(announced.log, plain.log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_same_where_connections_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
