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
    return conn->waiting != 0 || conn->admission;
}

RPCRDMA_HOT static void deliver_op(struct flow *flow, struct flow_conn *conn,
                                   const struct flow_direction *dir, const struct rpcrdma_op *op)
{
    int sender = 1 - dir->index;

    if (flow->n_observers == 0)
        return;
    switch (op->kind) {
    case RPCRDMA_OP_READ_REQUEST: {
        struct flow_read *read = flow_read_add(flow, conn->dir[dir->index], op);

        if (read)
            TELL(flow, read_request, conn, sender, read);
        break;
    }
    case RPCRDMA_OP_READ_RESPONSE: {
        struct flow_direction *asked = conn->dir[sender];
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

static void deliver_gap(struct flow *flow, struct flow_conn *conn, const struct flow_direction *dir,
                        uint32_t first, uint32_t last, uint64_t frame, int64_t time_ns)
{
    struct rpcrdma_finding finding = {.rule = RPCRDMA_RULE_PACKETS_LOST,
                                      .frame = frame,
                                      .offset = -1,
                                      .arg = {((last - first) & 0xffffff) + 1, first, last}};

    if (dir->carrier == RPCRDMA_CARRIER_IWARP)
        finding.rule = RPCRDMA_RULE_BYTES_LOST;
    if (conn->pub.number == 0)
        flow_conn_number(flow, conn);
    flow_report(flow, conn, &finding);
    flow_continue_lost(conn, 1 - dir->index);
    TELL(flow, gap, conn, 1 - dir->index, first, last, frame, time_ns);
}

void flow_deliver(struct flow *flow, struct flow_conn *conn, const struct flow_event *event)
{
    struct flow_direction *dir = event->dir;

    if (conn->pub.number == 0)
        flow_conn_number(flow, conn);
    switch (event->kind) {
    case FLOW_EVENT_SEND:
        flow_message_send(flow, conn, dir, &event->send);
        break;
    case FLOW_EVENT_GAP:
        deliver_gap(flow, conn, dir, event->gap.first, event->gap.last, event->gap.frame,
                    event->gap.time_ns);
        break;
    case FLOW_EVENT_OP:
        if (event->op.kind == RPCRDMA_OP_WRITE) {
            struct flow_write write = {.op = &event->op,
                                       .placed = event->placed,
                                       .rkey = event->rkey,
                                       .address = event->address};

            TELL(flow, write, conn, 1 - dir->index, &write);
        } else {
            deliver_op(flow, conn, dir, &event->op);
        }
        break;
    }
}

/* The connection that an event of this half is told or kept for; NULL: it is of no interest. */
static struct flow_conn *interested(struct flow *flow, struct flow_direction *dir)
{
    struct flow_conn *conn = dir->conn;

    if (flow->n_observers == 0)
        return NULL;
    if (!conn && flow_pair_possible(flow, dir))
        conn = flow_conn_unclassified(flow, dir); /* it may yet be the peer of a claimed half */
    if (!conn || conn->class == FLOW_FOREIGN || conn->gave_up)
        return NULL;
    return conn;
}

RPCRDMA_HOT void flow_event_op(struct flow *flow, struct flow_direction *dir,
                               const struct rpcrdma_op *op)
{
    struct flow_conn *conn = interested(flow, dir);

    if (!conn)
        return;
    if (kept_back(conn))
        flow_admission_op(flow, conn, dir, op, NULL);
    else
        deliver_op(flow, conn, dir, op);
}

void flow_event_write(struct flow *flow, struct flow_direction *dir, const struct flow_write *write)
{
    struct flow_conn *conn = interested(flow, dir);

    if (!conn)
        return;
    if (kept_back(conn))
        flow_admission_op(flow, conn, dir, write->op, write);
    else
        TELL(flow, write, conn, 1 - dir->index, write);
}

void flow_event_gap(struct flow *flow, struct flow_direction *dir, uint32_t first, uint32_t last)
{
    struct flow_conn *conn = dir->conn;

    if (!conn || conn->class != FLOW_RPCRDMA)
        return;
    if (kept_back(conn))
        flow_admission_gap(flow, conn, dir, first, last);
    else
        deliver_gap(flow, conn, dir, first, last, flow->frame, flow->time_ns);
}

/* What a Send tells before it is a message: which half answers it, who is the client. */
static struct flow_conn *learn(struct flow *flow, struct flow_direction *dir,
                               const struct flow_send *send, const struct flow_probe *probe)
{
    bool answers = false;
    struct flow_conn *conn;

    if (send->caplen >= 4 && (!flow_peer(dir) || dir->conn->waiting & FLOW_WAIT_CLASS))
        answers = flow_pair_xid(flow, dir, rpcrdma_get_be32(send->data), probe->msg_type);
    conn = dir->conn;
    if (conn->pub.role[0] == RPCRDMA_ROLE_UNKNOWN && probe->has_program) {
        enum rpcrdma_role role = flow_caller_role(probe->program);

        if (role != RPCRDMA_ROLE_UNKNOWN)
            flow_conn_role(conn, 1 - dir->index, role);
    }
    if (answers || probe->verdict == FLOW_YES)
        flow_conn_accept(flow, conn);
    if (conn->waiting == 0)
        flow_admission_release(flow, conn);
    return conn;
}

/* A Send of a connection that nothing has claimed yet. NULL: it is of no interest. */
static struct flow_conn *consider(struct flow *flow, struct flow_direction *dir,
                                  const struct flow_send *send)
{
    struct flow_probe probe = flow_probe_send(flow, send);

    if (flow_forced(flow, dir))
        probe.verdict = FLOW_YES;
    if (probe.verdict == FLOW_NO) {
        /* from its set-up on it speaks something else: nothing is kept back for what may come */
        if (dir->conn && dir->conn->by_cm)
            flow_admission_give_up(flow, dir->conn);
        return NULL;
    }
    if (!dir->conn) {
        if (!flow_conn_unclassified(flow, dir))
            return NULL;
        flow_pair_request(flow, dir, send->last_seq);
    }
    return learn(flow, dir, send, &probe);
}

RPCRDMA_HOT void flow_event_send(struct flow *flow, struct flow_direction *dir,
                                 const struct flow_send *send)
{
    struct flow_conn *conn = dir->conn;

    if (!conn || conn->class == FLOW_UNCLASSIFIED) {
        conn = consider(flow, dir, send);
        if (!conn)
            return;
    } else if (conn->class == FLOW_FOREIGN) {
        return;
    } else if (conn->waiting & FLOW_WAIT_ROLE || !flow_peer(dir)) {
        struct flow_probe probe = flow_probe_send(flow, send);

        conn = learn(flow, dir, send, &probe);
    }
    flow_dialect(flow, conn, dir, send);
    if (kept_back(conn)) {
        if (!flow->from_reorder)
            flow_message_early(flow, conn, dir, send);
        flow_admission_send(flow, conn, dir, send);
        return;
    }
    if (conn->pub.number == 0)
        flow_conn_number(flow, conn);
    flow_message_send(flow, conn, dir, send);
}
