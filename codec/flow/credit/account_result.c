/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/account_private.h"

#include <string.h>

void rpcrdma_credit_account_result(const struct rpcrdma_credit_account *account,
                                   struct rpcrdma_credit_result *out)
{
    const struct rpcrdma_credit_rare *rare = account_rare(account);

    memset(out, 0, sizeof(*out));
    out->memory = account->memory;
    rpcrdma_credit_gauge_result(&account->gauge, out);
    out->calls = account->calls;
    out->replies = account->replies;
    out->unanswered = rare->counts[RPCRDMA_CREDIT_UNANSWERED] + account_in_flight(account);
    out->undelivered = rare->counts[RPCRDMA_CREDIT_UNDELIVERED];
    out->followed = account->followed;
    out->retransmitted = rare->counts[RPCRDMA_CREDIT_RETRANSMITTED];
    out->earlier = rare->counts[RPCRDMA_CREDIT_EARLIER];
    out->stray = rare->counts[RPCRDMA_CREDIT_STRAY];
    out->missed = rare->counts[RPCRDMA_CREDIT_MISSED] + rare->doubt;
    out->requested = account->requested;
    out->granted = account->granted;
    out->limit = account->limit;
    out->in_flight.known = account->from_requester && account->from_responder;
    out->violations = rare->counts[RPCRDMA_CREDIT_VIOLATIONS] + account->pending_violations.count;
    out->rnr_naks = rare->counts[RPCRDMA_CREDIT_RNR_NAKS];
    out->settled = account->settled && rare->doubt == 0;
    out->unsettled_ns = rare->counts[RPCRDMA_CREDIT_UNSETTLED_NS];
    out->gaps = account->gaps;
    account_least(account, out);
}

static void keep_last(struct rpcrdma_credit_range *range)
{
    range->min = range->max = range->last;
    range->changes = 0;
}

void rpcrdma_credit_account_restart(struct rpcrdma_credit_account *account)
{
    struct rpcrdma_credit_rare *rare = account->rare;

    rpcrdma_credit_gauge_restart(&account->gauge);
    account->calls = account->replies = 0;
    account->most = account_most_now(account);
    if (rare) {
        memset(rare->counts, 0, sizeof(rare->counts));
        rare->at_limit_since_ns = account->gauge.elapsed_ns;
    }
    keep_last(&account->requested);
    keep_last(&account->granted);
    keep_last(&account->limit);
}
