/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_ACCOUNT_PRIVATE_H
#define RPCRDMA_FLOW_CREDIT_ACCOUNT_PRIVATE_H

/*
 * What the files of an account share:
 *
 *   account.c            events
 *   account_calls.c      the Calls in flight: how they come and go
 *   account_unsettled.c  what may be in flight besides them, or may not be any more
 *   account_least.c      how long it was at the limit, whatever Replies were on their way
 *   account_rare.c       memory for what most accounts never have
 *   account_result.c     what is reported of it
 */

#include "flow/credit/account.h"
#include "wire/hot.h"

/* Far longer than any answer takes: this and ten times the longest seen, after so many Replies. */
#define SETTLE_NS UINT64_C(1000000000)
#define SETTLE_REPLIES 16
/* A Call that waits this long while so many others were answered gets no Reply. */
#define ABANDON_NS UINT64_C(60000000000)
#define ABANDON_REPLIES 1024

static inline struct flow_memory *account_memory(const struct rpcrdma_credit_account *account)
{
    return account->gauge.histogram.memory;
}

/* To read: as it is where there was nothing of it. */
static inline const struct rpcrdma_credit_rare *
account_rare(const struct rpcrdma_credit_account *account)
{
    static const struct rpcrdma_credit_rare none = {.unknown_max = RPCRDMA_CREDIT_NO_LIMIT};

    return account->rare ? account->rare : &none;
}

static inline uint64_t account_in_flight(const struct rpcrdma_credit_account *account)
{
    uint64_t calls = account->set.count;

    return account->rare ? calls + account->rare->untracked - account->rare->doubt : calls;
}

/* Of these: a Reply passed, and is not known to have been delivered. The Requester may have it. */
static inline uint64_t account_replied(const struct rpcrdma_credit_account *account)
{
    uint64_t passed = account->replies_passed.count, all = account_in_flight(account);

    return passed < all ? passed : all;
}

static inline uint64_t account_without_reply(const struct rpcrdma_credit_account *account)
{
    return account_in_flight(account) - account_replied(account);
}

/* account->most counts no further. */
static inline uint32_t account_most_now(const struct rpcrdma_credit_account *account)
{
    uint64_t now = account_without_reply(account);

    return now < UINT32_MAX ? (uint32_t)now : UINT32_MAX;
}

/* account_least.c. Whether so many Calls without a Reply that passed are in flight as the limit
 * allows. */
void account_at_limit(struct rpcrdma_credit_account *account, bool at_limit);
/* The time of that until now, and since then. */
void account_least(const struct rpcrdma_credit_account *account, struct rpcrdma_credit_result *out);
/* A Call is sent though as many are in flight as may be: a Reply has arrived. */
void account_unacked(struct rpcrdma_credit_account *account);

static inline bool account_gave_up(const struct rpcrdma_credit_call *call)
{
    return call && (call->state == RPCRDMA_CREDIT_CALL_UNANSWERED ||
                    call->state == RPCRDMA_CREDIT_CALL_MISSED);
}

/* account_rare.c. To change. NULL: no memory, which ends the run. */
struct rpcrdma_credit_rare *account_make_rare(struct rpcrdma_credit_account *account);
void account_count(struct rpcrdma_credit_account *account, enum rpcrdma_credit_counted what,
                   uint64_t n);

/* account_calls.c. A Call is in flight from now on; NULL: there is no place for it. */
void account_add_call(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call);
/* It is not in flight any more. */
void account_forget(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call,
                    enum rpcrdma_credit_call_state state);
void account_leave_all(struct rpcrdma_credit_account *account);
/* It was given up too early: it comes back. */
void account_restore(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call);
/* This Call's Reply was captured before it, and counted: it has its Call. */
void account_answered_before(struct rpcrdma_credit_account *account,
                             struct rpcrdma_credit_call *call);
/* Takes the Call a Reply answers out of what is in flight. */
void account_complete(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call);
/* Calls whose Reply the capture lost, and Calls that get none, leave by evidence. */
void account_age_oldest(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call);
static inline void account_age(struct rpcrdma_credit_account *account)
{
    struct rpcrdma_credit_call *oldest = TAILQ_FIRST(&account->set.all);

    /* one that has its Reply waits to be delivered */
    if (oldest && oldest->state != RPCRDMA_CREDIT_CALL_REPLIED &&
        (account->rare || account->gauge.elapsed_ns - oldest->sent_ns > ABANDON_NS))
        account_age_oldest(account, oldest);
}

/* account_unsettled.c. At the first Reply that was captured. */
void account_first_reply(struct rpcrdma_credit_account *account);
/* A Reply to a Call from before the capture. */
void account_is_earlier(struct rpcrdma_credit_account *account);
/* Of an account that is not settled: what else may be in flight, by what is known now. */
void account_narrow(struct rpcrdma_credit_account *account);

#endif
