/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/transmission.h"

#include <string.h>

/* Responses that were missing as later ones passed: ranges, by position. What came between two of
 * them, or comes yet, may come once more, and is a copy then. */

enum { OVERS = 64 };

static void take_out(struct rare *rare, uint32_t i)
{
    rare->overs--;
    memmove(&rare->over[i], &rare->over[i + 1], (rare->overs - i) * sizeof(*rare->over));
}

void over_passed(struct flow_memory *memory, struct flow_delivery *d, uint64_t first, uint64_t end,
                 int64_t time_ns)
{
    struct rare *rare = delivery_rare(memory, d) ? d->rare : NULL;

    if (rare && !rare->over)
        rare->over = flow_alloc(memory, OVERS * sizeof(*rare->over));
    if (!rare || !rare->over)
        return;
    if (time_ns - rare->over_ns >= MOMENT_NS)
        rare->overs = 0;
    if (rare->overs == OVERS) {
        rare->over[1].first = rare->over[0].first; /* and what came between */
        take_out(rare, 0);
    }
    rare->over[rare->overs++] = (struct over){first, end};
    rare->over_ns = time_ns;
}

static struct over *find(const struct rare *rare, uint64_t at)
{
    for (uint32_t i = 0; i < rare->overs; i++)
        if (rare->over[i].first <= at && at < rare->over[i].end)
            return &rare->over[i];
    return NULL;
}

bool over_is_missing(const struct flow_delivery *d, uint64_t at)
{
    return d->rare && find(d->rare, at);
}

void over_came(struct flow_delivery *d, uint64_t at)
{
    struct rare *rare = d->rare;
    struct over *over = rare ? find(rare, at) : NULL;
    uint32_t i;

    if (!over)
        return;
    i = (uint32_t)(over - rare->over);
    if (over->end - over->first == 1) {
        take_out(rare, i);
    } else if (at == over->first) {
        over->first++;
    } else if (at == over->end - 1) {
        over->end--;
    } else if (rare->overs < OVERS) {
        memmove(over + 1, over, (rare->overs++ - i) * sizeof(*over));
        over[0].end = at;
        over[1].first = at + 1;
    }
}

void over_free(struct flow_memory *memory, struct rare *rare)
{
    flow_release(memory, rare->over, OVERS * sizeof(*rare->over));
}
