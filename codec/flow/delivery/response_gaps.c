/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/responses.h"
#include "flow/delivery/state.h"

#include <string.h>

/* Ranges of positions. What came between two gaps, or comes yet, may come once more, and is a copy
 * then. */

enum { RESPONSE_GAPS = 64 };

static void take_out(struct rare *rare, uint32_t i)
{
    rare->n_response_gaps--;
    memmove(&rare->response_gaps[i], &rare->response_gaps[i + 1],
            (rare->n_response_gaps - i) * sizeof(*rare->response_gaps));
}

void response_gap_add(struct flow_memory *memory, struct flow_delivery *d, uint64_t first,
                      uint64_t end, int64_t time_ns)
{
    struct rare *rare = delivery_rare(memory, d) ? d->rare : NULL;

    if (rare && !rare->response_gaps)
        rare->response_gaps = flow_alloc(memory, RESPONSE_GAPS * sizeof(*rare->response_gaps));
    if (!rare || !rare->response_gaps)
        return;
    if (time_ns - rare->response_gaps_ns >= MOMENT_NS)
        rare->n_response_gaps = 0;
    if (rare->n_response_gaps == RESPONSE_GAPS) {
        rare->response_gaps[1].first = rare->response_gaps[0].first; /* and what came between */
        take_out(rare, 0);
    }
    rare->response_gaps[rare->n_response_gaps++] = (struct response_gap){first, end};
    rare->response_gaps_ns = time_ns;
}

static struct response_gap *find(const struct rare *rare, uint64_t at)
{
    for (uint32_t i = 0; i < rare->n_response_gaps; i++)
        if (rare->response_gaps[i].first <= at && at < rare->response_gaps[i].end)
            return &rare->response_gaps[i];
    return NULL;
}

bool response_gap_has(const struct flow_delivery *d, uint64_t at)
{
    return d->rare && find(d->rare, at);
}

void response_gap_fill(struct flow_delivery *d, uint64_t at)
{
    struct rare *rare = d->rare;
    struct response_gap *gap = rare ? find(rare, at) : NULL;
    uint32_t i;

    if (!gap)
        return;
    i = (uint32_t)(gap - rare->response_gaps);
    if (gap->end - gap->first == 1) {
        take_out(rare, i);
    } else if (at == gap->first) {
        gap->first++;
    } else if (at == gap->end - 1) {
        gap->end--;
    } else if (rare->n_response_gaps < RESPONSE_GAPS) {
        memmove(gap + 1, gap, (rare->n_response_gaps++ - i) * sizeof(*gap));
        gap[0].end = at;
        gap[1].first = at + 1;
    }
}

void response_gap_free(struct flow_memory *memory, struct rare *rare)
{
    flow_release(memory, rare->response_gaps, RESPONSE_GAPS * sizeof(*rare->response_gaps));
}
