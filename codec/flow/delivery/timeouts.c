/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/transmission.h"

/*
 * A sender retransmits after silence: what it sent was lost, or its answer was, or an end was slow.
 * What answers show tells some of these apart.
 */

static bool acked(const struct transmission *t)
{
    return t && t->delivered && !t->read && !t->found;
}

/* It came again, and the first transmission had arrived: no loss. Its Ack was late where it passed
 * nearer to the retransmission than to the first; and where no timer can have ended yet (rdma_cm
 * asks for half a second and more), the sender took answers in another order. Else the Ack may have
 * been lost behind here. */
static bool acked_late(const struct transmission *t, int64_t now, int64_t silence)
{
    return acked(t) && (t->delivered_ns - t->last_ns > now - t->delivered_ns || silence < TIMER_NS);
}

/* No Ack passed, and its receiver had it: the Ack was lost before it came here. */
static bool served(const struct flow_delivery *d, const struct transmission *t)
{
    return t && !t->delivered && !t->open && t->last < d->served;
}

void delivery_timed_out(struct flow_delivery *d, const struct transmission *t,
                        const struct rpcrdma_op *op, bool gap)
{
    struct rpcrdma_path *path = &d->rare->path;
    int64_t silence = op->time_ns - d->sent_ns;

    if (path->timeouts++ == 0)
        path->timeout_frame = op->frame;
    path->asked_timeouts += d->asking;
    path->timeout_ns += silence;
    d->rare->late_before = 0;
    if (d->asking || gap || op->kind == RPCRDMA_OP_READ_REQUEST)
        return;
    if (acked_late(t, op->time_ns, silence)) {
        path->late_timeouts++;
        path->late_timeout_ns += silence;
    } else if (acked(t)) {
        path->acked_timeouts++;
        path->acked_timeout_ns += silence;
    } else if (served(d, t)) {
        path->served_timeouts++;
        path->served_timeout_ns += silence;
    } else if (t && !t->delivered && !t->open) {
        d->rare->late_before = t->last + 1;
        d->rare->late_end = d->next;
        d->rare->late_acks = d->rare->late_sent = 0;
        d->rare->late_ns = silence;
    }
}

/* Each packet that was retransmitted is answered once, also where it had arrived (IBTA 9.7.5.1.2):
 * where there are more answers, one is the first transmission's. What was sent after all of them
 * has Acks of its own. */
void delivery_both_acked(struct flow_delivery *d, const struct rpcrdma_op *op, uint64_t at)
{
    struct rare *rare = d->rare;

    if (op->kind != RPCRDMA_OP_ACK || op->flags & RPCRDMA_OP_ACK_OR_NAK ||
        at + 1 < rare->late_before)
        return;
    if (rare->late_acks > 0 && at + 1 != rare->late_before && at >= rare->late_end) {
        rare->late_before = 0;
        return;
    }
    rare->late_before = at + 1;
    if (++rare->late_acks <= rare->late_sent)
        return;
    rare->path.late_timeouts++;
    rare->path.late_timeout_ns += rare->late_ns;
    rare->late_before = 0;
}
