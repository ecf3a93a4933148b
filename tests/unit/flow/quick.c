/* SPDX-License-Identifier: BSD-2-Clause */
/* What passes by the quick lane (flow/quick.c) gives what it gives by way of events: the same
 * operations, once with the cache of directions, and once without, when nothing passes there. And
 * what is counted or followed without a message made of it (message/plain.c, rpc/plain.c) is as
 * others are. */
#include "quick_operations.h"
#include "random.h"
#include "rig.h"

enum { HALF = 50, OPS = 20000, BATCH = 24 };

/* Operations to be given at once, with their data. */
struct batch {
    struct rpcrdma_op op[BATCH];
    uint8_t data[BATCH][QUICK_DATA];
    size_t n;
};

/* Of an operation in a hundred. */
struct disturbance {
    uint32_t lost, twice, swapped, cut, other;
    uint32_t unacked; /* of Acks: lost */
    bool bulk;        /* RPCs with data that RDMA moves */
    bool again;       /* each Reply is given by two Sends */
};

struct world {
    uint64_t log; /* of all that came out, in order */
    uint64_t frame, messages, seen, transactions, findings, quick;
    struct batch *batch; /* NULL: each is given by itself */
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
    note(world, (uint64_t)transaction->call_time_ns);
    note(world, transaction->call_frame << 32 | transaction->reply_frame);
    note(world, transaction->program + transaction->procedure);
    note(world, transaction->call_length << 32 | transaction->reply_length);
    note(world, (uint64_t)transaction->credits_granted << 32 | transaction->transmissions);
    note(world, (uint64_t)transaction->complete << 1 | transaction->retransmitted);
    note_findings(world, transaction->findings, transaction->n_findings);
}

static void on_data_transfer(void *context, const struct rpcrdma_data_transfer *data_transfer)
{
    note(context, data_transfer->frame);
    note(context, data_transfer->xid);
    note(context, data_transfer->offset);
    note(context, data_transfer->length);
}

static void on_repeated(void *context, const struct rpcrdma_repeated *repeated)
{
    note(context, repeated->frame);
    note(context, repeated->repeat);
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

/* Another operation in the place of one. */
static void change(struct rpcrdma_op *op)
{
    static const uint8_t kinds[] = {RPCRDMA_OP_NAK, RPCRDMA_OP_WRITE, RPCRDMA_OP_READ_REQUEST,
                                    RPCRDMA_OP_READ_RESPONSE, RPCRDMA_OP_DISCONNECT};
    bool moves_data = op->kind == RPCRDMA_OP_WRITE || op->kind == RPCRDMA_OP_READ_RESPONSE;

    switch (random_below(moves_data ? 8 : 4)) {
    case 0:
        op->kind = kinds[random_below(sizeof(kinds))];
        break;
    case 1:
        op->seq = (op->seq + random_below(5)) & 0xffffff;
        break;
    case 2:
        op->flags &= (uint16_t)~RPCRDMA_OP_LAST;
        break;
    case 4: /* cut in front of its headers' end */
        op->flags |= RPCRDMA_OP_TRUNCATED;
        break;
    case 5:
        op->flags ^= RPCRDMA_OP_RETH;
        break;
    case 6: /* another connection's */
        op->dst_qpn ^= 1;
        break;
    case 7: /* of another path MTU */
        op->len = op->caplen = QUICK_DATA;
        break;
    default: /* a word of its header */
        if (op->len > 0)
            ((uint8_t *)(uintptr_t)op->data)[3 + 4 * random_below(op->len / 4)] =
                (uint8_t)random_below(4);
        break;
    }
}

static void give_batch(struct world *world, struct rpcrdma_flow *flow)
{
    static const bool never;
    uint64_t frame;
    int64_t time_ns;
    const struct rpcrdma_flow_batch shared = {.frame = &frame, .time_ns = &time_ns, .stop = &never};
    size_t n = world->batch->n;

    world->batch->n = 0;
    if (n == 0)
        return;
    assert_true(rpcrdma_flow_ops(flow, world->batch->op, &n, &shared));
    assert_int_equal(frame, world->batch->op[n - 1].frame);
}

static void keep(struct world *world, struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    struct batch *batch = world->batch;
    struct rpcrdma_op *kept = &batch->op[batch->n];

    *kept = *op;
    if (op->data)
        kept->data = memcpy(batch->data[batch->n], op->data, op->caplen);
    if (++batch->n == BATCH)
        give_batch(world, flow);
}

static void give(struct world *world, struct rpcrdma_flow *flow, struct rpcrdma_op *op, bool quick)
{
    uint64_t changes = flow->changes;

    op->frame = ++world->frame;
    op->time_ns = INT64_C(1000000000000) + (int64_t)op->frame * 1000;
    if (world->batch) {
        keep(world, flow, op);
        return;
    }
    if (!quick)
        memset(flow->streams->cache, 0, sizeof(flow->streams->cache));
    assert_true(rpcrdma_flow_op(flow, op));
    world->quick += flow->changes == changes;
}

static void feed(struct world *world, struct rpcrdma_flow *flow, const struct disturbance *by,
                 bool quick)
{
    uint8_t data[2][QUICK_DATA];
    struct rpcrdma_op ops[2];

    for (uint32_t at = 0; at < OPS; at += 2) {
        for (uint32_t i = 0; i < 2; i++) {
            ops[i] = by->bulk    ? quick_make_bulk(data[i], at + i)
                     : by->again ? quick_make_again(data[i], at + i)
                                 : quick_make(data[i], at + i);
            if (random_below(100) < by->other)
                change(&ops[i]);
            if (random_below(100) < by->unacked && ops[i].kind == RPCRDMA_OP_ACK)
                ops[i].kind = RPCRDMA_OP_LOST;
            if (random_below(100) < by->cut)
                ops[i].caplen = random_below(ops[i].len + 1);
        }
        if (random_below(100) < by->swapped) {
            struct rpcrdma_op keep = ops[0];

            ops[0] = ops[1];
            ops[1] = keep;
        }
        for (uint32_t i = 0; i < 2; i++) {
            bool lost = random_below(100) < by->lost || ops[i].kind == RPCRDMA_OP_LOST;

            for (uint32_t n = lost ? 0 : 1 + (random_below(100) < by->twice); n > 0; n--)
                give(world, flow, &ops[i], quick);
        }
    }
}

static struct world run(const struct disturbance *by, bool delivery, bool quick)
{
    struct world world = {.log = 0};
    struct rpcrdma_flow_config config = {.all = true, .credits = true, .delivery = delivery};
    struct rpcrdma_flow_sink sink = {.message = on_message,
                                     .finding = on_finding,
                                     .transaction = delivery ? on_transaction : NULL,
                                     .data_transfer = delivery ? on_data_transfer : NULL,
                                     .repeated = delivery ? on_repeated : NULL,
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
        /* where so much is wrong, a connection may never be quiet */
        assert_true(quick.quick > 0 || by->other == HALF);
        assert_int_equal(quick.messages, slow.messages);
        assert_int_equal(quick.transactions, slow.transactions);
        assert_int_equal(quick.findings, slow.findings);
        assert_int_equal(quick.log, slow.log);
    }
}

/* What no callback says. */
static void note_directions(struct world *world, struct rpcrdma_flow *flow)
{
    uint8_t data[QUICK_DATA];

    for (uint32_t i = 0; i < QUICK_CONNS * QUICK_PER_RPC; i++) {
        struct rpcrdma_op op = quick_make(data, i);
        const struct flow_direction *dir = flow_direction_known(flow->streams, &op);

        note(world, dir ? dir->lost << 32 | dir->pmtu : 0);
    }
}

/* Nobody sees messages. */
static struct world count(const struct disturbance *by, bool plain, bool quick, struct batch *batch)
{
    struct world world = {.batch = batch};
    struct rpcrdma_flow_config config = {.all = true, .credits = true};
    struct rpcrdma_flow_sink sink = {
        .finding = on_finding, .credits = on_credits, .context = &world};
    struct rpcrdma_flow *flow;

    config.size = sizeof(config);
    sink.size = sizeof(sink);
    flow = rpcrdma_flow_new(&config, &sink);
    assert_non_null(flow);
    assert_true(flow->counts_only);
    flow->counts_only = flow->plain_unseen = plain;
    random_again();
    feed(&world, flow, by, quick);
    if (batch)
        give_batch(&world, flow);
    note_directions(&world, flow);
    world.messages = flow->plain_message.xid; /* of the latest */
    assert_true(rpcrdma_flow_end(flow));
    rpcrdma_flow_free(flow);
    return world;
}

static void compare_counts(const struct disturbance *by)
{
    struct batch batch = {.n = 0};
    struct world plain = count(by, true, true, NULL), made = count(by, false, true, NULL);
    struct world slow = count(by, true, false, NULL), at_once = count(by, true, true, &batch);

    assert_int_equal(made.messages, 0);
    assert_true(plain.messages > 0 || by->other == HALF);
    assert_int_equal(plain.findings, made.findings);
    assert_int_equal(plain.log, made.log);
    assert_true(plain.quick > 0 || by->other == HALF);
    assert_int_equal(slow.quick, 0);
    assert_int_equal(plain.log, slow.log);
    assert_int_equal(plain.log, at_once.log);
}

static void on_payload_stream(void *context, const struct rpcrdma_payload_stream *stream)
{
    note(context, stream->xid + stream->direction);
    note(context, (uint64_t)stream->time_ns + stream->len);
    note(context, (uint64_t)stream->rpc->present << 32 | stream->rpc->body_off);
    note(context, stream->call ? stream->call->procedure : UINT64_MAX);
}

/* Of messages in any order. */
static void see(struct world *world, const struct rpcrdma_connection *connection, int sender_end,
                bool is_call)
{
    world->messages++;
    world->seen += connection->number << 8 | (uint32_t)(sender_end + 1) << 1 | is_call;
}

static void on_message_seen(void *context, const struct rpcrdma_flow_message *message)
{
    see(context, message->connection, message->sender_end,
        message->direction == RPCRDMA_DIRECTION_CALL);
}

static void on_plain_message(void *context, const struct rpcrdma_connection *connection,
                             int sender_end, bool is_call)
{
    see(context, connection, sender_end, is_call);
}

/* Who sees messages, where RPCs are followed. */
enum audience { NOBODY, OF_FINDINGS, OF_ALL, AUDIENCES };

static struct world follow(const struct disturbance *by, enum audience audience, bool plain)
{
    struct world world = {.log = 0};
    uint64_t passed = 0;
    bool told = audience == OF_FINDINGS, seen = audience == OF_ALL;
    struct rpcrdma_flow_config config = {.all = true, .credits = told, .delivery = true};
    struct rpcrdma_flow_sink sink = {.message = told   ? on_message
                                                : seen ? on_message_seen
                                                       : NULL,
                                     .finding = on_finding,
                                     .transaction = on_transaction,
                                     .payload_stream = told ? NULL : on_payload_stream,
                                     .credits = told ? on_credits : NULL,
                                     .without_findings = told ? &passed : NULL,
                                     .plain_message = seen ? on_plain_message : NULL,
                                     .context = &world};
    struct rpcrdma_flow *flow;

    config.size = sizeof(config);
    sink.size = sizeof(sink);
    flow = rpcrdma_flow_new(&config, &sink);
    assert_non_null(flow);
    flow->plain_unseen = plain;
    random_again();
    feed(&world, flow, by, true);
    world.quick = flow->plain_message.xid; /* of the latest */
    assert_true(rpcrdma_flow_end(flow));
    rpcrdma_flow_free(flow);
    note(&world, passed);
    return world;
}

static void compare_followed(const struct disturbance *by)
{
    for (enum audience of = NOBODY; of < AUDIENCES; of++) {
        struct world plain = follow(by, of, true), made = follow(by, of, false);

        assert_int_equal(made.quick, 0);
        assert_true(plain.quick > 0 || by->other == HALF || by->again);
        assert_int_equal(plain.transactions, made.transactions);
        assert_int_equal(plain.messages, made.messages);
        assert_int_equal(plain.seen, made.seen);
        assert_int_equal(plain.log, made.log);
    }
}

static void test_undisturbed(void **state)
{
    const struct disturbance none = {0};
    struct world quick = run(&none, true, true);

    (void)state;
    assert_true(quick.quick > OPS - 100);
    compare(&none);
    compare_counts(&none);
    compare_followed(&none);
    quick = follow(&none, NOBODY, true);
    assert_int_equal(quick.quick, OPS / QUICK_PER_RPC - 1);
    assert_int_equal(quick.transactions, OPS / QUICK_PER_RPC);
    assert_int_equal(follow(&none, OF_ALL, true).messages, 2 * (OPS / QUICK_PER_RPC));
    assert_int_equal(count(&none, true, true, NULL).messages, OPS / QUICK_PER_RPC - 1);
}

/* But for the Read requests, of which one of 32 packets is. */
static void test_bulk(void **state)
{
    const struct disturbance none = {.bulk = true};
    struct world quick = run(&none, true, true), counted = count(&none, true, true, NULL);

    (void)state;
    assert_true(quick.quick > OPS / 32 * 31 - 100);
    assert_true(counted.quick > OPS / 32 * 31 - 100);
    assert_int_equal(quick.transactions, OPS / QUICK_PER_BULK);
    compare(&none);
    compare_counts(&none);
    compare_followed(&none);
}

/* Of a Call that was answered nothing is taken by the short way. */
static void test_answered_again(void **state)
{
    const struct disturbance again = {.again = true};

    (void)state;
    assert_true(follow(&again, OF_FINDINGS, true).quick > 0);
    compare_followed(&again);
}

static void test_disturbed(void **state)
{
    static const struct disturbance each[] = {
        {.lost = 3},     {.twice = 5},
        {.swapped = 5},  {.cut = 5},
        {.other = 5},    {.lost = 1, .twice = 1, .swapped = 1, .cut = 1, .other = 1},
        {.other = HALF}, {.unacked = 30},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        struct disturbance by = each[i];

        compare(&by);
        compare_counts(&by);
        compare_followed(&by);
        by.bulk = true;
        compare(&by);
        compare_counts(&by);
        compare_followed(&by);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undisturbed),
        cmocka_unit_test(test_bulk),
        cmocka_unit_test(test_answered_again),
        cmocka_unit_test(test_disturbed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
