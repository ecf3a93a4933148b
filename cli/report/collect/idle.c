/* SPDX-License-Identifier: BSD-2-Clause */
/* Idle times: waits for nearly all of which nothing at all passed, as if the clock of the host that
 * captured had been set forward meanwhile. */
#include "report/collect/collect.h"

#include "common/times.h"

/* Nearly all of that wait is in this one. */
static bool covers(const struct pipeline_idle *idle, const struct report_period *when)
{
    int64_t shared_ns =
        time_less(MIN(idle->until_ns, when->until_ns), MAX(idle->since_ns, when->since_ns));

    return when->ns > 0 && shared_ns >= when->ns - when->ns / 10;
}

/* Of the latest ones: what waits is answered right behind it. NULL: there is none. */
static const struct pipeline_idle *idle_of(const struct report *r, const struct report_period *when)
{
    const struct pipeline *pipeline = r->pipeline;

    for (uint64_t i = 0; i < MIN(pipeline->n_idle, PIPELINE_IDLE_KEPT); i++) {
        const struct pipeline_idle *one =
            &pipeline->idle[(pipeline->n_idle - 1 - i) % PIPELINE_IDLE_KEPT];

        if (covers(one, when))
            return one;
    }
    return NULL;
}

static bool is_same(const struct pipeline_idle *a, const struct pipeline_idle *b)
{
    return a->since_ns == b->since_ns && a->until_ns == b->until_ns;
}

void report_note_idle(const struct report *r, struct report_slow *slow,
                      const struct report_period *when)
{
    const struct pipeline_idle *idle = idle_of(r, when);

    if (!idle)
        return;
    if (slow->idle_ns == 0)
        slow->idle = *idle;
    slow->several_idle |= !is_same(&slow->idle, idle);
    slow->idle_ns = time_plus(slow->idle_ns, when->ns);
}

void report_idle_add(struct report_slow *sum, const struct report_slow *one)
{
    if (one->idle_ns == 0)
        return;
    if (sum->idle_ns == 0)
        sum->idle = one->idle;
    sum->several_idle |= one->several_idle || !is_same(&sum->idle, &one->idle);
    sum->idle_ns = time_plus(sum->idle_ns, one->idle_ns);
}

void report_note_jump(struct report *r, const struct rpcrdma_transaction *t,
                      const struct report_period *when)
{
    const struct pipeline_idle *idle = idle_of(r, when);
    struct report_jumps *jumps = &r->jumps;
    unsigned i = 0;

    if (!idle || time_less(idle->until_ns, idle->since_ns) < REPORT_A_WHILE_NS)
        return;
    while (i < jumps->n && !is_same(&jumps->at[i], idle))
        i++;
    if (i == REPORT_JUMPS)
        return;
    if (i == jumps->n)
        jumps->at[jumps->n++] = *idle;
    if (jumps->rpcs++ == 0 || t->call_frame < jumps->frame)
        jumps->frame = t->call_frame;
}
