/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_STAGE_H
#define RPCRDMA_TESTS_UNIT_FLOW_STAGE_H

/* What tests of one stage start it with: a context that counts findings, and operations. */

#include <string.h>

#include "../test.h"

#include "flow/stream/stream.h"

struct stage {
    struct flow_context context;
    unsigned findings;
    enum rpcrdma_rule_id rule; /* of the last one */
};

static void stage_finding(void *context, const struct rpcrdma_connection *connection,
                          const struct rpcrdma_finding *finding)
{
    struct stage *stage = context;

    (void)connection;
    stage->findings++;
    stage->rule = finding->rule;
}

static inline void stage_begin(struct stage *stage)
{
    memset(stage, 0, sizeof(*stage));
    stage->context.memory.limit = 1 << 24;
    stage->context.sink.finding = stage_finding;
    stage->context.sink.context = stage;
}

/* A RoCE operation from 10.0.0.`from` to QP `qpn` at 10.0.0.`to`; the stage's clock goes on. */
static inline struct rpcrdma_op stage_op(struct stage *stage, enum rpcrdma_op_kind kind,
                                         uint8_t from, uint8_t to, uint32_t qpn, uint32_t psn)
{
    struct rpcrdma_op op = {.kind = (uint8_t)kind, .carrier = RPCRDMA_CARRIER_ROCEV2};

    op.frame = ++stage->context.frame;
    op.time_ns = stage->context.time_ns += 10000;
    op.flags = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST | RPCRDMA_OP_ACK_REQUEST;
    op.src = (struct rpcrdma_address){.family = RPCRDMA_ADDRESS_IPV4, .bytes = {10, 0, 0, from}};
    op.dst = (struct rpcrdma_address){.family = RPCRDMA_ADDRESS_IPV4, .bytes = {10, 0, 0, to}};
    op.dst_qpn = qpn;
    op.seq = psn;
    return op;
}

static inline void stage_data(struct rpcrdma_op *op, const void *data, uint32_t len)
{
    op->data = data;
    op->caplen = op->len = len;
}

#endif
