/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets given many at once come out as they do one by one: of a recording, and of what is left of
 * it when headers are damaged, packets cut, lost, or out of order. */
#include "../test.h"

#include "../../tools/pcap.h"
#include "rpcrdma.h"

enum { MOST = 4000, DAMAGED = 60 };

struct capture {
    struct rpcrdma_packet packets[MOST];
    uint8_t *data[MOST];
    size_t n;
};

/* What came out, in order, each with the packet in hand. */
struct seen {
    uint64_t frame; /* in hand */
    int64_t time_ns;
    bool enough;
    struct rpcrdma_analyzer *analyzer;
    uint64_t log, messages, findings, in_batches, enough_at, stop_at;
    uint64_t told, unusual; /* by it; of these: with a path that has more than counts */
};

static void note(struct seen *seen, uint64_t value)
{
    seen->log = (seen->log ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    seen->log ^= seen->log >> 29;
}

static void note_place(struct seen *seen)
{
    note(seen, seen->frame);
    note(seen, (uint64_t)seen->time_ns);
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct seen *seen = context;

    note_place(seen);
    note(seen, message->frame);
    note(seen, message->connection->number);
    note(seen, message->message->xid);
    note(seen, message->n_findings);
    note(seen, message->has_invalidate ? message->invalidate : 1);
    seen->messages++;
    if (seen->messages == seen->enough_at)
        seen->enough = true;
    if (seen->messages == seen->stop_at)
        rpcrdma_analyzer_stop(seen->analyzer);
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct seen *seen = context;

    note_place(seen);
    note(seen, connection ? connection->number : 0);
    note(seen, (uint64_t)finding->rule);
    note(seen, finding->frame);
    note(seen, finding->arg[0]);
    seen->findings++;
}

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct seen *seen = context;

    note_place(seen);
    note(seen, transaction->call_frame);
    note(seen, transaction->reply_frame);
    note(seen, (uint64_t)transaction->latency_ns);
    note(seen, transaction->n_findings);
}

static void on_credits(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_credit_result *results, size_t n)
{
    struct seen *seen = context;

    note(seen, connection->number);
    for (size_t i = 0; i < n; i++) {
        note(seen, results[i].calls);
        note(seen, results[i].replies);
    }
}

static bool on_op(void *context, const struct rpcrdma_op *op)
{
    struct seen *seen = context;

    note_place(seen);
    note(seen, op->frame);
    note(seen, op->kind | (uint64_t)op->flags << 8 | (uint64_t)op->nak << 24);
    note(seen, op->seq | (uint64_t)op->msn << 32);
    note(seen, op->remote_address ^ (uint64_t)op->rkey << 32 ^ op->length);
    note(seen, op->invalidate | (uint64_t)op->immediate << 32);
    note(seen, op->len | (uint64_t)op->caplen << 32);
    note(seen, op->data && op->caplen > 0 ? op->data[op->caplen - 1] : 256);
    note(seen, op->dst_qpn ^ (uint64_t)op->ip_id << 32 ^ (uint64_t)op->traffic_class << 48);
    if (op->flags & RPCRDMA_OP_ICRC)
        note(seen, op->icrc ^ (uint64_t)op->icrc_bytes << 32 ^ (uint64_t)op->udp_port << 48);
    for (size_t i = 0; i < sizeof(op->src.bytes); i++)
        note(seen, (uint64_t)op->src.bytes[i] << 8 | op->dst.bytes[i]);
    return true;
}

static void on_op_done(void *context, const struct rpcrdma_op *op)
{
    struct seen *seen = context;
    const struct rpcrdma_path *path = rpcrdma_flow_path(rpcrdma_analyzer_flow(seen->analyzer), op);

    seen->told++;
    if (op->kind != RPCRDMA_OP_NAK &&
        (!path || path->uncaptured + path->retransmitted + path->duplicated == 0))
        return;
    seen->unusual++;
    note_place(seen);
    note(seen, op->seq);
    note(seen, path ? path->uncaptured ^ path->packets << 32 : 0);
}

enum how { ONE_BY_ONE, AT_ONCE };

static void feed(struct seen *seen, const struct capture *capture, enum how how)
{
    const struct rpcrdma_flow_batch batch = {&seen->frame, &seen->time_ns, &seen->enough, NULL, 0,
                                             NULL};
    enum rpcrdma_analyzer_status status = RPCRDMA_ANALYZER_OK;
    size_t i = 0;

    while (i < capture->n && status == RPCRDMA_ANALYZER_OK && !seen->enough) {
        enum { BATCH = 37 };
        const struct rpcrdma_packet *packet = &capture->packets[i];
        size_t n = capture->n - i < BATCH ? capture->n - i : BATCH, taken = how == AT_ONCE ? n : 0;

        if (how == AT_ONCE)
            status =
                rpcrdma_analyzer_packets(seen->analyzer, packet, sizeof(*packet), &taken, &batch);
        seen->in_batches += taken;
        i += taken;
        if (taken == n || seen->enough || status != RPCRDMA_ANALYZER_OK)
            continue;
        seen->frame = packet[taken].frame;
        seen->time_ns = packet[taken].time_ns;
        status = rpcrdma_analyzer_packet(seen->analyzer, &packet[taken]);
        i++;
    }
}

static struct seen run(const struct capture *capture, enum how how, bool ops, struct seen seen)
{
    const struct rpcrdma_flow_sink flow = {.size = sizeof(flow),
                                           .message = on_message,
                                           .finding = on_finding,
                                           .transaction = on_transaction,
                                           .credits = on_credits,
                                           .context = &seen};
    const struct rpcrdma_analyzer_sink sink = {
        .size = sizeof(sink), .flow = &flow, .op = ops ? on_op : NULL, .context = &seen};
    const struct rpcrdma_net_config net = {.size = sizeof(net), .give_icrc = true};
    const struct rpcrdma_flow_config config = {
        .size = sizeof(config), .credits = true, .delivery = true};
    const struct rpcrdma_net_stats *stats;

    seen.analyzer = rpcrdma_analyzer_new(
        &(struct rpcrdma_analyzer_config){
            .size = sizeof(struct rpcrdma_analyzer_config), .net = &net, .flow = &config},
        &sink);
    assert_non_null(seen.analyzer);
    feed(&seen, capture, how);
    stats = rpcrdma_net_stats(rpcrdma_analyzer_net(seen.analyzer));
    note(&seen, stats->packets);
    note(&seen, stats->rdma);
    rpcrdma_analyzer_end(seen.analyzer);
    rpcrdma_analyzer_free(seen.analyzer);
    return seen;
}

/* By op_done, and what came out besides. */
static struct seen told(const struct capture *capture, bool unusual_only)
{
    struct seen seen = {0};
    const struct rpcrdma_flow_sink flow = {
        .size = sizeof(flow), .message = on_message, .context = &seen};
    const struct rpcrdma_analyzer_sink sink = {.size = sizeof(sink),
                                               .flow = &flow,
                                               .op_done = on_op_done,
                                               .context = &seen,
                                               .op_done_unusual = unusual_only};
    const struct rpcrdma_flow_config config = {.size = sizeof(config), .delivery = true};

    seen.analyzer = rpcrdma_analyzer_new(
        &(struct rpcrdma_analyzer_config){.size = sizeof(struct rpcrdma_analyzer_config),
                                          .flow = &config},
        &sink);
    assert_non_null(seen.analyzer);
    feed(&seen, capture, AT_ONCE);
    rpcrdma_analyzer_end(seen.analyzer);
    rpcrdma_analyzer_free(seen.analyzer);
    return seen;
}

static void load(struct capture *capture)
{
    struct pcap_record record;
    struct pcap_file file;

    assert_true(pcap_open(&file, CAPTURE));
    for (capture->n = 0; capture->n < MOST && pcap_next(&file, &record); capture->n++) {
        uint8_t *data = heap_copy(record.data, record.caplen);

        capture->data[capture->n] = data;
        capture->packets[capture->n] = (struct rpcrdma_packet){.frame = capture->n + 1,
                                                               .time_ns = record.time_ns,
                                                               .linktype = file.linktype,
                                                               .caplen = record.caplen,
                                                               .len = record.len,
                                                               .data = data};
    }
    pcap_close(&file);
}

static void unload(struct capture *capture)
{
    for (size_t i = 0; i < capture->n; i++)
        free(capture->data[i]);
}

static struct seen same(const struct capture *capture, struct seen begin)
{
    struct seen batches = {0};

    for (int ops = 0; ops < 2; ops++) {
        struct seen one = run(capture, ONE_BY_ONE, ops, begin);

        batches = run(capture, AT_ONCE, ops, begin);
        assert_int_equal(batches.messages, one.messages);
        assert_int_equal(batches.findings, one.findings);
        assert_int_equal(batches.log, one.log);
    }
    return batches;
}

static struct capture capture;

static void whole(void **state)
{
    struct seen seen;

    (void)state;
    load(&capture);
    seen = same(&capture, (struct seen){0});
    assert_int_equal(seen.messages, 136);
    assert_true(seen.in_batches > capture.n / 2);
    unload(&capture);
}

/* In the middle of a batch: nothing is taken behind it. */
static void ended(void **state)
{
    (void)state;
    load(&capture);
    for (unsigned at = 1; at <= 136; at += 19) {
        assert_int_equal(same(&capture, (struct seen){.enough_at = at}).messages, at);
        assert_int_equal(same(&capture, (struct seen){.stop_at = at}).messages, at);
    }
    unload(&capture);
}

static void damaged(void **state)
{
    enum { HEADERS = 80 };
    uint64_t findings = 0;

    (void)state;
    srand(7);
    for (int round = 0; round < DAMAGED; round++) {
        load(&capture);
        for (size_t i = 0; i < capture.n; i++) {
            struct rpcrdma_packet *packet = &capture.packets[i];
            size_t at = (size_t)rand() % HEADERS;

            if (rand() % 8 == 0 && at < packet->caplen)
                capture.data[i][at] = (uint8_t)rand();
            if (rand() % 16 == 0 && at < packet->caplen) { /* ASan sees what is read behind it */
                uint8_t *cut = heap_copy(capture.data[i], at);

                free(capture.data[i]);
                packet->data = capture.data[i] = cut;
                packet->caplen = (uint32_t)at;
            }
            if (i > 0 && rand() % 32 == 0)
                packet->time_ns = capture.packets[i - 1].time_ns - 1000;
        }
        findings += same(&capture, (struct seen){0}).findings;
        unload(&capture);
    }
    assert_true(findings > DAMAGED);
}

/* op_done is left out where rpcrdma_flow_path has nothing but counts. */
static void unusual(void **state)
{
    uint64_t seen_unusual = 0;

    (void)state;
    for (size_t lost = 0; lost < 120; lost += 7) { /* 0: none */
        struct seen all, some;

        load(&capture);
        if (lost > 0) {
            free(capture.data[lost]);
            capture.n--;
            memmove(&capture.data[lost], &capture.data[lost + 1],
                    (capture.n - lost) * sizeof(capture.data[0]));
            memmove(&capture.packets[lost], &capture.packets[lost + 1],
                    (capture.n - lost) * sizeof(capture.packets[0]));
        }
        all = told(&capture, false);
        some = told(&capture, true);
        assert_true(some.told < all.told);
        assert_int_equal(some.unusual, all.unusual);
        assert_int_equal(some.messages, all.messages);
        assert_int_equal(some.log, all.log);
        seen_unusual += some.unusual;
        unload(&capture);
    }
    assert_true(seen_unusual > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole),
        cmocka_unit_test(ended),
        cmocka_unit_test(damaged),
        cmocka_unit_test(unusual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
