/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_REPLIES_H
#define RPCRDMA_FLOW_CREDIT_REPLIES_H

/*
 * Replies on their way to the Requester, in the order in which they were sent, which is that in
 * which they arrive: seen in the capture, and not yet known to be delivered.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "bound.h"
#include "flow/credit/credit_calls.h"
#include "flow/credit/grant.h"

enum { RPCRDMA_CREDIT_REPLIES = RPCRDMA_BOUND(4096, 4) };

struct rpcrdma_credit_reply {
    struct rpcrdma_credit_call *call; /* that it answers; NULL: none that is in flight */
    uint32_t granted;
    uint32_t stream_last;          /* iWARP: TCP's number of its last byte */
    rpcrdma_stream_position place; /* of its last PSN; iWARP: 0 */
    int64_t time_ns;               /* when it was seen */
};

struct rpcrdma_credit_replies {
    struct rpcrdma_credit_reply *ring; /* NULL: none yet. `one`, or owned */
    uint32_t size, begin, count;
    uint32_t first;                  /* number of the oldest */
    struct rpcrdma_credit_reply one; /* mostly no more are under way */
};

/* False: there is no room for one more. Its Call knows its number. */
bool rpcrdma_credit_replies_add(struct rpcrdma_credit_replies *replies, struct flow_memory *memory,
                                const struct rpcrdma_credit_reply *reply);
/* The one that was sent first, of which there must be one. */
const struct rpcrdma_credit_reply *
rpcrdma_credit_replies_oldest(const struct rpcrdma_credit_replies *replies);
void rpcrdma_credit_replies_remove_oldest(struct rpcrdma_credit_replies *replies);
/* Number `number` answers nothing any more. */
void rpcrdma_credit_replies_unlink(struct rpcrdma_credit_replies *replies, uint32_t number);
void rpcrdma_credit_replies_clear(struct rpcrdma_credit_replies *replies);
void rpcrdma_credit_replies_free(struct rpcrdma_credit_replies *replies,
                                 struct flow_memory *memory);

#endif
