/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/collect/reads_alone.h"

/* The one that was quiet for the longest time makes room. */
static struct report_read_alone *to_replace(struct report *r)
{
    struct report_read_alone *oldest = r->reads_alone;

    if (!oldest)
        oldest = r->reads_alone = g_new0(struct report_read_alone, REPORT_READS_ALONE);
    for (guint i = 1; i < REPORT_READS_ALONE; i++)
        if (r->reads_alone[i].last_ns < oldest->last_ns)
            oldest = &r->reads_alone[i];
    return oldest;
}

static void asked(struct report *r, const struct rpcrdma_op *op)
{
    struct report_read_alone *one = NULL;

    for (guint i = 0; r->reads_alone && i < REPORT_READS_ALONE && !one; i++)
        if (r->reads_alone[i].qpn == op->dst_qpn &&
            report_read_is_of(&r->reads_alone[i], &op->src, &op->dst))
            one = &r->reads_alone[i];
    if (one && one->psn == op->seq) {
        one->times++;
        one->last_ns = op->time_ns;
        return;
    }
    if (one && rpcrdma_psn_diff(op->seq, one->psn) < 0)
        return; /* it was sent before that, and comes again with it */
    if (!one)
        one = to_replace(r);
    *one = (struct report_read_alone){op->src, op->dst,     op->dst_qpn, op->seq,
                                      1,       op->time_ns, op->time_ns, op->frame};
}

/* By whatever of that host's bears its PSN: its own queue pair is not known. */
static void answered(struct report *r, const struct rpcrdma_op *op)
{
    for (guint i = 0; i < REPORT_READS_ALONE; i++)
        if (r->reads_alone[i].psn == op->seq &&
            report_read_is_of(&r->reads_alone[i], &op->dst, &op->src))
            r->reads_alone[i].times = 0;
}

void report_reads_alone_op(struct report *r, const struct rpcrdma_op *op)
{
    bool asks = op->kind == RPCRDMA_OP_READ_REQUEST;

    if (!asks && (!r->reads_alone || op->kind != RPCRDMA_OP_READ_RESPONSE))
        return;
    if (op->carrier == RPCRDMA_CARRIER_IWARP || pipeline_connection(r->pipeline, op))
        return;
    if (asks)
        asked(r, op);
    else
        answered(r, op);
}
