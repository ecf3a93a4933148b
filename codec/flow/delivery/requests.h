/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_REQUESTS_H
#define RPCRDMA_FLOW_DELIVERY_REQUESTS_H

/* InfiniBand and RoCE: requests.c, behind.c, naks.c. */

#include "flow/delivery/state.h"

/* requests.c: the packet in `frame` says that it passed a queue that is too long. */
void delivery_congestion_mark(struct flow_memory *memory, struct flow_delivery *d, uint64_t frame);

/* naks.c: a Nak, of the request at this position. */
void delivery_nak(struct flow_memory *memory, struct flow_delivery *d, const struct rpcrdma_op *op,
                  uint64_t at);
/* Counts it, whatever it is of. Returns its kind: RPCRDMA_NAK_*. */
int delivery_count_nak(struct rpcrdma_path *path, const struct rpcrdma_op *op);
/* The receiver has acknowledged this one. d->rare is there. */
void delivery_came_late(struct flow_delivery *d, uint64_t at);

/* behind.c: a request that stands before what was expected next. */
void delivery_behind(struct flow_memory *memory, struct flow_delivery *d,
                     const struct rpcrdma_op *op, uint64_t at, uint32_t packets);

/* Its Ack passed a moment before it comes again, as others pass before what they acknowledge: the
 * times of the two directions do not fit, and it is what that Ack acknowledges. */
bool delivery_acked_ahead(const struct flow_delivery *d, const struct transmission *t, int64_t now);

#endif
