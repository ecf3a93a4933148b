/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

/* iWARP: MPA's frames (RFC 5044 section 7.1), and TCP's beginning and end. */

static bool port_of_service(const struct flow_conns *conns, uint16_t server, uint16_t client)
{
    return conn_port_known(conns, server) || flow_ports_selected(conns->streams, client, server);
}

/* MPA names no QPs: the TCP connection is the connection, and both directions are known at once.
 * `end`: that this frame goes to. The direction of the frame; NULL: no memory. */
static struct flow_direction *tcp_direction(struct flow_conns *conns, const struct rpcrdma_op *op,
                                            int end)
{
    struct flow_path path = flow_path_of(op);
    struct flow_direction *dir = flow_direction_get(conns->streams, &path, op->carrier), *back;
    struct flow_conn *conn;

    if (!dir) {
        conns->lacked_memory = true;
        return NULL;
    }
    if (dir->conn)
        return dir;
    back = conn_opposite(conns, dir);
    conn = back ? conn_new(conns, op->carrier) : NULL;
    if (!conn)
        return NULL;
    conn->by_cm = true;
    conn_attach(conns, conn, end, dir);
    conn_attach(conns, conn, 1 - end, back);
    flow_conn_role(conn, 0, RPCRDMA_ROLE_CLIENT);
    conn->pub.paired_by = RPCRDMA_PAIRED_CM;
    conn->pub.service_port = conn->pub.end[1].port;
    conn_set_up_class(conns, conn,
                      port_of_service(conns, conn->pub.end[1].port, conn->pub.end[0].port)
                          ? CONN_RPCRDMA
                          : CONN_UNCLASSIFIED);
    return dir;
}

/* No server waits so long for an MPA Request: TCP was opened for another one, of the same ports. */
#define OPEN_NS INT64_C(60000000000)

/* An MPA Request: when TCP was open for it. */
static void opened_before(struct flow_conns *conns, const struct rpcrdma_op *op,
                          struct rpcrdma_life *life)
{
    struct flow_path path = flow_path_of(op);
    struct conn_syn *syn = conn_syn_find(&conns->opened, &path);

    if (!syn)
        return;
    if (op->time_ns - syn->first_ns < OPEN_NS) {
        life->opened_frame = syn->first_frame;
        life->opened_ns = syn->first_ns;
        life->asked_ns = op->time_ns;
    }
    conn_syn_forget(&conns->opened, &path);
}

static struct flow_conn *mpa(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    struct flow_direction *dir = tcp_direction(conns, op, op->kind == RPCRDMA_OP_CONNECT ? 1 : 0);
    struct flow_conn *conn;
    int sender;

    if (!dir)
        return NULL;
    conn = dir->conn;
    sender = 1 - dir->index;
    flow_conn_touch(conns, conn);
    conn_private_data(conn, sender, op);
    if (conn->pub.has_private_data[sender])
        conn_accept(conns, conn);
    conn->replayed |= (op->flags & RPCRDMA_OP_REPLAYED) != 0;
    if (op->kind == RPCRDMA_OP_CONNECT)
        opened_before(conns, op, &conn->pub.life);
    if (op->kind == RPCRDMA_OP_CONNECT && !conn->by_syn)
        conn->pub.life.requests++;
    conn->by_syn = false;
    if (op->kind == RPCRDMA_OP_ACCEPT) {
        conn->accepted = conn->pub.established = true;
        conn_established(conns, conn);
    }
    return conn;
}

static void tcp_end(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    struct flow_path path = flow_path_of(op);
    struct flow_direction *dir = flow_direction_lookup(conns->streams, &path);

    if (!dir || !dir->conn)
        return;
    flow_conn_ended(conns, dir->conn,
                    op->kind == RPCRDMA_OP_REJECT  ? RPCRDMA_ENDED_REJECTED
                    : op->kind == RPCRDMA_OP_RESET ? RPCRDMA_ENDED_RESET
                                                   : RPCRDMA_ENDED_CLOSED,
                    op->flags & RPCRDMA_OP_ANSWERS ? dir->index : 1 - dir->index);
    /* a FIN closes one direction; the other may still carry messages */
    dir->conn->fin[dir->index] = true;
    if (op->kind != RPCRDMA_OP_DISCONNECT || dir->conn->fin[1 - dir->index])
        conn_end_of(conns, op, dir->conn);
    else
        flow_conn_touch(conns, dir->conn);
}

bool flow_conn_behind_reset(const struct flow_conn *conn, const struct rpcrdma_tcp_segment *segment)
{
    const int64_t soon_ns = 10000000; /* in the wrong order */
    const struct rpcrdma_life *life = &conn->pub.life;
    int64_t ns;

    return life->ended == RPCRDMA_ENDED_RESET &&
           (segment->begins == 0 || segment->begins == RPCRDMA_OP_ACCEPT) && /* of no other one */
           !__builtin_sub_overflow(segment->time_ns, life->ended_ns, &ns) && ns > soon_ns;
}

void flow_conn_deny_reset(struct flow_conn *conn, int from,
                          const struct rpcrdma_tcp_segment *segment)
{
    struct rpcrdma_life *life = &conn->pub.life;

    if (life->denied_frame == 0 && segment->has_ack && life->ended_by == from)
        life->denied_frame = segment->frame;
}

/* An attempt that TCP makes again and again; MPA's Request may follow yet. */
static struct flow_conn *asked(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    struct flow_path path = flow_path_of(op);
    bool again = conn_syn_again(&conns->syns, op);
    struct conn_syn *syn = conn_syn_remember(&conns->syns, &path, op);
    struct flow_direction *dir = again ? tcp_direction(conns, op, 1) : NULL;
    struct rpcrdma_connection *pub;

    if (!dir)
        return NULL;
    syn->last_ns = op->time_ns;
    pub = &dir->conn->pub;
    flow_conn_touch(conns, dir->conn);
    if (!dir->conn->by_syn) {
        dir->conn->by_syn = true;
        pub->first_frame = syn->first_frame;
        pub->first_time_ns = syn->first_ns;
        pub->life.requests = 1;
    }
    pub->life.requests++;
    return dir->conn;
}

/* TCP is open: what it was asked for more than once is no attempt that failed. */
static void answered(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    struct flow_path path = flow_path_of(op);
    struct flow_direction *dir;

    path.src = op->dst;
    path.dst = op->src;
    path.qpn = path.qpn << 16 | path.qpn >> 16;
    conn_syn_forget(&conns->syns, &path);
    if (port_of_service(conns, op->src_port, op->dst_port))
        conn_syn_remember(&conns->opened, &path, op);
    dir = flow_direction_lookup(conns->streams, &path);
    if (dir && dir->conn && dir->conn->by_syn)
        dir->conn->pub.life.requests = 1;
}

/* An attempt that began and ended with this: nothing listens on the server's port. */
static struct flow_conn *refused(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    struct flow_direction *dir =
        port_of_service(conns, op->src_port, op->dst_port) ? tcp_direction(conns, op, 0) : NULL;
    struct flow_conn *conn;

    if (!dir)
        return NULL;
    conn = dir->conn;
    if (!conn->by_syn)
        conn->pub.life.requests = 1;
    conn->by_syn = false;
    flow_conn_ended(conns, conn, RPCRDMA_ENDED_REFUSED, 1);
    conn->pub.rejected = true;
    conn_end_of(conns, op, conn);
    return conn;
}

/* The same ports again; or one port at both ends, where the other direction was another one's. */
static struct flow_conn *earlier_of_ports(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    struct flow_path path = flow_path_of(op);
    struct flow_direction *dir = flow_direction_lookup(conns->streams, &path);

    if (dir && dir->conn && op->kind == RPCRDMA_OP_ACCEPT)
        return dir->conn->pub.closed ? dir->conn : NULL; /* its Request was not captured */
    if (dir && dir->conn)
        return dir->conn->by_syn ? NULL : dir->conn;
    path.src = op->dst;
    path.dst = op->src;
    path.qpn = path.qpn << 16 | path.qpn >> 16;
    dir = flow_direction_lookup(conns->streams, &path);
    return dir ? dir->conn : NULL;
}

struct flow_conn *conn_tcp_obstacle(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    if (op->flags & RPCRDMA_OP_REFUSED) {
        if (!port_of_service(conns, op->src_port, op->dst_port))
            return NULL;
    } else if (op->kind == RPCRDMA_OP_SYN) {
        if (!port_of_service(conns, op->dst_port, op->src_port) ||
            !conn_syn_again(&conns->syns, op))
            return NULL;
    } else if (op->kind != RPCRDMA_OP_CONNECT && op->kind != RPCRDMA_OP_ACCEPT) {
        return NULL;
    }
    return earlier_of_ports(conns, op);
}

struct flow_conn *conn_tcp_setup(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    if (op->kind == RPCRDMA_OP_CONNECT || op->kind == RPCRDMA_OP_ACCEPT)
        return mpa(conns, op);
    if (op->flags & RPCRDMA_OP_REFUSED)
        return refused(conns, op);
    if (op->kind == RPCRDMA_OP_SYN)
        return port_of_service(conns, op->dst_port, op->src_port) ? asked(conns, op) : NULL;
    if (op->kind == RPCRDMA_OP_SYN_ACK)
        answered(conns, op);
    else
        tcp_end(conns, op);
    return NULL;
}
