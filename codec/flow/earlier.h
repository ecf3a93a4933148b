/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_EARLIER_H
#define RPCRDMA_FLOW_EARLIER_H

/* The connections that one may take the place of, those that were reported already among them. */

#include "flow/conn/conn.h"

struct rpcrdma_flow;
struct flow_past;

/* The connections between the same two addresses before one, the newest first; after them those
 * that were reported already. */
struct flow_earlier {
    struct flow_conn *conn; /* of the one in hand; NULL: it was reported */
    struct flow_conn *next;
    struct flow_past *past;
    uint32_t looked, looked_past;
};

struct flow_earlier flow_earlier(const struct rpcrdma_flow *flow, const struct flow_conn *conn);
/* NULL: no more are looked at. */
struct rpcrdma_connection *flow_earlier_one(struct flow_earlier *e);

#endif
