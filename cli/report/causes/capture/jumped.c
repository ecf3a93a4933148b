/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about time that may not have passed: the clock of the host that
 * captured was set forward. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"

static struct report_periods periods_of(const struct report_jumps *jumps)
{
    struct report_periods all = {0};

    for (unsigned i = 0; i < jumps->n; i++) {
        const struct pipeline_idle *one = &jumps->at[i];
        int64_t ns = time_less(one->until_ns, one->since_ns);

        report_period_add(&all, &(struct report_period){one->since_ns, one->until_ns, ns});
    }
    return all;
}

static bool is_wait(const struct report_cause *cause)
{
    return cause->id == CAUSE_SERVER || cause->id == CAUSE_CLIENT || cause->id == CAUSE_STALLED;
}

/* Nearly all that it tells of is that. Else the rest is. */
static bool take_off(struct report_cause *cause, const struct report_periods *jumps)
{
    int64_t all_ns = report_periods_ns(&cause->when);
    int64_t shared_ns = report_periods_shared(&cause->when, jumps);

    if (!is_wait(cause) || all_ns == 0)
        return false;
    if (shared_ns >= all_ns - all_ns / 10)
        return true;
    cause->time_ns = MAX(0, time_less(cause->time_ns, shared_ns));
    return false;
}

static void jumped(struct report *r)
{
    const struct report_jumps *jumps = &r->jumps;
    const struct report_periods all = periods_of(jumps);
    struct report_cause *cause;
    unsigned left = 0;
    char times[48] = "";

    for (unsigned i = 0; i < r->n_causes; i++) {
        if (!take_off(&r->causes[i], &all))
            r->causes[left++] = r->causes[i];
        else
            g_clear_pointer(&r->causes[i].connections, g_array_unref);
    }
    r->n_causes = left;
    cause = report_cause_add(r, CAUSE_JUMPED, CONFIDENCE_MEDIUM);
    cause->rpcs = jumps->rpcs;
    cause->count = jumps->n;
    cause->frame = jumps->frame;
    cause->time_ns = report_periods_ns(&all);
    if (jumps->n > 1)
        snprintf(times, sizeof(times), " %u times, the first one", jumps->n);
    snprintf(
        cause->text, sizeof(cause->text),
        "The clock of the host that captured was set forward%s %.3f s into the capture, by "
        "%.3f s%s, or that host stood still: for so long no packet of any kind passed. %" PRIu64
        " RPC%s waited for an Ack, or for what an RDMA Read asks for, and nothing was sent "
        "again for that, as timers have it long before. That time is no wait for an end.",
        times, report_seconds(time_less(jumps->at[0].since_ns, r->pipeline->clock.start_ns)),
        report_seconds(cause->time_ns), jumps->n > 1 ? " in all" : "", jumps->rpcs,
        plural(jumps->rpcs));
    snprintf(cause->against, sizeof(cause->against),
             "both ends may have stood still at once, or one of them and the way to it");
}

static void doubt(struct report_cause *cause)
{
    size_t n = strlen(cause->against);

    cause->confidence = MIN(cause->confidence, CONFIDENCE_MEDIUM);
    snprintf(cause->against + n, sizeof(cause->against) - n,
             "%snothing at all passed meanwhile: the clock of the host that captured may have been "
             "set forward",
             n > 0 ? "; " : "");
}

void causes_of_jumps(struct report *r)
{
    if (r->jumps.n > 0)
        jumped(r);
    for (unsigned i = 0; i < r->n_causes; i++)
        if (is_wait(&r->causes[i]) && r->causes[i].in_idle)
            doubt(&r->causes[i]);
}
