/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

#include "wire/cursor.h"

/* Events in order: kept back while their connection is undecided, else given to the observers; a
 * Send becomes a message on the way. Nothing is copied unless it is kept back. */

#define TELL(flow, callback, ...)                                                                  \
    do {                                                                                           \
        for (int i_ = 0; i_ < (flow)->n_observers; i_++)                                           \
            if ((flow)->observers[i_]->callback)                                                   \
                (flow)->observers[i_]->callback((flow)->observers[i_]->self, __VA_ARGS__);         \
    } while (0)

static bool kept_back(const struct flow_conn *conn)
{
    return conn->waiting != 0 || conn->hold;
}

RPCRDMA_HOT static void deliver_op(struct flow *flow, struct flow_conn *conn,
                                   const struct flow_half *half, const struct rpcrdma_op *op)
{
    int sender = 1 - half->index;

    if (flow->n_observers == 0)
        return;
    switch (op->kind) {
    case RPCRDMA_OP_READ_REQUEST: {
        struct flow_read *read = flow_read_add(flow, conn->half[half->index], op);

        if (read)
            TELL(flow, read_request, conn, sender, read);
        break;
    }
    case RPCRDMA_OP_READ_RESPONSE: {
        struct flow_half *asked = conn->half[sender];
        uint64_t offset = 0;
        struct flow_read *read = asked ? flow_read_find(asked, op, &offset) : NULL;

        TELL(flow, read_response, conn, sender, read, offset, op);
        break;
    }
    case RPCRDMA_OP_ACK:
        TELL(flow, ack, conn, sender, op);
        break;
    case RPCRDMA_OP_NAK:
    case RPCRDMA_OP_TERMINATE:
        TELL(flow, nak, conn, sender, op);
        break;
    default:
        break;
    }
}

static void deliver_gap(struct flow *flow, struct flow_conn *conn, const struct flow_half *half,
                        uint32_t first, uint32_t last, uint64_t frame, int64_t time_ns)
{
    struct rpcrdma_finding finding = {.rule = RPCRDMA_RULE_PACKETS_LOST,
                                      .frame = frame,
                                      .offset = -1,
                                      .arg = {((last - first) & 0xffffff) + 1, first, last}};

    if (half->carrier == RPCRDMA_CARRIER_IWARP)
        finding.rule = RPCRDMA_RULE_BYTES_LOST;
    if (conn->pub.number == 0)
        flow_conn_number(flow, conn);
    flow_report(flow, conn, &finding);
    flow_continue_lost(conn, 1 - half->index);
    TELL(flow, gap, conn, 1 - half->index, first, last, frame, time_ns);
}

void flow_deliver(struct flow *flow, struct flow_conn *conn, const struct flow_event *event)
{
    struct flow_half *half = event->half;

    if (conn->pub.number == 0)
        flow_conn_number(flow, conn);
    switch (event->kind) {
    case FLOW_EVENT_SEND:
        flow_message_send(flow, conn, half, &event->send);
        break;
    case FLOW_EVENT_GAP:
        deliver_gap(flow, conn, half, event->gap.first, event->gap.last, event->gap.frame,
                    event->gap.time_ns);
        break;
    case FLOW_EVENT_OP:
        if (event->op.kind == RPCRDMA_OP_WRITE) {
            struct flow_write write = {.op = &event->op,
                                       .placed = event->placed,
                                       .rkey = event->rkey,
                                       .address = event->address};

            TELL(flow, write, conn, 1 - half->index, &write);
        } else {
            deliver_op(flow, conn, half, &event->op);
        }
        break;
    }
}

/* The connection that an event of this half is told or kept for; NULL: it is of no interest. */
static struct flow_conn *interested(struct flow *flow, struct flow_half *half)
{
    struct flow_conn *conn = half->conn;

    if (flow->n_observers == 0)
        return NULL;
    if (!conn && flow_pair_possible(flow, half))
        conn = flow_conn_unclaimed(flow, half); /* it may yet be the peer of a claimed half */
    if (!conn || conn->claim == FLOW_FOREIGN || conn->gave_up)
        return NULL;
    return conn;
}

RPCRDMA_HOT void flow_event_op(struct flow *flow, struct flow_half *half,
                               const struct rpcrdma_op *op)
{
    struct flow_conn *conn = interested(flow, half);

    if (!conn)
        return;
    if (kept_back(conn))
        flow_hold_op(flow, conn, half, op, NULL);
    else
        deliver_op(flow, conn, half, op);
}

void flow_event_write(struct flow *flow, struct flow_half *half, const struct flow_write *write)
{
    struct flow_conn *conn = interested(flow, half);

    if (!conn)
        return;
    if (kept_back(conn))
        flow_hold_op(flow, conn, half, write->op, write);
    else
        TELL(flow, write, conn, 1 - half->index, write);
}

void flow_event_gap(struct flow *flow, struct flow_half *half, uint32_t first, uint32_t last)
{
    struct flow_conn *conn = half->conn;

    if (!conn || conn->claim != FLOW_CLAIMED)
        return;
    if (kept_back(conn))
        flow_hold_gap(flow, conn, half, first, last);
    else
        deliver_gap(flow, conn, half, first, last, flow->frame, flow->time_ns);
}

/* What a Send tells before it is a message: which half answers it, who is the client. */
static struct flow_conn *learn(struct flow *flow, struct flow_half *half,
                               const struct flow_send *send, const struct flow_glimpse *glimpse)
{
    bool answers = false;
    struct flow_conn *conn;

    if (send->caplen >= 4 && (!flow_peer(half) || half->conn->waiting & FLOW_WAIT_CLAIM))
        answers = flow_pair_xid(flow, half, rpcrdma_get_be32(send->data), glimpse->msg_type);
    conn = half->conn;
    if (conn->pub.role[0] == RPCRDMA_ROLE_UNKNOWN && glimpse->has_program) {
        enum rpcrdma_role role = flow_caller_role(glimpse->program);

        if (role != RPCRDMA_ROLE_UNKNOWN)
            flow_conn_role(conn, 1 - half->index, role);
    }
    if (answers || glimpse->verdict == FLOW_YES)
        flow_conn_claim(flow, conn);
    if (conn->waiting == 0)
        flow_hold_release(flow, conn);
    return conn;
}

/* A Send of a connection that nothing has claimed yet. NULL: it is of no interest. */
static struct flow_conn *consider(struct flow *flow, struct flow_half *half,
                                  const struct flow_send *send)
{
    struct flow_glimpse glimpse = flow_claim_send(flow, send);

    if (flow_forced(flow, half))
        glimpse.verdict = FLOW_YES;
    if (glimpse.verdict == FLOW_NO)
        return NULL;
    if (!half->conn) {
        if (!flow_conn_unclaimed(flow, half))
            return NULL;
        flow_pair_request(flow, half, send->last_seq);
    }
    return learn(flow, half, send, &glimpse);
}

RPCRDMA_HOT void flow_event_send(struct flow *flow, struct flow_half *half,
                                 const struct flow_send *send)
{
    struct flow_conn *conn = half->conn;

    if (!conn || conn->claim == FLOW_UNCLAIMED) {
        conn = consider(flow, half, send);
        if (!conn)
            return;
    } else if (conn->claim == FLOW_FOREIGN) {
        return;
    } else if (conn->waiting & FLOW_WAIT_ROLE || !flow_peer(half)) {
        struct flow_glimpse glimpse = flow_claim_send(flow, send);

        conn = learn(flow, half, send, &glimpse);
    }
    flow_choose(flow, conn, half, send);
    if (kept_back(conn)) {
        if (!flow->from_stash)
            flow_message_early(flow, conn, half, send);
        flow_hold_send(flow, conn, half, send);
        return;
    }
    if (conn->pub.number == 0)
        flow_conn_number(flow, conn);
    flow_message_send(flow, conn, half, send);
}
