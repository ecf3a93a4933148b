/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_GRANT_H
#define RPCRDMA_FLOW_CREDIT_GRANT_H

/*
 * Which grant binds. A larger grant counts as soon as it is seen. A smaller one binds once the
 * transport of the end it is for has acknowledged the message that brought it (RFC 8166 section
 * 3.3.1): until then that end may not know of it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

/*
 * Where a message stands in its sender's stream, growing: what an acknowledgement is compared with.
 * An unwrapped PSN, or TCP sequence number. 0: not known; then a grant binds by time alone, after a
 * second, which is far longer than any round trip.
 */
typedef uint64_t rpcrdma_stream_position;

enum { RPCRDMA_GRANTS_PENDING = 8 };

struct rpcrdma_credit_grant {
    uint64_t value;
    rpcrdma_stream_position place;
    uint64_t elapsed_ns, frame;
};

/* The grant that binds, and the later, smaller ones whose acknowledgement was not seen: most
 * connections have none. When there are too many of those, or there is no memory for one more, two
 * become one, the larger value with the later place: never a false alarm. */
struct rpcrdma_credit_grants {
    uint64_t binding;
    struct rpcrdma_credit_grant *pending; /* the earliest first; owned */
    uint8_t count, size;                  /* of those; there is room for */
};

#define RPCRDMA_CREDIT_NO_LIMIT UINT64_MAX

/* `value` binds, and nothing else is pending; RPCRDMA_CREDIT_NO_LIMIT where the grants before are
 * not known. Of {0} at first. */
static inline void rpcrdma_credit_grants_begin(struct rpcrdma_credit_grants *grants, uint64_t value)
{
    grants->binding = value;
    grants->count = 0;
}
void rpcrdma_credit_grants_free(struct rpcrdma_credit_grants *grants, struct flow_memory *memory);
/* This one binds, and nothing else is pending: to add it changes nothing. */
static inline bool rpcrdma_credit_grants_is(const struct rpcrdma_credit_grants *grants,
                                            uint64_t value)
{
    return grants->count == 0 && grants->binding == value;
}
/* False: there was no memory to keep it, and what is larger goes on binding. */
bool rpcrdma_credit_grants_add(struct rpcrdma_credit_grants *grants, struct flow_memory *memory,
                               const struct rpcrdma_credit_grant *grant);
/* Whether any is later than the one that binds: else rpcrdma_credit_grants_acked is false. */
static inline bool rpcrdma_credit_grants_pending(const struct rpcrdma_credit_grants *grants)
{
    return grants->count > 0;
}

/* The most that may be in flight. */
static inline uint64_t rpcrdma_credit_grants_ceiling(const struct rpcrdma_credit_grants *grants)
{
    uint64_t ceiling = grants->binding;

    for (uint32_t i = 0; i < grants->count; i++)
        if (grants->pending[i].value > ceiling)
            ceiling = grants->pending[i].value;
    return ceiling;
}
/*
 * Everything up to `place` was acknowledged, now. True when that, or time, makes a grant bind;
 * *before is the value it takes the place of, *after the new one. Call until it says false.
 */
bool rpcrdma_credit_grants_acked(struct rpcrdma_credit_grants *grants,
                                 rpcrdma_stream_position place, uint64_t elapsed_ns,
                                 uint64_t *before, struct rpcrdma_credit_grant *after);

#endif
