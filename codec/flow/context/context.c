/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/context/context.h"

#include "rule_version.h"

void flow_report(const struct flow_context *context, const struct rpcrdma_connection *connection,
                 const struct rpcrdma_finding *finding)
{
    /* what is made of an operation for which there was no memory is not what was on the wire */
    if (context->sink.finding && !context->memory.failed) {
        struct rpcrdma_finding given = *finding;

        given.rule = rule_of_version(given.rule, connection ? connection->version : 0);
        /* an operation that waited for bytes before it is not of the packet in hand */
        if (!given.has_time && connection && connection->carrier == RPCRDMA_CARRIER_IWARP &&
            given.frame != 0 && given.frame == context->frame) {
            given.has_time = true;
            given.time_ns = context->time_ns;
        }
        context->sink.finding(context->sink.context, connection, &given);
    }
}

void flow_finding_add(struct flow_findings *findings, const struct rpcrdma_finding *finding)
{
    struct rpcrdma_finding *at;

    if (findings->count == FLOW_FINDINGS)
        return;
    at = &findings->at[findings->count++];
    *at = *finding;
    at->rule = rule_of_version(at->rule, findings->version);
}
