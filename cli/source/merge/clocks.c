/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prim's algorithm: each round takes, of all pairs of which one file is set, the best one. A heap
 * has their numbers, which are in the order of how good they are.
 */
#include "source/merge/clocks.h"

#include <stdlib.h>

#include "common/times.h"

struct clocks {
    struct overlap_file *files;
    const struct clock_pair *pairs;
    bool *set;
    uint32_t *begin; /* of each file's in `own`, and where the last one's end */
    uint32_t *own;   /* pairs of each file */
    uint32_t *heap;
    size_t n_heap;
};

static int by_matches(const void *left, const void *right)
{
    const struct clock_pair *a = left, *b = right;

    if (a->matches != b->matches)
        return a->matches > b->matches ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->second > b->second) - (a->second < b->second);
}

static void push(struct clocks *clocks, uint32_t pair)
{
    size_t at = clocks->n_heap++;

    for (; at > 0 && clocks->heap[(at - 1) / 2] > pair; at = (at - 1) / 2)
        clocks->heap[at] = clocks->heap[(at - 1) / 2];
    clocks->heap[at] = pair;
}

static uint32_t pop(struct clocks *clocks)
{
    uint32_t top = clocks->heap[0], last = clocks->heap[--clocks->n_heap];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < clocks->n_heap) {
        if (child + 1 < clocks->n_heap && clocks->heap[child + 1] < clocks->heap[child])
            child++;
        if (clocks->heap[child] >= last)
            break;
        clocks->heap[at] = clocks->heap[child];
        at = child;
    }
    clocks->heap[at] = last;
    return top;
}

static void set(struct clocks *clocks, uint32_t file)
{
    clocks->set[file] = true;
    for (uint32_t i = clocks->begin[file]; i < clocks->begin[file + 1]; i++)
        push(clocks, clocks->own[i]);
}

/* All that are connected with this one, which is their reference. */
static void spread(struct clocks *clocks, uint32_t start)
{
    set(clocks, start);
    while (clocks->n_heap > 0) {
        const struct clock_pair *pair = &clocks->pairs[pop(clocks)];
        bool onward = clocks->set[pair->first];
        uint32_t from = onward ? pair->first : pair->second;
        uint32_t to = onward ? pair->second : pair->first;
        struct overlap_file *file = &clocks->files[to];

        if (clocks->set[to])
            continue;
        file->offset_ns = onward ? time_plus(clocks->files[from].offset_ns, pair->offset_ns)
                                 : time_less(clocks->files[from].offset_ns, pair->offset_ns);
        file->drift_ppb = onward ? clocks->files[from].drift_ppb + pair->drift_ppb
                                 : clocks->files[from].drift_ppb - pair->drift_ppb;
        file->reference = start;
        file->matches = pair->matches;
        set(clocks, to);
    }
}

static void list_pairs(struct clocks *clocks, size_t n, size_t n_pairs)
{
    for (size_t i = 0; i < n_pairs; i++) {
        clocks->begin[clocks->pairs[i].first]++;
        clocks->begin[clocks->pairs[i].second]++;
    }
    for (size_t i = 1; i <= n; i++) /* where each file's end, which fills from there down */
        clocks->begin[i] += clocks->begin[i - 1];
    for (size_t i = n_pairs; i-- > 0;) {
        clocks->own[--clocks->begin[clocks->pairs[i].first]] = (uint32_t)i;
        clocks->own[--clocks->begin[clocks->pairs[i].second]] = (uint32_t)i;
    }
}

bool clocks_set(struct overlap_file *files, size_t n, struct clock_pair *pairs, size_t n_pairs)
{
    struct clocks clocks = {
        .files = files,
        .pairs = pairs,
        .set = calloc(n, sizeof(*clocks.set)),
        .begin = calloc(n + 1, sizeof(*clocks.begin)),
        .own = malloc((2 * n_pairs + 1) * sizeof(*clocks.own)),
        .heap = malloc((2 * n_pairs + 1) * sizeof(*clocks.heap)),
    };
    bool good = clocks.set && clocks.begin && clocks.own && clocks.heap;

    if (good) {
        qsort(pairs, n_pairs, sizeof(*pairs), by_matches);
        list_pairs(&clocks, n, n_pairs);
        for (uint32_t start = 0; start < n; start++)
            if (!clocks.set[start])
                spread(&clocks, start);
    }
    free(clocks.set);
    free(clocks.begin);
    free(clocks.own);
    free(clocks.heap);
    return good;
}
