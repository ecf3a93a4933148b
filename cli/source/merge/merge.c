/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several capture files as one source: their packets in the order of time, each once. A file is
 * opened when its first packet is due, so that a ring buffer of a thousand files needs few at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/times.h"
#include "source/merge/merge.h"
#include "source/rights/opened.h"

/* Of a packet that one file has cut by its snap length and another has whole, the whole one is to
 * come first: longer than a packet is under way in one site, shorter than anything that waits for
 * it. */
enum { FULLER_FIRST_NS = 2000000 };

/* So many files are read ahead, by a thread each. */
enum { FEW = 4 };

enum {
    MANY = 4096,
    WINDOWS = 3 * 1024 * 1024, /* bytes of files at hand, by and large */
    WINDOW_LEAST = 1024,
    WINDOWS_MOST = 4 * 1024 * 1024, /* with large packets */
    UNPACKING = 5 * 1024 * 1024,
    BATCH_OF_MANY = 16, /* packets known of each, of more files than can have more */
    MANY_PARTS = 256,
};

/* -- a heap of parts by due time ----------------------------------------------------------------
 */

/* A time of the part's clock, by the common one. */
static int64_t corrected(const struct part *part, int64_t time_ns)
{
    return source_time(time_less(time_ns, part->offset_ns));
}

static int64_t due_ns(const struct part *part)
{
    return time_plus(part->next_ns, part->wait_ns);
}

static bool earlier(const struct merge *merge, size_t a, size_t b)
{
    const struct part *x = &merge->parts[merge->heap[a]], *y = &merge->parts[merge->heap[b]];

    if (due_ns(x) != due_ns(y))
        return due_ns(x) < due_ns(y);
    return x->rank < y->rank;
}

static void swap(struct merge *merge, size_t a, size_t b)
{
    size_t t = merge->heap[a];

    merge->heap[a] = merge->heap[b];
    merge->heap[b] = t;
}

static void sink_down(struct merge *merge, size_t at)
{
    for (;;) {
        size_t least = at, child = 2 * at + 1;

        if (child < merge->n_heap && earlier(merge, child, least))
            least = child;
        if (child + 1 < merge->n_heap && earlier(merge, child + 1, least))
            least = child + 1;
        if (least == at)
            return;
        swap(merge, at, least);
        at = least;
    }
}

static void push(struct merge *merge, size_t part)
{
    size_t at = merge->n_heap++;

    merge->heap[at] = part;
    while (at > 0 && earlier(merge, at, (at - 1) / 2)) {
        swap(merge, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static void pop(struct merge *merge)
{
    merge->heap[0] = merge->heap[--merge->n_heap];
    sink_down(merge, 0);
}

/* -- the parts -----------------------------------------------------------------------------------
 */

/* Makes the part's next packet known. False with merge->error set; the part may go on. */
static bool refill(struct merge *merge, struct part *part)
{
    bool good = part_refill(&merge->shared, part, merge->error, sizeof(merge->error));

    part->failed |= !good;
    return good;
}

/* Puts the top part where it belongs after its packets changed; out where it has no more. */
static void due(struct merge *merge, struct part *part)
{
    if (part->ended) {
        pop(merge);
        return;
    }
    /* what is from before the file comes when the file begins */
    if (part->at < part->n && !part->packets[part->at].replayed)
        part->next_ns = corrected(part, part->packets[part->at].packet.time_ns);
    sink_down(merge, 0);
}

/* Whether the packet is given out: not if another file gave it before. */
static bool is_new(struct merge *merge, struct part *part, const struct source_packet *one)
{
    const struct rpcrdma_packet *packet = &one->packet;
    bool given = replays_given(&merge->overlap.replays, packet);
    struct fingerprint print;

    if (one->replayed) {
        part->replayed++;
        return !given;
    }
    if (part->packets_read++ == 0)
        part->first_ns = part->next_ns;
    part->last_ns = part->next_ns;
    if (!part->shares || !fingerprint(packet, merge->overlap.most, &print) ||
        !copies_is_one(merge->copies, (uint32_t)(part - merge->parts), part->next_ns, &print))
        return true;
    part->copies++;
    return false;
}

/* Gives out the next packet of the top part, which has one, if it is new. False where those given
 * out before must be done with, or with *failed and merge->error set. */
static bool give(struct merge *merge, struct source_packet *packets, size_t *n, bool *failed)
{
    size_t number = merge->heap[0];
    struct part *part = &merge->parts[number];
    struct source_packet *out = &packets[*n];

    if (part->parked) {
        enum part_fetch fetch =
            part_fetch(&merge->shared, part, out, merge->error, sizeof(merge->error));

        *failed = fetch == PART_FAILED;
        if (*failed) {
            part->failed = true;
            due(merge, part);
        }
        if (fetch != PART_FETCHED)
            return false;
    } else {
        *out = part->packets[part->at];
    }
    if (is_new(merge, part, out)) {
        part_given(&merge->shared, part, out);
        out->packet.frame = ++merge->frame;
        origins_add(&merge->origins, merge->frame, (uint32_t)number);
        out->packet.time_ns = out->replayed ? corrected(part, out->packet.time_ns) : part->next_ns;
        out->interface |= (uint32_t)number << MERGE_INTERFACE_BITS;
        ++*n;
    }
    part->at++;
    due(merge, part);
    return true;
}

static enum source_status merge_next(struct source *source, struct source_packet *packets,
                                     size_t max, size_t *n)
{
    struct merge *merge = (struct merge *)source;
    bool failed = merge->failed;

    *n = 0;
    merge->failed = false;
    parts_reuse(&merge->shared);
    while (*n < max && merge->n_heap > 0 && !failed) {
        struct part *part = &merge->parts[merge->heap[0]];

        if (part->at < part->n) {
            if (!give(merge, packets, n, &failed))
                break;
        } else if (*n > 0) {
            break; /* its window moves, and may hold what is given out now */
        } else {
            failed = !refill(merge, part);
            due(merge, part);
        }
    }
    if (*n > 0)
        merge->failed = failed; /* that is said next */
    return *n > 0 ? SOURCE_OK : failed ? SOURCE_ERROR : SOURCE_END;
}

static void part_ending(void *context, const struct part *part)
{
    const struct merge *merge = context;
    struct source_interface one;

    for (uint32_t i = 0; source_interface(part->source, i, &one); i++)
        merge->ended(merge->context, (uint32_t)(part - merge->parts) << MERGE_INTERFACE_BITS | i,
                     &one);
}

static void merge_watch_ends(struct source *source, source_ended *ended, void *context)
{
    struct merge *merge = (struct merge *)source;

    merge->ended = ended;
    merge->context = context;
    merge->shared.ending = part_ending;
    merge->shared.context = merge;
}

static void merge_close(struct source *source)
{
    struct merge *merge = (struct merge *)source;

    merge->shared.ending = NULL;
    for (size_t i = 0; merge->parts && i < merge->n_parts; i++) {
        part_close(&merge->shared, &merge->parts[i]);
        part_forget(&merge->parts[i]);
    }
    copies_free(merge->copies);
    overlap_free(&merge->overlap);
    free(merge->parts);
    free(merge->packets);
    free(merge->shared.bytes);
    origins_free(&merge->origins);
    free(merge->heap);
    free(merge);
}

/* Whether all can be read twice. */
static bool all_regular(char *const *paths, size_t n)
{
    struct stat st;

    for (size_t i = 0; i < n; i++)
        if (opened_stat(paths[i], &st) == 0 && !S_ISREG(st.st_mode))
            return false;
    return true;
}

/* The most that a file cuts packets to, of all that share packets with each. */
static void set_waits(struct merge *merge)
{
    uint32_t *fullest = calloc(merge->n_parts, sizeof(*fullest));

    for (size_t i = 0; fullest && i < merge->n_parts; i++) {
        const struct overlap_file *file = &merge->overlap.files[i];

        if (file->cut > fullest[file->reference])
            fullest[file->reference] = file->cut;
    }
    for (size_t i = 0; fullest && i < merge->n_parts; i++) {
        const struct overlap_file *file = &merge->overlap.files[i];

        merge->parts[i].shares = file->shares;
        if (file->shares && file->cut < fullest[file->reference])
            merge->parts[i].wait_ns = FULLER_FIRST_NS;
    }
    free(fullest);
}

static void set_up_part(struct merge *merge, size_t i, const char *path, bool again)
{
    struct part *part = &merge->parts[i];
    const struct overlap_file *file = again ? &merge->overlap.files[i] : NULL;
    struct stat st;

    part->path = path;
    part->packets = &merge->packets[i * merge->shared.batch];
    if (again && opened_stat(path, &st) == 0)
        part->stats.size = (uint64_t)st.st_size;
    part->next_ns = INT64_MIN; /* what cannot be read is said first */
    if (again && file->readable) {
        part->offset_ns = file->offset_ns;
        part->next_ns = corrected(part, file->first_ns);
    }
}

/* What is ranked: a file that begins earlier has the earlier one of two packets of one time, or
 * the one that ends later. Then names decide, not the order in which they were given. */
struct ranked {
    const struct part *part;
    int64_t first_ns, last_ns;
};

static int by_rank(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int names;

    if (a->first_ns != b->first_ns)
        return a->first_ns < b->first_ns ? -1 : 1;
    if (a->last_ns != b->last_ns)
        return a->last_ns > b->last_ns ? -1 : 1;
    names = strcmp(a->part->path, b->part->path);
    return names != 0 ? names : (a->part > b->part) - (a->part < b->part);
}

static bool rank(struct merge *merge)
{
    struct ranked *all = calloc(merge->n_parts, sizeof(*all));

    for (size_t i = 0; all && i < merge->n_parts; i++) {
        all[i].part = &merge->parts[i];
        if (!merge->overlap.files)
            continue; /* nothing is known of them: they are pipes */
        all[i].first_ns = merge->parts[i].next_ns;
        all[i].last_ns = corrected(&merge->parts[i], merge->overlap.files[i].last_ns);
    }
    if (all)
        qsort(all, merge->n_parts, sizeof(*all), by_rank);
    for (size_t i = 0; all && i < merge->n_parts; i++)
        merge->parts[all[i].part - merge->parts].rank = (uint32_t)i;
    free(all);
    return all != NULL;
}

static bool set_up(struct merge *merge, char *const *paths, size_t n, size_t memory)
{
    bool again = all_regular(paths, n);

    merge->parts = calloc(n, sizeof(*merge->parts));
    merge->packets = calloc(n * merge->shared.batch, sizeof(*merge->packets));
    merge->heap = calloc(n, sizeof(*merge->heap));
    merge->n_parts = n;
    if (!merge->parts || !merge->packets || !merge->heap ||
        (again && !overlap_find(&merge->overlap, paths, n)))
        return false;
    if (merge->overlap.any) {
        merge->copies = copies_new(&merge->overlap, memory / 2);
        if (!merge->copies)
            return false;
    }
    if (again)
        set_waits(merge);
    for (size_t i = 0; i < n; i++)
        set_up_part(merge, i, paths[i], again);
    if (!rank(merge))
        return false;
    for (size_t i = 0; i < n; i++)
        push(merge, i);
    return true;
}

struct source *source_merge_open(char *const *paths, size_t n, size_t memory, char *error,
                                 size_t size)
{
    static const struct source_ops ops = {merge_next,      merge_interface, merge_stats,
                                          merge_report,    merge_close,     merge_watch_ends,
                                          merge_unrelated, merge_part,      merge_part_of};
    struct merge *merge;

    if (n > MANY) {
        snprintf(error, size, "%zu files are too many: at most %d are read as one", n, (int)MANY);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(paths[i], "-") == 0) {
            snprintf(error, size, "standard input cannot be read together with other files");
            return NULL;
        }
    }
    merge = calloc(1, sizeof(*merge));
    if (merge) {
        merge->source.ops = &ops;
        merge->source.error = merge->error;
        merge->shared = (struct parts){
            .config = {.no_readahead = n > FEW,
                       .window = WINDOWS / n < WINDOW_LEAST ? WINDOW_LEAST : WINDOWS / n},
            .batch = n > MANY_PARTS ? BATCH_OF_MANY : SOURCE_BATCH,
            .windows_most = WINDOWS_MOST,
            .unpacking_most = memory < UNPACKING ? UNPACKING : memory,
        };
    }
    if (!merge || !set_up(merge, paths, n, memory)) {
        snprintf(error, size, "out of memory");
        if (merge)
            merge_close(&merge->source);
        return NULL;
    }
    return &merge->source;
}
