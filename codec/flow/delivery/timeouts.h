/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_TIMEOUTS_H
#define RPCRDMA_FLOW_DELIVERY_TIMEOUTS_H

/* timeouts.c, silence.c: what timers show that ended. */

#include "flow/delivery/state.h"

/* timeouts.c: after silence this is retransmitted; `gap`: it had not passed. d->rare is there. */
void delivery_timed_out(struct flow_delivery *d, const struct transmission *t,
                        const struct rpcrdma_op *op, uint64_t at, bool gap);
/* Something else is retransmitted than was before. */
void delivery_recovers(struct flow_recovery *recovery);
/* What was waited for from then until then: nothing of it was lost, not the first time either. */
void delivery_nothing_lost(struct flow_recovery *recovery, int64_t first_ns, int64_t answered_ns);
/* The whole message that was retransmitted then is acknowledged: more often than that? */
void delivery_both_acked(struct flow_delivery *d, const struct rpcrdma_op *op, uint64_t at);
/* Likewise a response, of Read requests. */
void delivery_both_responded(struct flow_delivery *d, const struct rpcrdma_op *op, uint64_t at);

/* timeouts.c. Nothing was lost: what was first sent then was answered so late. */
void delivery_answered_late(struct rpcrdma_path *path, uint64_t frame, int64_t first_ns,
                            int64_t answered_ns, bool in_burst);

/* silence.c: this is retransmitted after silence, and was not answered. d->rare is there. */
void delivery_unheard(struct flow_delivery *d, const struct transmission *t, uint64_t frame,
                      int64_t time_ns);

#endif
