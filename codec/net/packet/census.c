/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/census.h"

#include <stdlib.h>
#include <string.h>

void rpcrdma_census_count(struct rpcrdma_census *census, enum rpcrdma_other_kind kind,
                          uint32_t value)
{
    struct rpcrdma_net_other *entry = census->entry, *rarest = entry;

    for (uint32_t i = 0; i < census->n; i++) {
        if (entry[i].kind == kind && entry[i].value == value) {
            entry[i].packets++;
            if (i > 0 &&
                entry[i].packets > entry[i - 1].packets) { /* the frequent ones are found first */
                struct rpcrdma_net_other before = entry[i - 1];

                entry[i - 1] = entry[i];
                entry[i] = before;
            }
            return;
        }
        if (entry[i].packets <= rarest->packets)
            rarest = &entry[i];
    }
    if (census->n < RPCRDMA_CENSUS_ENTRIES)
        rarest = &entry[census->n++];
    else
        census->rest += rarest->packets;
    *rarest = (struct rpcrdma_net_other){.kind = kind, .value = value, .packets = 1};
}

static int compare(const void *a, const void *b)
{
    const struct rpcrdma_net_other *x = a, *y = b;

    if (x->packets != y->packets)
        return x->packets < y->packets ? 1 : -1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

size_t rpcrdma_census_entries(const struct rpcrdma_census *census, struct rpcrdma_net_other *out,
                              size_t max)
{
    struct rpcrdma_net_other sorted[RPCRDMA_CENSUS_ENTRIES];
    size_t n = census->n < max ? census->n : max;

    memcpy(sorted, census->entry, census->n * sizeof(*sorted));
    qsort(sorted, census->n, sizeof(*sorted), compare);
    memcpy(out, sorted, n * sizeof(*out));
    return n;
}
