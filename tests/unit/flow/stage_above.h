/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_STAGE_ABOVE_H
#define RPCRDMA_TESTS_UNIT_FLOW_STAGE_ABOVE_H

/* A message for a stage above that of messages, made without that. */

#include "stage_conn.h"

struct stage_message {
    struct flow_message event;
    struct rpcrdma_flow_message out;
    struct rpcrdma_message message;
    struct rpcrdma_rpc rpc;
    struct flow_send send;
};

static inline void stage_decode(struct stage *stage, struct stage_message *m, int sender,
                                const uint8_t *data, uint32_t len)
{
    memset(m, 0, sizeof(*m));
    m->send = stage_send(stage, data, len, (uint32_t)stage->context.frame);
    assert_int_equal(rpcrdma_message_decode(NULL, data, len, len, &m->message), RPCRDMA_OK);
    rpcrdma_rpc_decode(m->message.payload.data, m->message.payload.caplen, m->message.payload.len,
                       &m->rpc);
    m->out.message = &m->message;
    m->out.rpc = &m->rpc;
    m->out.frame = m->send.frame;
    m->out.time_ns = m->send.time_ns;
    m->out.direction =
        m->rpc.type == RPCRDMA_RPC_CALL ? RPCRDMA_DIRECTION_CALL : RPCRDMA_DIRECTION_REPLY;
    m->event.message = &m->out;
    m->event.send = &m->send;
    m->event.sender = sender;
}

#endif
