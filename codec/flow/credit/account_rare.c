/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/account_private.h"

RPCRDMA_RARE struct rpcrdma_credit_rare *account_make_rare(struct rpcrdma_credit_account *account)
{
    if (!account->rare) {
        account->rare = flow_alloc_always(account_memory(account), sizeof(*account->rare));
        if (account->rare)
            account->rare->unknown_max = RPCRDMA_CREDIT_NO_LIMIT;
    }
    return account->rare;
}

RPCRDMA_RARE void account_count(struct rpcrdma_credit_account *account,
                                enum rpcrdma_credit_counted what, uint64_t n)
{
    struct rpcrdma_credit_rare *rare = n > 0 ? account_make_rare(account) : NULL;

    if (rare)
        rare->counts[what] += n;
}
