/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/flow_state.h"

#include <stdlib.h>

#include "base/sized.h"

/* Which stages there are, by what the sink wants; and their end. */

enum { NFS_RDMA_PORT = 20049 };
#define DEFAULT_MEMORY ((size_t)64 << 20)

static bool start_stages(struct rpcrdma_flow *flow, const struct rpcrdma_flow_config *config)
{
    static const uint16_t port = NFS_RDMA_PORT;
    struct flow_context *context = &flow->context;
    const struct rpcrdma_flow_sink *sink = &context->sink;
    const struct flow_selection selection = {.qpns = config->qpns,
                                             .n_qpns = config->n_qpns,
                                             .tcp_ports = config->tcp_ports,
                                             .n_tcp_ports = config->n_tcp_ports,
                                             .all = config->all};
    struct flow_conns_config conns = {.ports = config->ports ? config->ports : &port,
                                      .n_ports = config->ports ? config->n_ports : 1,
                                      .dialect = config->dialect,
                                      .above = flow_messages_above()};
    bool rpcs = sink->rpc || sink->partial || sink->transaction || sink->payload_stream ||
                sink->data_transfer;
    bool credits = config->credits || (rpcs && config->delivery); /* what they hold up */

    conns.messages_only = !rpcs && !config->credits;
    flow->streams = flow_streams_new(context, &selection);
    if (flow->streams)
        flow->conns = flow_conns_new(context, flow->streams, &conns);
    if (flow->conns)
        flow->messages =
            flow_messages_new(context, flow->conns, config->dialect, config->unordered);
    if (!flow->messages)
        return false;
    if (!sink->message && !sink->partial)
        flow_messages_unseen(flow->messages);
    if (rpcs)
        flow->rpcs = flow_rpcs_new(context, flow->messages);
    if (credits)
        flow->credits = flow_credits_new(context, flow->messages, !config->credits);
    flow->counts = config->credits;
    flow->counts_only = config->credits && !rpcs && !config->delivery && !sink->message;
    flow->plain_unseen =
        flow->counts_only ||
        (rpcs && (!sink->message || sink->without_findings || sink->plain_message) &&
         !sink->partial && !sink->rpc);
    return !rpcs == !flow->rpcs && credits == (flow->credits != NULL);
}

struct rpcrdma_flow *rpcrdma_flow_new(const struct rpcrdma_flow_config *config,
                                      const struct rpcrdma_flow_sink *sink)
{
    struct rpcrdma_flow *flow = calloc(1, sizeof(*flow));
    struct rpcrdma_flow_config own = {0};
    struct rpcrdma_flow_sink *to;

    if (!flow)
        return NULL;
    to = &flow->context.sink;
    if (config)
        rpcrdma_copy_sized(&own, sizeof(own), config, sizeof(own));
    rpcrdma_copy_sized(to, sizeof(*to), sink, sizeof(*to));
    flow->changes = 1;
    TAILQ_INIT(&flow->past);
    flow->context.delivery = own.delivery;
    flow->doubt = (struct flow_doubt){.damaged = own.damaged, .context = own.damaged_context};
    flow->linger_ns = own.linger_ns < INT64_MAX ? (int64_t)own.linger_ns : INT64_MAX;
    flow->looks = own.delivery || flow->linger_ns > 0;
    flow->context.memory.limit = own.max_memory ? (size_t)own.max_memory : DEFAULT_MEMORY;
    flow->context.memory.shared = (size_t)own.shared_memory;
    flow->context.memory.shared_used = own.shared_used;
    flow->context.memory.sparing = true;
    if (!start_stages(flow, &own)) {
        rpcrdma_flow_free(flow);
        return NULL;
    }
    return flow;
}

void rpcrdma_flow_free(struct rpcrdma_flow *flow)
{
    if (!flow)
        return;
    if (flow->messages)
        flow_discard(flow);
    flow_credits_free(flow->credits);
    flow_life_free(flow);
    flow_rpcs_free(flow->rpcs);
    flow_messages_free(flow->messages);
    flow_conns_free(flow->conns);
    flow_streams_free(flow->streams);
    free(flow);
}
