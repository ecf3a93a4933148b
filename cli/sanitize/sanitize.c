/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma sanitize: a capture that says the same about the transport, and nothing about data. */
#include <inttypes.h>
#include <signal.h>

#include "capture/interface_numbers.h"
#include "common/complain.h"
#include "common/interrupt.h"
#include "common/plural.h"
#include "common/same_file.h"
#include "common/times.h"
#include "output/file.h"
#include "pipeline/pipeline.h"
#include "sanitize/track.h"

struct sanitize {
    const struct options *options;
    struct capture_files files;
    struct sanitize_track track;
    struct source *source;
    struct interface_numbers numbers;
    uint64_t packets;
    uint64_t unread; /* packets of a link type that is not known; of the first of them, which */
    uint32_t linktype;
    uint64_t crowded; /* packets of interfaces that there are too many of */
    /* of packets that are not replayed: the time of the first that was read, and that was written
     */
    int64_t first_read_ns, first_written_ns;
    bool any_read, any_written;
    bool all_there; /* what is read has an end */
    struct others others;
    int status;
};

static void on_packet(void *context, uint32_t interface, const struct rpcrdma_packet *packet,
                      bool replayed)
{
    struct sanitize *s = context;

    if (!replayed && !s->any_written) {
        s->any_written = true;
        s->first_written_ns = packet->time_ns - s->track.shift_s * INT64_C(1000000000);
    }
    capture_files_packet(&s->files, interface, packet, replayed ? SOURCE_REPLAYED : NULL);
}

static bool interface_of(struct sanitize *s, uint32_t number, uint32_t *out)
{
    if (interface_numbers_find(&s->numbers, number, out))
        return true;
    interface_numbers_add(&s->numbers, number);
    return interface_numbers_find(&s->numbers, number, out);
}

static void refresh(void *context, uint32_t index)
{
    struct sanitize *s = context;

    interface_numbers_refresh(&s->numbers, index);
}

static void on_ended(void *context, uint32_t number, const struct source_interface *last)
{
    struct sanitize *s = context;

    interface_numbers_ended(&s->numbers, number, last);
}

static void copy(struct sanitize *s)
{
    struct source_packet packets[SOURCE_BATCH];
    enum source_status status = SOURCE_OK;
    struct source_stats stats = {0};
    uint32_t interface;
    size_t n;

    while (!s->files.failed && !interrupt_seen() &&
           (status = source_next(s->source, packets, SOURCE_BATCH, &n)) != SOURCE_END) {
        if (status == SOURCE_ERROR) {
            complain("%s", s->source->error);
            s->status = EXIT_UNUSABLE;
        }
        for (size_t i = 0; i < n && !s->files.failed; i++) {
            if (s->options->count > 0 && s->packets == s->options->count)
                return;
            s->packets++;
            if (!s->any_written)
                others_look(&s->others, &packets[i], 1);
            if (!rpcrdma_net_link_known(packets[i].packet.linktype) && s->unread++ == 0)
                s->linktype = packets[i].packet.linktype;
            if (!packets[i].replayed && !s->any_read) {
                s->any_read = true;
                s->first_read_ns = packets[i].packet.time_ns;
            }
            capture_files_came(&s->files, packets[i].packet.time_ns);
            s->files.early |= packets[i].packet.time_ns < -s->track.shift_s * INT64_C(1000000000);
            if (!interface_of(s, packets[i].interface, &interface)) {
                s->crowded++;
                continue;
            }
            if (!sanitize_track_packet(&s->track, interface, &packets[i].packet,
                                       packets[i].replayed)) {
                s->status = EXIT_UNUSABLE;
                return;
            }
        }
        capture_files_flush(&s->files);
    }
    if (status != SOURCE_END && interrupt_seen() && s->all_there && !s->files.failed) {
        complain("interrupted: the rest of the capture is not in the copy");
        s->status = EXIT_UNUSABLE;
    }
    if (status != SOURCE_END || s->status != EXIT_DONE || s->crowded > 0 || interrupt_seen())
        return; /* not all to the end is there */
    source_stats(s->source, &stats);
    capture_files_read(&s->files, &stats, s->track.shift_s * INT64_C(1000000000));
}

static void say_dropped(const struct sanitize *s)
{
    static const char *const why[DROP_KINDS] = {
        [DROP_LINK] = "of a link type or with a tag that is not known",
        [DROP_NOT_RDMA] = "no RDMA",
        [DROP_IP] = "in IP headers that are not taken apart (options, fragments, tunnels)",
        [DROP_CUT] = "cut within their headers",
        [DROP_TRANSPORT] = "RDMA, but nothing that RPC-over-RDMA uses",
        [DROP_FOREIGN] = "not known to be RPC-over-RDMA",
        [DROP_MESSAGE] = "with a malformed RPC-over-RDMA header",
    };

    for (int i = 0; i < DROP_KINDS; i++)
        if (why[i] && s->track.dropped[i] > 0)
            complain("%" PRIu64 " packet%s left out: %s", s->track.dropped[i],
                     plural(s->track.dropped[i]), why[i]);
}

static bool is_unread(const struct sanitize *s)
{
    return s->unread > 0 && s->unread == s->packets;
}

static void say_nothing(struct sanitize *s)
{
    others_collect(&s->others, rpcrdma_analyzer_net(s->track.analyzer), s->source);
    if (!is_unread(s))
        say_nothing_found(s->options, &s->others);
}

/* Times are shown from the first packet on: who is told "at 9.1 s" must know. */
static void say_moved(const struct sanitize *s)
{
    int64_t moved_ns = time_less(s->first_written_ns, s->first_read_ns);

    if (s->any_written && moved_ns > 0)
        complain(
            "the first packets were left out: times since the beginning, and the capture's length, "
            "are %" PRIi64 ".%09" PRIi64 " s less",
            moved_ns / 1000000000, moved_ns % 1000000000);
}

static void summary(const struct sanitize *s)
{
    const struct sanitize_track *track = &s->track;
    struct source_stats stats = {0};

    source_stats(s->source, &stats);
    say_lost(s->options, &stats);
    complain("%" PRIu64 " packet%s written, %" PRIu64 " bytes", s->files.packets,
             plural(s->files.packets), s->files.bytes);
    say_dropped(s);
    say_moved(s);
    if (s->crowded > 0)
        complain("%" PRIu64 " packet%s left out: of more than %d interfaces", s->crowded,
                 plural(s->crowded), INTERFACES_MOST);
    if (track->message.unknown > 0)
        complain("%" PRIu64 " message%s with parts that are not known: zeros stand for them",
                 track->message.unknown, plural(track->message.unknown));
    if (track->unplaced > 0)
        complain("%" PRIu64 " packet%s whose bytes belong to nothing that is known: zeros stand "
                 "for them",
                 track->unplaced, plural(track->unplaced));
    if (track->memory_limit > 0)
        complain("--max-memory (%zu MiB) was reached %" PRIu64 " time%s: more may be zeros than "
                 "must be",
                 options_max_memory(s->options) >> 20, track->memory_limit,
                 plural(track->memory_limit));
}

/* Who wants to share a capture of NFS has none then, which a script must see. But not where no more
 * could be written, or was wanted. */
static void look_for_result(struct sanitize *s)
{
    const struct sanitize_track *track = &s->track;
    bool none = s->files.packets == 0 && track->found;

    if (s->status != EXIT_DONE || interrupt_seen() || s->files.failed)
        return;
    if (is_unread(s)) {
        complain("%s%s: link type %" PRIu32 " is not known here: nothing is written",
                 options_said(s->options), options_and_others(s->options), s->linktype);
        s->status = EXIT_UNUSABLE;
        return;
    }
    if (!(none || (track->messages && track->ours == 0)))
        return;
    complain("%s%s: %s: it is RPC-over-RDMA in packets that sanitize cannot take apart",
             options_said(s->options), options_and_others(s->options),
             s->files.packets == 0 ? "nothing is written" : "no RPC-over-RDMA is written");
    s->status = EXIT_UNUSABLE;
}

static int go(struct sanitize *s)
{
    const struct options *options = s->options;
    char error[DEVICE_ERROR];

    signal(SIGPIPE, SIG_IGN);
    if (options_reads(options, s->files.path) ||
        !capture_files_prepare(&s->files, options->no_sandbox))
        return EXIT_UNUSABLE;
    interrupt_watch();
    s->all_there = options_all_there(options);
    s->source = options_confine(options, error, sizeof(error))
                    ? options_open(options, error, sizeof(error))
                    : NULL;
    if (!s->source) {
        complain("%s", error);
        return EXIT_UNUSABLE;
    }
    s->numbers.source = s->source;
    source_watch_ends(s->source, on_ended, s);
    s->files.refresh = refresh;
    s->files.context = s;
    s->track.options = options;
    s->track.emit = on_packet;
    s->track.context = s;
    if (capture_files_open(&s->files) && sanitize_track_begin(&s->track)) {
        copy(s);
        sanitize_track_end(&s->track);
        for (uint32_t i = 0; i < s->numbers.of_source->len; i++)
            refresh(s, i);
    } else {
        s->status = EXIT_UNUSABLE;
    }
    if (capture_files_opened(&s->files) && !capture_files_end(&s->files))
        s->status = EXIT_UNUSABLE;
    if (!options->quiet && s->status == EXIT_DONE && !s->track.found && !s->files.failed)
        say_nothing(s);
    look_for_result(s);
    if (!options->quiet && s->files.count > 0)
        summary(s);
    return s->status;
}

/* Who loses a key has captures that fit no others. */
static bool is_key(const char *path, const char *key)
{
    struct stat out, in;

    if (!key || strcmp(path, "-") == 0 || stat(path, &out) != 0 || !S_ISREG(out.st_mode) ||
        stat(key, &in) != 0 || !same_file(&in, &out))
        return false;
    complain("%s is the key, it cannot be written to", path);
    return true;
}

static int check(const struct command *command, const struct sanitize *s)
{
    if (s->options->n_devices > 0)
        return bad_usage(command, "it reads files only: capture first");
    if (!s->files.path)
        return bad_usage(command, "where to? -o FILE, or -o - for a pipe");
    return output_binary(command, "-o", s->files.path);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {.keeps_times = true, .no_devices = true};
    struct sanitize *s = g_new0(struct sanitize, 1);
    char *path = NULL, *key = NULL;
    gint64 shift = 0;
    GOptionEntry own[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &path,
         "Write packets to this pcapng file; - is standard output", "FILE"},
        {"key", 0, 0, G_OPTION_ARG_FILENAME, &key,
         "Take the key from this file, so that several captures match; else it is random", "FILE"},
        {"shift-time", 0, 0, G_OPTION_ARG_INT64, &shift,
         "Add this to all times, those of packets and of files; may be negative", "SECONDS"},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    const gint64 most = SOURCE_TIME_MAX / 2 / 1000000000;
    char error[200];

    s->options = &options;
    s->files.path = path;
    s->files.by_times = true;
    s->track.shift_s = shift;
    interface_numbers_begin(&s->numbers, &s->files, true);
    if (status == OPTIONS_GO_ON)
        status = check(command, s);
    if (status == OPTIONS_GO_ON && (shift > most || shift < -most))
        status = bad_usage(command, "--shift-time is at most %" PRIi64, most);
    if (status == OPTIONS_GO_ON && is_key(path, key))
        status = EXIT_UNUSABLE;
    if (status == OPTIONS_GO_ON && !sanitize_key_make(&s->track.key, key, error, sizeof(error))) {
        complain("%s", error);
        status = EXIT_UNUSABLE;
    }
    if (status == OPTIONS_GO_ON)
        status = go(s);
    sanitize_track_free(&s->track);
    source_close(s->source);
    capture_files_free(&s->files);
    interface_numbers_free(&s->numbers);
    options_free(&options);
    g_free(path);
    g_free(key);
    g_free(s);
    return status;
}

const struct command command_sanitize = {
    .name = "sanitize",
    .arguments = "FILE... -o OUT.pcapng",
    .what = "a capture without file data, names, credentials and addresses, to be shared",
    .details =
        "What is not known is left out, or becomes zeros. Sizes, times and operations stay, and\n"
        "other commands say the same of the result. docs/sharing.md says what it still reveals.",
    .run = run,
};
