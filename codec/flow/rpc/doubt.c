/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/sum.h"
#include "flow/delivery/delivery.h"
#include "flow/rpc/rpc_state.h"

/*
 * The RDMA of a transaction stood still, and something was retransmitted meanwhile: that was lost,
 * or its receiver was not ready. Over TCP the receiver may say afterwards that it had it, as it may
 * of a Send (delivery/twice.c): then nothing waited for it.
 */

/* Why something was retransmitted towards an end while nothing moved. */
struct doubt_towards {
    enum rpcrdma_stall why;
    bool asked;     /* what was sent may have arrived; later answers may show that */
    bool bytes;     /* TCP: [first, last], and the receiver may say that it had them: twice.c */
    bool timed_out; /* before: its sender had waited for an answer */
    uint32_t first, last;
    int64_t again_ns; /* the latest */
};

/* A time in which nothing moved, and what was retransmitted meanwhile towards each end. */
struct doubt {
    struct rpc_wait wait;
    int64_t since_ns;
    int64_t peer_ns; /* of it, for the other end of a Read, if for nothing else */
    struct doubt_towards towards[2];
};

/* Those of which more may be said, in order of time. */
enum { DOUBTS = 4 };
struct rpc_doubts {
    uint32_t count;
    uint32_t said[2]; /* of struct flow_recovery, as they were looked at */
    struct doubt at[DOUBTS];
};

/* Whether something was retransmitted in that time. What is held back until its connection is known
 * is looked at when later packets have passed. */
static bool recovered(const struct flow_recovery *recovery, int64_t since, int64_t until)
{
    int64_t last = recovery->time_ns;

    for (size_t i = 0; last > until && i < FLOW_RECOVERIES; i++)
        last = recovery->before_ns[i];
    return last != 0 && last > since && last <= until;
}

/* Of a wait of that time. False: nothing was retransmitted. */
static bool cause(const struct flow_conn *conn, int end, int64_t since, int64_t until,
                  struct doubt_towards *out)
{
    const struct flow_delivery *d = rpc_delivery_towards(conn, end);
    const struct flow_recovery *recovery = d ? flow_delivery_recovery(d) : NULL;

    if (!recovery || !recovered(recovery, since, until))
        return false;
    out->asked =
        recovery->cause == FLOW_RECOVERY_UNKNOWN || recovery->cause == FLOW_RECOVERY_RESPONSE;
    out->bytes = flow_conn_public_const(conn)->carrier == RPCRDMA_CARRIER_IWARP &&
                 recovery->before_ns[0] <= since;
    out->timed_out = recovery->timed_out;
    out->first = recovery->first;
    out->last = recovery->last;
    out->again_ns = recovery->time_ns;
    switch (recovery->cause) {
    case FLOW_RECOVERY_LOST:
        out->why = rpc_lost_towards(conn, end);
        break;
    case FLOW_RECOVERY_RESPONSE:
        out->why = rpc_lost_towards(conn, 1 - end);
        break;
    case FLOW_RECOVERY_NOT_READY:
        out->why = RPCRDMA_STALL_RECEIVER_NOT_READY;
        break;
    default:
        out->why = RPCRDMA_STALL_UNKNOWN;
    }
    return true;
}

/* For what was retransmitted, as far as is known. */
static void count(struct rpc_transaction *t, const struct doubt *doubt)
{
    struct rpc_data_timing *data = &t->data;
    int end = doubt->towards[0].why != RPCRDMA_STALL_NONE ? 0 : 1;

    if (doubt->towards[end].why == RPCRDMA_STALL_NONE) {
        rpcrdma_sum_ns(&data->peer_ns, doubt->peer_ns);
        return;
    }
    rpcrdma_sum_ns(&data->waiting_ns, doubt->wait.ns);
    data->waiting_for = doubt->towards[end].why;
    if (doubt->wait.ns > data->longest.ns) {
        data->longest = doubt->wait;
        data->longest_since_ns = doubt->since_ns;
        data->asked = doubt->towards[end].asked ? (uint8_t)(1 + end) : 0;
    }
}

/* What was sent again to this end may have arrived, as its receiver said: nothing waited for it,
 * but where the receiver stood still until then. Where a timer had ended the sender waited for what
 * was lost on its way back. */
static void judge(const struct flow_conn *conn, int end, struct doubt *doubt)
{
    struct doubt_towards *towards = &doubt->towards[end];
    enum rpcrdma_stall why;

    if (!towards->bytes ||
        !flow_delivery_needless(rpc_delivery_towards(conn, end), towards->first, towards->last))
        return;
    why = rpc_unless_late(conn, end, doubt->since_ns, towards->again_ns, RPCRDMA_STALL_NONE);
    towards->bytes = false;
    if (why != RPCRDMA_STALL_NONE) {
        doubt->wait.ns = towards->again_ns - doubt->since_ns;
        towards->why = why;
        towards->asked = false;
    } else if (!towards->timed_out) {
        towards->why = RPCRDMA_STALL_NONE;
    }
}

static void take_first(struct rpc_transaction *t)
{
    struct rpc_doubts *doubts = t->data.doubts;

    count(t, &doubts->at[0]);
    for (uint32_t i = 1; i < doubts->count; i++)
        doubts->at[i - 1] = doubts->at[i];
    doubts->count--;
}

void rpc_doubts_look(struct rpc_transaction *t)
{
    struct rpc_doubts *doubts = t->data.doubts;

    for (int end = 0; end < 2; end++) {
        const struct flow_delivery *d = rpc_delivery_towards(t->conn, end);

        if (!d || flow_delivery_recovery(d)->said == doubts->said[end])
            continue;
        doubts->said[end] = flow_delivery_recovery(d)->said;
        for (uint32_t i = 0; i < doubts->count; i++)
            judge(t->conn, end, &doubts->at[i]);
    }
    while (doubts->count > 0 && !doubts->at[0].towards[0].bytes && !doubts->at[0].towards[1].bytes)
        take_first(t);
}

/* More may be said of it. False: no memory. */
static bool keep(struct flow_rpcs *rpcs, struct rpc_transaction *t, const struct doubt *doubt)
{
    struct rpc_doubts *doubts = t->data.doubts;

    if (!doubts)
        doubts = t->data.doubts = flow_alloc(&rpcs->context->memory, sizeof(*doubts));
    if (!doubts)
        return false;
    if (doubts->count == DOUBTS)
        take_first(t);
    doubts->at[doubts->count++] = *doubt;
    return true;
}

bool rpc_doubt(struct flow_rpcs *rpcs, struct rpc_transaction *t, const struct rpcrdma_op *op,
               int64_t asked_ns)
{
    int64_t since = t->rdma_last_ns;
    struct doubt doubt = {.wait = {op->time_ns - since, t->rdma_last_frame, op->frame},
                          .since_ns = since,
                          .peer_ns =
                              asked_ns != 0 && op->time_ns > asked_ns ? op->time_ns - asked_ns : 0};
    bool again = false, open;

    for (int end = 0; end < 2; end++) {
        again |= cause(t->conn, end, since, op->time_ns, &doubt.towards[end]);
        judge(t->conn, end, &doubt);
    }
    open = doubt.towards[0].bytes || doubt.towards[1].bytes ||
           (t->data.doubts && t->data.doubts->count > 0);
    if (again && !(open && keep(rpcs, t, &doubt)))
        count(t, &doubt);
    return again;
}

enum rpcrdma_stall rpc_data_held(const struct rpc_transaction *t, struct rpc_wait *wait)
{
    const int responder = 1 - t->pub.caller_end;
    struct doubt_towards towards = {.why = RPCRDMA_STALL_NONE};
    struct rpcrdma_delivery response;
    int64_t since = t->rdma_last_ns;

    if (flow_conn_public_const(t->conn)->carrier != RPCRDMA_CARRIER_IWARP ||
        !t->data.response.set || t->data.response.sender == responder)
        return RPCRDMA_STALL_NONE;
    rpc_delivery_find(t, &t->data.response, &response);
    if (response.state != RPCRDMA_DELIVERED || response.time_ns <= since ||
        !cause(t->conn, responder, since, response.time_ns, &towards) ||
        flow_delivery_needless(rpc_delivery_towards(t->conn, responder), towards.first,
                               towards.last))
        return RPCRDMA_STALL_NONE;
    *wait = (struct rpc_wait){response.time_ns - since, t->rdma_last_frame, response.frame};
    return towards.why;
}

void rpc_doubts_end(struct rpc_transaction *t)
{
    if (!t->data.doubts)
        return;
    rpc_doubts_look(t);
    while (t->data.doubts->count > 0)
        take_first(t);
}

void rpc_doubts_free(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    flow_release(&rpcs->context->memory, t->data.doubts, sizeof(*t->data.doubts));
    t->data.doubts = NULL;
}
