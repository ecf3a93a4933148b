/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several capture files as one source: their packets in the order of time, each once. A file is
 * opened when its first packet is due, so that a ring buffer of a thousand files needs few at once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "source/copies.h"
#include "source/input.h"
#include "source/opened.h"
#include "source/overlap.h"
#include "source/source.h"
#include "times.h"

/* Of a packet that one file has cut by its snap length and another has whole, the whole one is to
 * come first: longer than a packet is under way in one site, shorter than anything that waits for
 * it. */
enum { FULLER_FIRST_NS = 2000000 };

/* So many files are read ahead, by a thread each. */
enum { FEW = 4 };

enum { MANY = 4096, INTERFACE_BITS = 16, WINDOWS = 2 * 1024 * 1024, WINDOW_LEAST = 16 * 1024 };

struct part {
    const char *path; /* borrowed */
    struct source *source;
    struct source_packet packets[SOURCE_BATCH];
    size_t at, n; /* next packet, and how many there are */
    bool ended;
    bool shares;       /* packets with other parts */
    int64_t offset_ns; /* of its clock */
    int64_t next_ns;   /* time of its next packet, by the common clock */
    int64_t wait_ns;   /* it is due so much later */
    uint64_t packets_read, copies;
    struct source_stats stats; /* of its file's size; all, once closed */
};

struct merge {
    struct source source;
    struct part *parts;
    size_t n_parts;
    size_t *heap; /* of parts that have packets, the earliest first */
    size_t n_heap;
    struct overlap overlap;
    struct copies *copies; /* NULL: no files share packets */
    struct source_config config;
    uint64_t frame;
};

/* -- a heap of parts by due time; the file given first wins a tie ------------------------------ */

/* A time of the part's clock, by the common one. */
static int64_t corrected(const struct part *part, int64_t time_ns)
{
    int64_t result = time_less(time_ns, part->offset_ns);

    return result > SOURCE_TIME_MAX    ? SOURCE_TIME_MAX
           : result < -SOURCE_TIME_MAX ? -SOURCE_TIME_MAX
                                       : result;
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
    return merge->heap[a] < merge->heap[b];
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

static void close_part(struct part *part)
{
    if (!part->source)
        return;
    source_stats(part->source, &part->stats);
    source_close(part->source);
    part->source = NULL;
}

/* Makes the part's next packet known. False with merge->source.error set; the part may go on. */
static bool refill(struct merge *merge, struct part *part)
{
    enum source_status status;

    if (!part->source) {
        part->source = source_file_open(part->path, &merge->config, merge->source.error,
                                        sizeof(merge->source.error));
        part->ended = !part->source;
        if (part->ended)
            return false;
    }
    part->at = part->n = 0;
    status = source_next(part->source, part->packets, SOURCE_BATCH, &part->n);
    if (status == SOURCE_ERROR)
        snprintf(merge->source.error, sizeof(merge->source.error), "%s", part->source->error);
    part->ended = status == SOURCE_END;
    if (part->ended)
        close_part(part);
    return status != SOURCE_ERROR;
}

/* Puts the top part where it belongs after its packets changed; out where it has no more. */
static void due(struct merge *merge, struct part *part)
{
    if (part->ended) {
        pop(merge);
        return;
    }
    if (part->at < part->n)
        part->next_ns = corrected(part, part->packets[part->at].packet.time_ns);
    sink_down(merge, 0);
}

/* Whether the packet is given out: not if another file gave it before. */
static bool is_new(struct merge *merge, struct part *part, const struct rpcrdma_packet *packet)
{
    struct fingerprint print;

    part->packets_read++;
    if (!part->shares || !fingerprint(packet, merge->overlap.most, &print) ||
        !copies_is_one(merge->copies, (uint32_t)(part - merge->parts), part->next_ns, &print))
        return true;
    part->copies++;
    return false;
}

static enum source_status merge_next(struct source *source, struct source_packet *packets,
                                     size_t max, size_t *n)
{
    struct merge *merge = (struct merge *)source;

    *n = 0;
    while (*n < max && merge->n_heap > 0) {
        size_t number = merge->heap[0];
        struct part *part = &merge->parts[number];

        if (part->at == part->n) {
            bool good;

            if (*n > 0)
                break; /* its window moves, and may hold what is given out now */
            good = refill(merge, part);
            due(merge, part);
            if (!good)
                return SOURCE_ERROR;
            continue;
        }
        if (is_new(merge, part, &part->packets[part->at].packet)) {
            struct source_packet *out = &packets[(*n)++];

            *out = part->packets[part->at];
            out->packet.frame = ++merge->frame;
            out->packet.time_ns = part->next_ns;
            out->interface |= (uint32_t)number << INTERFACE_BITS;
        }
        part->at++;
        due(merge, part);
    }
    return *n > 0 ? SOURCE_OK : SOURCE_END;
}

static bool merge_interface(const struct source *source, uint32_t number,
                            struct source_interface *out)
{
    const struct merge *merge = (const struct merge *)source;
    size_t part = number >> INTERFACE_BITS;

    return part < merge->n_parts && merge->parts[part].source &&
           source_interface(merge->parts[part].source, number & ((1u << INTERFACE_BITS) - 1), out);
}

static void merge_stats(const struct source *source, struct source_stats *out)
{
    const struct merge *merge = (const struct merge *)source;

    *out = (struct source_stats){
        .packets = merge->frame, .received_known = true, .dropped_known = true};
    for (size_t i = 0; i < merge->n_parts; i++) {
        struct source_stats one = merge->parts[i].stats;

        if (merge->parts[i].source)
            source_stats(merge->parts[i].source, &one);
        out->received += one.received;
        out->dropped += one.dropped;
        out->texts_left_out += one.texts_left_out;
        out->other_blocks += one.other_blocks;
        out->comments += one.comments;
        out->read += one.read;
        out->size += one.size;
        out->received_known &= one.received_known;
        out->dropped_known &= one.dropped_known;
    }
}

/* "-1.500000000": seconds, with the sign. */
static void seconds(int64_t ns, char text[32])
{
    uint64_t absolute = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

    snprintf(text, 32, "%s%" PRIu64 ".%09u", ns < 0 ? "-" : "", absolute / 1000000000,
             (unsigned)(absolute % 1000000000));
}

static void merge_report(const struct source *source, void (*line)(void *, const char *),
                         void *context)
{
    const struct merge *merge = (const struct merge *)source;
    char text[1024], offset[32];

    for (size_t i = 0; i < merge->n_parts; i++) {
        const struct part *part = &merge->parts[i];
        const struct overlap_file *file = merge->overlap.files ? &merge->overlap.files[i] : NULL;

        if (!part->shares || !file)
            continue;
        seconds(file->offset_ns, offset);
        if (file->reference == i)
            snprintf(text, sizeof(text),
                     "%s: %" PRIu64 " of %" PRIu64 " packets were in another file before and count "
                     "once; its clock is the reference",
                     part->path, part->copies, part->packets_read);
        else
            snprintf(text, sizeof(text),
                     "%s: %" PRIu64 " of %" PRIu64 " packets were in another file before and count "
                     "once; its clock is %s s ahead of that of %s, and was corrected",
                     part->path, part->copies, part->packets_read, offset,
                     merge->parts[file->reference].path);
        line(context, text);
    }
}

static void merge_close(struct source *source)
{
    struct merge *merge = (struct merge *)source;

    for (size_t i = 0; merge->parts && i < merge->n_parts; i++)
        close_part(&merge->parts[i]);
    copies_free(merge->copies);
    overlap_free(&merge->overlap);
    free(merge->parts);
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

static bool set_up(struct merge *merge, char *const *paths, size_t n)
{
    bool again = all_regular(paths, n);

    merge->parts = calloc(n, sizeof(*merge->parts));
    merge->heap = calloc(n, sizeof(*merge->heap));
    merge->n_parts = n;
    if (!merge->parts || !merge->heap || (again && !overlap_find(&merge->overlap, paths, n)))
        return false;
    if (merge->overlap.any) {
        merge->copies = copies_new(&merge->overlap);
        if (!merge->copies)
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        struct part *part = &merge->parts[i];
        struct stat st;

        part->path = paths[i];
        if (again && opened_stat(paths[i], &st) == 0)
            part->stats.size = (uint64_t)st.st_size;
        part->next_ns = INT64_MIN; /* what cannot be read is said first */
        if (again && merge->overlap.files[i].readable) {
            part->offset_ns = merge->overlap.files[i].offset_ns;
            part->next_ns = corrected(part, merge->overlap.files[i].first_ns);
        }
        for (size_t k = 0; k < n && again; k++) {
            if (!overlap_shares(&merge->overlap, i, k))
                continue;
            part->shares = true;
            if (merge->overlap.files[i].cut < merge->overlap.files[k].cut)
                part->wait_ns = FULLER_FIRST_NS;
        }
        push(merge, i);
    }
    return true;
}

struct source *source_merge_open(char *const *paths, size_t n, char *error, size_t size)
{
    static const struct source_ops ops = {merge_next, merge_interface, merge_stats, merge_report,
                                          merge_close};
    struct merge *merge;

    if (n > MANY) {
        snprintf(error, size, "%zu files are too many at once: %d are not", n, (int)MANY);
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
        merge->config.alone = n > FEW;
        merge->config.window = WINDOWS / n < WINDOW_LEAST ? WINDOW_LEAST : WINDOWS / n;
    }
    if (!merge || !set_up(merge, paths, n)) {
        snprintf(error, size, "out of memory");
        if (merge)
            merge_close(&merge->source);
        return NULL;
    }
    return &merge->source;
}
