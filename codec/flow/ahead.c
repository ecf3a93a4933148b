/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/flow_state.h"

/* Of many connections what is kept is not in the processor's cache: it is asked for ahead. */

bool rpcrdma_flow_crowded(const struct rpcrdma_flow *flow)
{
    enum { CROWD = 1024 }; /* of fewer directions much stays in the cache */

    return flow_directions_count(flow->streams) >= CROWD;
}

/* Step by step for all of them: what one step asked for is there when the next goes on from it. */
void rpcrdma_flow_ahead(struct rpcrdma_flow *flow, const struct rpcrdma_op *ops, size_t n)
{
    struct flow_conn *conns[RPCRDMA_FLOW_AHEAD], *last = NULL;
    struct flow_direction *dirs[RPCRDMA_FLOW_AHEAD];
    size_t n_conns = 0;

    n = flow_directions_ahead(flow->streams, ops, n, dirs);
    for (size_t i = 0; i < n; i++) {
        if (!dirs[i]->conn || dirs[i]->conn == last)
            continue;
        last = conns[n_conns++] = dirs[i]->conn;
        flow_conn_fetch(flow->conns, last);
    }
    if (!flow->credits)
        return;
    for (size_t i = 0; i < n_conns; i++)
        flow_credit_fetch(conns[i]);
    for (size_t i = 0; i < n_conns; i++)
        flow_credit_fetch_accounts(conns[i]);
    for (size_t i = 0; i < n_conns; i++)
        flow_credit_fetch_levels(conns[i]);
}
