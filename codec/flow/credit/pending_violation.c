/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/pending_violation.h"

#define SIZE (RPCRDMA_PENDING_VIOLATIONS_MAX * sizeof(struct rpcrdma_finding))

bool rpcrdma_pending_violations_add(struct rpcrdma_pending_violations *pending_violations,
                                    struct flow_memory *memory,
                                    const struct rpcrdma_finding *finding)
{
    uint64_t index = pending_violations->count++;

    if (index >= RPCRDMA_PENDING_VIOLATIONS_MAX)
        return true;
    if (!pending_violations->finding && index == 0)
        pending_violations->finding = flow_alloc(memory, SIZE);
    if (pending_violations->finding)
        pending_violations->finding[index] = *finding;
    return pending_violations->finding != NULL;
}

uint64_t rpcrdma_pending_violations_confirm(struct rpcrdma_pending_violations *pending_violations,
                                            const struct rpcrdma_credit_sink *sink)
{
    uint64_t count = pending_violations->finding ? pending_violations->count : 0,
             all = pending_violations->count;

    for (uint64_t i = 0; sink->finding && i < count && i < RPCRDMA_PENDING_VIOLATIONS_MAX; i++)
        sink->finding(sink->context, &pending_violations->finding[i]);
    pending_violations->count = 0;
    return all;
}

void rpcrdma_pending_violations_free(struct rpcrdma_pending_violations *pending_violations,
                                     struct flow_memory *memory)
{
    flow_release(memory, pending_violations->finding, SIZE);
    *pending_violations = (struct rpcrdma_pending_violations){0};
}
