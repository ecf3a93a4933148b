/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/counts.h"

#include <stdlib.h>
#include <string.h>

static int by_from(const void *a, const void *b)
{
    const struct source_count *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

void source_counts_add(struct source_count *counts, size_t n, struct source_stats *out)
{
    qsort(counts, n, sizeof(*counts), by_from);
    for (size_t i = 0; i < n; i++) {
        uint64_t received = counts[i].received, dropped = counts[i].dropped;

        for (; counts[i].from != 0 && i + 1 < n && counts[i + 1].from == counts[i].from; i++) {
            received = received > counts[i + 1].received ? received : counts[i + 1].received;
            dropped = dropped > counts[i + 1].dropped ? dropped : counts[i + 1].dropped;
        }
        out->received = source_sum(out->received, received);
        out->dropped = source_sum(out->dropped, dropped);
    }
}

static uint64_t hash(uint64_t hash, const void *p, size_t n)
{
    const uint8_t *byte = p;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

uint64_t source_count_from(uint64_t before, const char *name, int64_t since_ns)
{
    uint64_t from = hash(before ? before : UINT64_C(0xcbf29ce484222325), name, strlen(name) + 1);

    return hash(from, &since_ns, sizeof(since_ns));
}
