/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An entry has the counts of the few files that saw the packet most often: no other count decides.
 * Those of further files are entries of their own, so that a packet that thousands of files have
 * takes no longer than one that two have.
 */
#include "source/merge/copies.h"

#include <stdlib.h>

#include "common/times.h"

enum { COUNTS = 4, LEAST = 2 * 1024 * 1024, NONE = UINT32_MAX };

/* Longer than any packet is under way between two places, and than clocks drift apart in a capture
 * of an hour; and what is longer than the first. */
static const int64_t MEMORY_NS = INT64_C(5000000000), ENOUGH_NS = INT64_C(1000000000);

/* Packets of one time come at one time, by and large. */
static const int64_t TIMED_NS = 10000000;

struct count {
    uint32_t file, count; /* count 0: not used */
};

struct entry { /* equal packets: a cache line */
    uint64_t low, high;
    int64_t time_ns; /* of the last one */
    uint32_t next;   /* in the bucket */
    uint16_t of;     /* the reference of the files that it is in, or one file */
    bool one;        /* it is of one file, which counts[0] is */
    bool used;
    bool timed; /* equal at one time */
    struct count counts[COUNTS];
};

struct copies {
    const struct overlap *overlap;
    uint32_t *buckets;
    struct entry *entries;
    uint32_t n, n_buckets;
    uint32_t oldest;       /* entries are used round and round */
    int64_t remembered_ns; /* the shortest that one was, before its place was needed */
};

struct copies *copies_new(const struct overlap *overlap, size_t memory)
{
    struct copies *copies = calloc(1, sizeof(*copies));
    size_t n = (memory < LEAST ? LEAST : memory) / sizeof(struct entry);

    if (!copies)
        return NULL;
    copies->overlap = overlap;
    copies->n = n < NONE ? (uint32_t)n : NONE - 1;
    copies->n_buckets = copies->n;
    copies->remembered_ns = INT64_MAX;
    copies->entries = calloc(copies->n, sizeof(*copies->entries));
    copies->buckets = malloc(copies->n_buckets * sizeof(*copies->buckets));
    if (!copies->entries || !copies->buckets) {
        copies_free(copies);
        return NULL;
    }
    for (size_t i = 0; i < copies->n_buckets; i++)
        copies->buckets[i] = NONE;
    return copies;
}

void copies_free(struct copies *copies)
{
    if (!copies)
        return;
    free(copies->entries);
    free(copies->buckets);
    free(copies);
}

/* Many groups of files, or files, may have one packet: they do not share a bucket. */
static uint32_t *bucket(struct copies *copies, uint64_t low, uint16_t of, bool one)
{
    uint64_t key = (low ^ ((uint64_t)of * 2 + one)) * UINT64_C(0x9e3779b97f4a7c15) >> 20;

    return &copies->buckets[key % copies->n_buckets];
}

/* Takes the entry that was made longest ago. */
static struct entry *new_entry(struct copies *copies, int64_t time_ns)
{
    uint32_t number = copies->oldest;
    struct entry *entry = &copies->entries[number];

    copies->oldest = (number + 1) % copies->n;
    if (entry->used) {
        uint32_t *link = bucket(copies, entry->low, entry->of, entry->one);
        int64_t age_ns = time_less(time_ns, entry->time_ns);

        if (age_ns >= 0 && age_ns < (entry->timed ? TIMED_NS : copies->remembered_ns) &&
            age_ns < copies->remembered_ns)
            copies->remembered_ns = age_ns;
        while (*link != number)
            link = &copies->entries[*link].next;
        *link = entry->next;
        entry->used = false;
    }
    return entry;
}

/* NULL: there is none. */
static struct entry *find(struct copies *copies, const struct fingerprint *print, uint16_t of,
                          bool one, int64_t time_ns)
{
    for (uint32_t *link = bucket(copies, print->low, of, one); *link != NONE;) {
        struct entry *entry = &copies->entries[*link];

        if (entry->time_ns < time_less(time_ns, MEMORY_NS)) {
            *link = entry->next; /* so long ago that it would be another packet */
            entry->used = false;
            continue;
        }
        if (entry->low == print->low && entry->high == print->high && entry->of == of &&
            entry->one == one)
            return entry;
        link = &entry->next;
    }
    return NULL;
}

static struct entry *make(struct copies *copies, const struct fingerprint *print, uint16_t of,
                          bool one, int64_t time_ns)
{
    struct entry *entry = new_entry(copies, time_ns);
    uint32_t *head = bucket(copies, print->low, of, one);

    *entry = (struct entry){
        .low = print->low, .high = print->high, .next = *head, .of = of, .one = one, .used = true};
    *head = (uint32_t)(entry - copies->entries);
    return entry;
}

/* Whether the file was being captured then. */
static bool covers(const struct overlap_file *file, int64_t time_ns)
{
    return time_ns >= time_less(file->all_first_ns, MEMORY_NS) &&
           time_ns <= time_plus(file->all_last_ns, MEMORY_NS);
}

/* How often another file had it that was captured at the same time; `twins`: any other one. */
static uint32_t others(const struct copies *copies, const struct entry *entry, uint32_t file,
                       int64_t time_ns, bool twins)
{
    uint32_t most = 0;

    for (size_t i = 0; i < COUNTS; i++) {
        const struct count *one = &entry->counts[i];

        if (one->count > most && one->file != file &&
            (twins || (overlap_together(copies->overlap, file, one->file) &&
                       covers(&copies->overlap->files[one->file], time_ns))))
            most = one->count;
    }
    return most;
}

/* Remembers what a file has counted that is not among those with the most. */
static void put_aside(struct copies *copies, const struct fingerprint *print,
                      const struct count *count, int64_t time_ns, bool timed)
{
    struct entry *entry = find(copies, print, (uint16_t)count->file, true, time_ns);

    if (!entry)
        entry = make(copies, print, (uint16_t)count->file, true, time_ns);
    entry->counts[0] = *count;
    entry->time_ns = time_ns;
    entry->timed = timed;
}

/* One more of the file: how many that makes. */
static uint32_t count(struct copies *copies, struct entry *entry, uint32_t file, int64_t time_ns,
                      const struct fingerprint *print)
{
    struct count *least = &entry->counts[0], mine = {file, 1}, before;
    const struct entry *aside;

    for (size_t i = 0; i < COUNTS; i++) {
        if (entry->counts[i].count > 0 && entry->counts[i].file == file)
            return ++entry->counts[i].count;
        if (entry->counts[i].count < least->count)
            least = &entry->counts[i];
    }
    if (least->count == 0) {
        *least = mine;
        return 1;
    }
    aside = find(copies, print, (uint16_t)file, true, time_ns);
    if (aside)
        mine.count += aside->counts[0].count;
    before = *least;
    if (mine.count > before.count)
        *least = mine;
    put_aside(copies, print, mine.count > before.count ? &before : &mine, time_ns, entry->timed);
    return mine.count;
}

/* One more of `file`, among the files of `of`. */
static bool is_one(struct copies *copies, uint32_t file, uint16_t of, int64_t time_ns,
                   const struct fingerprint *print, bool twins)
{
    struct entry *entry = find(copies, print, of, false, time_ns);
    uint32_t most;

    if (!entry)
        entry = make(copies, print, of, false, time_ns);
    entry->time_ns = time_ns;
    entry->timed = twins;
    most = others(copies, entry, file, time_ns, twins);
    return count(copies, entry, file, time_ns, print) <= most; /* which may take the entry */
}

/* The packet with its time. */
static struct fingerprint at_time(const struct fingerprint *print, int64_t time_ns)
{
    uint64_t words[] = {print->low, (uint64_t)time_ns};
    struct fingerprint out = *print;

    out.low = siphash_words(fingerprint_key(), words, 2);
    out.high ^= ~(uint64_t)time_ns;
    return out;
}

bool copies_is_one(struct copies *copies, uint32_t file, int64_t time_ns,
                   const struct fingerprint *print)
{
    const struct overlap_file *one = &copies->overlap->files[file];

    if (one->twins) {
        struct fingerprint timed = at_time(print, time_ns);

        if (is_one(copies, file, (uint16_t)one->twin, time_ns, &timed, true))
            return true;
    }
    return one->elsewhere &&
           is_one(copies, (uint32_t)one->twin, (uint16_t)one->reference, time_ns, print, false);
}

int64_t copies_remembered_ns(const struct copies *copies)
{
    return copies->remembered_ns < ENOUGH_NS ? copies->remembered_ns : 0;
}
