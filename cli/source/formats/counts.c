/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/formats/counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"
#include "source/merge/fingerprint.h"

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

size_t source_counts_of(const struct source *source, struct source_count *out, size_t most)
{
    struct source_interface one;
    size_t n = 0;

    for (uint32_t i = 0; source_interface(source, i, &one); i++) {
        if (!one.received_known && !one.dropped_known)
            continue;
        if (n < most)
            out[n] = (struct source_count){one.counted, one.received, one.dropped};
        n++;
    }
    return n;
}

uint64_t source_count_from(uint64_t before, const char *name, int64_t since_ns)
{
    const struct siphash_key *key = fingerprint_key();
    uint64_t words[] = {before, siphash_bytes(key, name, strlen(name), 1, 3), (uint64_t)since_ns};

    return siphash_words(key, words, sizeof(words) / sizeof(*words));
}
