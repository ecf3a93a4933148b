/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/collect/bursts.h"

#include <glib.h>

#include "common/times.h"

/* As long as that, and something else may have been wrong each time. */
#define PAUSE_NS INT64_C(30000000000)
/* In which nearly nothing else was answered: fewer are enough then. */
#define WHILE_NS INT64_C(5000000000)

enum { LEAST = 10, SHARE = 10 }; /* a tenth */

static bool dense(const struct report_burst *burst)
{
    return burst->rpcs * SHARE >= burst->of;
}

void report_burst_note(struct report_bursts *bursts, uint64_t before, uint64_t frame,
                       int64_t since_ns, int64_t time_ns)
{
    struct report_burst *now = &bursts->now;

    now->of = before + 1 - bursts->before;
    if (now->rpcs == 0 || time_less(time_ns, now->last_ns) > PAUSE_NS || !dense(now)) {
        *now = (struct report_burst){
            .of = 1, .frame = frame, .asked_ns = since_ns, .since_ns = time_ns, .last_ns = time_ns};
        bursts->before = before;
    }
    now->rpcs++;
    now->last_ns = MAX(now->last_ns, time_ns);
    if (now->rpcs > bursts->worst.rpcs)
        bursts->worst = *now;
}

void report_burst_add(struct report_burst *sum, const struct report_burst *one)
{
    bool apart = time_less(one->since_ns, sum->last_ns) > PAUSE_NS ||
                 time_less(sum->since_ns, one->last_ns) > PAUSE_NS;

    if (one->rpcs == 0 || (sum->rpcs > 0 && apart && one->rpcs <= sum->rpcs))
        return;
    if (sum->rpcs == 0 || apart) {
        *sum = *one;
        return;
    }
    sum->asked_ns = MIN(sum->asked_ns, one->asked_ns);
    if (one->since_ns < sum->since_ns) {
        sum->since_ns = one->since_ns;
        sum->frame = one->frame;
    }
    sum->last_ns = MAX(sum->last_ns, one->last_ns);
    sum->rpcs += one->rpcs;
    sum->of += one->of;
}

bool report_burst_is_many(const struct report_burst *burst)
{
    enum { FEW = 5 };
    bool nothing_else = burst->rpcs >= FEW && burst->rpcs * 2 >= burst->of &&
                        time_less(burst->last_ns, burst->since_ns) >= WHILE_NS;

    return nothing_else || (burst->rpcs >= LEAST && dense(burst));
}
