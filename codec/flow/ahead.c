/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/fetch.h"
#include "flow/delivery/delivery.h"
#include "flow/flow_state.h"

/* Of many connections what is kept is not in the processor's cache: it is asked for ahead. */

bool rpcrdma_flow_crowded(const struct rpcrdma_flow *flow)
{
    enum { CROWD = 1024 }; /* of fewer directions much stays in the cache */

    return flow_directions_count(flow->streams) >= CROWD;
}

static const struct flow_delivery *delivery_of(const struct flow_direction *dir)
{
    return dir ? dir->delivery : NULL;
}

/* What the caller hung on it: that may be anything. */
static void fetch_user(const struct rpcrdma_connection *pub)
{
    enum { LINE = 64 };

    if (!pub->user)
        return;
    flow_fetch_line(pub->user);
    flow_fetch_line((const char *)pub->user + LINE);
}

/* What follows deliveries looks at: the life with each Call. */
static void fetch_followed(struct flow_conn *const *conns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct rpcrdma_life *life = &flow_conn_public_const(conns[i])->life;

        flow_fetch(life, sizeof(*life));
    }
    for (size_t i = 0; i < n; i++) {
        const struct flow_delivery *a = delivery_of(flow_conn_direction(conns[i], 0)),
                                   *b = delivery_of(flow_conn_direction(conns[i], 1));

        if (a && b) {
            flow_delivery_fetch_next(a, b);
            flow_delivery_fetch_next(b, a);
        }
    }
}

static void fetch_credits(struct flow_conn *const *conns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        flow_credit_fetch(conns[i]);
    for (size_t i = 0; i < n; i++)
        flow_credit_fetch_accounts(conns[i]);
    for (size_t i = 0; i < n; i++)
        flow_credit_fetch_levels(conns[i]);
}

/* What a connection points to, and then what that does. */
static void fetch_pointed(const struct flow_conn *conn)
{
    for (int i = 0; i < 2; i++)
        if (flow_conn_direction(conn, i))
            flow_direction_fetch(flow_conn_direction(conn, i));
    flow_rpc_fetch(conn);
    flow_credit_fetch(conn);
}

static void fetch_far(const struct rpcrdma_flow *flow, const struct flow_conn *conn)
{
    for (int i = 0; i < 2; i++) {
        const struct flow_direction *dir = flow_conn_direction(conn, i);

        if (!dir)
            continue;
        flow_direction_fetch_place(flow->streams, dir);
        if (dir->delivery)
            flow_delivery_fetch(dir->delivery);
    }
    flow_credit_fetch_accounts(conn);
}

/* What is asked for of one of them is there when it is the next one's turn. */
void flow_ahead_ends(const struct rpcrdma_flow *flow, const struct flow_conn *conn)
{
    const struct flow_conn *first, *second, *third;

    if (!rpcrdma_flow_crowded(flow))
        return;
    first = flow_conn_newer(conn);
    if (!first)
        return;
    fetch_far(flow, first);
    second = flow_conn_newer(first);
    if (!second)
        return;
    fetch_pointed(second);
    third = flow_conn_newer(second);
    if (third)
        flow_conn_fetch_whole(flow->conns, third);
}

/* Step by step for all of them: what one step asked for is there when the next goes on from it. */
void rpcrdma_flow_ahead(struct rpcrdma_flow *flow, const struct rpcrdma_op *ops, size_t n)
{
    struct flow_conn *conns[RPCRDMA_FLOW_AHEAD], *last = NULL;
    struct flow_direction *dirs[RPCRDMA_FLOW_AHEAD];
    const struct rpcrdma_op *of[RPCRDMA_FLOW_AHEAD];
    size_t n_conns = 0;

    n = flow_directions_ahead(flow->streams, ops, n, dirs, of);
    for (size_t i = 0; i < n; i++) {
        if (dirs[i]->delivery)
            flow_delivery_fetch(dirs[i]->delivery);
        if (!dirs[i]->conn || dirs[i]->conn == last)
            continue;
        last = conns[n_conns++] = dirs[i]->conn;
        flow_conn_fetch(flow->conns, last);
    }
    for (size_t i = 0; flow->rpcs && i < n_conns; i++) {
        flow_rpc_fetch(conns[i]);
        fetch_user(flow_conn_public_const(conns[i]));
    }
    for (size_t i = 0; i < n; i++)
        if (dirs[i]->conn)
            flow_message_fetch(flow->messages, dirs[i]->conn, 1 - dirs[i]->index, of[i]);
    if (flow->context.delivery)
        fetch_followed(conns, n_conns);
    if (flow->credits)
        fetch_credits(conns, n_conns);
}
