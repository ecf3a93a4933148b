/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_FLOW_STATE_H
#define RPCRDMA_FLOW_FLOW_STATE_H

/* What the pump keeps: the stages. */

#include "flow/credit/credit_stage.h"
#include "flow/rpc/rpc_stage.h"

struct rpcrdma_flow {
    struct flow_context context;
    struct flow_streams *streams;
    struct flow_conns *conns;
    struct flow_messages *messages;
    struct flow_rpcs *rpcs;       /* NULL: the sink wants none */
    struct flow_credits *credits; /* NULL: not asked for */
    bool overfull; /* the connection in hand keeps as much as it may: its gaps are given up */
    bool said_limit;
    int64_t looked_ns; /* when it was last looked at who waits too long */
    int64_t storm_ns;  /* when connections were last reported to come and go */
    /* Connections that were reported already, as a QP number or port of theirs came again: a ring,
     * and how many there were. NULL: none. Owned */
    struct rpcrdma_connection *past;
    uint32_t n_past;
    struct rpcrdma_path plain[2]; /* what rpcrdma_flow_path, and a connection's end, gives: see
                                   * flow_delivery_path */
};

/* follow.c: packets and answers -> delivery/; and whose Reply was delivered with them */
void flow_follow_request(struct rpcrdma_flow *flow, struct flow_direction *dir,
                         const struct rpcrdma_op *op);
void flow_follow_answer(struct rpcrdma_flow *flow, struct flow_direction *dir,
                        const struct rpcrdma_op *op);

void flow_follow_congestion(struct rpcrdma_flow *flow, const struct rpcrdma_op *op);

/* life.c: a message that set the connection up; what is known of its end by now */
void flow_life_set_up(struct rpcrdma_flow *flow, struct flow_conn *conn,
                      enum rpcrdma_op_kind kind);
/* The client's Calls. */
void flow_life_call(struct rpcrdma_flow *flow, struct flow_conn *conn, uint32_t xid,
                    int64_t time_ns);
void flow_life_end(struct rpcrdma_flow *flow, struct flow_conn *conn);
/* It is reported now, and another one may take its place. */
void flow_life_past(struct rpcrdma_flow *flow, const struct flow_conn *conn);
void flow_life_free(struct rpcrdma_flow *flow);
/* transport.c: what is found of its packets; at its end, after flow_life_end */
void flow_transport_findings(struct rpcrdma_flow *flow, struct flow_conn *conn);

#endif
