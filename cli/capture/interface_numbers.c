/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/interface_numbers.h"

void interface_numbers_begin(struct interface_numbers *numbers, struct capture_files *files,
                             bool bare)
{
    *numbers = (struct interface_numbers){
        .files = files,
        .bare = bare,
        .of_source = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
        .of_files = g_hash_table_new(NULL, NULL),
        .shares = g_hash_table_new_full(NULL, NULL, NULL, g_free),
        .together = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free),
    };
}

void interface_numbers_free(struct interface_numbers *numbers)
{
    g_array_free(numbers->of_source, TRUE);
    g_hash_table_destroy(numbers->of_files);
    g_hash_table_destroy(numbers->shares);
    g_hash_table_destroy(numbers->together);
}

bool interface_numbers_add(struct interface_numbers *numbers, uint32_t of_source)
{
    struct pcapng_interface written;
    struct source_interface one;

    if (!source_interface(numbers->source, of_source, &one) ||
        numbers->of_source->len == INTERFACES_MOST)
        return false;
    if (g_hash_table_contains(numbers->of_files, GUINT_TO_POINTER(of_source)))
        return true;
    g_hash_table_insert(numbers->of_files, GUINT_TO_POINTER(of_source),
                        GUINT_TO_POINTER(numbers->of_source->len));
    g_array_append_val(numbers->of_source, of_source);
    written = (struct pcapng_interface){.linktype = one.linktype, .snaplen = one.snaplen};
    if (!numbers->bare) {
        written.name = one.name;
        written.description = one.description;
        written.filter = one.filter;
        written.comment = one.comment;
    }
    capture_files_interface(numbers->files, &written);
    return true;
}

bool interface_numbers_find(const struct interface_numbers *numbers, uint32_t of_source,
                            uint32_t *of_files)
{
    gpointer index;

    /* of one file, most often the same */
    if (of_source < numbers->of_source->len &&
        g_array_index(numbers->of_source, uint32_t, of_source) == of_source) {
        *of_files = of_source;
        return true;
    }
    if (!g_hash_table_lookup_extended(numbers->of_files, GUINT_TO_POINTER(of_source), NULL, &index))
        return false;
    *of_files = GPOINTER_TO_UINT(index);
    return true;
}

/* What is told of an interface, or of all that count the same packets. */
struct share {
    uint64_t counted; /* of struct source_interface; a key */
    uint64_t received, dropped;
    uint32_t first; /* that was met */
    bool several;
};

static void take(uint64_t *own, uint64_t *all, uint64_t counted, bool several)
{
    if (!several) {
        *own = *all = counted;
    } else if (counted > *all) {
        *own += counted - *all;
        *all = counted;
    }
}

void interface_numbers_share(const struct interface_numbers *numbers, uint32_t of_source,
                             struct source_interface *one)
{
    struct share first = {.counted = one->counted, .first = of_source}, *own = &first, *all;
    uint32_t of_files;

    all = one->counted ? g_hash_table_lookup(numbers->together, &one->counted) : NULL;
    if (!all) {
        if (one->counted == 0 || g_hash_table_size(numbers->together) == INTERFACES_MOST)
            return;
        all = g_memdup2(&first, sizeof(first));
        g_hash_table_insert(numbers->together, &all->counted, all);
    }
    /* else its last word, which is for once */
    if (interface_numbers_find(numbers, of_source, &of_files)) {
        own = g_hash_table_lookup(numbers->shares, GUINT_TO_POINTER(of_source));
        if (!own) {
            own = g_memdup2(&first, sizeof(first));
            g_hash_table_insert(numbers->shares, GUINT_TO_POINTER(of_source), own);
        }
    }
    all->several |= all->first != of_source;
    take(&own->received, &all->received, one->received, all->several);
    take(&own->dropped, &all->dropped, one->dropped, all->several);
    one->received = own->received;
    one->dropped = own->dropped;
    one->since_known &= all->first == of_source; /* the others': of a part of that time */
}

static void put_counts(const struct interface_numbers *numbers, uint32_t of_source,
                       uint32_t of_files, const struct source_interface *from)
{
    struct source_interface one = *from;

    interface_numbers_share(numbers, of_source, &one);
    capture_files_statistics(
        numbers->files, of_files,
        &(struct pcapng_statistics){.received_known = one.received_known,
                                    .received = one.received,
                                    .dropped_known = one.dropped_known,
                                    .dropped = one.dropped,
                                    .since_known = one.since_known && !numbers->bare,
                                    .since_ns = one.since_ns,
                                    .comment = numbers->bare ? NULL : one.counts_comment});
}

void interface_numbers_refresh(const struct interface_numbers *numbers, uint32_t of_files)
{
    uint32_t of_source = g_array_index(numbers->of_source, uint32_t, of_files);
    struct source_interface one;

    if (source_interface(numbers->source, of_source, &one))
        put_counts(numbers, of_source, of_files, &one);
}

bool interface_numbers_ended(const struct interface_numbers *numbers, uint32_t of_source,
                             const struct source_interface *last)
{
    uint32_t of_files;

    if (!interface_numbers_find(numbers, of_source, &of_files))
        return false;
    put_counts(numbers, of_source, of_files, last);
    return true;
}
