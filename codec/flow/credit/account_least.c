/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/account_private.h"

/*
 * A Reply returns its credit when it is acknowledged. Where acknowledgements are missing from the
 * capture it does so with a later one, and the account seems to be at the limit for longer than it
 * was. So the time counts, too, in which so many Calls had no Reply at all: whenever Replies
 * arrived, it was at the limit then.
 */

/* Nothing was answered for as long as a hung wait takes: that is no lack of credits. */
static bool counts(uint64_t ns)
{
    return ns < RPCRDMA_CREDIT_HUNG_NS;
}

static uint64_t since(const struct rpcrdma_credit_account *account)
{
    return account->gauge.elapsed_ns - account->rare->at_limit_since_ns;
}

RPCRDMA_RARE void account_at_limit(struct rpcrdma_credit_account *account, bool at_limit)
{
    if (at_limit == account->at_limit || !account_make_rare(account))
        return;
    if (at_limit) {
        account->rare->at_limit_since_ns = account->gauge.elapsed_ns;
    } else if (counts(since(account))) {
        account_count(account, RPCRDMA_CREDIT_LEAST_NS, since(account));
        account_count(account, RPCRDMA_CREDIT_LEAST_LONGER,
                      since(account) >= RPCRDMA_CREDIT_LONG_NS);
    }
    account->at_limit = at_limit;
}

void account_least(const struct rpcrdma_credit_account *account, struct rpcrdma_credit_result *out)
{
    const struct rpcrdma_credit_rare *rare = account_rare(account);

    out->unacked = rare->counts[RPCRDMA_CREDIT_UNACKED];
    out->least_ns = rare->counts[RPCRDMA_CREDIT_LEAST_NS];
    out->least_longer = rare->counts[RPCRDMA_CREDIT_LEAST_LONGER];
    if (!account->at_limit || !counts(since(account)))
        return;
    out->least_ns += since(account);
    out->least_longer += since(account) >= RPCRDMA_CREDIT_LONG_NS;
}

RPCRDMA_RARE void account_unacked(struct rpcrdma_credit_account *account)
{
    account_count(account, RPCRDMA_CREDIT_UNACKED, 1);
}
