/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

/* Which connection a message of the CM is about: by the communication IDs of its ends (IBTA volume
 * 1 section 12.7), else by a QP number. */

uint64_t flow_address_key(const struct rpcrdma_address *a, const struct rpcrdma_address *b,
                          uint32_t number)
{
    const struct rpcrdma_address *each[2] = {a, b};
    uint64_t h = number, x;

    for (int i = 0; i < 2; i++) {
        memcpy(&x, each[i], sizeof(x)); /* of IPv4, all that can differ */
        h = flow_hash2(h, x);
        if (each[i]->family == RPCRDMA_ADDRESS_IPV4)
            continue;
        memcpy(&x, (const uint8_t *)each[i] + sizeof(x), sizeof(x));
        h = flow_hash2(flow_hash2(h, x), each[i]->bytes[15]);
    }
    return h;
}

struct flow_conn *conn_by_comm_id(const struct flow_conns *conns,
                                  const struct rpcrdma_address *opener,
                                  const struct rpcrdma_address *acceptor, uint32_t comm_id)
{
    struct flow_conn *conn =
        flow_table_get(&conns->cm, flow_address_key(opener, acceptor, comm_id));

    if (!conn || conn->comm_id[0] != comm_id ||
        memcmp(&conn->pub.end[0].address, opener, sizeof(*opener)) != 0 ||
        memcmp(&conn->pub.end[1].address, acceptor, sizeof(*acceptor)) != 0)
        return NULL;
    return conn;
}

/* `sender` has another communication ID on this connection. */
static bool other_id(const struct flow_conn *conn, int sender, uint32_t comm_id)
{
    return conn->has_comm_id[sender] && conn->comm_id[sender] != comm_id;
}

struct flow_conn *conn_of_cm(struct flow_conns *conns, const struct rpcrdma_op *op, int *sender)
{
    const struct rpcrdma_op_connect *c = op->connect;
    struct flow_conn *conn = conn_by_comm_id(conns, &op->src, &op->dst, c->local_comm_id);

    *sender = 0;
    if (conn &&
        (c->remote_comm_id == 0 || !conn->has_comm_id[1] || conn->comm_id[1] == c->remote_comm_id))
        return conn;
    *sender = 1;
    conn = conn_by_comm_id(conns, &op->dst, &op->src, c->remote_comm_id);
    if (conn &&
        (c->local_comm_id == 0 || !conn->has_comm_id[1] || conn->comm_id[1] == c->local_comm_id))
        return conn;
    if (c->remote_qpn != 0) {
        struct flow_path path = flow_path_of(op);
        struct flow_direction *dir;

        path.qpn = c->remote_qpn;
        dir = flow_direction_lookup(conns->streams, &path);
        if (!dir || !dir->conn)
            return NULL;
        *sender = 1 - dir->index;
        /* a late one, of the connection that had the QP number before? */
        return other_id(dir->conn, *sender, c->local_comm_id) ||
                       other_id(dir->conn, dir->index, c->remote_comm_id)
                   ? NULL
                   : dir->conn;
    }
    return NULL;
}

const struct flow_conn *flow_setup_conn(struct flow_conns *conns, const struct rpcrdma_op *op)
{
    int sender;

    return conn_of_cm(conns, op, &sender);
}
