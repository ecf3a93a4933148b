/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture file as a source: which format it is, and what the formats need. */
#include "source/formats/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/bytes/follow_feed.h"
#include "source/formats/counts.h"

size_t source_interfaces_most = SOURCE_INTERFACES_LEAST;
size_t source_texts_most = SOURCE_TEXTS_LEAST;
static size_t rooms; /* for them, in all open files */

struct file_interface *file_interface_add(struct file *file)
{
    size_t number = file->n_interfaces - file->section_first;

    if (file->n_interfaces == SOURCE_MAX_INTERFACES) {
        input_fail(file->in, "byte %" PRIu64 ": more than %d interfaces", input_offset(file->in),
                   SOURCE_MAX_INTERFACES);
        return NULL;
    }
    if (file->n_interfaces == file->n_room) {
        size_t room = file->n_room ? 2 * file->n_room : 4;
        struct file_interface *more;

        if (rooms + room - file->n_room > source_interfaces_most) {
            input_fail(file->in,
                       "byte %" PRIu64 ": more than %zu interfaces in the files that are read at "
                       "the same time; more --max-memory allows them",
                       input_offset(file->in), source_interfaces_most);
            return NULL;
        }
        more = realloc(file->interfaces, room * sizeof(*more));
        if (!more) {
            input_fail(file->in, "out of memory");
            return NULL;
        }
        file->interfaces = more;
        rooms += room - file->n_room;
        file->n_room = room;
    }
    file->interfaces[file->n_interfaces] =
        (struct file_interface){.number = (uint16_t)(number < UINT16_MAX ? number : UINT16_MAX)};
    return &file->interfaces[file->n_interfaces++];
}

static uint64_t power(uint64_t base, unsigned exponent)
{
    uint64_t v = 1;

    while (exponent-- > 0)
        v *= base;
    return v;
}

int64_t file_time(const struct file_interface *interface, uint64_t ticks)
{
    const uint64_t billion = 1000000000;
    unsigned exponent = interface->exponent;
    uint64_t seconds, ns;
    int64_t whole, result;

    if (interface->binary) {
        uint64_t part = ticks & ((UINT64_C(1) << exponent) - 1);

        seconds = ticks >> exponent;
        if (exponent > 32) { /* keep 32 bits of the fraction: a quarter of a nanosecond */
            part >>= exponent - 32;
            exponent = 32;
        }
        ns = part * billion >> exponent;
    } else if (exponent <= 9) {
        seconds = ticks / power(10, exponent);
        ns = ticks % power(10, exponent) * power(10, 9 - exponent);
    } else {
        ticks /= power(10, exponent - 9);
        seconds = ticks / billion;
        ns = ticks % billion;
    }
    if (seconds > INT64_MAX ||
        __builtin_add_overflow((int64_t)seconds, interface->offset_s, &whole) ||
        __builtin_mul_overflow(whole, (int64_t)billion, &result) ||
        __builtin_add_overflow(result, (int64_t)ns, &result))
        return interface->offset_s < 0 && seconds <= INT64_MAX ? -SOURCE_TIME_MAX : SOURCE_TIME_MAX;
    return source_time(result);
}

enum record file_cut(struct file *file, uint64_t at, const char *what, uint64_t there,
                     uint64_t needed)
{
    if (!file->in->failed)
        input_fail(file->in,
                   "byte %" PRIu64 ": %s cut short by the end of the file: %" PRIu64 " of %" PRIu64
                   " bytes are there",
                   at, what, there, needed);
    return RECORD_ERROR;
}

void file_dropped(struct file *file, size_t interface, uint64_t packets)
{
    struct file_interface *one = &file->interfaces[interface];

    one->dropped_inline = source_sum(one->dropped_inline, packets);
    one->inline_known = true;
}

/* Both ways of counting speak of the same packets: the last ones may be in one only. */
static uint64_t dropped(const struct file_interface *one)
{
    return one->dropped > one->dropped_inline ? one->dropped : one->dropped_inline;
}

void file_wrong_time(struct file *file)
{
    if (file->wrong_times++ == 0)
        file->first_wrong = file->frame + 1;
}

/* All was read: with what else is wrong, in one line. */
static void say_wrong_times(struct file *file)
{
    struct input *in = file->in;
    char line[FEED_ERROR_SIZE], times[128];

    snprintf(times, sizeof(times),
             "%" PRIu64 " packet%s a time that cannot be, packet %" PRIu64 "%s: damaged",
             file->wrong_times, file->wrong_times == 1 ? " has" : "s have", file->first_wrong,
             file->wrong_times == 1 ? "" : " the first");
    file->wrong_times = 0; /* that is said */
    if (!in->failed) {
        input_fail(in, "%s", times);
        return;
    }
    snprintf(line, sizeof(line), "%s; %s", input_error(in), times);
    feed_set_error(&in->error, line);
}

static enum source_status failed(struct file *file)
{
    if (file->wrong_times > 0)
        say_wrong_times(file);
    file->state = FILE_ENDED;
    file->source.error = input_error(file->in);
    return SOURCE_ERROR;
}

/* Asked to end while another program writes: what is not whole by then was not cut short. */
static bool stopped(struct file *file)
{
    if (!file->followed || !follow_feed_stopped(file->followed))
        return false;
    file->in->failed = false;
    return true;
}

static bool is_piped(const struct file *file)
{
    return file->source.live && !file->eager && !file->followed;
}

/* Of n packets those from the from-th on are in order by themselves, and as packets of a file of
 * one interface are. */
static void note_alike(struct source *source, const struct source_packet *packets, size_t from,
                       size_t n)
{
    if (n > from && source->alike == from &&
        (from == 0 || packets[from].packet.time_ns >= packets[from - 1].packet.time_ns))
        source->alike = n;
}

/* Behind n others. How many there are then. */
static size_t take_at_hand(struct file *file, struct source_packet *packets, size_t max, size_t n)
{
    size_t all = n + file->at_hand(file, packets + n, max - n);

    if (file->in_order)
        note_alike(&file->source, packets, n, all);
    return all;
}

static enum source_status file_next(struct source *source, struct source_packet *packets,
                                    size_t max, size_t *n)
{
    struct file *file = (struct file *)source;
    enum record record = RECORD_PACKET;

    *n = 0;
    source->soon = NULL;
    source->alike = 0;
    if (file->state == FILE_ENDED)
        return SOURCE_END;
    if (file->state == FILE_CUT)
        return failed(file);
    while (*n < max && record == RECORD_PACKET) {
        if (file->at_hand)
            *n = take_at_hand(file, packets, max, *n);
        file->in->pinned = *n > 0;
        if (*n == max)
            break;
        record = file->next(file, &packets[*n]);
        if (file->in->failed && stopped(file)) {
            file->frame -= record == RECORD_PACKET;
            record = RECORD_END;
            break;
        }
        if (record == RECORD_PACKET)
            ++*n;
        file->in->pinned = *n > 0;
        /* a packet of which the end is missing is given out; that it was cut comes next */
        if (file->in->failed) {
            if (record == RECORD_PACKET)
                packets[*n - 1].cut = true;
            break;
        }
        if (file->at_hand && record == RECORD_PACKET)
            note_alike(source, packets, *n - 1, *n);
    }
    file->in->pinned = false;
    if (*n > 0) {
        if (file->in->failed)
            file->state = FILE_CUT;
        if (is_piped(file))
            pace_look(&file->pace, packets, *n);
        return SOURCE_OK;
    }
    if (file->in->failed)
        return failed(file);
    if (record == RECORD_AGAIN) /* nothing is pinned: nobody waits for more */
        return SOURCE_OK;
    if (file->wrong_times > 0)
        return failed(file);
    file->state = FILE_ENDED;
    if (is_piped(file) && !file->end_known)
        file->end_known = pace_end(&file->pace, &file->end_ns);
    return SOURCE_END;
}

static bool counts(const struct file_interface *one)
{
    return one->received_known || one->dropped_known || one->inline_known;
}

/* 0: that does not tell. */
static uint64_t count_from(const struct file_interface *one)
{
    const char *name = one->texts ? one->texts->of[FILE_NAME] : NULL;

    return one->since_known && !one->inline_known && name
               ? source_count_from(1U + one->number, name, one->since_ns)
               : 0;
}

static bool file_interface(const struct source *source, uint32_t index,
                           struct source_interface *out)
{
    const struct file *file = (const struct file *)source;
    static const struct file_texts none;
    const struct file_interface *from;
    const struct file_texts *texts;

    if (index >= file->n_interfaces)
        return false;
    from = &file->interfaces[index];
    texts = from->texts ? from->texts : &none;
    *out = (struct source_interface){
        .name = texts->of[FILE_NAME],
        .input = file->in->name,
        .section = index - from->number,
        .linktype = from->linktype,
        .snaplen = from->snaplen,
        .ticks = power(from->binary ? 2 : 10, from->exponent),
        .comment = texts->of[FILE_COMMENT],
        .description = texts->of[FILE_DESCRIPTION],
        .filter = texts->of[FILE_FILTER],
        .counts_comment = texts->of[FILE_COUNTS_COMMENT],
        .received_known = from->received_known,
        .received = from->received,
        .dropped_known = from->dropped_known || from->inline_known,
        .dropped = dropped(from),
        .since_known = from->since_known,
        .since_ns = from->since_ns,
        .counted = counts(from) ? count_from(from) : 0,
    };
    return true;
}

/* Several sections may be files of a ring, one behind the other. Interfaces of one section count
 * packets each, whatever their names are. */
static void add_counts(const struct file *file, struct source_stats *out)
{
    struct source_count *all = NULL, one;
    size_t n = 0;

    if (file->n_interfaces > 1)
        all = calloc(file->n_interfaces, sizeof(*all));

    for (size_t i = 0; i < file->n_interfaces; i++) {
        const struct file_interface *from = &file->interfaces[i];

        if (!counts(from))
            continue;
        out->received_known |= from->received_known;
        out->dropped_known |= from->dropped_known || from->inline_known;
        one = (struct source_count){count_from(from), from->received, dropped(from)};
        if (all)
            all[n++] = one;
        else
            source_counts_add(&one, 1, out); /* as if each counted from another beginning on */
    }
    if (all)
        source_counts_add(all, n, out);
    free(all);
}

static void file_stats(const struct source *source, struct source_stats *out)
{
    const struct file *file = (const struct file *)source;

    *out = (struct source_stats){
        .packets = file->frame,
        .texts_left_out = file->texts_left_out,
        .other_blocks = file->other_blocks,
        .comments = file->comments,
        .untimed = file->untimed,
        .said_micro = file->said_micro,
        .end_known = file->end_known,
        .end_ns = file->end_ns,
    };
    input_progress(file->in, &out->read, &out->size);
    add_counts(file, out);
}

static void file_close(struct source *source)
{
    struct file *file = (struct file *)source;

    for (size_t i = 0; i < file->n_interfaces; i++)
        file_texts_free(file->interfaces[i].texts);
    rooms -= file->n_room;
    free(file->interfaces);
    input_close(file->in);
    free(file);
}

struct input *source_file_input(struct source *source)
{
    return ((struct file *)source)->in;
}

static bool begin(struct file *file)
{
    static const uint8_t pcapng[] = {0x0a, 0x0d, 0x0d, 0x0a};
    static const char snoop[8] = "snoop";
    struct input *in = file->in;
    const uint8_t *p;
    size_t left;
    char bytes[13] = "";
    bool erf;

    input_need(in, 4);
    left = in->end - in->pos;
    if (in->failed)
        return false;
    if (left == 0) {
        input_fail(in, "empty file");
        return false;
    }
    p = in->data + in->pos;
    if (left >= 4 && memcmp(p, pcapng, 4) == 0)
        return pcapng_begin(file);
    if (left >= 4 && pcap_begin(file))
        return true;
    if (in->failed)
        return false;
    if (input_need(in, sizeof(snoop)) == INPUT_OK &&
        memcmp(in->data + in->pos, snoop, sizeof(snoop)) == 0)
        return snoop_begin(file);
    if (erf_begin(file, &erf) || erf || in->failed)
        return erf && !in->failed;
    p = in->data + in->pos;
    for (size_t i = 0; i < left && i < 4; i++)
        snprintf(bytes + 3 * i, sizeof(bytes) - 3 * i, " %02x", p[i]);
    input_fail(in,
               "byte %" PRIu64 ": not a pcap, pcapng, snoop or ERF capture file, it begins with%s",
               input_offset(in), bytes);
    return false;
}

/* Has file->in wait for what another program still writes. */
static void follow(struct file *file, char *error, size_t size)
{
    struct input *in = file->in;
    struct feed *feed = follow_feed_new(in->feed);

    in->feed = feed; /* the one before is gone with it */
    if (feed) {
        in->live = true;
        file->followed = feed;
        return;
    }
    snprintf(error, size, "%s: out of memory", in->name);
    input_close(in);
    file->in = NULL;
}

static struct source *open_input(struct input *in, struct file *file,
                                 const struct source_config *config, char *error, size_t size)
{
    static const struct source_ops ops = {
        .next = file_next, .interface = file_interface, .stats = file_stats, .close = file_close};

    file->source.ops = &ops;
    file->in = in;
    if (config && config->follow && file->in)
        follow(file, error, size);
    if (file->in)
        file->in = input_unpack(file->in, error, size);
    if (file->followed && file->in && file->in->feed != file->followed) {
        snprintf(error, size, "%s: a compressed file cannot be followed", file->in->name);
        input_close(file->in);
        file->in = NULL;
    }
    if (!file->in) {
        free(file);
        return NULL;
    }
    file->in->no_readahead = config && config->no_readahead;
    if (config && config->window > 0 && config->window < file->in->window)
        file->in->window = config->window;
    file->headers_only = config && config->headers_only;
    file->source.live = file->in->live;
    if (!begin(file)) {
        snprintf(error, size, "%s", input_error(file->in));
        file_close(&file->source);
        return NULL;
    }
    return &file->source;
}

struct source *source_file_open(const char *path, const struct source_config *config, char *error,
                                size_t size)
{
    struct file *file = calloc(1, sizeof(*file));

    if (!file) {
        snprintf(error, size, "%s: out of memory", path);
        return NULL;
    }
    return open_input(input_open(path, config ? config->window : 0, error, size), file, config,
                      error, size);
}

struct source *source_file_open_feed(struct feed *feed, char *error, size_t size)
{
    struct file *file = calloc(1, sizeof(*file));
    struct input *in = NULL;

    snprintf(error, size, "out of memory");
    if (!feed || !file) {
        free(file);
        if (feed)
            feed->free(feed);
        return NULL;
    }
    in = input_of(feed);
    if (in)
        in->live = true;
    return open_input(in, file, NULL, error, size);
}
