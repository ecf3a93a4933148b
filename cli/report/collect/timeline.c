/* SPDX-License-Identifier: BSD-2-Clause */
/* What the report shows over time. */
#include "report/collect/collect.h"

#include <string.h>

static void widen(struct report *r)
{
    for (size_t i = 0; i < REPORT_BINS / 2; i++) {
        struct report_bin *to = &r->bins[i], a = r->bins[2 * i], b = r->bins[2 * i + 1];

        *to = (struct report_bin){
            .rpcs = a.rpcs + b.rpcs,
            .bytes = a.bytes + b.bytes,
            .resent = a.resent + b.resent,
            .latency_max_ns = MAX(a.latency_max_ns, b.latency_max_ns),
            .latency_sum_ns = a.latency_sum_ns + b.latency_sum_ns,
            .in_flight_max = MAX(a.in_flight_max, b.in_flight_max),
            .limit = MAX(a.limit, b.limit),
        };
    }
    memset(&r->bins[REPORT_BINS / 2], 0, sizeof(r->bins) / 2);
    r->n_bins = (r->n_bins + 1) / 2;
    r->bin_ns *= 2;
}

struct report_bin *report_another_bin(struct report *r, int64_t since)
{
    unsigned at;

    while (since / r->bin_ns >= REPORT_BINS && r->bin_ns < INT64_MAX / 2)
        widen(r);
    at = (unsigned)(since / r->bin_ns);
    if (at >= r->n_bins)
        r->n_bins = at + 1;
    r->bin_since_ns = (int64_t)at * r->bin_ns;
    r->bin = &r->bins[at];
    return r->bin;
}

/* Calls that were in flight until then, though nothing was sent. */
static void carry_on(struct report *r, const struct report_detail *detail, int end,
                     int64_t until_ns)
{
    const struct report_bin *last;

    if (detail->in_flight[end] == 0)
        return;
    last = report_bin_at(r, until_ns); /* which may move the first */
    for (struct report_bin *bin = report_bin_at(r, detail->in_flight_since_ns[end]); bin <= last;
         bin++)
        bin->in_flight_max = MAX(bin->in_flight_max, detail->in_flight[end]);
}

void report_credit_point(void *context, const struct rpcrdma_connection *connection, int end,
                         const struct rpcrdma_credit_point *point)
{
    struct report *r = context;
    struct report_bin *bin = report_bin_at(r, point->time_ns);
    struct report_tally *tally;
    struct report_detail *detail;

    if (connection->role[end] == RPCRDMA_ROLE_SERVER)
        return;
    if (point->in_flight > bin->in_flight_max)
        bin->in_flight_max = (uint32_t)point->in_flight;
    if (point->has_limit && point->limit > bin->limit)
        bin->limit = point->limit;
    tally = report_tally_of(r, connection);
    detail = tally ? report_detail(r, tally) : NULL;
    if (!detail)
        return;
    carry_on(r, detail, end, point->time_ns);
    detail->in_flight_since_ns[end] = point->time_ns;
    detail->in_flight[end] = point->closed ? 0 : (uint32_t)point->in_flight;
}

void report_timeline_over(struct report *r, struct report_detail *detail)
{
    for (int end = 0; end < 2; end++) {
        carry_on(r, detail, end, r->pipeline->clock.now_ns);
        detail->in_flight[end] = 0;
    }
}

void report_timeline_end(struct report *r)
{
    for (unsigned i = 1; i < r->n_bins; i++)
        if (r->bins[i].limit == 0)
            r->bins[i].limit = r->bins[i - 1].limit;
}
