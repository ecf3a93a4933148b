/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/earlier.h"

#include "bound.h"
#include "flow/flow_state.h"

enum {
    PAST = RPCRDMA_BOUND(1024, 4), /* connections that are known of those reported already */
    PAST_SHARE = 32,               /* of the memory, at most */
};

/* Of one that was reported already. */
struct flow_past {
    struct rpcrdma_connection pub; /* its pointers are stale */
    TAILQ_ENTRY(flow_past) by_end;
    struct chain hosts;
};

static struct flow_past *past_of(struct chain *link)
{
    return link ? CHAIN_OF(link, struct flow_past, hosts) : NULL;
}

/* One more, or in the oldest's place. NULL: no memory; connections in use have most of it. */
static struct flow_past *new_past(struct rpcrdma_flow *flow)
{
    struct flow_memory *memory = &flow->context.memory;
    size_t most = flow_memory_limit(memory) / PAST_SHARE / sizeof(struct flow_past);
    struct flow_past *past = NULL;

    if (flow->n_past < PAST && flow->n_past < most && flow_memory_fits(memory, sizeof(*past)))
        past = flow_alloc(memory, sizeof(*past));
    if (past) {
        flow->n_past++;
    } else {
        past = TAILQ_FIRST(&flow->past);
        if (!past)
            return NULL;
        TAILQ_REMOVE(&flow->past, past, by_end);
        chain_remove(&flow->past_of_hosts, &past->hosts);
    }
    TAILQ_INSERT_TAIL(&flow->past, past, by_end);
    return past;
}

void flow_life_past(struct rpcrdma_flow *flow, const struct flow_conn *conn)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);
    struct flow_past *past = pub->life.next == 0 ? new_past(flow) : NULL;

    if (!past)
        return; /* then none is known to take its place */
    past->pub = *pub;
    past->pub.path[0] = past->pub.path[1] = NULL;
    (void)chain_add(&flow->past_of_hosts, &flow->context.memory, flow_hosts_key(flow->conns, pub),
                    NULL, &past->hosts);
}

void flow_life_free(struct rpcrdma_flow *flow)
{
    struct flow_past *past;

    while ((past = TAILQ_FIRST(&flow->past))) {
        TAILQ_REMOVE(&flow->past, past, by_end);
        flow_release(&flow->context.memory, past, sizeof(*past));
    }
    flow_table_free(&flow->past_of_hosts, &flow->context.memory);
}

struct flow_earlier flow_earlier(const struct rpcrdma_flow *flow, const struct flow_conn *conn)
{
    uint64_t key = flow_hosts_key(flow->conns, flow_conn_public_const(conn));

    return (struct flow_earlier){.next = flow_conn_before(conn),
                                 .past = past_of(chain_newest(&flow->past_of_hosts, key))};
}

struct rpcrdma_connection *flow_earlier_one(struct flow_earlier *e)
{
    struct flow_past *past = e->past;

    if (e->next && e->looked++ < FLOW_LOOK_BACK) {
        e->conn = e->next;
        e->next = flow_conn_before(e->next);
        if (e->next)
            flow_conn_fetch_life(e->next); /* while this one is looked at */
        return flow_conn_public(e->conn);
    }
    e->conn = NULL;
    if (!past || e->looked_past++ >= FLOW_LOOK_BACK)
        return NULL;
    e->past = past_of(past->hosts.older);
    return &past->pub;
}
