/* SPDX-License-Identifier: BSD-2-Clause */
/* When none of the client's Calls on a connection was answered, in little memory. */
#include "report/collect/collect.h"

#include <string.h>

#include "common/times.h"

/* What is told less precisely where two pauses become one. */
static int64_t blurred(const struct report_pause *pause)
{
    const struct report_pause *next = pause + 1;
    const struct report_pause *less = pause->ns < next->ns ? pause : next;

    return time_plus(time_less(next->since_ns, pause->until_ns),
                     time_less(less->until_ns, less->since_ns));
}

void report_pause(struct report_pauses *pauses, int64_t since_ns, int64_t until_ns)
{
    struct report_pause all[REPORT_PAUSES + 1];
    unsigned n = pauses->n, at = 0;

    memcpy(all, pauses->at, sizeof(pauses->at));
    all[n++] = (struct report_pause){since_ns, until_ns, time_less(until_ns, since_ns)};
    if (n > REPORT_PAUSES) {
        for (unsigned i = 1; i + 1 < n; i++)
            if (blurred(&all[i]) < blurred(&all[at]))
                at = i;
        all[at].until_ns = all[at + 1].until_ns;
        all[at].ns = MAX(all[at].ns, all[at + 1].ns);
        memmove(&all[at + 1], &all[at + 2], (--n - at - 1) * sizeof(all[0]));
    }
    memcpy(pauses->at, all, n * sizeof(all[0]));
    pauses->n = n;
}
