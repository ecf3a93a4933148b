/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/* Connection set-up and end: the CM's messages (IBTA volume 1 chapter 12) and MPA's frames. */

uint64_t flow_cm_key(const struct rpcrdma_address *opener, const struct rpcrdma_address *acceptor,
                     uint32_t comm_id)
{
    uint64_t h = flow_mix(comm_id);
    uint8_t bytes[40] = {0};

    memcpy(bytes, opener, sizeof(*opener));
    memcpy(bytes + 20, acceptor, sizeof(*acceptor));
    for (size_t i = 0; i < sizeof(bytes); i += 8) {
        uint64_t x;

        memcpy(&x, bytes + i, sizeof(x));
        h = flow_hash2(h, x);
    }
    return h;
}

/* The connection that `opener` opened under `comm_id`, or NULL. */
static struct flow_conn *by_comm_id(const struct flow *flow, const struct rpcrdma_address *opener,
                                    const struct rpcrdma_address *acceptor, uint32_t comm_id)
{
    struct flow_conn *conn = flow_table_get(&flow->cm, flow_cm_key(opener, acceptor, comm_id));

    if (!conn || conn->comm_id[0] != comm_id ||
        memcmp(&conn->pub.end[0].address, opener, sizeof(*opener)) != 0 ||
        memcmp(&conn->pub.end[1].address, acceptor, sizeof(*acceptor)) != 0)
        return NULL;
    return conn;
}

/* The connection a CM message after the REQ belongs to: its sender opened it, or its receiver did,
 * or (DREQ) the receiver's QP is known. Sets the end that sent it. */
static struct flow_conn *find(struct flow *flow, const struct rpcrdma_op *op, int *sender)
{
    const struct rpcrdma_op_connect *c = op->connect;
    struct flow_conn *conn = by_comm_id(flow, &op->src, &op->dst, c->local_comm_id);

    *sender = 0;
    if (conn &&
        (c->remote_comm_id == 0 || !conn->has_comm_id[1] || conn->comm_id[1] == c->remote_comm_id))
        return conn;
    *sender = 1;
    conn = by_comm_id(flow, &op->dst, &op->src, c->remote_comm_id);
    if (conn &&
        (c->local_comm_id == 0 || !conn->has_comm_id[1] || conn->comm_id[1] == c->local_comm_id))
        return conn;
    if (c->remote_qpn != 0) {
        struct flow_path path = flow_path_of(op);
        struct flow_direction *dir;

        path.qpn = c->remote_qpn;
        dir = flow_direction_lookup(flow, &path);
        if (dir && dir->conn) {
            *sender = 1 - dir->index;
            return dir->conn;
        }
    }
    return NULL;
}

const struct flow_conn *flow_cm_conn(struct flow *flow, const struct rpcrdma_op *op)
{
    int sender;

    return find(flow, op, &sender);
}

/* A fresh half for the QP of the message's sender: whatever was known under that number is over. */
static struct flow_direction *fresh_direction(struct flow *flow, const struct rpcrdma_op *op,
                                              uint32_t qpn, struct flow_conn *keep)
{
    struct flow_path path = flow_path_of(op);
    struct flow_direction *dir;

    path.src = op->dst;
    path.dst = op->src;
    path.qpn = qpn;
    dir = flow_direction_lookup(flow, &path);
    if (dir && dir->conn && dir->conn != keep)
        flow_conn_finish(flow, dir->conn);
    else if (dir && !dir->conn)
        flow_direction_free(flow, dir);
    return flow_direction_get(flow, &path, op->carrier);
}

/* The set-up decides where it names a port that is known, or brings RFC 8797 private data. Any
 * other port may serve NFS, too: the messages tell then. */
static enum flow_class class_of(const struct flow *flow, const struct flow_conn *conn,
                                const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;

    if (flow_port_known(flow, c->port) || flow_forced_qpn(flow, c->qpn) ||
        conn->pub.has_private_data[0])
        return FLOW_RPCRDMA;
    if (c->port == 0 && c->service_id != 0)
        return FLOW_FOREIGN; /* not one of RDMA over IP's services (IBTA annex A11) */
    return FLOW_UNCLASSIFIED;
}

static void set_class(struct flow *flow, struct flow_conn *conn, enum flow_class class)
{
    conn->class = class;
    if (class == FLOW_UNCLASSIFIED)
        conn->waiting |= FLOW_WAIT_CLASS;
    if (class == FLOW_RPCRDMA)
        flow_conn_number(flow, conn);
    for (int i = 0; i < 2; i++)
        if (conn->dir[i])
            conn->dir[i]->foreign = class == FLOW_FOREIGN;
}

static void start(struct flow_conn *conn, int end)
{
    if (conn->dir[end] && conn->has_start_psn[end])
        flow_stream_start(conn->dir[end], conn->start_psn[end]);
}

static void request(struct flow *flow, const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;
    struct flow_conn *conn = by_comm_id(flow, &op->src, &op->dst, c->local_comm_id);
    struct flow_direction *dir;

    if (conn) {
        if (conn->pub.end[0].qpn == c->qpn && !conn->pub.closed)
            return; /* sent again */
        flow_conn_finish(flow, conn);
    }
    conn = flow_conn_new(flow, op->carrier);
    if (!conn)
        return;
    conn->by_cm = true;
    conn->pub.end[0].address = op->src;
    conn->pub.end[1].address = op->dst;
    conn->comm_id[0] = c->local_comm_id;
    conn->has_comm_id[0] = true;
    conn->pub.service_port = c->port;
    conn->start_psn[0] = c->start_psn;
    conn->has_start_psn[0] = c->has_start_psn;
    conn->registered = flow_table_put(&flow->cm, &flow->memory,
                                      flow_cm_key(&op->src, &op->dst, c->local_comm_id), conn);
    flow_conn_role(conn, 0, RPCRDMA_ROLE_CLIENT);
    if (c->qpn != 0) {
        dir = fresh_direction(flow, op, c->qpn, conn);
        if (dir) {
            flow_conn_attach(flow, conn, 0, dir);
            dir->pmtu = c->path_mtu;
        }
    }
    conn->path_mtu = c->path_mtu;
    flow_pair_half_open(flow, conn, true);
    flow_private_data(conn, 0, op);
    set_class(flow, conn, class_of(flow, conn, op));
}

static void accept(struct flow *flow, const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;
    struct flow_conn *conn = by_comm_id(flow, &op->dst, &op->src, c->remote_comm_id);
    struct flow_direction *dir;

    if (conn && conn->has_comm_id[1] && conn->comm_id[1] == c->local_comm_id)
        return; /* sent again */
    if (!conn) {
        /* the REQ was not captured: its sender's QP is for inference to find */
        conn = flow_conn_new(flow, op->carrier);
        if (!conn)
            return;
        conn->waiting = FLOW_WAIT_CLASS | FLOW_WAIT_PEER;
        conn->by_cm = true;
        conn->pub.end[0].address = op->dst;
        conn->pub.end[1].address = op->src;
        conn->comm_id[0] = c->remote_comm_id;
        conn->has_comm_id[0] = true;
        conn->registered = flow_table_put(&flow->cm, &flow->memory,
                                          flow_cm_key(&op->dst, &op->src, c->remote_comm_id), conn);
        flow_conn_role(conn, 0, RPCRDMA_ROLE_CLIENT);
        flow_pair_half_open(flow, conn, true);
    } else {
        conn->pub.paired_by = RPCRDMA_PAIRED_CM;
        flow_pair_half_open(flow, conn, false);
    }
    flow_conn_touch(flow, conn);
    conn->accepted = true;
    conn->comm_id[1] = c->local_comm_id;
    conn->has_comm_id[1] = true;
    conn->start_psn[1] = c->start_psn;
    conn->has_start_psn[1] = c->has_start_psn;
    if (c->qpn != 0) {
        dir = fresh_direction(flow, op, c->qpn, conn);
        if (dir) {
            flow_conn_attach(flow, conn, 1, dir);
            dir->pmtu = conn->path_mtu;
        }
    }
    if (!conn->dir[0] != !conn->dir[1]) {
        /* one QP number was cut off by the capture: that end is for inference to find */
        conn->pub.paired_by = RPCRDMA_PAIRED_NOT;
        conn->waiting |= FLOW_WAIT_PEER;
        if (conn->class == FLOW_RPCRDMA)
            flow_pair_lacks(flow, conn, true);
        flow_pair_half_open(flow, conn, true);
    }
    start(conn, 0);
    start(conn, 1);
    flow_private_data(conn, 1, op);
    if (conn->class != FLOW_RPCRDMA &&
        (flow_forced_qpn(flow, c->qpn) || conn->pub.has_private_data[1])) {
        set_class(flow, conn, FLOW_RPCRDMA);
        flow_admission_clear(flow, conn, FLOW_WAIT_CLASS);
    }
}

/* MPA names no QPs: the TCP connection is the connection, and both directions are known at once. */
static void mpa(struct flow *flow, const struct rpcrdma_op *op)
{
    struct flow_path path = flow_path_of(op);
    struct flow_direction *dir = flow_direction_get(flow, &path, op->carrier), *back;
    bool opens = op->kind == RPCRDMA_OP_CONNECT;
    struct flow_conn *conn;
    int end = opens ? 1 : 0; /* that this frame goes to */

    if (!dir)
        return;
    conn = dir->conn;
    if (conn && opens) {
        /* the same ports again */
        flow_conn_finish(flow, conn);
        conn = NULL;
        dir = flow_direction_get(flow, &path, op->carrier);
        if (!dir)
            return;
    }
    if (!conn) {
        conn = flow_conn_new(flow, op->carrier);
        if (!conn)
            return;
        conn->by_cm = true;
        flow_conn_attach(flow, conn, end, dir);
        path.src = op->dst;
        path.dst = op->src;
        path.qpn = path.qpn << 16 | path.qpn >> 16;
        back = flow_direction_lookup(flow, &path);
        if (back && back->conn && back->conn != conn) /* one port at both ends: the same half */
            flow_conn_finish(flow, back->conn);
        back = flow_direction_get(flow, &path, op->carrier);
        if (back)
            flow_conn_attach(flow, conn, 1 - end, back);
        flow_conn_role(conn, 0, RPCRDMA_ROLE_CLIENT);
        conn->pub.paired_by = RPCRDMA_PAIRED_CM;
        conn->pub.service_port = conn->pub.end[1].port;
        set_class(flow, conn,
                  flow_port_known(flow, conn->pub.service_port) ||
                          flow_forced_ports(flow, conn->pub.end[0].port, conn->pub.end[1].port)
                      ? FLOW_RPCRDMA
                      : FLOW_UNCLASSIFIED);
    }
    flow_conn_touch(flow, conn);
    flow_private_data(conn, 1 - dir->index, op);
    if (conn->pub.has_private_data[1 - dir->index])
        flow_conn_accept(flow, conn);
    if (op->kind == RPCRDMA_OP_ACCEPT)
        conn->accepted = conn->pub.established = true;
}

static void end_of(struct flow *flow, const struct rpcrdma_op *op, struct flow_conn *conn)
{
    flow_conn_touch(flow, conn);
    if (op->kind == RPCRDMA_OP_REJECT)
        conn->pub.rejected = true;
    flow_conn_closed(flow, conn);
}

static void tcp_end(struct flow *flow, const struct rpcrdma_op *op)
{
    struct flow_path path = flow_path_of(op);
    struct flow_direction *dir = flow_direction_lookup(flow, &path);

    if (!dir || !dir->conn)
        return;
    /* a FIN closes one direction; the other may still carry messages */
    dir->conn->fin[dir->index] = true;
    if (op->kind != RPCRDMA_OP_DISCONNECT || dir->conn->fin[1 - dir->index])
        end_of(flow, op, dir->conn);
    else
        flow_conn_touch(flow, dir->conn);
}

void flow_cm(struct flow *flow, const struct rpcrdma_op *op)
{
    struct flow_conn *conn;
    int sender;

    if (op->carrier == RPCRDMA_CARRIER_IWARP) {
        if (op->kind == RPCRDMA_OP_CONNECT || op->kind == RPCRDMA_OP_ACCEPT)
            mpa(flow, op);
        else
            tcp_end(flow, op);
        return;
    }
    if (!op->connect)
        return;
    switch (op->kind) {
    case RPCRDMA_OP_CONNECT:
        request(flow, op);
        break;
    case RPCRDMA_OP_ACCEPT:
        accept(flow, op);
        break;
    case RPCRDMA_OP_ESTABLISHED:
        conn = find(flow, op, &sender);
        if (conn) {
            flow_conn_touch(flow, conn);
            conn->pub.established = true;
        }
        break;
    default:
        conn = find(flow, op, &sender);
        if (conn)
            end_of(flow, op, conn);
        break;
    }
}
