/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/interfaces.h"

#include <string.h>

#include "source/source.h"

struct interface_texts {
    char *name, *description, *filter, *comment;
};

static void free_one(gpointer data)
{
    struct capture_interface *one = data;

    if (one->texts) {
        g_free(one->texts->name);
        g_free(one->texts->description);
        g_free(one->texts->filter);
        g_free(one->texts->comment);
    }
    g_free(one->texts);
    if (one->counts)
        g_free((char *)one->counts->latest.comment);
    g_free(one->counts);
}

void capture_interfaces_begin(struct capture_interfaces *interfaces)
{
    interfaces->all = g_array_new(FALSE, FALSE, sizeof(struct capture_interface));
    g_array_set_clear_func(interfaces->all, free_one);
}

void capture_interfaces_free(struct capture_interfaces *interfaces)
{
    if (interfaces->all)
        g_array_free(interfaces->all, TRUE);
}

struct capture_interface *capture_interfaces_at(const struct capture_interfaces *interfaces,
                                                uint32_t number)
{
    return &g_array_index(interfaces->all, struct capture_interface, number);
}

/* A copy; NULL where there is no room. */
static char *keep(struct capture_interfaces *interfaces, const char *text)
{
    size_t size = text ? strlen(text) + SOURCE_TEXT_ADDED : 0;

    if (!text)
        return NULL;
    if (interfaces->texts + size > source_texts_most) {
        interfaces->texts_left_out++;
        return NULL;
    }
    interfaces->texts += size;
    return g_strdup(text);
}

void capture_interfaces_add(struct capture_interfaces *interfaces,
                            const struct pcapng_interface *one)
{
    struct interface_texts texts = {keep(interfaces, one->name), keep(interfaces, one->description),
                                    keep(interfaces, one->filter), keep(interfaces, one->comment)};
    struct capture_interface copy = {.linktype = one->linktype, .snaplen = one->snaplen};

    if (texts.name || texts.description || texts.filter || texts.comment) {
        copy.texts = g_memdup2(&texts, sizeof(texts));
        interfaces->texts += sizeof(texts) + SOURCE_TEXT_ADDED;
    }
    g_array_append_val(interfaces->all, copy);
}

void capture_interfaces_count(struct capture_interfaces *interfaces, uint32_t number,
                              const struct pcapng_statistics *counts)
{
    struct capture_interface *one = capture_interfaces_at(interfaces, number);

    if (!counts->comment && !counts->received_known && !counts->interface_dropped_known &&
        !counts->dropped_known && !counts->delivered_known)
        return;
    if (!one->counts)
        one->counts = g_new0(struct capture_counts, 1);
    if (one->counts->latest.comment)
        interfaces->texts -= strlen(one->counts->latest.comment) + SOURCE_TEXT_ADDED;
    g_free((char *)one->counts->latest.comment);
    one->counts->latest = *counts;
    one->counts->latest.comment = keep(interfaces, counts->comment);
}

static uint64_t more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

struct pcapng_statistics capture_interface_counted(const struct capture_interface *one)
{
    const struct capture_counts *counts = one->counts;
    struct pcapng_statistics out = counts->latest;

    out.received = more(out.received, counts->received);
    out.interface_dropped = more(out.interface_dropped, counts->interface_dropped);
    out.dropped = more(out.dropped, counts->dropped);
    out.delivered = more(out.delivered, counts->delivered);
    if (counts->ended) {
        out.since_known = true;
        out.since_ns = counts->ended_ns;
    }
    return out;
}

struct pcapng_statistics capture_interface_ended(struct capture_interface *one, int64_t now_ns)
{
    struct pcapng_statistics out = capture_interface_counted(one);
    struct capture_counts *counts = one->counts;

    counts->received += out.received;
    counts->interface_dropped += out.interface_dropped;
    counts->dropped += out.dropped;
    counts->delivered += out.delivered;
    /* a file that is read may tell of all of it at its end */
    if (out.received > 0 || out.interface_dropped > 0 || out.dropped > 0 || out.delivered > 0) {
        counts->ended = true;
        counts->ended_ns = now_ns;
    }
    return out;
}

struct pcapng_interface capture_interface_block(const struct capture_interface *one)
{
    static const struct interface_texts none;
    const struct interface_texts *texts = one->texts ? one->texts : &none;

    return (struct pcapng_interface){
        .linktype = one->linktype,
        .snaplen = one->snaplen,
        .early = one->early,
        .name = texts->name,
        .description = texts->description,
        .filter = texts->filter,
        .comment = texts->comment,
    };
}
