/* SPDX-License-Identifier: BSD-2-Clause */
/* Lulls: waits for nearly all of which nothing at all passed, as if the clock of the host that
 * captured had been set forward meanwhile. */
#include "report/collect/collect.h"

#include "times.h"

/* Nearly all of that wait is in this one. */
static bool covers(const struct pipeline_lull *lull, const struct report_period *when)
{
    int64_t shared_ns =
        time_less(MIN(lull->until_ns, when->until_ns), MAX(lull->since_ns, when->since_ns));

    return when->ns > 0 && shared_ns >= when->ns - when->ns / 10;
}

/* Of the latest ones: what waits is answered right behind it. NULL: there is none. */
static const struct pipeline_lull *lull_of(const struct report *r, const struct report_period *when)
{
    const struct pipeline *pipeline = r->pipeline;

    for (uint64_t i = 0; i < MIN(pipeline->n_lulls, PIPELINE_LULLS); i++) {
        const struct pipeline_lull *one =
            &pipeline->lulls[(pipeline->n_lulls - 1 - i) % PIPELINE_LULLS];

        if (covers(one, when))
            return one;
    }
    return NULL;
}

static bool is_same(const struct pipeline_lull *a, const struct pipeline_lull *b)
{
    return a->since_ns == b->since_ns && a->until_ns == b->until_ns;
}

void report_note_lull(const struct report *r, struct report_slow *slow,
                      const struct report_period *when)
{
    const struct pipeline_lull *lull = lull_of(r, when);

    if (!lull)
        return;
    if (slow->lull_ns == 0)
        slow->lull = *lull;
    slow->several_lulls |= !is_same(&slow->lull, lull);
    slow->lull_ns = time_plus(slow->lull_ns, when->ns);
}

void report_lulls_add(struct report_slow *sum, const struct report_slow *one)
{
    if (one->lull_ns == 0)
        return;
    if (sum->lull_ns == 0)
        sum->lull = one->lull;
    sum->several_lulls |= one->several_lulls || !is_same(&sum->lull, &one->lull);
    sum->lull_ns = time_plus(sum->lull_ns, one->lull_ns);
}

void report_note_jump(struct report *r, const struct rpcrdma_transaction *t,
                      const struct report_period *when)
{
    const struct pipeline_lull *lull = lull_of(r, when);
    struct report_jumps *jumps = &r->jumps;
    unsigned i = 0;

    if (!lull || time_less(lull->until_ns, lull->since_ns) < REPORT_A_WHILE_NS)
        return;
    while (i < jumps->n && !is_same(&jumps->at[i], lull))
        i++;
    if (i == REPORT_JUMPS)
        return;
    if (i == jumps->n)
        jumps->at[jumps->n++] = *lull;
    if (jumps->rpcs++ == 0 || t->call_frame < jumps->frame)
        jumps->frame = t->call_frame;
}
