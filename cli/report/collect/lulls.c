/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for nearly all of which nothing at all passed: as if the clock of the host that captured
 * had been set forward meanwhile. */
#include "report/causes/causes.h"
#include "report/collect/collect.h"

#include "times.h"

/* Nearly all of that wait is in this one. */
static bool covers(const struct pipeline_silence *silence, const struct report_period *when)
{
    int64_t shared_ns =
        time_less(MIN(silence->until_ns, when->until_ns), MAX(silence->since_ns, when->since_ns));

    return when->ns > 0 && shared_ns >= when->ns - when->ns / 10;
}

/* Of the latest ones: what waits is answered right behind it. NULL: there is none. */
static const struct pipeline_silence *silence_of(const struct report *r,
                                                 const struct report_period *when)
{
    const struct pipeline *pipeline = r->pipeline;

    for (uint64_t i = 0; i < MIN(pipeline->n_silences, PIPELINE_SILENCES); i++) {
        const struct pipeline_silence *one =
            &pipeline->silences[(pipeline->n_silences - 1 - i) % PIPELINE_SILENCES];

        if (covers(one, when))
            return one;
    }
    return NULL;
}

static bool is_same(const struct pipeline_silence *a, const struct pipeline_silence *b)
{
    return a->since_ns == b->since_ns && a->until_ns == b->until_ns;
}

void report_note_silence(const struct report *r, struct report_slow *slow,
                         const struct report_period *when)
{
    const struct pipeline_silence *silence = silence_of(r, when);

    if (!silence)
        return;
    if (slow->silent_ns == 0)
        slow->silence = *silence;
    slow->several_silences |= !is_same(&slow->silence, silence);
    slow->silent_ns = time_plus(slow->silent_ns, when->ns);
}

void report_silences_add(struct report_slow *sum, const struct report_slow *one)
{
    if (one->silent_ns == 0)
        return;
    if (sum->silent_ns == 0)
        sum->silence = one->silence;
    sum->several_silences |= one->several_silences || !is_same(&sum->silence, &one->silence);
    sum->silent_ns = time_plus(sum->silent_ns, one->silent_ns);
}

void report_note_jump(struct report *r, const struct rpcrdma_transaction *t,
                      const struct report_period *when)
{
    const struct pipeline_silence *silence = silence_of(r, when);
    struct report_jumps *jumps = &r->jumps;
    unsigned i = 0;

    if (!silence || time_less(silence->until_ns, silence->since_ns) < REPORT_A_WHILE_NS)
        return;
    while (i < jumps->n && !is_same(&jumps->at[i], silence))
        i++;
    if (i == REPORT_JUMPS)
        return;
    if (i == jumps->n)
        jumps->at[jumps->n++] = *silence;
    if (jumps->rpcs++ == 0 || t->call_frame < jumps->frame)
        jumps->frame = t->call_frame;
}
