/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/context/context.h"

void flow_report(const struct flow_context *context, const struct rpcrdma_connection *connection,
                 const struct rpcrdma_finding *finding)
{
    /* what is made of an operation for which there was no memory is not what was on the wire */
    if (context->sink.finding && !context->memory.failed)
        context->sink.finding(context->sink.context, connection, finding);
}

void flow_finding_add(struct flow_findings *findings, const struct rpcrdma_finding *finding)
{
    if (findings->count < FLOW_FINDINGS)
        findings->at[findings->count++] = *finding;
}
