/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_CREDIT_CALLS_H
#define RPCRDMA_FLOW_CREDIT_CREDIT_CALLS_H

/*
 * What an account keeps of a Call, in the Call's entry in the table of flow/message; those that are
 * in flight are linked, in the order in which they were sent.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum rpcrdma_credit_call_state {
    RPCRDMA_CREDIT_CALL_NONE,       /* the account knows nothing of it */
    RPCRDMA_CREDIT_CALL_IN_FLIGHT,  /* in the set */
    RPCRDMA_CREDIT_CALL_REPLIED,    /* in the set: its Reply waits to be delivered */
    RPCRDMA_CREDIT_CALL_UNANSWERED, /* no Reply is expected any more: counted as unanswered */
    RPCRDMA_CREDIT_CALL_MISSED,     /* its Reply was lost to the capture: counted as missed */
    RPCRDMA_CREDIT_CALL_EARLIER,    /* there is a Reply only: counted as one to an earlier Call, */
    RPCRDMA_CREDIT_CALL_STRAY       /* as one without Call */
};

/* A Call, as it is sent. */
enum rpcrdma_credit_call_use {
    RPCRDMA_CREDIT_CALL_NEW,
    RPCRDMA_CREDIT_CALL_RETRANSMITTED, /* it is outstanding */
    RPCRDMA_CREDIT_CALL_ANSWERED       /* its Reply was captured before it */
};

struct rpcrdma_credit_call {
    TAILQ_ENTRY(rpcrdma_credit_call) in_flight;
    uint64_t serial;   /* number of the Call in its account, from 1 */
    uint64_t sent_ns;  /* on the account's clock */
    uint64_t answered; /* Replies that had come when it was sent */
    uint32_t reply;    /* REPLIED: number of that in the ring */
    uint8_t state;     /* of enum rpcrdma_credit_call_state */
};

struct rpcrdma_credit_calls {
    TAILQ_HEAD(, rpcrdma_credit_call) all; /* the oldest first */
    uint32_t count;
};

static inline bool rpcrdma_credit_call_in_flight(const struct rpcrdma_credit_call *call)
{
    return call && (call->state == RPCRDMA_CREDIT_CALL_IN_FLIGHT ||
                    call->state == RPCRDMA_CREDIT_CALL_REPLIED);
}

/* It was counted as a Call, and not as answered. */
static inline bool rpcrdma_credit_call_is_open(const struct rpcrdma_credit_call *call)
{
    return call && call->state >= RPCRDMA_CREDIT_CALL_IN_FLIGHT &&
           call->state <= RPCRDMA_CREDIT_CALL_MISSED;
}

static inline void rpcrdma_credit_calls_add(struct rpcrdma_credit_calls *set,
                                            struct rpcrdma_credit_call *call)
{
    TAILQ_INSERT_TAIL(&set->all, call, in_flight);
    set->count++;
}

static inline void rpcrdma_credit_calls_remove(struct rpcrdma_credit_calls *set,
                                               struct rpcrdma_credit_call *call)
{
    TAILQ_REMOVE(&set->all, call, in_flight);
    set->count--;
}

#endif
