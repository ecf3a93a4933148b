/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/account_private.h"

/* A Call that has waited so long at the first Reply may have been answered unseen. */
#define UNHEARD_NS UINT64_C(100000000)

/* At the first Reply that was captured: to Calls that have waited for long, Replies may have passed
 * before the capture had any of them. */
void account_first_reply(struct rpcrdma_credit_account *account)
{
    const struct rpcrdma_credit_call *oldest = TAILQ_FIRST(&account->set.all);
    struct rpcrdma_credit_rare *rare;

    if (!oldest || account->gauge.elapsed_ns - oldest->sent_ns <= UNHEARD_NS)
        return;
    rare = account_make_rare(account);
    if (!rare)
        return;
    rare->unheard = account->set.count;
    rare->unheard_serial = account->serial;
}

RPCRDMA_RARE void account_is_earlier(struct rpcrdma_credit_account *account)
{
    struct rpcrdma_credit_rare *rare = account_make_rare(account);

    if (!rare)
        return;
    rare->counts[RPCRDMA_CREDIT_EARLIER]++;
    rare->earlier_ns = account->gauge.elapsed_ns;
    if (rare->unknown_max != RPCRDMA_CREDIT_NO_LIMIT && rare->unknown_max > 0)
        rare->unknown_max--;
}

/* The Requester stays within its grant, so no more can be in flight than fit into it. */
RPCRDMA_RARE void account_narrow(struct rpcrdma_credit_account *account)
{
    uint64_t ceiling = rpcrdma_credit_grants_ceiling(&account->grants), room;
    struct rpcrdma_credit_rare *rare = account_make_rare(account);

    if (!rare)
        return;
    if (ceiling != RPCRDMA_CREDIT_NO_LIMIT) {
        room = ceiling > account_in_flight(account) ? ceiling - account_in_flight(account) : 0;
        if (room < rare->unknown_max)
            rare->unknown_max = room;
    }
    if (rare->unknown_max == 0 ||
        (account->answered >= SETTLE_REPLIES &&
         account->gauge.elapsed_ns - rare->earlier_ns > SETTLE_NS + 10 * account->longest_ns))
        account->settled = true;
}
