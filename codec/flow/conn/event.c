/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

#include "wire/cursor.h"

/* Events of streams: what each shows of its connection, and whether anybody wants it. */

/* What a Send shows before it is a message: which direction answers it, who is the client. */
static struct flow_conn *learn(struct flow_conns *conns, struct flow_direction *dir,
                               const struct flow_send *send, const struct conn_probe *probe,
                               bool last)
{
    bool answers = false;
    struct flow_conn *conn;

    if (send->caplen >= 4 && (!dir->paired || dir->conn->waiting & FLOW_WAIT_CLASS))
        answers = conn_pair_xid(conns, dir, rpcrdma_get_be32(send->data), probe->msg_type, last);
    conn = dir->conn;
    if (conn->pub.role[0] == RPCRDMA_ROLE_UNKNOWN && probe->has_program) {
        enum rpcrdma_role role = flow_caller_role(probe->program);

        if (role != RPCRDMA_ROLE_UNKNOWN)
            flow_conn_role(conn, 1 - dir->index, role);
    }
    if (answers || probe->verdict == CONN_YES)
        conn_accept(conns, conn);
    return conn;
}

/* A Send of a connection that is not classified yet. NULL: it is of no interest. */
static struct flow_conn *consider(struct flow_conns *conns, struct flow_direction *dir,
                                  const struct flow_send *send, bool last)
{
    struct conn_probe probe = conn_probe_send(conns, send);

    if (flow_direction_selected(dir))
        probe.verdict = CONN_YES;
    if (probe.verdict == CONN_NO) {
        /* from its set-up on it speaks something else: nothing is kept back for what may come */
        if (dir->conn && dir->conn->by_cm)
            conn_give_up(conns, dir->conn);
        return NULL;
    }
    if (!dir->conn) {
        if (!conn_unclassified(conns, dir))
            return NULL;
        if (!dir->paired)
            conn_pair_request(conns, dir, send->last_seq);
    }
    return learn(conns, dir, send, &probe, last);
}

RPCRDMA_HOT static struct flow_conn *send_event(struct flow_conns *conns,
                                                struct flow_direction *dir,
                                                const struct flow_send *send, bool last)
{
    struct flow_conn *conn = dir->conn;

    if (!conn || conn->class == CONN_UNCLASSIFIED || conn->class == CONN_UNLIKELY)
        return consider(conns, dir, send, last);
    if (conn->class == CONN_FOREIGN)
        return NULL;
    if (conn->waiting & FLOW_WAIT_ROLE || !dir->paired) {
        struct conn_probe probe = conn_probe_send(conns, send);

        return learn(conns, dir, send, &probe, last);
    }
    return conn;
}

/* The connection that an operation of this direction is reported or kept for. */
static struct flow_conn *interested(struct flow_conns *conns, struct flow_direction *dir)
{
    struct flow_conn *conn = dir->conn;

    if (conns->messages_only)
        return NULL;
    if (!conn && flow_conn_pair_possible(conns, dir))
        conn = conn_unclassified(conns, dir); /* it may yet be the peer of a classified direction */
    return conn && (conn->class == CONN_RPCRDMA || conn->class == CONN_UNCLASSIFIED) ? conn : NULL;
}

static uint32_t gap_of(const struct flow_direction *dir)
{
    return dir->index == 0 ? FLOW_WAIT_GAP0 : FLOW_WAIT_GAP1;
}

RPCRDMA_HOT struct flow_conn *flow_conn_event(struct flow_conns *conns, struct flow_direction *dir,
                                              const struct flow_stream_event *event, bool last)
{
    struct flow_conn *conn = dir->conn;

    if (conn && conn->waiting & (FLOW_WAIT_GAP0 | FLOW_WAIT_GAP1))
        conn_update_holding(conns, conn); /* another packet is the first ahead of the gap */
    if (event->taken && conn && !dir->paired)
        conn_pair_request(conns, dir, event->seq);
    switch (event->kind) {
    case FLOW_STREAM_SEND:
        return send_event(conns, dir, &event->send, last);
    case FLOW_STREAM_WRITE:
    case FLOW_STREAM_OP:
        return interested(conns, dir);
    case FLOW_STREAM_GAP:
    case FLOW_STREAM_PREVIEW:
        return conn && conn->class == CONN_RPCRDMA ? conn : NULL;
    /* an event before this one may have ended the connection */
    case FLOW_STREAM_WAITS:
        if (conn) {
            conn->waiting |= gap_of(dir);
            conn_update_holding(conns, conn);
        }
        return NULL;
    case FLOW_STREAM_RESUMES:
        if (conn)
            flow_conn_wait_over(conns, conn, gap_of(dir));
        return NULL;
    case FLOW_STREAM_FINDING:
        /* a connection that has no number yet is nobody's to speak of */
        if (conn && conn->class == CONN_RPCRDMA)
            flow_report(conns->context, conn->pub.number != 0 ? &conn->pub : NULL, &event->finding);
        return NULL;
    default:
        return NULL;
    }
}

/* Nothing that it could be an answer to was captured. The MSN says how many messages were received:
 * few, or it is an Ack of the connection that had the queue pair before. Where the set-up was not
 * captured, what its sender sent first must have been, or the capture may have begun later. */
RPCRDMA_RARE static void presume(const struct flow_direction *dir, struct flow_direction *asked,
                                 const struct rpcrdma_op *op)
{
    const struct flow_conn *conn = dir->conn;
    enum { FEW = 16 };

    if (op->kind == RPCRDMA_OP_ACK && !(op->flags & RPCRDMA_OP_ACK_OR_NAK) && op->msn > 0 &&
        op->msn <= FEW && (flow_conn_set_up_seen(conn) || flow_stream_from_first(dir)) &&
        !flow_conn_begins(conn, asked->index))
        flow_stream_presume(asked, op->seq - (op->msn - 1), op->seq);
}

RPCRDMA_HOT void flow_conn_answer(struct flow_conns *conns, const struct flow_direction *dir,
                                  const struct rpcrdma_op *op)
{
    struct flow_direction *asked = dir->conn->dir[1 - dir->index];

    if (op->msn == 1 && op->kind == RPCRDMA_OP_ACK)
        flow_stream_first_acknowledged(asked);
    if (!flow_stream_acknowledged(conns->streams, asked, rpcrdma_op_acknowledges(op),
                                  op->kind == RPCRDMA_OP_ACK))
        presume(dir, asked, op);
}

static RPCRDMA_INLINE void acknowledges(struct flow_conns *conns, const struct flow_direction *dir,
                                        const struct rpcrdma_op *op)
{
    if (conn_peer(dir))
        flow_conn_answer(conns, dir, op);
}

RPCRDMA_RARE static void unpaired_response(struct flow_conns *conns, struct flow_direction *dir,
                                           const struct rpcrdma_op *op)
{
    conn_pair_response(conns, dir, op);
    acknowledges(conns, dir, op);
}

void flow_conn_response(struct flow_conns *conns, struct flow_direction *dir,
                        const struct rpcrdma_op *op)
{
    if (op->carrier == RPCRDMA_CARRIER_IWARP)
        return;
    if (!dir->paired && !dir->foreign)
        unpaired_response(conns, dir, op);
    else
        acknowledges(conns, dir, op);
}
