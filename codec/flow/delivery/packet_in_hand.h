/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_PACKET_IN_HAND_H
#define RPCRDMA_FLOW_DELIVERY_PACKET_IN_HAND_H

/* What is done with each packet of a reliable connection, a request or an answer. */

#include "flow/delivery/requests.h"

enum { FEW_MISSING = 64 };     /* PSNs not captured, at the ends of what was */
enum { ANOTHER_QP = 1 << 20 }; /* PSNs further apart are of another connection */

static inline void packet_count(struct flow_memory *memory, struct flow_delivery *d,
                                const struct rpcrdma_op *op)
{
    delivery_dscp(memory, d, op->traffic_class >> 2);
    d->followed = true;
    d->packets++;
    d->bytes += op->len;
    if (op->len > d->largest_payload)
        d->largest_payload = op->len;
    if ((op->traffic_class & 3) == 3)
        delivery_congestion_mark(memory, d, op->frame);
}

/* It was counted where it was seen first. */
static inline void packet_count_once(struct flow_delivery *d, const struct rpcrdma_op *op)
{
    if (!d->copied)
        return;
    d->packets--;
    d->bytes -= op->len;
}

static inline void packet_remember(struct recent *r, const struct flow_delivery *d,
                                   const struct rpcrdma_op *op, uint32_t digest)
{
    *r = (struct recent){.seq = op->seq,
                         .id = op->ip_id,
                         .kind = op->kind,
                         .set = true,
                         .tap = d->tap,
                         .times = 1,
                         .digest = digest,
                         .time_ns = op->time_ns};
}

#endif
