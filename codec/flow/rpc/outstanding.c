/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/delivery.h"
#include "flow/rpc/rpc_state.h"

/* Calls that wait for a Reply now: of a server that hangs, nothing else shows. */

void flow_rpc_gap(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender, uint64_t frame)
{
    struct rpc_conn *c = rpc_conn_get(rpcs, conn);

    if (c)
        c->gap_frame[sender] = frame;
}

/* The latest frame that shows that packets of the other end were not captured: those behind them,
 * or what the caller acknowledged of them. */
static uint64_t missed_frame(const struct flow_conn *conn, const struct rpc_conn *c, int caller)
{
    const struct flow_direction *towards = flow_conn_direction(conn, caller);
    uint64_t early =
        towards && towards->delivery ? flow_delivery_acked_early(towards->delivery) : 0;

    return early > c->gap_frame[1 - caller] ? early : c->gap_frame[1 - caller];
}

/* One of them may have been its Reply. */
static bool waits(const struct rpc_transaction *t, uint64_t missed)
{
    return t->has_call && t->pub.reply_frame == 0 && !t->reply.kept && t->pub.call_frame > missed;
}

void flow_rpc_waiting(struct flow_conn *conn,
                      void (*each)(void *context, const struct rpcrdma_waiting *waiting),
                      void *context)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);
    struct rpc_conn *c = rpc_of(conn);

    for (int caller = 0; c && caller < 2; caller++) {
        struct rpcrdma_waiting waiting = {.connection = pub, .caller_end = caller};
        uint64_t missed = missed_frame(conn, c, caller);
        struct rpc_transaction *t;

        TAILQ_FOREACH(t, &c->transactions[caller], by_age)
        {
            int64_t since_ns =
                t->pub.original_frame > 0 ? t->pub.original_time_ns : t->pub.call_time_ns;

            if (!waits(t, missed))
                continue;
            if (waiting.calls++ > 0 && since_ns >= waiting.since_ns)
                continue;
            rpc_public_of(t);
            waiting.since_ns = since_ns;
            waiting.oldest = &t->pub;
        }
        if (waiting.calls > 0)
            each(context, &waiting);
    }
}
