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
    };
}

void interface_numbers_free(struct interface_numbers *numbers)
{
    g_array_free(numbers->of_source, TRUE);
    g_hash_table_destroy(numbers->of_files);
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

static void put_counts(const struct interface_numbers *numbers, uint32_t of_files,
                       const struct source_interface *one)
{
    capture_files_statistics(
        numbers->files, of_files,
        &(struct pcapng_statistics){.received_known = one->received_known,
                                    .received = one->received,
                                    .dropped_known = one->dropped_known,
                                    .dropped = one->dropped,
                                    .since_known = one->since_known && !numbers->bare,
                                    .since_ns = one->since_ns,
                                    .comment = numbers->bare ? NULL : one->counts_comment});
}

void interface_numbers_refresh(const struct interface_numbers *numbers, uint32_t of_files)
{
    struct source_interface one;

    if (source_interface(numbers->source, g_array_index(numbers->of_source, uint32_t, of_files),
                         &one))
        put_counts(numbers, of_files, &one);
}

bool interface_numbers_ended(const struct interface_numbers *numbers, uint32_t of_source,
                             const struct source_interface *last)
{
    uint32_t of_files;

    if (!interface_numbers_find(numbers, of_source, &of_files))
        return false;
    put_counts(numbers, of_files, last);
    return true;
}
