/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/flow_state.h"

/* Whose an operation is, for who looks at packets: nothing changes. */

const struct rpcrdma_connection *rpcrdma_flow_connection(struct rpcrdma_flow *flow,
                                                         const struct rpcrdma_op *op)
{
    const struct flow_direction *dir = flow_direction_seen(flow->streams, op);

    if (!dir || !dir->conn || !flow_conn_is_rpcrdma(dir->conn))
        return NULL;
    return flow_conn_public(dir->conn);
}

const struct rpcrdma_connection *rpcrdma_flow_setup_connection(struct rpcrdma_flow *flow,
                                                               const struct rpcrdma_op *op)
{
    const struct flow_conn *conn;

    if (op->carrier == RPCRDMA_CARRIER_IWARP || !op->connect)
        return rpcrdma_flow_connection(flow, op);
    conn = flow_setup_conn(flow->conns, op);
    return conn && flow_conn_is_rpcrdma(conn) ? flow_conn_public_const(conn) : NULL;
}

uint64_t rpcrdma_flow_stream(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    const struct flow_direction *dir;
    const struct flow_conn *conn;

    if (op->carrier != RPCRDMA_CARRIER_IWARP && op->connect) {
        const struct rpcrdma_connection *pub;

        conn = flow_setup_conn(flow->conns, op);
        if (!conn)
            return 0;
        pub = flow_conn_public_const(conn);
        return pub->stream[0] ? pub->stream[0] : pub->stream[1];
    }
    dir = flow_direction_seen(flow->streams, op);
    return dir ? dir->id : 0;
}

bool rpcrdma_flow_undecided(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    const struct flow_direction *dir = flow_direction_seen(flow->streams, op);

    if (!dir || dir->foreign)
        return false;
    if (dir->conn && !flow_conn_is_undecided(dir->conn))
        return false;
    return (dir->conn && flow_admission_holds(dir->conn)) ||
           flow->context.time_ns - dir->first_time_ns <= FLOW_ADMISSION_NS;
}

/* What it waits for comes on the connection that took its place, or will not come. */
static bool is_over(const struct rpcrdma_connection *pub)
{
    return pub->closed || pub->life.ended != RPCRDMA_ENDED_NOT || pub->life.next != 0;
}

void rpcrdma_flow_waiting(struct rpcrdma_flow *flow,
                          void (*each)(void *context, const struct rpcrdma_waiting *waiting),
                          void *context)
{
    struct flow_conn *conn = flow->rpcs ? flow_conns_oldest(flow->conns) : NULL;

    for (; conn; conn = flow_conn_newer(conn)) {
        const struct rpcrdma_connection *pub = flow_conn_public_const(conn);

        if (pub->number != 0 && !is_over(pub))
            flow_rpc_waiting(conn, each, context);
    }
}

void rpcrdma_connection_set_user(const struct rpcrdma_connection *connection, void *user)
{
    /* ours, and what we made of it is no constant */
    ((struct rpcrdma_connection *)connection)->user = user;
}
