/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/merge/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/times.h"
#include "source/formats/counts.h"
#include "source/formats/file.h"

enum {
    DESCRIPTORS = 16,  /* kept of files that were not opened before */
    BYTES = 64 * 1024, /* of parked packets given out at once; more where one is larger */
};

static struct input *input_of_part(const struct part *part)
{
    return source_file_input(part->source);
}

/* -- what a part takes ------------------------------------------------------------------------- */

/* It took so much, before. */
static void forget(struct parts *parts, struct part *part)
{
    *(part->held_window ? &parts->windows : &parts->unpacking) -= part->held;
    part->held = 0;
}

static void count(struct parts *parts, struct part *part)
{
    const struct input *in = input_of_part(part);

    part->held_window = input_seekable(in);
    part->held = input_memory(in);
    *(part->held_window ? &parts->windows : &parts->unpacking) += part->held;
}

/* Of the packets that are known, where they are. */
static void park(struct part *part, const uint8_t *data, uint64_t base)
{
    part->base = base;
    part->parked = true;
    for (uint32_t i = part->at; i < part->n; i++) {
        struct source_packet *one = &part->packets[i];

        one->packet.data = (const uint8_t *)(uintptr_t)(one->packet.data - data);
        if (one->comment_len > 0)
            one->comment = (const char *)(uintptr_t)((const uint8_t *)one->comment - data);
    }
}

static void count_descriptor(struct parts *parts, struct part *part)
{
    struct input *in = input_of_part(part);

    parts->descriptors -= part->descriptor;
    part->descriptor = input_has_descriptor(in);
    if (part->descriptor && parts->descriptors >= DESCRIPTORS) {
        input_rest(in);
        part->descriptor = input_has_descriptor(in);
    }
    parts->descriptors += part->descriptor;
}

/* Keeps all parts together within bounds: whoever came last gives way. False with a line in the
 * input's error. */
static bool settle(struct parts *parts, struct part *part)
{
    struct input *in = input_of_part(part);
    const uint8_t *data = in->data;
    uint64_t base = in->base;
    bool good = true;

    if (in->ahead && in->feed->read_at)
        return true; /* few have a thread that reads ahead */
    count(parts, part);
    if (!part->held_window && parts->unpacking > parts->unpacking_most) {
        forget(parts, part);
        good = input_spill(in);
        if (good)
            park(part, data, base);
        count(parts, part);
    } else if (part->held_window && parts->windows > parts->windows_most) {
        forget(parts, part);
        input_let_go(in);
        park(part, data, base);
    }
    count_descriptor(parts, part);
    return good;
}

/* Of the part's interfaces, which are so many at most. */
static size_t counts_of(const struct part *part, struct source_count *out, size_t most)
{
    if (part->source)
        return source_counts_of(part->source, out, most);
    if (out && part->n_counts <= most && part->n_counts > 0)
        memcpy(out, part->counts ? part->counts : &part->count, part->n_counts * sizeof(*out));
    return part->n_counts;
}

/* Interfaces of several files may count the same packets, as those of a ring. */
static void add_counts(const struct part *parts, size_t n, struct source_stats *out)
{
    struct source_count *all;
    size_t room = 0, at = 0;

    for (size_t i = 0; i < n; i++)
        room += counts_of(&parts[i], NULL, 0);
    all = room > 0 ? calloc(room, sizeof(*all)) : NULL;
    for (size_t i = 0; i < n; i++) {
        struct source_stats one = parts[i].stats;

        if (all) {
            at += counts_of(&parts[i], all + at, room - at);
            continue;
        }
        if (parts[i].source)
            source_stats(parts[i].source, &one);
        source_counts_add(&(struct source_count){0, one.received, one.dropped}, 1, out);
    }
    if (all)
        source_counts_add(all, at, out);
    free(all);
}

/* By the common clock. */
static void add_end(const struct part *part, const struct source_stats *one,
                    struct source_stats *out)
{
    int64_t end_ns = source_time(time_less(one->end_ns, part->offset_ns));

    if (one->end_known && (!out->end_known || end_ns > out->end_ns))
        out->end_ns = end_ns;
    out->end_known |= one->end_known;
}

void parts_stats(const struct part *parts, size_t n, struct source_stats *out)
{
    struct source_stats one;

    *out = (struct source_stats){.received_known = true};
    for (size_t i = 0; i < n; i++) {
        one = parts[i].stats;
        if (parts[i].source)
            source_stats(parts[i].source, &one);
        out->texts_left_out += one.texts_left_out;
        out->other_blocks += one.other_blocks;
        out->comments += one.comments;
        out->untimed += one.untimed;
        out->said_micro |= one.said_micro;
        out->read += one.read;
        out->size += one.size;
        add_end(&parts[i], &one, out);
        out->received_known &= one.received_known;
        out->dropped_known |= one.dropped_known; /* by some: so many at least */
    }
    add_counts(parts, n, out);
}

static void keep_counts(struct part *part)
{
    part->n_counts = source_counts_of(part->source, &part->count, 1);
    if (part->n_counts < 2)
        return;
    part->counts = calloc(part->n_counts, sizeof(*part->counts));
    if (part->counts) {
        source_counts_of(part->source, part->counts, part->n_counts);
    } else {
        part->count = (struct source_count){0, part->stats.received, part->stats.dropped};
        part->n_counts = 1;
    }
}

void part_forget(struct part *part)
{
    free(part->counts);
    part->counts = NULL;
    part->n_counts = 0;
}

void part_close(struct parts *parts, struct part *part)
{
    if (!part->source)
        return;
    forget(parts, part);
    parts->descriptors -= part->descriptor;
    part->descriptor = false;
    source_stats(part->source, &part->stats);
    keep_counts(part);
    if (parts->ending)
        parts->ending(parts->context, part);
    source_close(part->source);
    part->source = NULL;
}

/* -- its packets ------------------------------------------------------------------------------- */

bool part_refill(struct parts *parts, struct part *part, char *error, size_t size)
{
    enum source_status status;
    size_t n;

    part->at = part->n = 0;
    part->parked = false;
    if (!part->source)
        part->source = source_file_open(part->path, &parts->config, error, size);
    else
        forget(parts, part);
    part->ended = !part->source;
    if (part->ended)
        return false;
    status = source_next(part->source, part->packets, parts->batch, &n);
    part->n = (uint32_t)n;
    if (status == SOURCE_ERROR)
        snprintf(error, size, "%s", part->source->error);
    if (status != SOURCE_END && !settle(parts, part)) {
        snprintf(error, size, "%s", input_error(input_of_part(part)));
        part->at = part->n = 0;
        part->ended = true;
        part_close(parts, part);
        return false;
    }
    part->ended = status == SOURCE_END;
    if (part->ended)
        part_close(parts, part);
    return status != SOURCE_ERROR;
}

/* Room for n more bytes. */
static enum part_fetch make_room(struct parts *parts, size_t n)
{
    uint8_t *more;

    if (n <= parts->room - parts->n_bytes)
        return PART_FETCHED;
    if (parts->n_bytes > 0)
        return PART_NO_ROOM;
    n = n < BYTES ? BYTES : n;
    more = realloc(parts->bytes, n);
    if (!more)
        return PART_FAILED;
    parts->bytes = more;
    parts->room = n;
    return PART_FETCHED;
}

enum part_fetch part_fetch(struct parts *parts, struct part *part, struct source_packet *out,
                           char *error, size_t size)
{
    const struct source_packet *packet = &part->packets[part->at];
    struct input *in = input_of_part(part);
    uint32_t caplen = packet->packet.caplen;
    enum part_fetch result = make_room(parts, (size_t)caplen + packet->comment_len);

    *out = *packet;
    out->packet.data = parts->bytes + parts->n_bytes;
    out->comment = (const char *)out->packet.data + caplen;
    if (result == PART_NO_ROOM)
        return result;
    if (result == PART_FETCHED &&
        input_read_at(in, parts->bytes + parts->n_bytes, caplen,
                      part->base + (uintptr_t)packet->packet.data) &&
        (packet->comment_len == 0 ||
         input_read_at(in, parts->bytes + parts->n_bytes + caplen, packet->comment_len,
                       part->base + (uintptr_t)packet->comment)))
        return PART_FETCHED;
    snprintf(error, size, "%s", result == PART_FETCHED ? input_error(in) : "out of memory");
    part->ended = true;
    part_close(parts, part);
    return PART_FAILED;
}

void part_given(struct parts *parts, const struct part *part, const struct source_packet *packet)
{
    if (part->parked)
        parts->n_bytes += packet->packet.caplen + packet->comment_len;
}

void parts_reuse(struct parts *parts)
{
    parts->n_bytes = 0;
}
