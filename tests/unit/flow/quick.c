/* SPDX-License-Identifier: BSD-2-Clause */
/* What passes by the quick lane (flow/quick.c) gives what it gives by way of events: the same
 * operations, once with the cache of directions, and once without, when nothing passes there. And
 * what is counted without a message made of it (message/plain.c) counts as others do. */
#include "random.h"
#include "rig.h"

enum { CONNS = 3, OPS = 20000, PER_RPC = 4, PSN = 1000, DATA = 512 };

/* Of an operation in a hundred. */
struct disturbance {
    uint32_t lost, twice, swapped, cut, other;
};

struct world {
    uint64_t log; /* of all that came out, in order */
    uint64_t frame, messages, transactions, findings, quick;
};

static void note(struct world *world, uint64_t value)
{
    world->log = flow_hash2(world->log, value);
}

static void note_findings(struct world *world, const struct rpcrdma_finding *findings, size_t n)
{
    world->findings += n;
    for (size_t i = 0; i < n; i++) {
        note(world, findings[i].rule);
        note(world, findings[i].frame);
        note(world, findings[i].arg[0]);
        note(world, findings[i].arg[1]);
    }
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    note(context, connection ? connection->number : 0);
    note_findings(context, finding, 1);
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct world *world = context;

    world->messages++;
    note(world, message->frame);
    note(world, message->connection->number);
    note(world, message->connection->messages);
    note(world, message->connection->last_frame);
    note(world, message->message->xid);
    note(world, message->message->present);
    note(world, message->rpc ? message->rpc->present : UINT64_MAX);
    note(world, message->call ? message->call->procedure : UINT64_MAX);
    note(world, (uint64_t)message->sender_end);
    note(world, message->direction);
    note(world, message->part);
    note_findings(world, message->findings, message->n_findings);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct world *world = context;

    world->transactions++;
    note(world, transaction->xid);
    note(world, transaction->call.frame);
    note(world, transaction->reply.frame);
    note(world, (uint64_t)transaction->latency_ns);
    note_findings(world, transaction->findings, transaction->n_findings);
}

static void on_credits(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_credit_result *results, size_t n)
{
    note(context, connection->number);
    for (size_t i = 0; i < n; i++) {
        note(context, results[i].calls);
        note(context, results[i].replies);
        note(context, results[i].busy_ns);
        note(context, results[i].unanswered);
        note(context, results[i].retransmitted);
        note(context, results[i].earlier);
        note(context, results[i].stray);
        note(context, results[i].missed);
        note(context, results[i].granted.changes);
        note(context, results[i].limit.last);
        note(context, results[i].at_limit_ns);
        note(context, results[i].stalls.count);
        note(context, results[i].violations);
        note(context, results[i].rnr_naks);
        note(context, results[i].unsettled_ns);
        note(context, results[i].in_flight.max);
        note(context, (uint64_t)(results[i].in_flight.mean * 1000000));
    }
}

/* A Call, its Ack, the Reply and its Ack, of connections in turn. */
static struct rpcrdma_op make(uint8_t *data, uint32_t number)
{
    uint32_t conn = number / PER_RPC % CONNS, round = number / PER_RPC / CONNS;
    uint32_t part = number % PER_RPC, xid = number / PER_RPC;
    bool to_server = part == 0 || part == 3;
    struct rpcrdma_op op = {
        .carrier = RPCRDMA_CARRIER_ROCEV2,
        .kind = part % 2 == 0 ? RPCRDMA_OP_SEND : RPCRDMA_OP_ACK,
        .flags = part % 2 == 0 ? RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST : 0,
        .dst_qpn = (to_server ? 100000 : 200000) + conn,
        .seq = PSN + round,
        .data = data,
    };

    op.src.family = op.dst.family = RPCRDMA_ADDRESS_IPV4;
    op.src.bytes[3] = to_server ? 1 : 2;
    op.dst.bytes[3] = to_server ? 2 : 1;
    if (part == 0)
        op.len = op.caplen = rig_call(data, xid, 100003, 0);
    else if (part == 2)
        op.len = op.caplen = rig_reply(data, xid, 0);
    return op;
}

/* Another operation in the place of one. */
static void change(struct rpcrdma_op *op)
{
    static const uint8_t kinds[] = {RPCRDMA_OP_NAK, RPCRDMA_OP_WRITE, RPCRDMA_OP_READ_REQUEST,
                                    RPCRDMA_OP_READ_RESPONSE, RPCRDMA_OP_DISCONNECT};

    switch (random_below(4)) {
    case 0:
        op->kind = kinds[random_below(sizeof(kinds))];
        break;
    case 1:
        op->seq = (op->seq + random_below(5)) & 0xffffff;
        break;
    case 2:
        op->flags &= (uint16_t)~RPCRDMA_OP_LAST;
        break;
    default: /* a word of its header */
        if (op->len > 0)
            ((uint8_t *)(uintptr_t)op->data)[3 + 4 * random_below(op->len / 4)] =
                (uint8_t)random_below(4);
        break;
    }
}

static void give(struct world *world, struct rpcrdma_flow *flow, struct rpcrdma_op *op, bool quick)
{
    uint64_t changes = flow->changes;

    op->frame = ++world->frame;
    op->time_ns = INT64_C(1000000000000) + (int64_t)op->frame * 1000;
    if (!quick)
        memset(flow->streams->cache, 0, sizeof(flow->streams->cache));
    assert_true(rpcrdma_flow_op(flow, op));
    world->quick += flow->changes == changes;
}

static void feed(struct world *world, struct rpcrdma_flow *flow, const struct disturbance *by,
                 bool quick)
{
    uint8_t data[2][DATA];
    struct rpcrdma_op ops[2];

    for (uint32_t at = 0; at < OPS; at += 2) {
        for (uint32_t i = 0; i < 2; i++) {
            ops[i] = make(data[i], at + i);
            if (random_below(100) < by->other)
                change(&ops[i]);
            if (random_below(100) < by->cut)
                ops[i].caplen = random_below(ops[i].len + 1);
        }
        if (random_below(100) < by->swapped) {
            struct rpcrdma_op keep = ops[0];

            ops[0] = ops[1];
            ops[1] = keep;
        }
        for (uint32_t i = 0; i < 2; i++)
            for (uint32_t n = random_below(100) < by->lost ? 0
                                                           : 1 + (random_below(100) < by->twice);
                 n > 0; n--)
                give(world, flow, &ops[i], quick);
    }
}

static struct world run(const struct disturbance *by, bool delivery, bool quick)
{
    struct world world = {.log = 0};
    struct rpcrdma_flow_config config = {.all = true, .credits = true, .delivery = delivery};
    struct rpcrdma_flow_sink sink = {.message = on_message,
                                     .finding = on_finding,
                                     .transaction = delivery ? on_transaction : NULL,
                                     .credits = on_credits,
                                     .context = &world};
    struct rpcrdma_flow *flow;

    config.size = sizeof(config);
    sink.size = sizeof(sink);
    flow = rpcrdma_flow_new(&config, &sink);
    assert_non_null(flow);
    random_again();
    feed(&world, flow, by, quick);
    assert_true(rpcrdma_flow_end(flow));
    rpcrdma_flow_free(flow);
    return world;
}

static void compare(const struct disturbance *by)
{
    for (int delivery = 0; delivery < 2; delivery++) {
        struct world quick = run(by, delivery, true), slow = run(by, delivery, false);

        assert_int_equal(slow.quick, 0);
        assert_true(quick.quick > 0);
        assert_int_equal(quick.messages, slow.messages);
        assert_int_equal(quick.transactions, slow.transactions);
        assert_int_equal(quick.findings, slow.findings);
        assert_int_equal(quick.log, slow.log);
    }
}

/* Nobody sees messages. */
static struct world count(const struct disturbance *by, bool plain)
{
    struct world world = {.log = 0};
    struct rpcrdma_flow_config config = {.all = true, .credits = true};
    struct rpcrdma_flow_sink sink = {
        .finding = on_finding, .credits = on_credits, .context = &world};
    struct rpcrdma_flow *flow;

    config.size = sizeof(config);
    sink.size = sizeof(sink);
    flow = rpcrdma_flow_new(&config, &sink);
    assert_non_null(flow);
    assert_true(flow->counts_only);
    flow->counts_only = plain;
    random_again();
    feed(&world, flow, by, true);
    world.messages = flow->plain_message.xid; /* of the latest */
    assert_true(rpcrdma_flow_end(flow));
    rpcrdma_flow_free(flow);
    return world;
}

static void compare_counts(const struct disturbance *by)
{
    struct world plain = count(by, true), made = count(by, false);

    assert_int_equal(made.messages, 0);
    assert_true(plain.messages > 0);
    assert_int_equal(plain.findings, made.findings);
    assert_int_equal(plain.log, made.log);
}

static void test_undisturbed(void **state)
{
    const struct disturbance none = {0};
    struct world quick = run(&none, true, true);

    (void)state;
    assert_true(quick.quick > OPS - 100);
    assert_int_equal(quick.transactions, OPS / PER_RPC);
    compare(&none);
    compare_counts(&none);
    assert_int_equal(count(&none, true).messages, OPS / PER_RPC - 1);
}

static void test_disturbed(void **state)
{
    static const struct disturbance each[] = {
        {.lost = 3},   {.twice = 5}, {.swapped = 5},
        {.cut = 5},    {.other = 5}, {.lost = 1, .twice = 1, .swapped = 1, .cut = 1, .other = 1},
        {.other = 50},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        compare(&each[i]);
        compare_counts(&each[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undisturbed),
        cmocka_unit_test(test_disturbed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
