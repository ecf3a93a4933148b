/* SPDX-License-Identifier: BSD-2-Clause */
/* The report's first sentences. */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "plural.h"

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

void report_headline(const struct report *r, char *text, size_t size)
{
    if (r->pipeline->messages == 0)
        snprintf(text, size, "No RPC-over-RDMA was captured.");
    else if (r->undecided && r->pipeline->memory_limit > 0)
        snprintf(text, size,
                 "Undecided: --max-memory (%zu MiB) was too little for this capture (%" PRIu64
                 " RPC%s, %" PRIu64 " with Call and Reply are known).",
                 options_memory(r->pipeline->options, 8) >> 20, r->rpcs, plural(r->rpcs),
                 r->answered);
    else if (r->undecided)
        snprintf(text, size,
                 "Undecided: too little was captured to tell how RPCs fare (%" PRIu64
                 " RPC%s, %" PRIu64 " with Call and Reply).",
                 r->rpcs, plural(r->rpcs), r->answered);
    else if (r->n_causes == 0)
        snprintf(text, size,
                 "Healthy: %" PRIu64 " RPC%s in %.1f s, %" PRIu64
                 " answered; %s, nobody waited for credits.",
                 r->rpcs, plural(r->rpcs), seconds(report_span_ns(r)), r->answered,
                 r->pipeline->capture_lost > 0 ? "no loss was seen but by the capture itself"
                                               : "nothing was lost");
    else
        snprintf(text, size, "%s", r->causes[0].text);
}

void report_time(const struct report *r, char *text, size_t size)
{
    struct rpcrdma_phases sum = {0};
    int64_t stalled = 0, all;
    uint64_t n = 0;

    text[0] = '\0';
    for (guint i = 0; i < r->operations->groups->len; i++) {
        const struct group *g = g_ptr_array_index(r->operations->groups, i);

        n += g->n_phases;
        sum.call_ns += g->phases.call_ns;
        sum.server_ns += g->phases.server_ns;
        sum.data_ns += g->phases.data_ns;
        sum.reply_ns += g->phases.reply_ns;
        stalled += g->stalled_ns;
    }
    all = sum.call_ns + sum.server_ns + sum.data_ns + sum.reply_ns;
    if (all <= 0)
        return;
    snprintf(
        text, size,
        "Of the %.3f s that %" PRIu64 " RPC%s took, Calls were on their way for %.0f %%, the "
        "server took %.0f %%, RDMA %.0f %%, and Replies were on their way for %.0f %%; %.0f %% "
        "of all was spent stalled.",
        seconds(all), n, plural(n), 100.0 * (double)sum.call_ns / (double)all,
        100.0 * (double)sum.server_ns / (double)all, 100.0 * (double)sum.data_ns / (double)all,
        100.0 * (double)sum.reply_ns / (double)all, 100.0 * (double)stalled / (double)all);
}
