/* SPDX-License-Identifier: BSD-2-Clause */
/* What the analyzer gives, counted on its way to the command's sink. */
#include "pipeline/private.h"

#include "common/networks.h"
#include "flow/rpc.h"

bool pipeline_network(const struct pipeline *pipeline, const struct rpcrdma_connection *connection,
                      struct rpcrdma_network *network)
{
    return rpcrdma_net_network(rpcrdma_analyzer_net(pipeline->own->analyzer),
                               &connection->end[0].address, &connection->end[1].address, network);
}

/* Acks of what was sent to its ends passed before that: of a quarter of its messages and more. Of
 * fewer they were captured in the wrong order. */
static void note_early_acks(struct pipeline *pipeline, const struct rpcrdma_connection *connection)
{
    enum { OF = 4 };
    uint64_t acks = 0;
    int64_t ns = 0;

    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_path *path = connection->path[end];

        if (!path || path->early_ns < PIPELINE_APART_NS)
            continue;
        acks += path->early_acks;
        ns = MAX(ns, path->early_ns);
    }
    if (acks * OF < connection->messages)
        return;
    pipeline->early_acks += acks;
    pipeline->early_ns = MAX(pipeline->early_ns, ns);
}

static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;
    const struct rpcrdma_net *net = rpcrdma_analyzer_net(pipeline->own->analyzer);
    struct rpcrdma_network network;

    pipeline->own->connections++;
    if (pipeline_network(pipeline, connection, &network))
        networks_learn(connection->number, &network, true);
    else if (rpcrdma_net_label(net, &connection->end[0].address, &connection->end[1].address,
                               &network))
        networks_learn(connection->number, &network, false);
    note_early_acks(pipeline, connection);
    if (sink->connection)
        sink->connection(sink->context, connection);
}

/* How often something was left out because --max-memory was reached. */
static void count_limit(struct pipeline *pipeline, const struct rpcrdma_finding *findings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pipeline->memory_limit += findings[i].rule == RPCRDMA_RULE_MEMORY_LIMIT;
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    pipeline->messages++;
    if (pipeline->by_file)
        pipeline_by_file_message(pipeline, message->frame);
    count_limit(pipeline, message->findings, message->n_findings);
    if (sink->message)
        sink->message(sink->context, message);
}

static void on_plain_message(void *context, const struct rpcrdma_connection *connection,
                             int sender_end, bool is_call)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    pipeline->messages++;
    if (sink->plain_message)
        sink->plain_message(sink->context, connection, sender_end, is_call);
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    count_limit(pipeline, finding, 1);
    if (sink->finding)
        sink->finding(sink->context, connection, finding);
}

static void on_credits(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_credit_result *results, size_t n)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    if (!pipeline->own->muted)
        sink->credits(sink->context, connection, results, n);
}

static void on_credit_point(void *context, const struct rpcrdma_connection *connection, int end,
                            const struct rpcrdma_credit_point *point)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    sink->credit_point(sink->context, connection, end, point);
}

static void on_rpc(void *context, const struct rpcrdma_rpc_message *message)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    sink->rpc(sink->context, message);
}

static void on_payload_stream(void *context, const struct rpcrdma_payload_stream *stream)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    sink->payload_stream(sink->context, stream);
}

static void on_data_transfer(void *context, const struct rpcrdma_data_transfer *transfer)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    sink->data_transfer(sink->context, transfer);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    count_limit(pipeline, transaction->findings, transaction->n_findings);
    sink->transaction(sink->context, transaction);
}

static void on_repeated(void *context, const struct rpcrdma_repeated *repeated)
{
    const struct rpcrdma_flow_sink *sink = ((struct pipeline *)context)->own->sink;

    sink->repeated(sink->context, repeated);
}

static bool on_op(void *context, const struct rpcrdma_op *op)
{
    struct pipeline *pipeline = context;

    pipeline->op(pipeline->op_context, op);
    return true;
}

const struct rpcrdma_connection *pipeline_connection(const struct pipeline *pipeline,
                                                     const struct rpcrdma_op *op)
{
    return rpcrdma_flow_connection(pipeline->own->flow, op);
}

static void on_op_done(void *context, const struct rpcrdma_op *op)
{
    struct pipeline *pipeline = context;

    if (pipeline->own->files)
        pipeline_clocks_op(pipeline, op);
    if (pipeline->setup && op->kind >= RPCRDMA_OP_CONNECT && op->kind <= RPCRDMA_OP_RESET) {
        const struct rpcrdma_connection *of =
            rpcrdma_flow_setup_connection(pipeline->own->flow, op);

        if (of)
            pipeline->setup(pipeline->op_context, op, of);
    }
    if (pipeline->op_done)
        pipeline->op_done(pipeline->op_context, op, rpcrdma_flow_path(pipeline->own->flow, op));
}

struct rpcrdma_flow_sink pipeline_flow_sink(struct pipeline *pipeline)
{
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    return (struct rpcrdma_flow_sink){
        .size = sizeof(struct rpcrdma_flow_sink),
        .connection = on_connection,
        .message = sink->message || !pipeline->unlisted ? on_message : NULL,
        .finding = on_finding,
        .credits = sink->credits ? on_credits : NULL,
        .credit_point = sink->credit_point ? on_credit_point : NULL,
        /* wanting these is what makes flow/ put RPCs together */
        .rpc = sink->rpc ? on_rpc : NULL,
        .transaction = sink->transaction ? on_transaction : NULL,
        .data_transfer = sink->data_transfer ? on_data_transfer : NULL,
        .payload_stream = sink->payload_stream ? on_payload_stream : NULL,
        .repeated = sink->repeated ? on_repeated : NULL,
        .context = pipeline,
        .replies_only = sink->replies_only,
        .without_findings = sink->without_findings,
        /* it does not say which packet that is in, nor so in which of several files */
        .plain_message =
            !pipeline->by_file && (sink->plain_message || !sink->message) ? on_plain_message : NULL,
    };
}

struct rpcrdma_analyzer_sink pipeline_analyzer_sink(struct pipeline *pipeline,
                                                    const struct rpcrdma_flow_sink *flow)
{
    return (struct rpcrdma_analyzer_sink){
        .size = sizeof(struct rpcrdma_analyzer_sink),
        .flow = flow,
        .op = pipeline->op ? on_op : NULL,
        .op_done = pipeline->op_done || pipeline->setup || pipeline->own->files ? on_op_done : NULL,
        .context = pipeline,
        .op_done_unusual = pipeline->op_done_unusual && !pipeline->setup && !pipeline->own->files,
    };
}
