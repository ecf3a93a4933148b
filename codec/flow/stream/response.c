/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/* Acks, Naks and responses towards a QP: they tell which requests of that QP arrived. */

static void acknowledged(struct flow *flow, struct flow_direction *dir, uint32_t psn)
{
    if (!dir->started)
        return;
    if (!dir->has_acked || rpcrdma_psn_diff(psn, dir->acked) > 0) {
        dir->acked = psn & 0xffffff;
        dir->has_acked = true;
    }
    if (dir->reorder && !dir->evident && rpcrdma_psn_diff(dir->acked, dir->next) >= 0) {
        dir->evident = true;
        dir->evident_ns = flow->time_ns;
        dir->evident_packets = 0;
    }
}

void flow_answer(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op)
{
    struct flow_direction *asked = flow_peer(dir);

    if (op->carrier != RPCRDMA_CARRIER_IWARP) {
        if (!asked && !dir->foreign && flow_pair_answer(flow, dir, op))
            asked = flow_peer(dir);
        if (asked) {
            /* a Nak names the PSN that did not arrive (IBTA volume 1 section 9.7.5.2) */
            acknowledged(flow, asked,
                         op->kind == RPCRDMA_OP_NAK ? rpcrdma_psn_add(op->seq, 0xffffff) : op->seq);
        }
    }
    flow_event_op(flow, dir, op);
}
