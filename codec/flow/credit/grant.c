/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/grant.h"

#include <string.h>

#define UNSEEN_ACK_NS UINT64_C(1000000000)

enum { PENDING_FIRST = 2 }; /* room for them grows up to RPCRDMA_GRANTS_PENDING */

void rpcrdma_credit_grants_free(struct rpcrdma_credit_grants *grants, struct flow_memory *memory)
{
    flow_release(memory, grants->pending, grants->size * sizeof(*grants->pending));
    *grants = (struct rpcrdma_credit_grants){0};
}

static void drop_earliest(struct rpcrdma_credit_grants *grants)
{
    grants->count--;
    memmove(&grants->pending[0], &grants->pending[1], grants->count * sizeof(*grants->pending));
}

static bool grow(struct rpcrdma_credit_grants *grants, struct flow_memory *memory)
{
    uint8_t size = grants->size > 0 ? (uint8_t)(2 * grants->size) : PENDING_FIRST;
    struct rpcrdma_credit_grant *bigger =
        size <= RPCRDMA_GRANTS_PENDING ? flow_alloc(memory, size * sizeof(*bigger)) : NULL;

    if (!bigger)
        return false;
    if (grants->count > 0)
        memcpy(bigger, grants->pending, grants->count * sizeof(*bigger));
    flow_release(memory, grants->pending, grants->size * sizeof(*bigger));
    grants->pending = bigger;
    grants->size = size;
    return true;
}

bool rpcrdma_credit_grants_add(struct rpcrdma_credit_grants *grants, struct flow_memory *memory,
                               const struct rpcrdma_credit_grant *grant)
{
    uint64_t latest =
        grants->count > 0 ? grants->pending[grants->count - 1].value : grants->binding;
    bool kept = true;

    if (latest == grant->value)
        return true;
    /* A raise counts at once, and what it overtakes can lower nothing any more. */
    if (grant->value >= rpcrdma_credit_grants_ceiling(grants)) {
        rpcrdma_credit_grants_begin(grants, grant->value);
        return true;
    }
    if (grants->count == grants->size && !grow(grants, memory)) {
        kept = grants->size == RPCRDMA_GRANTS_PENDING;
        if (grants->size == 0)
            return false;
        if (grants->pending[0].value > grants->pending[1].value)
            grants->pending[1].value = grants->pending[0].value;
        drop_earliest(grants);
    }
    grants->pending[grants->count++] = *grant;
    return kept;
}

bool rpcrdma_credit_grants_acked(struct rpcrdma_credit_grants *grants,
                                 rpcrdma_stream_position place, uint64_t elapsed_ns,
                                 uint64_t *before, struct rpcrdma_credit_grant *after)
{
    const struct rpcrdma_credit_grant *next = grants->pending;

    if (grants->count == 0)
        return false;
    if (next->place ? place < next->place : elapsed_ns - next->elapsed_ns < UNSEEN_ACK_NS)
        return false;
    *before = grants->binding;
    *after = *next;
    grants->binding = next->value;
    drop_earliest(grants);
    return true;
}
