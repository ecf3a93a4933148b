/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/grant.h"

#include <string.h>

#define UNSEEN_ACK_NS UINT64_C(1000000000)

void rpcrdma_credit_grants_init(struct rpcrdma_credit_grants *grants, uint64_t value)
{
    memset(grants, 0, sizeof(*grants));
    grants->grant[0].value = value;
    grants->count = 1;
}

static void drop(struct rpcrdma_credit_grants *grants, uint32_t index)
{
    grants->count--;
    memmove(&grants->grant[index], &grants->grant[index + 1],
            (grants->count - index) * sizeof(grants->grant[0]));
}

void rpcrdma_credit_grants_add(struct rpcrdma_credit_grants *grants,
                               const struct rpcrdma_credit_grant *grant)
{
    if (grants->grant[grants->count - 1].value == grant->value)
        return;
    /* A raise counts at once, and what it overtakes can lower nothing any more. */
    if (grant->value >= rpcrdma_credit_grants_ceiling(grants)) {
        grants->grant[0] = *grant;
        grants->count = 1;
        return;
    }
    if (grants->count > RPCRDMA_GRANTS_PENDING) {
        if (grants->grant[1].value > grants->grant[2].value)
            grants->grant[2].value = grants->grant[1].value;
        drop(grants, 1);
    }
    grants->grant[grants->count++] = *grant;
}

uint64_t rpcrdma_credit_grants_ceiling(const struct rpcrdma_credit_grants *grants)
{
    uint64_t ceiling = 0;

    for (uint32_t i = 0; i < grants->count; i++)
        if (grants->grant[i].value > ceiling)
            ceiling = grants->grant[i].value;
    return ceiling;
}

bool rpcrdma_credit_grants_acked(struct rpcrdma_credit_grants *grants,
                                 rpcrdma_stream_position place, uint64_t elapsed_ns,
                                 struct rpcrdma_credit_grant *before,
                                 struct rpcrdma_credit_grant *after)
{
    const struct rpcrdma_credit_grant *next = &grants->grant[1];

    if (grants->count < 2)
        return false;
    if (next->place ? place < next->place : elapsed_ns - next->elapsed_ns < UNSEEN_ACK_NS)
        return false;
    *before = grants->grant[0];
    *after = *next;
    drop(grants, 0);
    return true;
}
