/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/sum.h"
#include "flow/delivery/delivery.h"
#include "flow/rpc/rpc_state.h"
#include "wire/hot.h"

/*
 * What the RDMA of a transaction waited for: what was retransmitted (doubt.c), the other end of a
 * Read. And, where it was captured at two places, how long Read requests and their responses were
 * between them.
 */

/* They come in the order of their ends. */
static void journey(struct rpc_journeys *journeys, int64_t from_ns, int64_t to_ns)
{
    while (journeys->count > 0 && journeys->at[journeys->count - 1].to_ns >= from_ns) {
        journeys->count--;
        if (journeys->at[journeys->count].from_ns < from_ns)
            from_ns = journeys->at[journeys->count].from_ns;
    }
    if (journeys->count == RPC_JOURNEYS) {
        journeys->ns += journeys->at[0].to_ns - journeys->at[0].from_ns;
        for (uint32_t i = 1; i < RPC_JOURNEYS; i++)
            journeys->at[i - 1] = journeys->at[i];
        journeys->count--;
    }
    journeys->at[journeys->count].from_ns = from_ns;
    journeys->at[journeys->count++].to_ns = to_ns;
}

int64_t rpc_journeys_ns(const struct rpc_journeys *journeys)
{
    int64_t ns = journeys->ns;

    for (uint32_t i = 0; i < journeys->count; i++)
        ns += journeys->at[i].to_ns - journeys->at[i].from_ns;
    return ns;
}

/* Whether it was captured at the other place before; then it is on its way no longer. */
static bool arrived(struct rpc_transaction *t, int end, const struct rpcrdma_op *op)
{
    const struct flow_delivery *d = rpc_delivery_towards(t->conn, end);
    int64_t sent_ns;

    if (op->kind != RPCRDMA_OP_READ_RESPONSE || !d || !flow_delivery_copied(d, op->frame, &sent_ns))
        return false;
    if (sent_ns <= op->time_ns)
        journey(&t->data.journeys, sent_ns, op->time_ns);
    return true;
}

static void keep_response(struct rpc_transaction *t, int sender, const struct rpcrdma_op *op)
{
    t->data.response = (struct rpc_place){op->kind == RPCRDMA_OP_READ_RESPONSE, (uint8_t)sender,
                                          op->stream_first, op->stream_end - 1};
}

void rpc_timing_data(struct flow_rpcs *rpcs, struct rpc_transaction *t, int sender,
                     const struct rpcrdma_op *op, int64_t asked_ns)
{
    struct rpc_data_timing *data = &t->data;
    int64_t since = t->rdma_last_ns;

    if (!rpcs->context->delivery || arrived(t, 1 - sender, op))
        return;
    if (op->carrier == RPCRDMA_CARRIER_IWARP)
        keep_response(t, sender, op);
    if (data->moved_ns > asked_ns && asked_ns != 0)
        asked_ns = data->moved_ns;
    if (op->time_ns > data->moved_ns)
        data->moved_ns = op->time_ns;
    if (RPCRDMA_SELDOM(data->doubts))
        rpc_doubts_look(t);
    if (t->rdma_last_frame == 0) {
        rpc_timing_served(t);
        return;
    }
    if (op->time_ns > since && rpc_doubt(rpcs, t, op, asked_ns))
        return;
    if (asked_ns != 0 && op->time_ns > asked_ns)
        rpcrdma_sum_ns(&data->peer_ns, op->time_ns - asked_ns);
}

void rpc_timing_read(struct rpc_transaction *t, int64_t sent_ns, int64_t now_ns)
{
    if (sent_ns <= now_ns)
        journey(&t->data.journeys, sent_ns, now_ns);
}
