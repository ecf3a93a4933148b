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
