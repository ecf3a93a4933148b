/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/* Acks, Naks and responses towards a QP: they tell which requests of that QP arrived. */

static void acknowledged(struct flow *flow, struct flow_half *half, uint32_t psn)
{
    if (!half->started)
        return;
    if (!half->has_acked || rpcrdma_psn_diff(psn, half->acked) > 0) {
        half->acked = psn & 0xffffff;
        half->has_acked = true;
    }
    if (half->stash && !half->evident && rpcrdma_psn_diff(half->acked, half->next) >= 0) {
        half->evident = true;
        half->evident_ns = flow->time_ns;
        half->evident_packets = 0;
    }
}

void flow_answer(struct flow *flow, struct flow_half *half, const struct rpcrdma_op *op)
{
    struct flow_half *asked = flow_peer(half);

    if (op->carrier != RPCRDMA_CARRIER_IWARP) {
        if (!asked && !half->foreign && flow_pair_answer(flow, half, op))
            asked = flow_peer(half);
        if (asked) {
            /* a Nak names the PSN that did not arrive (IBTA volume 1 section 9.7.5.2) */
            acknowledged(flow, asked,
                         op->kind == RPCRDMA_OP_NAK ? rpcrdma_psn_add(op->seq, 0xffffff) : op->seq);
        }
    }
    flow_event_op(flow, half, op);
}
