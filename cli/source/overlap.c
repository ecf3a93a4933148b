/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Of every file a sample of packets is kept, chosen by their fingerprints, so that two files choose
 * the same packets. Those that occur once in each of two files give the difference of the clocks: a
 * packet from A to B is seen later at B, one from B to A earlier, and the mean of both directions'
 * medians is free of the time on the wire.
 */
#include "source/overlap.h"

#include <stdlib.h>

#include "source/fingerprint.h"
#include "source/source.h"
#include "times.h"

enum {
    SAMPLE_BYTES = 64,          /* of the payload: transport headers with their sequence numbers */
    SAMPLES_IN_ALL = 1 << 18,   /* 8 MiB */
    SAMPLES_LEAST = 256,        /* per file */
    DIFFERENCES_MOST = 1 << 18, /* 10 MiB: clocks are known by then */
    GROUP_MOST = 8,             /* files that are compared by one packet */
    MATCHES_LEAST = 3,
    MATCHES_APART = 16, /* of files whose clocks say that they do not overlap at all */
};

static const int64_t SECOND = 1000000000;

struct sample {
    uint64_t key;
    int64_t time_ns;
    uint32_t file;
    bool forward;
};

struct samples {
    struct sample *all;
    size_t n, room;
    uint64_t limit; /* keys above are not kept */
};

/* The difference of two files' times of one packet. */
struct difference {
    uint32_t first, second; /* files */
    bool forward;
    int64_t ns;   /* second's clock less first's */
    int64_t when; /* by first's clock */
};

struct pair {
    uint32_t first, second;
    size_t matches;
    int64_t offset_ns;
};

/* Halves the sample of the file until there is room: its share is [from, samples->n). */
static void thin_out(struct samples *samples, size_t from, size_t most)
{
    while (samples->n - from >= most) {
        size_t kept = from;

        if (samples->limit == 0) { /* equal packets, of the least key there is */
            samples->n = from;
            return;
        }
        samples->limit /= 2;
        for (size_t i = from; i < samples->n; i++)
            if (samples->all[i].key <= samples->limit)
                samples->all[kept++] = samples->all[i];
        samples->n = kept;
    }
}

static bool add_sample(struct samples *samples, const struct sample *sample)
{
    if (samples->n == samples->room) {
        size_t room = samples->room ? 2 * samples->room : 4096;
        struct sample *more = realloc(samples->all, room * sizeof(*more));

        if (!more)
            return false;
        samples->all = more;
        samples->room = room;
    }
    samples->all[samples->n++] = *sample;
    return true;
}

static bool take_packet(struct overlap_file *file, uint32_t number, struct samples *samples,
                        const struct rpcrdma_packet *packet)
{
    struct fingerprint print;
    uint32_t cut = fingerprint_cut(packet);

    if (!file->readable || packet->time_ns < file->first_ns)
        file->first_ns = packet->time_ns;
    if (!file->readable || packet->time_ns > file->last_ns)
        file->last_ns = packet->time_ns;
    file->readable = true;
    if (cut < file->cut)
        file->cut = cut;
    /* by the half without a key: the same packets in each run, and so the same clocks */
    if (!fingerprint(packet, SAMPLE_BYTES, &print) || print.high > samples->limit)
        return true;
    return add_sample(samples,
                      &(struct sample){print.high, packet->time_ns, number, print.forward});
}

/* What is wrong with a file is said when it is read in earnest. */
static bool sample_file(struct overlap_file *file, uint32_t number, size_t most,
                        struct samples *samples)
{
    char error[512];
    struct source *source = source_file_open(file->path, NULL, error, sizeof(error));
    struct source_packet packets[SOURCE_BATCH];
    size_t n, from = samples->n;
    bool good = true;

    samples->limit = UINT64_MAX;
    file->cut = FINGERPRINT_ALL;
    if (!source)
        return true;
    while (good && source_next(source, packets, SOURCE_BATCH, &n) != SOURCE_END) {
        for (size_t i = 0; i < n && good; i++)
            good = take_packet(file, number, samples, &packets[i].packet);
        thin_out(samples, from, most);
    }
    source_close(source);
    return good;
}

static int by_key(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->file > b->file) - (a->file < b->file);
}

struct differences {
    struct difference *all;
    size_t n, room;
};

static bool add_difference(struct differences *differences, const struct sample *a,
                           const struct sample *b)
{
    if (differences->n == DIFFERENCES_MOST)
        return true;
    if (differences->n == differences->room) {
        size_t room = differences->room ? 2 * differences->room : 4096;
        struct difference *more = realloc(differences->all, room * sizeof(*more));

        if (!more)
            return false;
        differences->all = more;
        differences->room = room;
    }
    differences->all[differences->n++] = (struct difference){
        .first = a->file,
        .second = b->file,
        .forward = a->forward,
        .ns = time_less(b->time_ns, a->time_ns),
        .when = a->time_ns,
    };
    return true;
}

/* Samples [from, to) have one key. Of a file that has it more than once nothing is learnt. */
/* Whether its file has that packet once. */
static bool is_once(const struct sample *all, size_t from, size_t to, size_t i)
{
    return (i == from || all[i - 1].file != all[i].file) &&
           (i + 1 == to || all[i + 1].file != all[i].file);
}

static bool compare_group(const struct sample *all, size_t from, size_t to,
                          struct differences *differences)
{
    const struct sample *once[GROUP_MOST];
    size_t n = 0, count = 0, start, at = 0;

    for (size_t i = from; i < to; i++)
        count += is_once(all, from, to, i);
    start = count > GROUP_MOST ? all[from].key % count : 0; /* each pair has its turn */
    for (size_t i = from; i < to; i++) {
        if (!is_once(all, from, to, i))
            continue;
        if ((at + count - start) % count < GROUP_MOST)
            once[n++] = &all[i];
        at++;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (!add_difference(differences, once[i], once[k]))
                return false;
    return true;
}

static bool compare_samples(struct samples *samples, struct differences *differences)
{
    size_t from = 0;

    if (samples->n > 0)
        qsort(samples->all, samples->n, sizeof(*samples->all), by_key);
    for (size_t i = 1; i <= samples->n; i++) {
        if (i < samples->n && samples->all[i].key == samples->all[from].key)
            continue;
        if (!compare_group(samples->all, from, i, differences))
            return false;
        from = i;
    }
    return true;
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

/*
 * Whether differences [from, to) of one pair of files, sorted, speak of shared packets. Files that
 * do not overlap by their own clocks may be the same host's, one after the other, with packets sent
 * again across the seam: those are no copies. Of a clock that far off there must be many matches,
 * and over most of a file.
 */
static bool believable(const struct overlap *overlap, const struct difference *all, size_t from,
                       size_t to, int64_t offset_ns)
{
    const struct overlap_file *a = &overlap->files[all[from].first];
    const struct overlap_file *b = &overlap->files[all[from].second];
    size_t near = 0, n = to - from;
    int64_t least = INT64_MAX, most = INT64_MIN, shorter;

    for (size_t i = from; i < to; i++) {
        if (all[i].ns < time_less(offset_ns, SECOND) || all[i].ns > time_plus(offset_ns, SECOND))
            continue;
        near++;
        least = all[i].when < least ? all[i].when : least;
        most = all[i].when > most ? all[i].when : most;
    }
    if (near < MATCHES_LEAST || near < n - n / 4)
        return false;
    if (a->first_ns < b->last_ns && b->first_ns < a->last_ns)
        return true;
    shorter = time_less(a->last_ns, a->first_ns);
    if (time_less(b->last_ns, b->first_ns) < shorter)
        shorter = time_less(b->last_ns, b->first_ns);
    return near >= MATCHES_APART && time_less(most, least) >= shorter / 2;
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

static int by_matches(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;

    if (a->matches != b->matches)
        return a->matches > b->matches ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* Sets every file's clock against the first of those it shares packets with, by the pairs that know
 * best: each round takes the best pair of which one file is set. */
static void set_clocks(struct overlap *overlap, const struct pair *pairs, size_t n)
{
    bool *set = calloc(overlap->n, sizeof(*set));

    if (!set)
        return; /* clocks stay as they are; copies are found all the same */
    for (size_t start = 0; start < overlap->n; start++) {
        bool more = !set[start];

        set[start] = true;
        while (more) {
            more = false;
            for (size_t i = 0; i < n && !more; i++) {
                struct overlap_file *a = &overlap->files[pairs[i].first];
                struct overlap_file *b = &overlap->files[pairs[i].second];
                bool a_set = set[pairs[i].first] && a->reference == start;
                bool b_set = set[pairs[i].second] && b->reference == start;

                if (a_set && !set[pairs[i].second]) {
                    b->offset_ns = time_plus(a->offset_ns, pairs[i].offset_ns);
                    b->reference = start;
                    b->matches = pairs[i].matches;
                    more = set[pairs[i].second] = true;
                } else if (b_set && !set[pairs[i].first]) {
                    a->offset_ns = time_less(b->offset_ns, pairs[i].offset_ns);
                    a->reference = start;
                    a->matches = pairs[i].matches;
                    more = set[pairs[i].first] = true;
                }
            }
        }
    }
    free(set);
}

static bool judge_pairs(struct overlap *overlap, struct differences *differences)
{
    struct pair *pairs = malloc((differences->n + 1) * sizeof(*pairs));
    const struct difference *all = differences->all;
    size_t from = 0, n = 0;

    if (!pairs)
        return false;
    if (differences->n > 0)
        qsort(differences->all, differences->n, sizeof(*differences->all), by_pair);
    for (size_t i = 1; i <= differences->n; i++) {
        int64_t offset;

        if (i < differences->n && all[i].first == all[from].first &&
            all[i].second == all[from].second)
            continue;
        offset = pair_offset(all, from, i);
        if (believable(overlap, all, from, i, offset)) {
            size_t a = all[from].first, b = all[from].second;

            pairs[n++] = (struct pair){all[from].first, all[from].second, i - from, offset};
            overlap->share[a * overlap->n + b] = overlap->share[b * overlap->n + a] = 1;
            overlap->any = true;
        }
        from = i;
    }
    qsort(pairs, n, sizeof(*pairs), by_matches);
    set_clocks(overlap, pairs, n);
    free(pairs);
    return true;
}

bool overlap_find(struct overlap *overlap, char *const *paths, size_t n)
{
    struct samples samples = {0};
    struct differences differences = {0};
    size_t most = SAMPLES_IN_ALL / n < SAMPLES_LEAST ? SAMPLES_LEAST : SAMPLES_IN_ALL / n;
    bool good;

    *overlap = (struct overlap){
        .files = calloc(n, sizeof(*overlap->files)),
        .n = n,
        .most = FINGERPRINT_ALL,
        .share = calloc(n * n, 1),
    };
    good = overlap->files && overlap->share;
    for (size_t i = 0; i < n && good; i++) {
        overlap->files[i].path = paths[i];
        overlap->files[i].reference = i;
        good = sample_file(&overlap->files[i], (uint32_t)i, most, &samples);
        if (overlap->files[i].cut < overlap->most)
            overlap->most = overlap->files[i].cut;
    }
    good = good && compare_samples(&samples, &differences) && judge_pairs(overlap, &differences);
    free(samples.all);
    free(differences.all);
    if (!good)
        overlap_free(overlap);
    return good;
}

void overlap_free(struct overlap *overlap)
{
    free(overlap->files);
    free(overlap->share);
    *overlap = (struct overlap){0};
}
