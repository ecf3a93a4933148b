/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/flow_state.h"

#include "flow/delivery/delivery.h"
#include "wire/hot.h"

/* The end of connections: their time is over, memory is short, or the capture ends. */

/* What is held of it is given out; nothing more will come. */
static void release_held(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    for (int i = 0; i < 2; i++) {
        struct flow_direction *dir = flow_conn_direction(conn, i);

        if (dir) {
            flow_stream_review(dir, true);
            flow_pump(flow, dir, true);
        }
    }
    if (flow_conn_is_rpcrdma(conn)) {
        flow_admission_open(flow->conns, conn);
        flow_message_settle(flow->messages, conn);
        flow_drain(flow, conn);
        flow_message_end(flow->messages, conn);
    }
    flow_admission_drop(flow->conns, conn);
    flow_admission_open(flow->conns, conn);
}

/* Of TCP the streams tell what is missing, and a FIN is acknowledged that is no byte. */
static void end_paths(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    for (int end = 0; end < 2; end++) {
        const struct flow_direction *dir = flow_conn_direction(conn, end);

        if (dir && dir->delivery && dir->carrier != RPCRDMA_CARRIER_IWARP)
            flow_delivery_tail(&flow->context.memory, dir->delivery);
    }
}

/* The memory that is spared is for this: none other ends for it. */
void flow_finish(struct rpcrdma_flow *flow, struct flow_conn *conn, bool ended)
{
    const struct rpcrdma_connection *pub = flow_conn_public(conn);
    const struct rpcrdma_flow_sink *sink = &flow->context.sink;
    bool sparing = flow->context.memory.sparing;

    flow->context.memory.sparing = false;
    release_held(flow, conn);
    if (pub->number != 0) {
        flow_message_flush(flow->messages, true); /* its messages come before its end */
        end_paths(flow, conn);
        flow_life_end(flow, conn);
        flow_transport_findings(flow, conn);
        if (flow->rpcs)
            flow_rpc_close(flow->rpcs, conn);
        if (flow->credits)
            flow_credit_close(flow->credits, conn, ended);
        if (sink->connection)
            sink->connection(sink->context, pub);
        if (!ended)
            flow_life_past(flow, conn);
    }
    flow_message_close(flow->messages, conn);
    flow_conn_free(flow->conns, conn);
    flow->context.memory.sparing = sparing;
}

RPCRDMA_RARE void flow_finish_replaced(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    struct rpcrdma_connection *pub = flow_conn_public(conn);

    pub->life.replaced = pub->life.ended == RPCRDMA_ENDED_NOT && !pub->closed;
    flow_finish(flow, conn, false);
}

RPCRDMA_RARE void flow_finish_overdue(struct rpcrdma_flow *flow)
{
    struct flow_conn *conn, *into;
    bool swapped;

    while ((conn = flow_conn_overdue(flow->conns, &into, &swapped))) {
        if (into)
            flow_message_merge(flow->messages, into, conn, swapped);
        flow_finish(flow, conn, false);
    }
}

RPCRDMA_RARE void flow_finish_lingering(struct rpcrdma_flow *flow, int64_t now_ns)
{
    enum { APART_NS = 500000000 }; /* packets of several interfaces are not in order of time */
    int64_t past_ns = (int64_t)((uint64_t)now_ns - (uint64_t)flow->lingered_ns);
    struct flow_conn *conn;

    if (past_ns > -APART_NS && past_ns < APART_NS)
        return;
    flow->lingered_ns = now_ns;
    while ((conn = flow_conn_lingered(flow->conns, now_ns, flow->linger_ns)))
        flow_finish(flow, conn, false);
}

/* Something is left out; of no connection: NULL. */
RPCRDMA_RARE static void report_limit(const struct rpcrdma_flow *flow,
                                      const struct rpcrdma_connection *connection)
{
    flow_report(&flow->context, connection,
                &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_MEMORY_LIMIT,
                                          .frame = flow->context.frame,
                                          .offset = -1,
                                          .arg = {flow_memory_limit(&flow->context.memory)}});
}

RPCRDMA_RARE bool flow_evict(struct rpcrdma_flow *flow, struct flow_conn *in_hand)
{
    struct flow_memory *memory = &flow->context.memory;
    struct flow_conn *victim =
        memory->failed || !memory->sparing ? NULL : flow_conn_victim(flow->conns, in_hand);

    if (!victim)
        return false;
    memory->sparing = false;
    release_held(flow, victim);
    if (flow_conn_public(victim)->number != 0)
        report_limit(flow, flow_conn_public(victim));
    flow_finish(flow, victim, false);
    flow_message_trim(flow->messages);
    if (flow->rpcs)
        flow_rpc_trim(flow->rpcs);
    memory->sparing = true;
    return true;
}

bool flow_make_room(struct rpcrdma_flow *flow, uint32_t spare)
{
    struct flow_direction *dir = flow_direction_unowned(flow->streams, spare);

    if (!dir)
        return flow_evict(flow, NULL);
    flow_direction_free(flow->streams, dir);
    return true;
}

RPCRDMA_RARE void flow_say_limit(struct rpcrdma_flow *flow)
{
    flow->said_limit = true;
    report_limit(flow, NULL);
}

/* Those before `until`, oldest first. */
static void finish_until(struct rpcrdma_flow *flow, const struct flow_conn *until)
{
    struct flow_conn *conn;

    while ((conn = flow_conns_oldest(flow->conns)) != until) {
        flow_ahead_ends(flow, conn);
        flow_finish(flow, conn, true);
    }
}

bool rpcrdma_flow_end(struct rpcrdma_flow *flow)
{
    struct flow_memory *memory = &flow->context.memory;
    struct flow_conn *conn = flow_conns_oldest(flow->conns), *next;
    size_t limit;

    memory->sparing = false;
    for (; conn; conn = next) {
        next = flow_conn_newer(conn);
        limit = flow_memory_limit(memory);
        flow_ahead_ends(flow, conn);
        release_held(flow, conn);
        /* what is given out takes memory until its connection ends: then not in order, but all */
        if (memory->used > limit - limit / 16)
            finish_until(flow, next);
    }
    flow_message_flush(flow->messages, true);
    finish_until(flow, NULL);
    if (memory->refused > 0 && !flow->said_limit)
        flow_say_limit(flow);
    return !memory->failed;
}

void flow_discard(struct rpcrdma_flow *flow)
{
    struct flow_conn *conn;
    struct flow_direction *dir;

    flow->context.sink = (struct rpcrdma_flow_sink){0};
    flow->context.memory.sparing = false;
    while ((conn = flow_conns_oldest(flow->conns)))
        flow_finish(flow, conn, true);
    flow_message_flush(flow->messages, true);
    while ((dir = flow_direction_unowned(flow->streams, 0)))
        flow_direction_free(flow->streams, dir);
}
