/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit_suspect.h"

void rpcrdma_credit_suspects_add(struct rpcrdma_credit_suspects *suspects,
                                 const struct rpcrdma_finding *finding)
{
    if (suspects->count < RPCRDMA_CREDIT_SUSPECTS)
        suspects->finding[suspects->count] = *finding;
    suspects->count++;
}

uint64_t rpcrdma_credit_suspects_confirm(struct rpcrdma_credit_suspects *suspects,
                                         const struct rpcrdma_credit_sink *sink)
{
    uint64_t count = suspects->count;

    for (uint64_t i = 0; sink->finding && i < count && i < RPCRDMA_CREDIT_SUSPECTS; i++)
        sink->finding(sink->context, &suspects->finding[i]);
    suspects->count = 0;
    return count;
}
