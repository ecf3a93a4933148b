/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/account_private.h"

/* A Call whose Reply may have been missed is passed by so many others only because it was. */
#define MISSED_REPLIES 256

/* There is no place for a Call that is in flight. */
RPCRDMA_RARE static void add_untracked(struct rpcrdma_credit_account *account)
{
    struct rpcrdma_credit_rare *rare = account_make_rare(account);

    if (rare)
        rare->untracked++;
}

void account_add_call(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call)
{
    if (!call) {
        add_untracked(account);
        account->memory = true;
        return;
    }
    call->state = RPCRDMA_CREDIT_CALL_IN_FLIGHT;
    call->serial = ++account->serial;
    call->sent_ns = account->gauge.elapsed_ns;
    call->answered = account->answered;
    rpcrdma_credit_calls_add(&account->set, call);
}

static void leave(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call,
                  enum rpcrdma_credit_call_state state)
{
    if (call->state == RPCRDMA_CREDIT_CALL_REPLIED)
        rpcrdma_credit_replies_unlink(&account->replies_passed, call->reply);
    rpcrdma_credit_calls_remove(&account->set, call);
    call->state = (uint8_t)state;
    if (account->sink.left)
        account->sink.left(account->sink.context, call);
}

void account_leave_all(struct rpcrdma_credit_account *account)
{
    while (TAILQ_FIRST(&account->set.all))
        leave(account, TAILQ_FIRST(&account->set.all), RPCRDMA_CREDIT_CALL_NONE);
}

void account_forget(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call,
                    enum rpcrdma_credit_call_state state)
{
    struct rpcrdma_credit_rare *rare = account->rare;

    if (rare) {
        if (call->serial <= rare->unheard_serial && rare->unheard > 0)
            rare->unheard--;
        if (call->serial <= rare->doubt_serial && rare->doubtful > 0)
            rare->doubtful--;
        if (rare->doubt > rare->doubtful)
            rare->doubt = rare->doubtful;
    }
    leave(account, call, state);
}

/* Whether this Call may be one of those that were answered unseen. */
static bool is_doubted(const struct rpcrdma_credit_account *account,
                       const struct rpcrdma_credit_call *call)
{
    const struct rpcrdma_credit_rare *rare = account->rare;

    return rare && rare->doubt > 0 && call->serial <= rare->doubt_serial;
}

/* Its Reply was lost to the capture. */
static void was_missed(struct rpcrdma_credit_account *account)
{
    account->rare->counts[RPCRDMA_CREDIT_MISSED]++;
    account->rare->doubt--;
}

RPCRDMA_RARE void account_age_oldest(struct rpcrdma_credit_account *account,
                                     struct rpcrdma_credit_call *call)
{
    uint64_t waited = account->gauge.elapsed_ns - call->sent_ns;
    uint64_t passed = account->answered - call->answered;

    if (is_doubted(account, call) &&
        (passed >= MISSED_REPLIES || waited > SETTLE_NS + 10 * account->longest_ns)) {
        was_missed(account);
        account_forget(account, call, RPCRDMA_CREDIT_CALL_MISSED);
    } else if (waited > ABANDON_NS && passed >= ABANDON_REPLIES) {
        account_count(account, RPCRDMA_CREDIT_UNANSWERED, 1);
        account_forget(account, call, RPCRDMA_CREDIT_CALL_UNANSWERED);
    }
}

void rpcrdma_credit_account_give_up(struct rpcrdma_credit_account *account,
                                    struct rpcrdma_credit_call *call)
{
    if (!rpcrdma_credit_call_in_flight(call))
        return;
    account->memory = true;
    if (is_doubted(account, call))
        was_missed(account);
    else
        add_untracked(account);
    account_forget(account, call, RPCRDMA_CREDIT_CALL_NONE);
}

void account_restore(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call)
{
    struct rpcrdma_credit_rare *rare = account->rare; /* it was counted there */

    if (rare) {
        uint64_t *counted = call->state == RPCRDMA_CREDIT_CALL_MISSED
                                ? &rare->counts[RPCRDMA_CREDIT_MISSED]
                                : &rare->counts[RPCRDMA_CREDIT_UNANSWERED];

        if (*counted > 0) /* not since a report began anew */
            --*counted;
    }
    call->state = RPCRDMA_CREDIT_CALL_NONE;
}

void account_answered_before(struct rpcrdma_credit_account *account,
                             struct rpcrdma_credit_call *call)
{
    struct rpcrdma_credit_rare *rare = account->rare;
    uint64_t *counted =
        !call || !rare                               ? NULL
        : call->state == RPCRDMA_CREDIT_CALL_EARLIER ? &rare->counts[RPCRDMA_CREDIT_EARLIER]
        : call->state == RPCRDMA_CREDIT_CALL_STRAY   ? &rare->counts[RPCRDMA_CREDIT_STRAY]
                                                     : NULL;

    account->calls++;
    account->replies++;
    if (counted && *counted > 0) /* not since a report began anew */
        --*counted;
    if (call)
        call->state = RPCRDMA_CREDIT_CALL_NONE;
}

/* What may still have a Call behind it: how it was counted. */
static void counted_as(struct rpcrdma_credit_call *call, enum rpcrdma_credit_call_state state)
{
    if (call)
        call->state = (uint8_t)state;
}

void account_complete(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call)
{
    uint64_t ns;

    if (rpcrdma_credit_call_in_flight(call)) {
        ns = account->gauge.elapsed_ns - call->sent_ns;
        if (ns > account->longest_ns)
            account->longest_ns = ns;
        account->replies++;
        account->answered++;
        account_forget(account, call, RPCRDMA_CREDIT_CALL_NONE);
    } else if (account_gave_up(call)) {
        account->replies++;
        account_restore(account, call);
    } else if (account_rare(account)->untracked > 0) {
        account->rare->untracked--;
        account->replies++;
    } else if (!account->settled) {
        account_is_earlier(account);
        counted_as(call, RPCRDMA_CREDIT_CALL_EARLIER);
    } else {
        account_count(account, RPCRDMA_CREDIT_STRAY, 1);
        counted_as(call, RPCRDMA_CREDIT_CALL_STRAY);
    }
}
