/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit_suspect.h"

#define SIZE (RPCRDMA_CREDIT_SUSPECTS * sizeof(struct rpcrdma_finding))

bool rpcrdma_credit_suspects_add(struct rpcrdma_credit_suspects *suspects,
                                 struct flow_memory *memory, const struct rpcrdma_finding *finding)
{
    uint64_t index = suspects->count++;

    if (index >= RPCRDMA_CREDIT_SUSPECTS)
        return true;
    if (!suspects->finding && index == 0)
        suspects->finding = flow_alloc(memory, SIZE);
    if (suspects->finding)
        suspects->finding[index] = *finding;
    return suspects->finding != NULL;
}

uint64_t rpcrdma_credit_suspects_confirm(struct rpcrdma_credit_suspects *suspects,
                                         const struct rpcrdma_credit_sink *sink)
{
    uint64_t count = suspects->finding ? suspects->count : 0, all = suspects->count;

    for (uint64_t i = 0; sink->finding && i < count && i < RPCRDMA_CREDIT_SUSPECTS; i++)
        sink->finding(sink->context, &suspects->finding[i]);
    suspects->count = 0;
    return all;
}

void rpcrdma_credit_suspects_free(struct rpcrdma_credit_suspects *suspects,
                                  struct flow_memory *memory)
{
    flow_release(memory, suspects->finding, SIZE);
    *suspects = (struct rpcrdma_credit_suspects){0};
}
