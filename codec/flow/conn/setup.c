/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

/* Connection set-up and end: the CM's messages (IBTA volume 1 chapter 12). */

/* No CM is that quick to send a REQ again: its timeout is seconds mostly (Linux: 4). */
#define COPY_NS UINT64_C(10000000)

/* The QP of the message's sender, as the other end sends to it. */
static struct flow_path path_to_sender(const struct rpcrdma_op *op, uint32_t qpn)
{
    struct flow_path path = flow_path_of(op);

    path.src = op->dst;
    path.dst = op->src;
    path.qpn = qpn;
    return path;
}

/* A fresh direction for that QP: whatever was known under its number is over. */
static struct flow_direction *fresh_direction(struct flow_conns *conns, const struct rpcrdma_op *op,
                                              uint32_t qpn)
{
    struct flow_path path = path_to_sender(op, qpn);
    struct flow_direction *dir = flow_direction_lookup(conns->streams, &path);

    if (dir && !dir->conn)
        flow_direction_free(conns->streams, dir);
    dir = flow_direction_get(conns->streams, &path, op->carrier);
    if (!dir)
        conns->lacked_memory = true;
    return dir;
}

/* The set-up decides where it names a port that is known, or brings RFC 8797 private data. Any
 * other port may serve NFS, too: the messages show it then. */
static enum conn_class class_of(const struct flow_conns *conns, const struct flow_conn *conn,
                                const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;

    if (conn_port_known(conns, c->port) || flow_qpn_selected(conns->streams, c->qpn) ||
        conn->pub.has_private_data[0])
        return CONN_RPCRDMA;
    if (c->port == 0 && c->service_id != 0)
        return CONN_FOREIGN; /* not one of RDMA over IP's services (IBTA annex A11) */
    return CONN_UNCLASSIFIED;
}

void conn_set_up_class(struct flow_conns *conns, struct flow_conn *conn, enum conn_class class)
{
    conn_set_class(conn, class);
    conn_update_holding(conns, conn);
    if (class == CONN_UNCLASSIFIED)
        conn->waiting |= FLOW_WAIT_CLASS;
    if (class == CONN_RPCRDMA)
        flow_conn_number(conns, conn);
}

void conn_established(struct flow_conns *conns, struct flow_conn *conn)
{
    conn->pub.life.established_frame = conns->context->frame;
    conn->pub.life.established_ns = conns->context->time_ns;
}

/* Of a connection that was set up before the capture. */
static bool replayed(const struct rpcrdma_op *op)
{
    return op->flags & RPCRDMA_OP_REPLAYED;
}

/* What the set-up says begins with this PSN did so already, just before. */
static bool has_begun(const struct flow_direction *dir, uint32_t start_psn)
{
    enum { FEW = 64 }; /* requests */
    uint32_t psn;
    int32_t sent;

    if (!flow_stream_expects(dir, &psn))
        return false;
    sent = rpcrdma_psn_diff(psn, start_psn);
    return sent > 0 && sent <= FEW;
}

static void start(struct flow_conn *conn, int end)
{
    if (conn->dir[end] && conn->has_start_psn[end] &&
        !has_begun(conn->dir[end], conn->start_psn[end]))
        flow_stream_start(conn->dir[end], conn->start_psn[end]);
}

/* The same REQ was seen before. A host that was started again may count from the same numbers
 * again, but PSNs begin by chance. */
static bool sent_again(const struct flow_conn *conn, const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;
    bool other_psn = conn->has_start_psn[0] && c->has_start_psn && !replayed(op) &&
                     conn->start_psn[0] != c->start_psn;

    return conn->pub.end[0].qpn == c->qpn && !other_psn && !conn->pub.closed;
}

/* The REQ once more: by its sender, which waits for an answer first, or at a second place of
 * capture. Where it was accepted, the client has not heard of it: no connection was back at the
 * acceptance. */
static void asked_again(struct flow_conn *conn, const struct rpcrdma_op *op)
{
    struct rpcrdma_life *life = &conn->pub.life;

    if (replayed(op) || (uint64_t)(op->time_ns - conn->pub.last_time_ns) < COPY_NS)
        return;
    life->requests++;
    if (!conn->accepted || conn->pub.established)
        return;
    life->unheard++;
    life->has_down = false;
}

/* Its REP passed just before this REQ: the capture has the two directions from two ports, whose
 * times do not fit. */
static bool asked_late(const struct flow_conns *conns, const struct flow_conn *conn,
                       const struct rpcrdma_op *op)
{
    return conn && conn->accepted && !conn->has_start_psn[0] && !conn->pub.closed &&
           !conn->dir[0] && !replayed(op) && !conn->replayed && op->connect->qpn != 0 &&
           conns->context->time_ns - conn->pub.first_time_ns <= FLOW_REORDER_NS;
}

/* What the server sent meanwhile to the QP that the REQ names, a connection of its own by then. */
static struct flow_direction *answered_before(const struct flow_conns *conns,
                                              const struct flow_conn *conn,
                                              const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;
    struct flow_path path = path_to_sender(op, c->qpn);
    struct flow_direction *dir = flow_direction_lookup(conns->streams, &path);

    return conn->dir[1] && c->has_start_psn && dir && dir->conn && !dir->conn->by_cm &&
                   !dir->paired && dir->conn->id > conn->id && has_begun(dir, c->start_psn)
               ? dir
               : NULL;
}

/* What a REQ says of its connection. */
static void asked(struct flow_conn *conn, const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;

    conn->pub.life.requests = 1;
    if (c->ethernet && !replayed(op)) {
        memcpy(conn->pub.life.mac, c->ethernet, sizeof(conn->pub.life.mac));
        conn->pub.life.has_mac = true;
    }
    conn->pub.service_port = c->port;
    conn->start_psn[0] = c->start_psn;
    conn->has_start_psn[0] = c->has_start_psn && !replayed(op);
    conn->path_mtu = conn->pub.path_mtu = c->path_mtu;
    for (int end = 0; end < 2; end++)
        if (conn->dir[end])
            conn->dir[end]->pmtu = c->path_mtu;
}

static struct flow_conn *request_after_accept(struct flow_conns *conns, struct flow_conn *conn,
                                              const struct rpcrdma_op *op)
{
    struct flow_direction *dir = answered_before(conns, conn, op);

    if (dir) {
        /* what showed that it is RPC-over-RDMA shows it of this connection, which is to stay: the
         * more certain one of two does */
        if (dir->classified)
            conn_accept(conns, conn);
        conn_pair(conns, conn->dir[1], dir);
    } else {
        dir = fresh_direction(conns, op, op->connect->qpn);
        if (!dir)
            return NULL;
        conn_attach(conns, conn, 0, dir);
        conn_pair_half_open(conns, conn, false);
        if (conn->dir[1])
            flow_conn_wait_over(conns, conn, FLOW_WAIT_PEER);
    }
    asked(conn, op);
    conn->pub.paired_by = conn->dir[1] ? RPCRDMA_PAIRED_CM : RPCRDMA_PAIRED_NOT;
    start(conn, 0);
    conn_private_data(conn, 0, op);
    if (conn->class != CONN_RPCRDMA) {
        conn_set_up_class(conns, conn, class_of(conns, conn, op));
        if (conn->class != CONN_UNCLASSIFIED)
            flow_conn_wait_over(conns, conn, FLOW_WAIT_CLASS);
    }
    flow_conn_touch(conns, conn);
    return conn;
}

static struct flow_conn *request(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;
    struct flow_conn *conn = conn_by_comm_id(conns, &op->src, &op->dst, c->local_comm_id);
    struct flow_direction *dir = NULL;

    if (asked_late(conns, conn, op))
        return request_after_accept(conns, conn, op);
    if (conn) {
        asked_again(conn, op);
        flow_conn_touch(conns, conn);
        return NULL; /* retransmitted */
    }
    if (c->qpn != 0) {
        dir = fresh_direction(conns, op, c->qpn);
        if (!dir)
            return NULL;
    }
    conn = conn_new(conns, op->carrier);
    if (!conn)
        return NULL;
    conn->by_cm = true;
    conn->replayed = replayed(op);
    conn->pub.end[0].address = op->src;
    conn->pub.end[1].address = op->dst;
    conn->comm_id[0] = c->local_comm_id;
    conn->has_comm_id[0] = true;
    conn->registered = flow_table_put(&conns->cm, &conns->context->memory,
                                      flow_address_key(&op->src, &op->dst, c->local_comm_id), conn);
    flow_conn_role(conn, 0, RPCRDMA_ROLE_CLIENT);
    if (dir)
        conn_attach(conns, conn, 0, dir);
    asked(conn, op);
    conn_pair_half_open(conns, conn, true);
    conn_private_data(conn, 0, op);
    conn_set_up_class(conns, conn, class_of(conns, conn, op));
    return conn;
}

/* Two ports captured into one file show what the client sent first, and the REP it had waited for
 * just after that. The direction, which is a connection of its own by then; NULL: there is none. */
static struct flow_direction *began_before(const struct flow_conns *conns,
                                           const struct flow_conn *conn,
                                           const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;
    struct flow_path path = path_to_sender(op, c->qpn);
    struct flow_direction *dir;

    if (!conn || conn->class != CONN_RPCRDMA || !conn->dir[0] || conn->dir[1] ||
        !c->has_start_psn || replayed(op) || c->qpn == 0)
        return NULL;
    dir = flow_direction_lookup(conns->streams, &path);
    if (!dir || !dir->conn || dir->conn->by_cm || dir->paired || dir->conn->id < conn->id ||
        dir->first_frame < conn->pub.first_frame ||
        conns->context->time_ns - dir->first_time_ns > FLOW_REORDER_NS)
        return NULL;
    return has_begun(dir, c->start_psn) ? dir : NULL;
}

static bool accepted_again(const struct flow_conn *conn, const struct rpcrdma_op *op)
{
    return conn && conn->has_comm_id[1] && conn->comm_id[1] == op->connect->local_comm_id;
}

/* Captured at another place than the REP before it: 0 is none that is known. */
static bool elsewhere(const struct flow_conns *conns, const struct flow_conn *conn)
{
    uint8_t tap = conns->context->tap;

    return tap != 0 && conn->accepted_tap != 0 && tap != conn->accepted_tap;
}

/* The REP once more, long after the RTU: its sender, which takes no message until then, has not got
 * it. Just after it, or where another place is known, it is a copy from a second place of capture.
 */
static void note_accepted_again(const struct flow_conns *conns, struct flow_conn *conn,
                                const struct rpcrdma_op *op)
{
    struct rpcrdma_life *life = &conn->pub.life;

    if (replayed(op) || elsewhere(conns, conn) || !conn->pub.established ||
        op->time_ns - life->established_ns < (int64_t)COPY_NS)
        return;
    life->accepted_again++;
    life->accepted_again_ns = op->time_ns;
    life->accepted_again_frame = conns->context->frame;
}

/* The REQ was not captured: its sender's QP is for inference to find. NULL: no memory. */
static struct flow_conn *accepted_alone(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    struct flow_conn *conn = conn_new(conns, op->carrier);

    if (!conn)
        return NULL;
    conn->waiting = FLOW_WAIT_CLASS | FLOW_WAIT_PEER;
    conn->by_cm = true;
    conn->pub.end[0].address = op->dst;
    conn->pub.end[1].address = op->src;
    conn->comm_id[0] = op->connect->remote_comm_id;
    conn->has_comm_id[0] = true;
    conn->registered =
        flow_table_put(&conns->cm, &conns->context->memory,
                       flow_address_key(&op->dst, &op->src, op->connect->remote_comm_id), conn);
    flow_conn_role(conn, 0, RPCRDMA_ROLE_CLIENT);
    conn_pair_half_open(conns, conn, true);
    return conn;
}

/* What the REP says of its sender. */
static void note_accepter(const struct flow_conns *conns, struct flow_conn *conn,
                          const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;

    conn->accepted = true;
    conn->accepted_tap = conns->context->tap;
    conn->comm_id[1] = c->local_comm_id;
    conn->has_comm_id[1] = true;
    conn->start_psn[1] = c->start_psn;
    conn->has_start_psn[1] = c->has_start_psn && !replayed(op);
    conn->replayed |= replayed(op);
}

/* One QP number was cut off by the capture: that end is for inference to find. */
static void find_other_end(struct flow_conns *conns, struct flow_conn *conn)
{
    conn->pub.paired_by = RPCRDMA_PAIRED_NOT;
    conn->waiting |= FLOW_WAIT_PEER;
    if (conn->class == CONN_RPCRDMA)
        conn_pair_lacks(conns, conn, true);
    conn_pair_half_open(conns, conn, true);
}

static struct flow_conn *accept(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;
    struct flow_conn *conn = conn_by_comm_id(conns, &op->dst, &op->src, c->remote_comm_id);
    struct flow_direction *dir;

    if (accepted_again(conn, op)) {
        note_accepted_again(conns, conn, op);
        return NULL;
    }
    dir = began_before(conns, conn, op);
    if (dir) {
        conn_pair(conns, conn->dir[0], dir);
    } else if (c->qpn != 0) {
        dir = fresh_direction(conns, op, c->qpn);
        if (!dir)
            return NULL;
    }
    if (!conn) {
        conn = accepted_alone(conns, op);
        if (!conn)
            return NULL;
    } else {
        conn->pub.paired_by = RPCRDMA_PAIRED_CM;
        conn_pair_half_open(conns, conn, false);
    }
    flow_conn_touch(conns, conn);
    conn_established(conns, conn);
    note_accepter(conns, conn, op);
    if (dir) {
        conn_attach(conns, conn, 1, dir);
        dir->pmtu = conn->path_mtu;
    }
    if (!conn->dir[0] != !conn->dir[1])
        find_other_end(conns, conn);
    start(conn, 0);
    start(conn, 1);
    conn_private_data(conn, 1, op);
    if (conn->class != CONN_RPCRDMA &&
        (flow_qpn_selected(conns->streams, c->qpn) || conn->pub.has_private_data[1])) {
        conn_set_up_class(conns, conn, CONN_RPCRDMA);
        flow_conn_wait_over(conns, conn, FLOW_WAIT_CLASS);
    }
    return conn;
}

void conn_end_of(struct flow_conns *conns, const struct rpcrdma_op *op, struct flow_conn *conn)
{
    flow_conn_touch(conns, conn);
    if (op->kind == RPCRDMA_OP_REJECT)
        conn->pub.rejected = true;
    conn_closed(conns, conn);
}

void flow_conn_ended(struct flow_conns *conns, struct flow_conn *conn, enum rpcrdma_ended how,
                     int by)
{
    struct rpcrdma_life *life = &conn->pub.life;

    if (life->ended != RPCRDMA_ENDED_NOT)
        return;
    life->ended = how;
    life->ended_by = by;
    life->ended_frame = conns->context->frame;
    life->ended_ns = conns->context->time_ns;
}

/* What its other end has not answered, though it was sent again: later answers end no silence. */
static void gives_up(struct rpcrdma_life *life, const struct flow_conn *conn)
{
    struct rpcrdma_silence *silence = &life->silence[1 - life->ended_by];

    *silence = flow_conn_silence(conn, 1 - life->ended_by);
    life->given_up = silence->transmissions > 1;
}

static void cm_end(struct flow_conns *conns, const struct rpcrdma_op *op, struct flow_conn *conn,
                   int sender)
{
    bool ends = conn->pub.life.ended == RPCRDMA_ENDED_NOT;

    flow_conn_ended(conns, conn,
                    op->kind == RPCRDMA_OP_REJECT ? RPCRDMA_ENDED_REJECTED
                                                  : RPCRDMA_ENDED_DISCONNECTED,
                    op->connect->drep ? 1 - sender : sender);
    if (ends && op->kind == RPCRDMA_OP_DISCONNECT)
        gives_up(&conn->pub.life, conn);
    if (op->kind == RPCRDMA_OP_REJECT)
        conn->pub.life.reject_reason = op->connect->reason;
    conn_end_of(conns, op, conn);
}

/* What is known under the QP number that the sender of a REQ or a REP has now. */
static struct flow_conn *earlier_of_qp(struct flow_conns *conns, const struct rpcrdma_op *op,
                                       const struct flow_conn *keep)
{
    struct flow_path path = path_to_sender(op, op->connect->qpn);
    struct flow_direction *dir =
        op->connect->qpn != 0 ? flow_direction_lookup(conns->streams, &path) : NULL;

    return dir && dir->conn && dir->conn != keep ? dir->conn : NULL;
}

struct flow_conn *flow_setup_obstacle(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;
    struct flow_conn *conn;

    if (op->carrier == RPCRDMA_CARRIER_IWARP)
        return conn_tcp_obstacle(conns, op);
    if (!c || (op->kind != RPCRDMA_OP_CONNECT && op->kind != RPCRDMA_OP_ACCEPT))
        return NULL;
    if (op->kind == RPCRDMA_OP_CONNECT) {
        conn = conn_by_comm_id(conns, &op->src, &op->dst, c->local_comm_id);
        if (asked_late(conns, conn, op))
            return answered_before(conns, conn, op) ? NULL : earlier_of_qp(conns, op, conn);
        if (conn)
            return sent_again(conn, op) ? NULL : conn;
        return earlier_of_qp(conns, op, NULL);
    }
    conn = conn_by_comm_id(conns, &op->dst, &op->src, c->remote_comm_id);
    return accepted_again(conn, op) || began_before(conns, conn, op)
               ? NULL
               : earlier_of_qp(conns, op, conn);
}

struct flow_conn *flow_setup(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    struct flow_conn *conn;
    int sender;

    if (op->carrier == RPCRDMA_CARRIER_IWARP)
        return conn_tcp_setup(conns, op);
    if (!op->connect)
        return NULL;
    switch (op->kind) {
    case RPCRDMA_OP_CONNECT:
        return request(conns, op);
    case RPCRDMA_OP_ACCEPT:
        return accept(conns, op);
    case RPCRDMA_OP_ESTABLISHED:
        conn = conn_of_cm(conns, op, &sender);
        if (conn && !(replayed(op) && conn->pub.established)) {
            flow_conn_touch(conns, conn);
            if (!conn->pub.established)
                conn_established(conns, conn);
            conn->pub.established = true;
            conn_pair_accepted(conns, conn);
        }
        return conn;
    default:
        conn = conn_of_cm(conns, op, &sender);
        if (conn)
            cm_end(conns, op, conn, sender);
        return NULL;
    }
}
