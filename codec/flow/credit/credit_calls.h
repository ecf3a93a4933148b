/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_CREDIT_CALLS_H
#define RPCRDMA_FLOW_CREDIT_CREDIT_CALLS_H

/*
 * The Calls in flight in one direction of RPC: a set of XIDs in the order in which they were sent,
 * bounded, found by hash. Every operation takes constant time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

enum { RPCRDMA_CALLS_MAX = 65536 };

struct rpcrdma_credit_call {
    uint32_t xid;
    uint32_t older, newer; /* indices; the table's business */
    uint64_t serial;       /* number of the Call in its account, from 1 */
    uint64_t sent_ns;      /* on the account's clock */
    uint64_t answered;     /* Replies that had come when it was sent */
    uint64_t frame;
};

struct rpcrdma_credit_calls {
    struct flow_memory *memory;
    struct rpcrdma_credit_call *calls; /* owned */
    uint32_t *hash;                    /* indices into calls, open addressing; owned */
    uint32_t capacity, slots;          /* slots: a power of two, at least twice the capacity */
    uint32_t count, unused, oldest, newest;
    uint64_t secret[2]; /* of the hash */
};

/* memory is borrowed. */
void rpcrdma_credit_calls_init(struct rpcrdma_credit_calls *set, struct flow_memory *memory);
void rpcrdma_credit_calls_free(struct rpcrdma_credit_calls *set);
/* Forgets all Calls, keeps the memory. */
void rpcrdma_credit_calls_clear(struct rpcrdma_credit_calls *set);

/* The Call with this XID, or NULL. Valid until the set is changed. */
struct rpcrdma_credit_call *rpcrdma_credit_calls_find(const struct rpcrdma_credit_calls *set,
                                                      uint32_t xid);
/* Adds a Call whose XID is not in the set; the caller fills the rest. NULL when RPCRDMA_CALLS_MAX
 * are in it or memory is short: the set is as before. */
struct rpcrdma_credit_call *rpcrdma_credit_calls_add(struct rpcrdma_credit_calls *set,
                                                     uint32_t xid);
/* Removes a Call of this set. */
void rpcrdma_credit_calls_remove(struct rpcrdma_credit_calls *set,
                                 struct rpcrdma_credit_call *call);
/* The Call that was added first, or NULL. */
struct rpcrdma_credit_call *rpcrdma_credit_calls_oldest(const struct rpcrdma_credit_calls *set);

#endif
