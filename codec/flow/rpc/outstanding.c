/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_state.h"

/* Calls that wait for a Reply now: of a server that hangs, nothing else shows. */

void flow_rpc_gap(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender, uint64_t frame)
{
    struct rpc_conn *c = rpc_conn_get(rpcs, conn);

    if (c)
        c->gap_frame[sender] = frame;
}

/* A packet that was not captured may have been its Reply. */
static bool waits(const struct rpc_conn *c, const struct rpc_transaction *t)
{
    return t->has_call && t->pub.reply_frame == 0 && !t->reply.ready &&
           t->pub.call_frame > c->gap_frame[1 - t->pub.caller_end];
}

void flow_rpc_waiting(struct flow_conn *conn,
                      void (*each)(void *context, const struct rpcrdma_waiting *waiting),
                      void *context)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);
    struct rpc_conn *c = rpc_of(conn);

    for (int caller = 0; c && caller < 2; caller++) {
        struct rpcrdma_waiting waiting = {.connection = pub, .caller_end = caller};
        struct rpc_transaction *t;

        TAILQ_FOREACH(t, &c->transactions[caller], by_age)
        {
            int64_t since_ns =
                t->pub.original_frame > 0 ? t->pub.original_time_ns : t->pub.call_time_ns;

            if (!waits(c, t))
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
