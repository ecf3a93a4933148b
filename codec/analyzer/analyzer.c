/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyzer/analyzer.h"

#include <stdlib.h>

#include "analyzer/apart.h"
#include "base/sized.h"
#include "wire/hot.h"

enum { BATCH = RPCRDMA_FLOW_AHEAD };

struct rpcrdma_analyzer {
    struct rpcrdma_analyzer_sink sink;
    void (*finding)(void *context, const struct rpcrdma_connection *connection,
                    const struct rpcrdma_finding *finding);
    void *finding_context;
    struct rpcrdma_net *net;
    struct rpcrdma_flow *flow;
    bool stopped, no_memory;
    bool seen, unusual;                  /* operations, by the sink; those that are unusual */
    struct apart *apart;                 /* NULL: nobody follows what arrives. Owned */
    const struct rpcrdma_packet *packet; /* of the operation in hand, or of ops[0]; those of the */
    size_t packet_size;                  /* others follow, so far apart */
    struct rpcrdma_op ops[BATCH];        /* rpcrdma_net_plain's */
};

static enum rpcrdma_analyzer_status status(const struct rpcrdma_analyzer *analyzer)
{
    if (analyzer->no_memory)
        return RPCRDMA_ANALYZER_NO_MEMORY;
    return analyzer->stopped ? RPCRDMA_ANALYZER_STOPPED : RPCRDMA_ANALYZER_OK;
}

/* A packet may hold several operations: none after the one that ended it. */
static bool ended(const struct rpcrdma_analyzer *analyzer)
{
    return analyzer->stopped || analyzer->no_memory;
}

static void on_op(void *context, const struct rpcrdma_op *op)
{
    struct rpcrdma_analyzer *analyzer = context;
    const struct rpcrdma_analyzer_sink *sink = &analyzer->sink;

    if (ended(analyzer) || (sink->op && !sink->op(sink->context, op)))
        return;
    if (analyzer->apart)
        apart_ops(analyzer->apart, op, 1);
    if (!rpcrdma_flow_op(analyzer->flow, op))
        analyzer->no_memory = true;
    if (sink->op_done && !ended(analyzer))
        sink->op_done(sink->context, op);
}

/* Where nobody wants to see operations. */
static void on_op_unseen(void *context, const struct rpcrdma_op *op)
{
    struct rpcrdma_analyzer *analyzer = context;

    if (analyzer->apart)
        apart_ops(analyzer->apart, op, 1);
    if (!ended(analyzer) && !rpcrdma_flow_op(analyzer->flow, op))
        analyzer->no_memory = true;
}

static void on_segment(void *context, const struct rpcrdma_tcp_segment *segment)
{
    struct rpcrdma_analyzer *analyzer = context;

    if (analyzer->apart)
        apart_segment(analyzer->apart, segment);
    if (!ended(analyzer) && !rpcrdma_flow_segment(analyzer->flow, segment))
        analyzer->no_memory = true;
}

static void on_bytes(void *context, const struct rpcrdma_tcp_bytes *bytes)
{
    const struct rpcrdma_analyzer *analyzer = context;

    if (!ended(analyzer))
        analyzer->sink.bytes(analyzer->sink.context, bytes);
}

static void on_finding(void *context, const struct rpcrdma_finding *finding)
{
    const struct rpcrdma_analyzer *analyzer = context;

    if (!ended(analyzer))
        analyzer->finding(analyzer->finding_context, NULL, finding);
}

static bool damaged(void *context, const struct rpcrdma_op *op)
{
    const struct rpcrdma_analyzer *analyzer = context;
    const char *packet = (const char *)analyzer->packet;

    if (op >= analyzer->ops && op < analyzer->ops + BATCH)
        packet += (size_t)(op - analyzer->ops) * analyzer->packet_size;
    return rpcrdma_net_damaged(analyzer->net, (const struct rpcrdma_packet *)(const void *)packet);
}

struct rpcrdma_analyzer *rpcrdma_analyzer_new(const struct rpcrdma_analyzer_config *config,
                                              const struct rpcrdma_analyzer_sink *sink)
{
    struct rpcrdma_analyzer *analyzer = calloc(1, sizeof(*analyzer));
    struct rpcrdma_analyzer_config own = {0};
    struct rpcrdma_flow_config flow_config = {0};
    struct rpcrdma_net_config net_config = {0};
    struct rpcrdma_flow_sink flow_sink = {0};
    struct rpcrdma_net_sink net_sink = {.size = sizeof(net_sink), .op = on_op, .context = analyzer};

    if (!analyzer)
        return NULL;
    rpcrdma_copy_sized(&analyzer->sink, sizeof(analyzer->sink), sink, sizeof(*sink));
    if (config)
        rpcrdma_copy_sized(&own, sizeof(own), config, sizeof(own));
    if (own.flow)
        rpcrdma_copy_sized(&flow_config, sizeof(flow_config), own.flow, sizeof(flow_config));
    if (analyzer->sink.flow)
        rpcrdma_copy_sized(&flow_sink, sizeof(flow_sink), analyzer->sink.flow, sizeof(flow_sink));
    if (own.net)
        rpcrdma_copy_sized(&net_config, sizeof(net_config), own.net, sizeof(net_config));
    net_config.size = sizeof(net_config);
    net_config.icrc_on_request = true;
    flow_config.size = sizeof(flow_config);
    flow_config.damaged = damaged;
    flow_config.damaged_context = analyzer;
    flow_sink.size = sizeof(flow_sink);
    analyzer->finding = flow_sink.finding;
    analyzer->finding_context = flow_sink.context;
    analyzer->seen = analyzer->sink.op || analyzer->sink.op_done;
    analyzer->unusual =
        analyzer->sink.op_done_unusual && analyzer->sink.op_done && !analyzer->sink.op;
    if (!analyzer->seen)
        net_sink.op = on_op_unseen;
    if (flow_sink.finding)
        net_sink.finding = on_finding;
    if (analyzer->sink.bytes)
        net_sink.bytes = on_bytes;
    if (flow_config.delivery || flow_config.credits)
        net_sink.segment = on_segment;
    if (flow_config.delivery)
        analyzer->apart = calloc(1, sizeof(*analyzer->apart));
    analyzer->net = rpcrdma_net_new(&net_config, &net_sink);
    /* more than half of what TCP reassembly does not take: in a capture of RoCE it takes nothing */
    if (analyzer->net && own.net && !flow_config.shared_used) {
        flow_config.shared_memory = own.net->max_memory / 16 * 9;
        flow_config.shared_used = &rpcrdma_net_stats(analyzer->net)->tcp_memory;
    }
    analyzer->flow = rpcrdma_flow_new(&flow_config, &flow_sink);
    if (!analyzer->net || !analyzer->flow || (flow_config.delivery && !analyzer->apart)) {
        rpcrdma_analyzer_free(analyzer);
        return NULL;
    }
    return analyzer;
}

void rpcrdma_analyzer_free(struct rpcrdma_analyzer *analyzer)
{
    if (!analyzer)
        return;
    rpcrdma_flow_free(analyzer->flow);
    rpcrdma_net_free(analyzer->net);
    free(analyzer->apart);
    free(analyzer);
}

enum rpcrdma_analyzer_status rpcrdma_analyzer_packet(struct rpcrdma_analyzer *analyzer,
                                                     const struct rpcrdma_packet *packet)
{
    analyzer->packet = packet;
    if (!ended(analyzer) && !rpcrdma_net_packet(analyzer->net, packet))
        analyzer->no_memory = true;
    return status(analyzer);
}

/* Somebody wants to see each of them. */
RPCRDMA_APART static size_t take_seen(struct rpcrdma_analyzer *analyzer, size_t n,
                                      const struct rpcrdma_flow_batch *batch)
{
    size_t done = 0;

    while (done < n && !ended(analyzer) && !*batch->stop) {
        const struct rpcrdma_op *op = &analyzer->ops[done++];

        *batch->frame = op->frame;
        *batch->time_ns = op->time_ns;
        on_op(analyzer, op);
    }
    return done;
}

/* Somebody wants to see those that are unusual. */
RPCRDMA_APART static size_t take_unusual(struct rpcrdma_analyzer *analyzer, size_t n,
                                         const struct rpcrdma_flow_batch *batch)
{
    const struct rpcrdma_analyzer_sink *sink = &analyzer->sink;
    struct rpcrdma_flow_batch own = *batch;
    bool unusual = false;
    size_t done = 0;

    own.unusual = &unusual;
    while (done < n && !ended(analyzer) && !*batch->stop) {
        size_t some = n - done;

        if (!rpcrdma_flow_ops(analyzer->flow, &analyzer->ops[done], &some, &own))
            analyzer->no_memory = true;
        done += some;
        if (unusual && some > 0 && !ended(analyzer))
            sink->op_done(sink->context, &analyzer->ops[done - 1]);
        own.prefetch = NULL;
    }
    return done;
}

RPCRDMA_APART enum rpcrdma_analyzer_status
rpcrdma_analyzer_packets(struct rpcrdma_analyzer *analyzer, const struct rpcrdma_packet *first,
                         size_t size, size_t *n, const struct rpcrdma_flow_batch *batch)
{
    *n =
        ended(analyzer) || *batch->stop
            ? 0
            : rpcrdma_net_plain(analyzer->net, first, size, *n < BATCH ? *n : BATCH, analyzer->ops);
    if (*n == 0)
        return status(analyzer);
    analyzer->packet = first;
    analyzer->packet_size = size;
    if (rpcrdma_flow_crowded(analyzer->flow))
        rpcrdma_flow_ahead(analyzer->flow, analyzer->ops, *n);
    if (analyzer->unusual)
        *n = take_unusual(analyzer, *n, batch);
    else if (analyzer->seen)
        *n = take_seen(analyzer, *n, batch);
    else if (!rpcrdma_flow_ops(analyzer->flow, analyzer->ops, n, batch))
        analyzer->no_memory = true;
    if (analyzer->apart && (analyzer->unusual || !analyzer->seen))
        apart_ops(analyzer->apart, analyzer->ops, *n);
    rpcrdma_net_taken(analyzer->net, *n);
    return status(analyzer);
}

RPCRDMA_RARE static void look_ahead(struct rpcrdma_analyzer *analyzer,
                                    const struct rpcrdma_packet *first, size_t size, size_t n)
{
    struct rpcrdma_op ops[RPCRDMA_FLOW_AHEAD];
    const char *at = (const char *)first;
    size_t n_ops = 0;

    for (size_t i = 0; i < n && n_ops < RPCRDMA_FLOW_AHEAD; i++) {
        struct rpcrdma_op *op = &ops[n_ops];

        op->src = op->dst = (struct rpcrdma_address){0};
        op->kind = 0;
        op->data = NULL;
        n_ops += rpcrdma_net_peek((const struct rpcrdma_packet *)(const void *)(at + i * size), op);
    }
    rpcrdma_flow_ahead(analyzer->flow, ops, n_ops);
}

void rpcrdma_analyzer_ahead(struct rpcrdma_analyzer *analyzer, const struct rpcrdma_packet *first,
                            size_t size, size_t n)
{
    if (rpcrdma_flow_crowded(analyzer->flow))
        look_ahead(analyzer, first, size, n);
}

enum rpcrdma_analyzer_status rpcrdma_analyzer_replay(struct rpcrdma_analyzer *analyzer,
                                                     const struct rpcrdma_packet *packet)
{
    analyzer->packet = packet;
    if (!ended(analyzer) && !rpcrdma_net_replay(analyzer->net, packet))
        analyzer->no_memory = true;
    return status(analyzer);
}

void rpcrdma_analyzer_stop(struct rpcrdma_analyzer *analyzer)
{
    analyzer->stopped = true;
    rpcrdma_flow_stop(analyzer->flow);
}

enum rpcrdma_analyzer_status rpcrdma_analyzer_end(struct rpcrdma_analyzer *analyzer)
{
    if (!ended(analyzer) && !rpcrdma_net_end(analyzer->net))
        analyzer->no_memory = true;
    if (!rpcrdma_flow_end(analyzer->flow))
        analyzer->no_memory = true;
    return status(analyzer);
}

const struct rpcrdma_apart *rpcrdma_analyzer_apart(struct rpcrdma_analyzer *analyzer)
{
    static const struct rpcrdma_apart unknown = {0};

    return analyzer->apart ? apart_tell(analyzer->apart) : &unknown;
}

struct rpcrdma_net *rpcrdma_analyzer_net(struct rpcrdma_analyzer *analyzer)
{
    return analyzer->net;
}

struct rpcrdma_flow *rpcrdma_analyzer_flow(struct rpcrdma_analyzer *analyzer)
{
    return analyzer->flow;
}
