/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/merge/twins.h"

#include <stdlib.h>

enum { LEAST = 64 /* per file */, BATCH = 64 };

static const int64_t COARSE_NS =
    1000000; /* whole milliseconds: packets retransmitted have one time */

bool twins_begin(struct twins *twins, size_t n, const struct siphash_key *key)
{
    size_t most = TWINS_IN_ALL / n < LEAST ? LEAST : TWINS_IN_ALL / n;

    *twins = (struct twins){
        .all = malloc((n * most + BATCH) * sizeof(*twins->all)), .key = *key, .most = most};
    return twins->all != NULL;
}

void twins_free(struct twins *twins)
{
    free(twins->all);
    *twins = (struct twins){0};
}

void twins_file(struct twins *twins, uint32_t file)
{
    twins->file = file;
    twins->from = twins->n;
    twins->limit = UINT64_MAX;
    twins->fine = false;
}

static int by_number(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* Each once, and half of them while there are too many. */
static void thin_out(struct twins *twins, size_t most)
{
    uint64_t *own = twins->all + twins->from;
    size_t n = twins->n - twins->from, kept = 0;

    qsort(own, n, sizeof(*own), by_number);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || own[i] != own[kept - 1])
            own[kept++] = own[i];
    while (kept > most) {
        twins->limit /= 2;
        while (kept > 0 && own[kept - 1] > twins->limit)
            kept--;
    }
    twins->n = twins->from + kept;
}

void twins_add(struct twins *twins, uint64_t print, int64_t time_ns)
{
    uint64_t words[] = {print, (uint64_t)time_ns};
    uint64_t hash = siphash_words(&twins->key, words, 2) / TWINS_FILES * TWINS_FILES + twins->file;

    twins->fine = twins->fine || time_ns % COARSE_NS != 0;
    if (hash > twins->limit)
        return;
    twins->all[twins->n++] = hash;
    if (twins->n - twins->from == twins->most + BATCH)
        thin_out(twins, twins->most / 2);
}

void twins_file_end(struct twins *twins)
{
    if (twins->fine)
        thin_out(twins, twins->most);
    else
        twins->n = twins->from;
}

static int by_files(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

bool twins_pairs(struct twins *twins, struct twins_pair **pairs, size_t *n)
{
    uint32_t *codes = malloc((twins->n + 1) * sizeof(*codes));
    size_t n_codes = 0, n_pairs = 0;

    *n = 0;
    if (!codes)
        return false;
    if (twins->n > 0)
        qsort(twins->all, twins->n, sizeof(*twins->all), by_number);
    for (size_t i = 1; i < twins->n; i++)
        if (twins->all[i] / TWINS_FILES == twins->all[i - 1] / TWINS_FILES)
            codes[n_codes++] = (uint32_t)(twins->all[i - 1] % TWINS_FILES * TWINS_FILES +
                                          twins->all[i] % TWINS_FILES);
    twins_free(twins);
    if (n_codes > 0)
        qsort(codes, n_codes, sizeof(*codes), by_files);
    for (size_t i = 0; i < n_codes; i++)
        n_pairs += i == 0 || codes[i] != codes[i - 1];
    *pairs = calloc(n_pairs + 1, sizeof(**pairs));
    for (size_t i = 0; *pairs && i < n_codes; i++) {
        struct twins_pair pair = {(uint16_t)(codes[i] / TWINS_FILES),
                                  (uint16_t)(codes[i] % TWINS_FILES), 1};

        if (i > 0 && codes[i] == codes[i - 1])
            (*pairs)[*n - 1].matches++;
        else
            (*pairs)[(*n)++] = pair;
    }
    free(codes);
    return *pairs != NULL;
}
