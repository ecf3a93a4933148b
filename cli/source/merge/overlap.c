/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that occur once in each of two files give the difference of the clocks: a packet from A
 * to B is seen later at B, one from B to A earlier, and the mean of both directions' medians is
 * free of the time on the wire.
 */
#include "source/merge/overlap.h"

#include <stdlib.h>

#include "common/times.h"
#include "source/merge/alike.h"
#include "source/merge/clocks.h"
#include "source/merge/drift.h"
#include "source/merge/fingerprint.h"
#include "source/merge/sample.h"
#include "source/rights/opened.h"

enum {
    DIFFERENCES_MOST = SAMPLES_IN_ALL, /* 6 MiB: clocks are known by then */
    GROUP_MOST = 8,                    /* files of which each is compared with each by one packet */
    /* of the payload: the headers of UDP and BTH, with a PSN, and 8 bytes more; or that of TCP.
     * Where less was captured of a packet it is nobody's copy */
    COMPARED_LEAST = 28,
};

struct differences {
    struct difference *all;
    size_t n, room;
    struct twins_pair *twins;
    size_t n_twins;
    int64_t *times; /* of all samples, file by file, ascending */
};

/* Each has its own differences, ALIKE_LEAST of them, or is one of twins: so there is room. */
struct pairs {
    struct clock_pair
        *all; /* those that are known to share packets, and from the end the doubtful */
    size_t n, n_doubtful, most;
};

static int by_key(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->file > b->file) - (a->file < b->file);
}

static void add_difference(struct differences *differences, const struct sample *a,
                           const struct sample *b)
{
    if (differences->n < differences->room)
        differences->all[differences->n++] = (struct difference){
            .first = (uint16_t)a->file,
            .second = (uint16_t)b->file,
            .forward = a->forward,
            .same_id = a->id == b->id,
            .id = a->id,
            .ns = time_less(b->time_ns, a->time_ns),
            .when = a->time_ns,
        };
}

/* Samples [from, to) have one key, each in another file: each is compared with the next one, so
 * that all files that have many packets in common are known to. */
static void compare_next(const struct sample *all, size_t from, size_t to,
                         struct differences *differences)
{
    for (size_t i = from; i + 1 < to; i++)
        add_difference(differences, &all[i], &all[i + 1]);
}

/* Then each with each, as far as there is room: some pair may know the clocks better. */
static void compare_others(const struct sample *all, size_t from, size_t to,
                           struct differences *differences)
{
    size_t count = to - from, n = count < GROUP_MOST ? count : GROUP_MOST;
    size_t start = count > GROUP_MOST ? all[from].key % count : 0; /* each pair has its turn */

    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1; k < n; k++) {
            size_t a = (start + i) % count, b = (start + k) % count;

            if (a > b) { /* a pair is of the file with the lower number, first */
                size_t t = a;

                a = b;
                b = t;
            }
            if (b != a + 1)
                add_difference(differences, &all[from + a], &all[from + b]);
        }
    }
}

static void compare_samples(struct samples *samples, struct differences *differences,
                            void (*compare)(const struct sample *all, size_t from, size_t to,
                                            struct differences *differences))
{
    size_t from = 0;

    for (size_t i = 1; i <= samples->n; i++) {
        if (i < samples->n && samples->all[i].key == samples->all[from].key)
            continue;
        compare(samples->all, from, i, differences);
        from = i;
    }
}

static int by_pair(const void *left, const void *right)
{
    const struct difference *a = left, *b = right;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->second != b->second)
        return a->second < b->second ? -1 : 1;
    if (a->forward != b->forward)
        return a->forward ? 1 : -1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

static int64_t middle(int64_t a, int64_t b)
{
    return a / 2 + b / 2 + (a % 2 + b % 2) / 2;
}

/* The clocks' difference from sorted differences [from, to) of one pair. */
static int64_t pair_offset(const struct difference *all, size_t from, size_t to)
{
    size_t turn = from;

    while (turn < to && !all[turn].forward)
        turn++;
    if (turn == from || turn == to)
        return all[from + (to - from) / 2].ns;
    return middle(all[from + (turn - from) / 2].ns, all[turn + (to - turn) / 2].ns);
}

/* The next pair's differences: *from until what is returned. */
static size_t pair_end(const struct differences *differences, size_t from)
{
    const struct difference *all = differences->all;
    size_t to = from;

    while (to < differences->n && all[to].first == all[from].first &&
           all[to].second == all[from].second)
        to++;
    return to;
}

/* How many of differences [from, to) are none. */
static size_t same_time(const struct difference *all, size_t from, size_t to)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        n += all[i].ns == 0;
    return n;
}

/* Orders a pair of twins and one of differences. */
static int by_files(const struct twins_pair *twins, const struct difference *one)
{
    if (twins->first != one->first)
        return twins->first < one->first ? -1 : 1;
    return (twins->second > one->second) - (twins->second < one->second);
}

static size_t first_twin(const struct overlap *overlap, size_t file)
{
    while (overlap->files[file].twin != file)
        file = overlap->files[file].twin;
    return file;
}

/* Both have packets of one capture. */
static void join(struct overlap *overlap, size_t a, size_t b)
{
    size_t first = first_twin(overlap, a), second = first_twin(overlap, b);
    size_t least = first < second ? first : second;

    overlap->files[first].twin = overlap->files[second].twin = least;
    while (overlap->files[a].twin != least) { /* shorter ways */
        size_t next = overlap->files[a].twin;

        overlap->files[a].twin = least;
        a = next;
    }
    while (overlap->files[b].twin != least) {
        size_t next = overlap->files[b].twin;

        overlap->files[b].twin = least;
        b = next;
    }
}

static void found(struct overlap *overlap, const struct clock_pair *pair)
{
    overlap->files[pair->first].shares = overlap->files[pair->second].shares = true;
    overlap->any = true;
}

/* Notes one pair, of n differences, if they are of the same packets, or if that is not known. */
static void compare_pair(struct overlap *overlap, const int64_t *times,
                         const struct difference *all, size_t n, struct pairs *pairs)
{
    int64_t offset_ns = pair_offset(all, 0, n);
    struct clock_pair pair = {all->first, all->second, (uint32_t)n, offset_ns, 0};
    enum alike alike = alike_judge(overlap->files, times, all, n, offset_ns);

    if (alike == ALIKE_NOT_KNOWN)
        pairs->all[pairs->most - ++pairs->n_doubtful] = pair;
    if (alike != ALIKE_SAME)
        return;
    pair.drift_ppb = drift_of(all, n);
    found(overlap, &pair);
    pairs->all[pairs->n++] = pair;
}

/* Merges what both ways of comparing know; twins come first, their clock is one. */
static void find_pairs(struct overlap *overlap, struct differences *differences,
                       struct pairs *pairs)
{
    const struct difference *all = differences->all;
    size_t from = 0, to, twin = 0;

    while (from < differences->n || twin < differences->n_twins) {
        const struct twins_pair *twins =
            twin < differences->n_twins ? &differences->twins[twin] : NULL;
        int order = !twins ? 1 : from == differences->n ? -1 : by_files(twins, &all[from]);
        size_t others;

        to = order < 0 ? from : pair_end(differences, from);
        others = to - from - same_time(all, from, to);
        twin += order <= 0;
        /* by chance few packets of two hosts have one time, and many have others */
        if (order <= 0 && twins->matches >= others) {
            pairs->all[pairs->n] = (struct clock_pair){twins->first, twins->second,
                                                       UINT32_MAX / 2 + twins->matches, 0, 0};
            join(overlap, twins->first, twins->second);
            found(overlap, &pairs->all[pairs->n++]);
        } else if (order >= 0) {
            compare_pair(overlap, differences->times, &all[from], to - from, pairs);
        }
        from = to;
    }
}

static int64_t first_of(const struct overlap_file *file)
{
    return time_less(file->first_ns, file->offset_ns);
}

static int64_t last_of(const struct overlap_file *file)
{
    return time_less(file->last_ns, file->offset_ns);
}

/* Once clocks are known: what the files of one capture are together. */
static void look_at_twins(struct overlap *overlap)
{
    for (size_t i = 0; i < overlap->n; i++) {
        struct overlap_file *file = &overlap->files[i], *twin;

        file->twin = first_twin(overlap, i);
        twin = &overlap->files[file->twin];
        if (file == twin) {
            file->all_first_ns = first_of(file);
            file->all_last_ns = last_of(file);
            continue;
        }
        file->twins = twin->twins = true;
        if (first_of(file) < twin->all_first_ns)
            twin->all_first_ns = first_of(file);
        if (last_of(file) > twin->all_last_ns)
            twin->all_last_ns = last_of(file);
    }
    for (size_t i = 0; i < overlap->n; i++)
        if (overlap->files[i].twin != overlap->files[overlap->files[i].reference].twin)
            overlap->files[overlap->files[i].reference].elsewhere = true;
    for (size_t i = 0; i < overlap->n; i++) {
        overlap->files[i].elsewhere = overlap->files[overlap->files[i].reference].elsewhere;
        overlap->files[overlap->files[i].twin].related |= overlap->files[i].elsewhere;
    }
}

/* Of files whose clocks others tell nothing is in doubt. */
static void look_at_doubts(struct overlap *overlap, const struct pairs *pairs)
{
    struct overlap_doubt *doubt = &overlap->doubt;

    for (size_t i = 1; i <= pairs->n_doubtful; i++) {
        const struct clock_pair *pair = &pairs->all[pairs->most - i];

        if (overlap->files[pair->first].reference == overlap->files[pair->second].reference ||
            doubt->pairs++ > 0)
            continue;
        doubt->first = pair->first;
        doubt->second = pair->second;
        doubt->packets = pair->matches;
        doubt->apart_ns = pair->offset_ns;
    }
}

static bool judge_pairs(struct overlap *overlap, struct differences *differences)
{
    struct pairs pairs = {.most = differences->n / ALIKE_LEAST + differences->n_twins + 1};
    bool good;

    pairs.all = malloc(pairs.most * sizeof(*pairs.all));
    if (!pairs.all)
        return false;
    qsort(differences->all, differences->n, sizeof(*differences->all), by_pair);
    find_pairs(overlap, differences, &pairs);
    good = clocks_set(overlap->files, overlap->n, pairs.all, pairs.n);
    look_at_doubts(overlap, &pairs);
    free(pairs.all);
    look_at_twins(overlap);
    return good;
}

/* Chooses the samples: the same in each run. Who sends packets does not know how large the files
 * become. */
static uint64_t seed_of(char *const *paths, size_t n)
{
    static const struct siphash_key none;
    struct stat st;
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        if (opened_stat(paths[i], &st) == 0) {
            uint64_t size = (uint64_t)st.st_size;

            sum += siphash_words(&none, &size, 1);
        }
    }
    return sum;
}

static int by_time(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* NULL: no memory. */
static int64_t *sample_times(const struct overlap *overlap, const struct samples *samples)
{
    int64_t *times = malloc((samples->n + 1) * sizeof(*times));

    for (size_t i = 0; times && i < samples->n; i++)
        times[i] = samples->all[i].time_ns;
    for (size_t i = 0; times && i < overlap->n; i++)
        qsort(times + overlap->files[i].times_from, overlap->files[i].sampled, sizeof(*times),
              by_time);
    return times;
}

static bool compare_files(struct overlap *overlap, struct samples *samples)
{
    struct differences differences = {.times = sample_times(overlap, samples)};
    bool good;

    if (samples->n > 0)
        qsort(samples->all, samples->n, sizeof(*samples->all), by_key);
    differences.room = samples->n * GROUP_MOST / 2;
    if (differences.room > DIFFERENCES_MOST)
        differences.room = DIFFERENCES_MOST;
    differences.all = malloc((differences.room + 1) * sizeof(*differences.all));
    good = differences.all && differences.times;
    if (good) {
        compare_samples(samples, &differences, compare_next);
        compare_samples(samples, &differences, compare_others);
        good = twins_pairs(&samples->twins, &differences.twins, &differences.n_twins);
    }
    samples_free(samples);
    good = good && judge_pairs(overlap, &differences);
    free(differences.all);
    free(differences.twins);
    free(differences.times);
    return good;
}

bool overlap_find(struct overlap *overlap, char *const *paths, size_t n)
{
    struct samples samples;
    bool good;

    *overlap = (struct overlap){
        .files = calloc(n, sizeof(*overlap->files)), .n = n, .most = FINGERPRINT_ALL};
    good = overlap->files && samples_begin(&samples, n, seed_of(paths, n));
    for (size_t i = 0; i < n && good; i++) {
        overlap->files[i].path = paths[i];
        overlap->files[i].reference = overlap->files[i].twin = i;
        good = samples_take(&samples, &overlap->files[i], (uint32_t)i, &overlap->replays);
    }
    if (good)
        good = compare_files(overlap, &samples);
    else
        samples_free(&samples);
    for (size_t i = 0; i < n && good; i++)
        if (overlap->files[i].shares && overlap->files[i].cut < overlap->most)
            overlap->most = overlap->files[i].cut;
    if (overlap->most < COMPARED_LEAST)
        overlap->most = COMPARED_LEAST;
    if (!good)
        overlap_free(overlap);
    return good;
}

void overlap_free(struct overlap *overlap)
{
    free(overlap->files);
    replays_free(&overlap->replays);
    *overlap = (struct overlap){0};
}
