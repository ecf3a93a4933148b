/* SPDX-License-Identifier: BSD-2-Clause */
/* What a filter leaves of another source. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/devices/device.h"
#include "source/source.h"

enum { LINKS = 16 }; /* link types; more than there are that carry RDMA */

struct filtered {
    struct source source;
    struct source *from;
    char *text;
    struct {
        uint32_t type;
        struct device_filter *filter;
    } links[LINKS];
    size_t n;
    bool ended;
    bool any, over;   /* a packet came; all did */
    bool latest_left; /* the latest packet was left out */
    int64_t latest_ns;
    char error[512]; /* source.error */
};

/* A filter is compiled for one link type. NULL with error set. */
static const struct device_filter *filter_of(struct filtered *filtered, uint32_t linktype)
{
    struct device_filter *filter;

    for (size_t i = 0; i < filtered->n; i++)
        if (filtered->links[i].type == linktype)
            return filtered->links[i].filter;
    if (filtered->n == LINKS) {
        snprintf(filtered->error, sizeof(filtered->error),
                 "filter \"%s\": for more than %d link types", filtered->text, LINKS);
        return NULL;
    }
    filter = device_filter_new(filtered->text, linktype, DEVICE_SNAPLEN, filtered->error,
                               sizeof(filtered->error));
    if (filter) {
        filtered->links[filtered->n].type = linktype;
        filtered->links[filtered->n++].filter = filter;
    }
    return filter;
}

static void note_time(struct filtered *filtered, int64_t time_ns, bool matches)
{
    if (filtered->any && time_ns < filtered->latest_ns)
        return;
    filtered->any = true;
    filtered->latest_left = !matches;
    filtered->latest_ns = time_ns;
}

static enum source_status next(struct source *source, struct source_packet *packets, size_t max,
                               size_t *n)
{
    struct filtered *filtered = (struct filtered *)source;

    for (*n = 0; !filtered->ended;) {
        size_t many;
        enum source_status status = source_next(filtered->from, packets, max, &many);

        if (status == SOURCE_ERROR)
            snprintf(filtered->error, sizeof(filtered->error), "%s", filtered->from->error);
        filtered->over = status == SOURCE_END;
        if (status != SOURCE_OK)
            return status;
        for (size_t i = 0; i < many; i++) {
            const struct rpcrdma_packet *packet = &packets[i].packet;
            const struct device_filter *filter = filter_of(filtered, packet->linktype);
            bool matches;

            if (!filter) {
                filtered->ended = true;
                *n = 0;
                return SOURCE_ERROR;
            }
            matches = device_filter_match(filter, packet);
            note_time(filtered, packet->time_ns, matches);
            if (matches)
                packets[(*n)++] = packets[i];
        }
        if (*n > 0)
            return SOURCE_OK;
    }
    return SOURCE_END;
}

static bool interface(const struct source *source, uint32_t number, struct source_interface *out)
{
    return source_interface(((const struct filtered *)source)->from, number, out);
}

/* Packets were awaited until the last one at least, though that was left out. */
static void stats(const struct source *source, struct source_stats *out)
{
    const struct filtered *filtered = (const struct filtered *)source;

    source_stats(filtered->from, out);
    if (!filtered->over || !filtered->latest_left ||
        (out->end_known && out->end_ns >= filtered->latest_ns))
        return;
    out->end_known = true;
    out->end_ns = filtered->latest_ns;
}

static void report(const struct source *source, void (*line)(void *context, const char *text),
                   void *context)
{
    source_report(((const struct filtered *)source)->from, line, context);
}

static void watch_ends(struct source *source, source_ended *ended, void *context)
{
    source_watch_ends(((const struct filtered *)source)->from, ended, context);
}

static bool unrelated(const struct source *source, uint32_t a, uint32_t b)
{
    return source_unrelated(((const struct filtered *)source)->from, a, b);
}

static bool part(const struct source *source, size_t i, struct source_part *out)
{
    return source_part(((const struct filtered *)source)->from, i, out);
}

static bool part_of(const struct source *source, uint64_t frame, size_t *i)
{
    return source_part_of(((const struct filtered *)source)->from, frame, i);
}

static void close_filtered(struct source *source)
{
    struct filtered *filtered = (struct filtered *)source;

    for (size_t i = 0; i < filtered->n; i++)
        device_filter_free(filtered->links[i].filter);
    source_close(filtered->from);
    free(filtered->text);
    free(filtered);
}

struct source *source_filtered_open(struct source *from, const char *text, char *error, size_t size)
{
    static const struct source_ops ops = {next,       interface, stats, report, close_filtered,
                                          watch_ends, unrelated, part,  part_of};
    struct filtered *filtered = calloc(1, sizeof(*filtered));
    struct source_interface first;

    if (!filtered || !(filtered->text = strdup(text))) {
        snprintf(error, size, "out of memory");
        free(filtered);
        source_close(from);
        return NULL;
    }
    filtered->source.ops = &ops;
    filtered->source.error = filtered->error;
    filtered->source.live = from->live;
    filtered->from = from;
    /* where the link type is known by now, so is what is wrong with the filter */
    if (!source_interface(from, 0, &first) || filter_of(filtered, first.linktype))
        return &filtered->source;
    snprintf(error, size, "%s", filtered->error);
    close_filtered(&filtered->source);
    return NULL;
}
