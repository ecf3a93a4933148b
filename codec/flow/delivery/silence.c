/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/transmission.h"

#include "wire/hot.h"

/*
 * How long an end sends nothing at all, though something is sent to it again. Its adapter answers
 * that without its host: the end, or the way to it or back, stands still.
 */

RPCRDMA_RARE void delivery_unheard(struct flow_delivery *d, const struct transmission *t,
                                   const struct rpcrdma_op *op)
{
    struct silent *silent = &d->rare->silent;

    if (silent->since_ns == 0) {
        silent->since_ns = t->first_ns > d->answered_ns ? t->first_ns : d->answered_ns;
        silent->frame = t->first_frame;
    }
    silent->again_ns = op->time_ns;
    silent->again_frame = op->frame;
    d->unheard = true;
}

RPCRDMA_RARE void flow_delivery_unheard(struct flow_delivery *d, int64_t heard_ns)
{
    if (d->rare && d->rare->silent.since_ns != 0 && d->rare->silent.since_ns < heard_ns)
        d->rare->silent.since_ns = heard_ns;
}

/* In the silence that ends: nothing was answered since before it began. */
static void sent_again(struct rpcrdma_path *path)
{
    const struct rpcrdma_path_answered *before = &path->answered;

    path->silent_again = path->retransmitted - before->retransmitted;
    path->silent_timeouts = path->timeouts - before->timeouts;
    path->silent_waited_ns = path->waited_ns - before->waited_ns;
}

RPCRDMA_RARE void flow_delivery_heard(struct flow_delivery *d, int64_t time_ns)
{
    struct silent *silent = d->rare ? &d->rare->silent : NULL;
    struct flow_recovery *recovery;
    struct rpcrdma_path *path;
    int64_t ns;

    d->unheard = false;
    if (!silent || silent->since_ns == 0)
        return;
    recovery = &d->rare->recovery;
    path = &d->rare->path;
    if (!__builtin_sub_overflow(time_ns, silent->since_ns, &ns) && ns >= LONG_NS) {
        recovery->silent_from_ns = silent->since_ns;
        recovery->silent_until_ns = time_ns;
        recovery->silent_frame = silent->frame;
        recovery->silent_again_frame = silent->again_frame;
        if (ns > path->silent_ns) {
            path->silent_ns = ns;
            path->silent_unasked_ns = time_ns - silent->again_ns;
            path->silent_frame = silent->frame;
            sent_again(path);
        }
    }
    silent->since_ns = 0;
}
