/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/collect/periods.h"

#include <string.h>

#include <glib.h>

#include "common/times.h"

/* What two have in common: exact where all of both counts; else as if it were spread evenly. */
static double shared(const struct report_period *a, const struct report_period *b)
{
    double a_ns = (double)time_less(a->until_ns, a->since_ns),
           b_ns = (double)time_less(b->until_ns, b->since_ns),
           both_ns =
               (double)time_less(MIN(a->until_ns, b->until_ns), MAX(a->since_ns, b->since_ns));

    if (both_ns <= 0 || a_ns <= 0 || b_ns <= 0)
        return 0;
    return both_ns * ((double)a->ns / a_ns) * ((double)b->ns / b_ns);
}

static struct report_period joined(const struct report_period *a, const struct report_period *b)
{
    struct report_period one = {MIN(a->since_ns, b->since_ns), MAX(a->until_ns, b->until_ns), 0};
    int64_t ns = time_less(time_plus(a->ns, b->ns), time_whole(shared(a, b)));

    ns = MAX(ns, MAX(a->ns, b->ns));
    one.ns = MIN(ns, time_less(one.until_ns, one.since_ns));
    return one;
}

/* Of one more than there is room for. The latest stays as it is: what comes next overlaps it. */
static void join_nearest(struct report_period *all, unsigned *n)
{
    unsigned nearest = 0;

    for (unsigned i = 1; i + 2 < *n; i++)
        if (time_less(all[i + 1].since_ns, all[i].until_ns) <
            time_less(all[nearest + 1].since_ns, all[nearest].until_ns))
            nearest = i;
    all[nearest] = joined(&all[nearest], &all[nearest + 1]);
    (*n)--;
    memmove(&all[nearest + 1], &all[nearest + 2], (*n - nearest - 1) * sizeof(all[0]));
}

void report_period_add(struct report_periods *periods, const struct report_period *one)
{
    struct report_period all[REPORT_PERIODS + 1], added = *one;
    unsigned n = 0, at = 0;

    for (unsigned i = 0; i < periods->n; i++) {
        const struct report_period *old = &periods->at[i];

        if (old->since_ns <= added.until_ns && added.since_ns <= old->until_ns)
            added = joined(old, &added);
        else
            all[n++] = *old;
    }
    while (at < n && all[at].since_ns < added.since_ns)
        at++;
    memmove(&all[at + 1], &all[at], (n - at) * sizeof(all[0]));
    all[at] = added;
    n++;
    if (n > REPORT_PERIODS)
        join_nearest(all, &n);
    memcpy(periods->at, all, n * sizeof(all[0]));
    periods->n = n;
}

void report_periods_add(struct report_periods *sum, const struct report_periods *more)
{
    for (unsigned i = 0; i < more->n; i++)
        report_period_add(sum, &more->at[i]);
}

int64_t report_periods_ns(const struct report_periods *periods)
{
    int64_t ns = 0;

    for (unsigned i = 0; i < periods->n; i++)
        ns = time_plus(ns, periods->at[i].ns);
    return ns;
}

int64_t report_periods_shared(const struct report_periods *one, const struct report_periods *other)
{
    double ns = 0;

    for (unsigned i = 0; i < one->n; i++)
        for (unsigned j = 0; j < other->n; j++)
            ns += shared(&one->at[i], &other->at[j]);
    return time_whole(ns);
}
