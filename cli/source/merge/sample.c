/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/merge/sample.h"

#include <stdlib.h>
#include <string.h>

#include "common/times.h"
#include "source/merge/fingerprint.h"
#include "source/source.h"

enum {
    SAMPLE_BYTES = 64,  /* of the payload: transport headers with their sequence numbers */
    SAMPLES_LEAST = 64, /* per file */
};

bool samples_begin(struct samples *samples, size_t n, uint64_t seed)
{
    size_t most = SAMPLES_IN_ALL / n < SAMPLES_LEAST ? SAMPLES_LEAST : SAMPLES_IN_ALL / n;
    size_t places = 4;

    while (places < 2 * (most + SOURCE_BATCH))
        places *= 2;
    *samples = (struct samples){
        .all = malloc((n * most + SOURCE_BATCH) * sizeof(*samples->all)),
        .key = {{seed, n}},
        .most = most,
        .places = malloc(places * sizeof(*samples->places)),
        .mask = places - 1,
    };
    if (samples->all && samples->places && twins_begin(&samples->twins, n, &samples->key))
        return true;
    samples_free(samples);
    return false;
}

void samples_free(struct samples *samples)
{
    free(samples->all);
    free(samples->places);
    twins_free(&samples->twins);
    *samples = (struct samples){0};
}

/* Where a sample of the key is, or may be put. The place is by the process's own key. */
static uint32_t *place(struct samples *samples, uint64_t key)
{
    size_t at = siphash_words(fingerprint_key(), &key, 1) & samples->mask;

    while (samples->places[at] != 0 &&
           samples->all[samples->from + samples->places[at] - 1].key != key)
        at = (at + 1) & samples->mask;
    return &samples->places[at];
}

static void add(struct samples *samples, const struct sample *sample)
{
    uint32_t *at = place(samples, sample->key);
    struct sample *before;

    if (*at != 0) {
        before = &samples->all[samples->from + *at - 1];
        if (!before->several) /* how much later, from now on */
            before->time_ns = time_less(sample->time_ns, before->time_ns);
        before->several = true;
        return;
    }
    samples->all[samples->n++] = *sample;
    *at = (uint32_t)(samples->n - samples->from);
}

/* Halves the file's sample until there is room. */
static void thin_out(struct samples *samples)
{
    while (samples->n - samples->from >= samples->most) {
        size_t kept = samples->from;

        samples->limit /= 2;
        memset(samples->places, 0, (samples->mask + 1) * sizeof(*samples->places));
        for (size_t i = samples->from; i < samples->n; i++) {
            if (samples->all[i].key > samples->limit)
                continue;
            samples->all[kept++] = samples->all[i];
            *place(samples, samples->all[kept - 1].key) = (uint32_t)(kept - samples->from);
        }
        samples->n = kept;
    }
}

static void take_packet(struct samples *samples, struct overlap_file *file, uint32_t number,
                        const struct rpcrdma_packet *packet)
{
    struct fingerprint print;
    uint32_t cut = fingerprint_cut(packet);
    uint64_t key;

    if (!file->readable || packet->time_ns < file->first_ns)
        file->first_ns = packet->time_ns;
    if (!file->readable || packet->time_ns > file->last_ns)
        file->last_ns = packet->time_ns;
    file->readable = true;
    if (cut < file->cut)
        file->cut = cut;
    if (!fingerprint(packet, SAMPLE_BYTES, &print))
        return;
    twins_add(&samples->twins, print.high, packet->time_ns);
    /* of the half that is the same in each run: the same packets, and so the same clocks */
    key = siphash_words(&samples->key, &print.high, 1);
    if (key <= samples->limit)
        add(samples,
            &(struct sample){key, packet->time_ns, number, print.id, print.forward, false});
}

static int by_time(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;

    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* Puts them behind the others, and forgets them. */
static void drop_several(struct samples *samples, struct overlap_file *file)
{
    struct sample *own = samples->all + samples->from;
    size_t n = samples->n - samples->from, kept = 0;

    for (size_t i = 0; i < n; i++) {
        struct sample one = own[i];

        if (one.several)
            continue;
        own[i] = own[kept];
        own[kept++] = one;
    }
    file->repeated = n - kept;
    if (file->repeated > 0) {
        qsort(own + kept, file->repeated, sizeof(*own), by_time);
        file->repeated_ns = own[kept + file->repeated / 2].time_ns;
    }
    samples->n = samples->from + kept;
}

bool samples_take(struct samples *samples, struct overlap_file *file, uint32_t number,
                  struct replays *replays)
{
    char error[512]; /* what is wrong with a file is said when it is read in earnest */
    struct source *source = source_file_open(file->path, NULL, error, sizeof(error));
    struct source_packet packets[SOURCE_BATCH];
    bool good = true;
    size_t n;

    samples->from = samples->n;
    samples->limit = UINT64_MAX;
    file->cut = FINGERPRINT_ALL;
    if (!source)
        return true;
    memset(samples->places, 0, (samples->mask + 1) * sizeof(*samples->places));
    twins_file(&samples->twins, number);
    while (source_next(source, packets, SOURCE_BATCH, &n) != SOURCE_END) {
        for (size_t i = 0; i < n; i++) {
            if (packets[i].replayed)
                good = good && replays_add(replays, &packets[i].packet);
            else
                take_packet(samples, file, number, &packets[i].packet);
        }
        thin_out(samples);
    }
    source_close(source);
    twins_file_end(&samples->twins);
    drop_several(samples, file);
    file->sampled = samples->n - samples->from;
    file->times_from = samples->from;
    file->limit = samples->limit;
    return good;
}
