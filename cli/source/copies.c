/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/copies.h"

#include <stdlib.h>

#include "times.h"

enum {
    ENTRIES = 1 << 18, /* 12 MiB */
    BUCKETS = 1 << 17,
    NONE = UINT32_MAX,
};

/* Longer than any packet is under way between two places, and than clocks drift apart in a capture
 * of an hour. */
static const int64_t MEMORY_NS = INT64_C(5000000000);

struct entry { /* equal packets of one file */
    uint64_t low, high;
    int64_t time_ns; /* of the last one */
    uint32_t file, count;
    uint32_t next; /* in the bucket */
    bool used;
};

struct copies {
    const struct overlap *overlap;
    uint32_t buckets[BUCKETS];
    struct entry entries[ENTRIES];
    uint32_t oldest; /* entries are used round and round */
};

struct copies *copies_new(const struct overlap *overlap)
{
    struct copies *copies = calloc(1, sizeof(*copies));

    if (!copies)
        return NULL;
    copies->overlap = overlap;
    for (size_t i = 0; i < BUCKETS; i++)
        copies->buckets[i] = NONE;
    return copies;
}

void copies_free(struct copies *copies)
{
    free(copies);
}

static uint32_t *bucket(struct copies *copies, uint64_t low)
{
    return &copies->buckets[low % BUCKETS];
}

/* Takes the entry that was made longest ago. */
static struct entry *new_entry(struct copies *copies)
{
    uint32_t number = copies->oldest;
    struct entry *entry = &copies->entries[number];

    copies->oldest = (number + 1) % ENTRIES;
    if (entry->used) {
        uint32_t *link = bucket(copies, entry->low);

        while (*link != number)
            link = &copies->entries[*link].next;
        *link = entry->next;
    }
    return entry;
}

/* Whether the file was being captured then. */
static bool covers(const struct overlap_file *file, int64_t time_ns)
{
    int64_t first_ns = time_less(file->first_ns, file->offset_ns);
    int64_t last_ns = time_less(file->last_ns, file->offset_ns);

    return time_ns >= time_less(first_ns, MEMORY_NS) && time_ns <= time_plus(last_ns, MEMORY_NS);
}

bool copies_is_one(struct copies *copies, uint32_t file, int64_t time_ns,
                   const struct fingerprint *print)
{
    uint32_t *head = bucket(copies, print->low), others = 0;
    struct entry *mine = NULL;

    for (uint32_t *link = head; *link != NONE;) {
        struct entry *entry = &copies->entries[*link];

        if (entry->time_ns < time_less(time_ns, MEMORY_NS)) {
            *link = entry->next; /* so long ago that it would be another packet */
            entry->used = false;
            continue;
        }
        link = &entry->next;
        if (entry->low != print->low || entry->high != print->high)
            continue;
        if (entry->file == file)
            mine = entry;
        else if (overlap_shares(copies->overlap, file, entry->file) && entry->count > others &&
                 covers(&copies->overlap->files[entry->file], time_ns))
            others = entry->count;
    }
    if (!mine) {
        mine = new_entry(copies);
        *mine = (struct entry){
            .low = print->low,
            .high = print->high,
            .file = file,
            .next = *head,
            .used = true,
        };
        *head = (uint32_t)(mine - copies->entries);
    }
    mine->time_ns = time_ns;
    return ++mine->count <= others;
}
