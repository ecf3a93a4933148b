/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/flow_state.h"

#include "wire/hot.h"

/* What is held back of a connection is given up where time, or the bounds, say so. */

RPCRDMA_RARE void flow_review(struct rpcrdma_flow *flow, struct flow_direction *dir)
{
    struct flow_conn *conn = dir->conn;

    switch (flow_admission_review(flow->conns, conn)) {
    case FLOW_PATIENCE_LEFT:
    case FLOW_PATIENCE_NEVER:
        return;
    case FLOW_PATIENCE_PAIRED:
        flow_reap(flow);
        break;
    case FLOW_PATIENCE_FULL:
        flow->overfull = true;
        flow_message_settle(flow->messages, conn);
        break;
    case FLOW_PATIENCE_OVER:
        flow_message_settle(flow->messages, conn);
        break;
    }
    flow_drain(flow, dir->conn);
}

/* The connection keeps as much as it may. What is given out may pair the direction, and its
 * connection be another one then. */
RPCRDMA_RARE void flow_give_up_gaps(struct rpcrdma_flow *flow, struct flow_direction *dir)
{
    for (int i = 0; dir->conn && i < 2; i++) {
        struct flow_direction *each = flow_conn_direction(dir->conn, i);

        if (each) {
            flow_stream_review(each, true);
            flow_pump(flow, each, false);
        }
    }
    flow->overfull = false;
    if (dir->conn)
        flow_drain(flow, dir->conn);
}

RPCRDMA_RARE void flow_check(struct rpcrdma_flow *flow, struct flow_direction *dir)
{
    /* what is given out may pair the direction, and its connection be another one then */
    for (int i = 0; i < 2; i++) {
        struct flow_direction *each = flow_conn_direction(dir->conn, i);

        if (each && flow_stream_waits(each, NULL, NULL)) {
            flow_stream_review(each, false);
            flow_pump(flow, each, false);
        }
    }
    if (flow_conn_waiting(dir->conn) != 0)
        flow_review(flow, dir);
    if (flow->overfull)
        flow_give_up_gaps(flow, dir);
}

RPCRDMA_RARE void flow_check_silent(struct rpcrdma_flow *flow)
{
    struct flow_conn *conn;

    while ((conn = flow_admission_silent(flow->conns))) {
        struct flow_direction *dir = flow_conn_direction(conn, 0);

        flow_check(flow, dir ? dir : flow_conn_direction(conn, 1));
    }
}

RPCRDMA_RARE void flow_give_up_call(struct rpcrdma_flow *flow, struct flow_conn *conn,
                                    struct flow_call *call)
{
    if (flow->rpcs)
        flow_rpc_give_up(flow->rpcs, call);
    if (flow->credits)
        flow_credit_give_up(flow->credits, conn, call);
    flow_call_drop(flow->messages, conn, call);
}

RPCRDMA_RARE bool flow_make_room_for_call(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    struct flow_call *call = flow_call_oldest(conn);

    if (call)
        flow_give_up_call(flow, conn, call);
    return call || ((flow->rpcs || flow->credits) && flow_evict(flow, conn));
}
