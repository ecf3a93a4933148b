/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/* RFC 8797 private data of one end of a connection set-up. */

void flow_private_data(struct flow *flow, struct flow_conn *conn, int end,
                       const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;
    struct rpcrdma_private_data pd;
    struct rpcrdma_properties *p = &conn->pub.properties[end];

    (void)flow;
    if (c && c->private_data &&
        rpcrdma_private_data_find(c->private_data, c->private_caplen, c->private_len, &pd) ==
            RPCRDMA_OK) {
        conn->pub.has_private_data[end] = true;
        conn->pub.private_data[end] = pd;
        if (pd.version == RPCRDMA_PRIVATE_DATA_VERSION) {
            p->send_size = pd.send_size;
            p->receive_size = pd.receive_size;
            p->remote_invalidation = (pd.flags & RPCRDMA_PRIVATE_DATA_F_INVALIDATE) != 0;
            p->announced = true;
        }
    }
    flow_conn_thresholds(conn);
}
