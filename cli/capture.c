/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma capture: from devices, or from a file, to files. */
#include "capture.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture_event.h"
#include "capture_setups.h"
#include "finish.h"
#include "plural.h"
#include "source/interrupt.h"
#include "source/pump.h"
#include "source/record.h"

enum { MANY = 65536 }; /* interfaces of a file that are written down */

struct capture {
    const struct options *options;
    struct capture_files files;
    struct capture_select select;
    struct capture_progress progress;
    struct capture_event event; /* --trigger */
    struct capture_setups setups; /* where there are several files */
    uint64_t count; /* of packets written; 0: no limit */
    uint64_t packets;
    struct source *source;
    GArray *numbers;     /* of uint32_t: what the source calls each interface that was written */
    GHashTable *written; /* the source's number -> its index there */
    uint32_t listed;     /* interfaces of the source with smaller numbers were looked at */
    uint64_t dropped_elsewhere; /* by interfaces that are not written down */
    bool crowded;
    int status;
};

/* From a source: the devices' other process, or a file. */

/* False: there is no such interface, or no room for one more. */
static bool add_interface(struct capture *capture, const struct source *source, uint32_t number)
{
    struct source_interface one;

    if (!source_interface(source, number, &one) || capture->numbers->len == MANY)
        return false;
    if (g_hash_table_contains(capture->written, GUINT_TO_POINTER(number)))
        return true;
    g_hash_table_insert(capture->written, GUINT_TO_POINTER(number),
                        GUINT_TO_POINTER(capture->numbers->len));
    g_array_append_val(capture->numbers, number);
    capture_files_interface(&capture->files,
                            &(struct pcapng_interface){.linktype = one.linktype,
                                                       .snaplen = one.snaplen,
                                                       .name = one.name,
                                                       .description = one.description,
                                                       .filter = one.filter,
                                                       .comment = one.comment});
    return true;
}

/* Those there are by now, in their order: also such without packets. */
static void interfaces(struct capture *capture, const struct source *source)
{
    while (!capture->files.by_packet && add_interface(capture, source, capture->listed))
        capture->listed++;
}

/* The interface's number in what is written. Those of several files are not numbered through. */
static bool interface_of(struct capture *capture, const struct source *source, uint32_t number,
                         uint32_t *out)
{
    gpointer index;

    if (number < capture->numbers->len && number < capture->listed &&
        g_array_index(capture->numbers, uint32_t, number) == number) {
        *out = number;
        return true;
    }
    if (!g_hash_table_lookup_extended(capture->written, GUINT_TO_POINTER(number), NULL, &index)) {
        interfaces(capture, source);
        add_interface(capture, source, number);
        if (!g_hash_table_lookup_extended(capture->written, GUINT_TO_POINTER(number), NULL, &index))
            return false;
    }
    *out = GPOINTER_TO_UINT(index);
    return true;
}

static void put_statistics(struct capture *capture, uint32_t index,
                           const struct source_interface *one)
{
    capture_files_statistics(&capture->files, index,
                             &(struct pcapng_statistics){.received_known = one->received_known,
                                                         .received = one->received,
                                                         .dropped_known = one->dropped_known,
                                                         .dropped = one->dropped,
                                                         .comment = one->counts_comment});
}

static void refresh_from_source(void *context, uint32_t index)
{
    struct capture *capture = context;
    struct source_interface one;

    if (source_interface(capture->source, g_array_index(capture->numbers, uint32_t, index), &one))
        put_statistics(capture, index, &one);
}

/* Of several files one is read to its end: its interfaces have their last counts. */
static void on_ended(void *context, uint32_t number, const struct source_interface *one)
{
    struct capture *capture = context;
    gpointer index;

    if (g_hash_table_lookup_extended(capture->written, GUINT_TO_POINTER(number), NULL, &index))
        put_statistics(capture, GPOINTER_TO_UINT(index), one);
    else if (one->dropped_known)
        capture->dropped_elsewhere += one->dropped;
}

static void statistics(struct capture *capture, const struct source *source)
{
    struct source_interface one;

    interfaces(capture, source);
    for (uint32_t i = 0; i < capture->numbers->len; i++)
        refresh_from_source(capture, i);
    /* in a ring, those without packets are nowhere */
    for (uint32_t i = 0; capture->files.by_packet && source_interface(source, i, &one); i++)
        if (!g_hash_table_contains(capture->written, GUINT_TO_POINTER(i)) && one.dropped_known)
            capture->dropped_elsewhere += one.dropped;
}

static void packet(struct capture *capture, const struct source *source,
                   const struct source_packet *one)
{
    struct rpcrdma_packet part = one->packet;
    uint32_t interface;

    capture->packets++;
    if (capture->setups.known)
        capture_setups_packet(&capture->setups, one->interface, &one->packet);
    part.caplen = capture_select_packet(&capture->select, &one->packet);
    if (part.caplen == 0 && one->packet.caplen > 0)
        return;
    if (interface_of(capture, source, one->interface, &interface)) {
        if (capture->event.expression)
            capture_event_packet(&capture->event, interface, &part);
        else
            capture_files_packet(&capture->files, interface, &part,
                                 one->replayed ? SOURCE_REPLAYED : NULL);
    } else if (!capture->crowded) {
        complain("more than %d interfaces: packets of the rest are left out", MANY);
        capture->crowded = true;
        capture->status = EXIT_UNUSABLE;
    }
}

static bool enough(const struct capture *capture)
{
    return capture->files.enough || capture->files.failed ||
           (capture->count > 0 && capture->files.packets >= capture->count);
}

/* Whether packets are there; what was written goes out before they are waited for. */
static void wait_for_packets(struct capture *capture, struct source *source)
{
    bool at_hand;
    struct pollfd fd = {.fd = source_devices_fd(source, &at_hand), .events = POLLIN};

    while (!at_hand && poll(&fd, 1, 0) == 0) {
        if (capture->event.expression)
            capture_event_silence(&capture->event);
        capture_files_flush(&capture->files);
        capture_progress_show(&capture->progress, source, &capture->select, capture->packets);
        if (enough(capture) || interrupt_seen() || /* that, the source knows how to wait for */
            poll(&fd, 1, capture->progress.on ? 250 : 1000) > 0)
            return;
    }
}

static void failure(struct capture *capture, const struct source *source)
{
    complain("%s", source->error);
    capture->status = EXIT_UNUSABLE;
}

static void copy(struct capture *capture, struct source *source)
{
    struct source_packet packets[SOURCE_BATCH];
    enum source_status status;
    size_t n;

    while (!enough(capture)) {
        if (capture->options->n_devices > 0)
            wait_for_packets(capture, source);
        status = source_next(source, packets, SOURCE_BATCH, &n);
        if (status == SOURCE_END)
            break;
        if (status == SOURCE_ERROR)
            failure(capture, source);
        for (size_t i = 0; i < n && !enough(capture); i++)
            packet(capture, source, &packets[i]);
        capture_progress_show(&capture->progress, source, &capture->select, capture->packets);
    }
    if (capture->options->n_devices > 0) { /* it has a last word on what was lost, or happened */
        source_devices_stop(source);
        while ((status = source_next(source, packets, SOURCE_BATCH, &n)) != SOURCE_END)
            if (status == SOURCE_ERROR)
                failure(capture, source);
    }
    statistics(capture, source);
}

static void on_line(void *context, const char *text)
{
    (void)context;
    complain("%s", text);
}

static void on_setup(void *context, uint32_t interface, const struct rpcrdma_packet *packet)
{
    struct capture *capture = context;
    uint32_t index;

    if (interface_of(capture, capture->source, interface, &index))
        capture_files_replay(&capture->files, index, packet);
}

/* Half of a file at most. */
static void on_began(void *context, uint64_t frame)
{
    struct capture *capture = context;
    uint64_t bytes = capture->files.next.bytes;

    capture_setups_each(&capture->setups, frame, bytes > 0 ? bytes / 2 : UINT64_MAX, on_setup,
                        capture);
}

static bool start_setups(struct capture *capture)
{
    if (!capture_files_several(&capture->files))
        return true;
    capture->files.began = on_began;
    capture->select.setups = capture->select.analyzer ? &capture->setups : NULL;
    if (capture_setups_begin(&capture->setups, !capture->select.analyzer))
        return true;
    complain("out of memory");
    return false;
}

/* What the files that are read have, and what is written has not. */
static void say_left_out(const struct capture *capture, const struct source *source)
{
    const char *input = options_input(capture->options);
    struct source_stats stats = {0};

    source_stats(source, &stats);
    stats.texts_left_out += capture->files.texts_left_out;
    if (capture->options->quiet)
        return;
    if (stats.texts_left_out > 0)
        complain("%s: %" PRIu64 " names and comments of interfaces are left out: too many", input,
                 stats.texts_left_out);
    if (capture->dropped_elsewhere > 0)
        complain("%s: %" PRIu64
                 " packets were lost before they were captured by interfaces without "
                 "packets, which are left out",
                 input, capture->dropped_elsewhere);
    if (stats.other_blocks > 0)
        complain("%s: %" PRIu64 " block%s without packets %s not copied (names of hosts, secrets, "
                 "a system's journal)",
                 input, stats.other_blocks, stats.other_blocks == 1 ? "" : "s",
                 stats.other_blocks == 1 ? "is" : "are");
    if (stats.comments > 0)
        complain("%s: the comment%s of %" PRIu64 " packet%s %s not copied", input,
                 stats.comments == 1 ? "" : "s", stats.comments, stats.comments == 1 ? "" : "s",
                 stats.comments == 1 ? "is" : "are");
}

static int from_source(struct capture *capture)
{
    const struct options *options = capture->options;
    char error[DEVICE_ERROR];
    struct source *source;

    source = options_confine(options, error, sizeof(error))
                 ? options_open(options, error, sizeof(error))
                 : NULL;
    if (!source) {
        complain("%s", error);
        return EXIT_UNUSABLE;
    }
    capture->source = source;
    source_watch_ends(source, on_ended, capture);
    capture->files.by_packet = options->n_devices == 0 && capture_files_several(&capture->files);
    capture->files.by_packet |= capture->files.on_demand;
    capture->numbers = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    capture->written = g_hash_table_new(NULL, NULL);
    capture->files.refresh = refresh_from_source;
    capture->files.context = capture;
    capture_progress_begin(&capture->progress);
    if (capture->event.expression && !capture_event_begin(&capture->event))
        capture->status = EXIT_UNUSABLE;
    else if (capture_files_open(&capture->files) && capture_select_start(&capture->select) &&
             start_setups(capture))
        copy(capture, source);
    capture_progress_end(&capture->progress);
    say_left_out(capture, source);
    if (options->n_devices == 0 && !options->quiet) /* of devices, the summary says it */
        source_report(source, on_line, NULL);
    if (options->n_devices > 0 && !options->quiet)
        source_devices_news(source, on_line, NULL);
    source_close(source);
    g_array_free(capture->numbers, TRUE);
    g_hash_table_destroy(capture->written);
    return capture->status;
}

/* From devices without a look at the packets: in one process. */

struct direct {
    struct capture *capture;
    struct pump pump;
};

static void on_packet(void *context, uint32_t device, const struct rpcrdma_packet *one)
{
    struct direct *direct = context;

    direct->capture->packets++;
    capture_files_packet(&direct->capture->files, device, one, NULL);
    direct->pump.stop = enough(direct->capture);
}

static void on_pause(void *context)
{
    struct direct *direct = context;

    capture_files_flush(&direct->capture->files);
    direct->pump.stop = direct->capture->files.failed;
}

static void refresh_from_device(void *context, uint32_t number)
{
    struct direct *direct = context;
    struct device_stats stats = {0};
    struct pcapng_statistics counts;
    char comment[200];

    direct->pump.devices[number]->ops->stats(direct->pump.devices[number], &stats);
    record_counts(&stats, &counts, comment, sizeof(comment));
    capture_files_statistics(&direct->capture->files, number, &counts);
}

static void on_tick(void *context)
{
    struct direct *direct = context;

    for (uint32_t i = 0; i < direct->pump.n; i++)
        refresh_from_device(context, i);
    on_pause(context);
}

static void on_lost(void *context, uint32_t device, const char *error)
{
    struct direct *direct = context;

    (void)device;
    complain("%s", error);
    direct->capture->status = EXIT_UNUSABLE;
}

static void on_news(void *context, uint32_t device, const char *line)
{
    struct direct *direct = context;

    (void)device;
    if (!direct->capture->options->quiet)
        complain("%s", line);
}

static int from_devices(struct capture *capture)
{
    const struct options *options = capture->options;
    struct direct direct = {.capture = capture};
    struct pump_sink sink = {on_packet, on_pause, on_tick, on_lost, on_news, &direct};
    char error[DEVICE_ERROR];
    bool good = interrupt_watch();

    capture->files.refresh = refresh_from_device;
    capture->files.context = &direct;
    direct.pump.devices = g_new0(struct device *, options->n_devices);
    direct.pump.duration_ns = options->live.duration_ns;
    snprintf(error, sizeof(error), "signals cannot be watched for");
    for (; good && direct.pump.n < options->n_devices; direct.pump.n++) {
        struct device *one = device_open(options->devices[direct.pump.n], &options->live.device,
                                         error, sizeof(error));

        direct.pump.devices[direct.pump.n] = one;
        good = one != NULL;
        if (!good)
            break;
    }
    if (!good || !device_confine(direct.pump.devices, direct.pump.n, options->no_sandbox, error,
                                 sizeof(error))) {
        complain("%s", error);
        capture->status = EXIT_UNUSABLE;
    } else if (capture_files_open(&capture->files)) {
        for (uint32_t i = 0; i < direct.pump.n; i++)
            capture_files_interface(
                &capture->files,
                &(struct pcapng_interface){.linktype = direct.pump.devices[i]->linktype,
                                           .snaplen = direct.pump.devices[i]->snaplen,
                                           .name = direct.pump.devices[i]->name,
                                           .description = direct.pump.devices[i]->description,
                                           .filter = direct.pump.devices[i]->filter,
                                           .comment = direct.pump.devices[i]->clock});
        pump_run(&direct.pump, &sink);
        on_tick(&direct);
    }
    for (uint32_t i = 0; i < direct.pump.n; i++)
        device_close(direct.pump.devices[i]);
    g_free(direct.pump.devices);
    capture->files.refresh = NULL; /* its context ends here */
    capture->files.context = NULL;
    return capture->status;
}

/* What everybody reads at the end, but with -q. */
static void summary(struct capture *capture)
{
    const struct capture_files *files = &capture->files;
    const struct capture_select *select = &capture->select;
    char several[64] = "";

    for (guint i = 0; files->interfaces && i < files->interfaces->len; i++) {
        const struct pcapng_statistics *counts;
        const char *name;

        if (capture->options->n_devices == 0)
            continue;
        if (!capture_files_counts(files, i, &name, &counts) || !counts->dropped_known)
            complain("%s: how many packets were lost is not known", name);
        else if (counts->dropped + counts->interface_dropped > 0)
            complain("%s: %" PRIu64 " packets were lost before they were captured", name,
                     counts->dropped + counts->interface_dropped);
    }
    if (files->count > 1)
        snprintf(several, sizeof(several), " in %" PRIu64 " files", files->count);
    complain("%" PRIu64 " packet%s written, %" PRIu64 " bytes%s", files->packets,
             plural(files->packets), files->bytes, several);
    if (select->only)
        complain("%" PRIu64 " packet%s left out", select->left_out, plural(select->left_out));
    if (select->too_deep > 0)
        complain("%" PRIu64
                 " packet%s kept whole: too many Ethernet and IP headers within each other",
                 select->too_deep, select->too_deep == 1 ? " was" : "s were");
    if (select->memory_limit > 0)
        complain("--max-memory (%zu MiB) was reached %" PRIu64 " time%s: what belongs together was "
                 "not always known, and %s",
                 options_max_memory(capture->options) >> 20, select->memory_limit,
                 select->memory_limit == 1 ? "" : "s",
                 select->only ? "packets may be left out that should not"
                              : "more is kept than was asked for");
    if (select->slice && select->bytes_kept > 0)
        complain("%" PRIu64 " packet%s cut: %" PRIu64 " of %" PRIu64 " bytes kept, 1 in %.1f",
                 select->cut, plural(select->cut), select->bytes_kept, select->bytes_in,
                 (double)select->bytes_in / (double)select->bytes_kept);
}

static void say_setups(const struct capture_setups *setups)
{
    if (setups->forgotten > 0)
        complain("%" PRIu64
                 " open connection%s forgotten, of more than %d: files do not begin with "
                 "what set %s up",
                 setups->forgotten, setups->forgotten == 1 ? " was" : "s were", SETUPS_MOST,
                 setups->forgotten == 1 ? "it" : "them");
    if (setups->no_room > 0)
        complain("what set up connections was left out %" PRIu64
                 " time%s at the beginning of a file: it would have taken more than half of it",
                 setups->no_room, plural(setups->no_room));
}

static int go(struct capture *capture)
{
    const struct options *options = capture->options;
    bool looks = capture->select.slice || capture->select.only || capture->progress.on ||
                 capture->event.expression || capture_files_several(&capture->files);
    int status;

    signal(SIGPIPE, SIG_IGN);
    capture->select.options = options;
    capture->select.watch = capture->progress.on && options->n_devices > 0;
    if (options_reads(options, capture->files.path) ||
        !capture_files_prepare(&capture->files, options->no_sandbox))
        return EXIT_UNUSABLE;
    status = options->n_devices > 0 && !looks ? from_devices(capture) : from_source(capture);
    if (capture->files.interfaces && !capture_files_end(&capture->files))
        status = EXIT_UNUSABLE;
    if (!options->quiet && capture->files.count > 0)
        summary(capture);
    if (!options->quiet)
        say_setups(&capture->setups);
    if (!options->quiet && capture->event.expression && capture->files.interfaces)
        capture_event_summary(&capture->event);
    capture_select_end(&capture->select);
    capture_event_end(&capture->event);
    capture_setups_end(&capture->setups);
    capture_files_free(&capture->files);
    return status;
}

static gboolean on_autostop(const char *name, const char *text, gpointer data, GError **error)
{
    struct capture *capture = ((struct options *)data)->own;

    return capture_limit_parse(name, text, &capture->files.stop, error);
}

static gboolean on_ring(const char *name, const char *text, gpointer data, GError **error)
{
    struct capture *capture = ((struct options *)data)->own;

    return capture_limit_parse(name, text, &capture->files.next, error);
}

static int check(const struct command *command, const struct capture *capture)
{
    const struct capture_limits *next = &capture->files.next, *stop = &capture->files.stop;
    bool several = next->bytes > 0 || next->duration_ns > 0;

    if (!capture->files.path)
        return bad_usage(command, "where to? -w FILE, or -w - for a pipe");
    if (capture->files.on_demand && several)
        return bad_usage(
            command,
            "with --trigger a file begins and ends by that; -b files:N keeps the latest N");
    if ((next->files > 0 || stop->files > 0) && !several && !capture->files.on_demand)
        return bad_usage(command, "files:N needs -b filesize:KB or -b duration:SECONDS");
    if (capture->files.on_demand && create_standard(capture->files.path) >= 0)
        return bad_usage(command, "--trigger needs a file to write");
    if (several && strcmp(capture->files.path, "-") == 0)
        return bad_usage(command, "-b needs a file to write");
    if (strcmp(capture->files.path, "-") == 0 && isatty(STDOUT_FILENO))
        return bad_usage(command, "-w - writes a binary file, and standard output is a terminal");
    return options_plain(command, capture->files.path);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct capture capture = {.status = EXIT_DONE};
    struct options options = {.optional_input = true, .own = &capture, .keeps_times = true};
    gboolean list = FALSE, slice = FALSE, only = FALSE;
    char *path = NULL, *pre = NULL, *post = NULL, *hold_off = NULL;
    GOptionEntry own[] = {
        {"list-interfaces", 'D', 0, G_OPTION_ARG_NONE, &list,
         "List what can be captured from, RDMA devices first", NULL},
        {"write", 'w', 0, G_OPTION_ARG_FILENAME, &path,
         "Write packets to this pcapng file; - is standard output", "FILE"},
        {"autostop", 'a', 0, G_OPTION_ARG_CALLBACK, on_autostop,
         "Stop after duration:SECONDS, filesize:KB or files:N", "CONDITION"},
        {"ring-buffer", 'b', 0, G_OPTION_ARG_CALLBACK, on_ring,
         "Begin a new file after duration:SECONDS or filesize:KB; keep the latest files:N",
         "CONDITION"},
        {"slice", 0, 0, G_OPTION_ARG_NONE, &slice,
         "Cut the bytes of data items to their headers; decode, rpcs and credits stay exact", NULL},
        {"rpcrdma-only", 0, 0, G_OPTION_ARG_NONE, &only, "Leave out what is not RPC-over-RDMA",
         NULL},
        {"trigger", 0, 0, G_OPTION_ARG_STRING, &capture.event.expression,
         "Write nothing until this happens; then a file with what was before and after",
         "EXPRESSION"},
        {"pre", 0, 0, G_OPTION_ARG_STRING, &pre, "With --trigger: so much before it (10 s)",
         "SECONDS"},
        {"post", 0, 0, G_OPTION_ARG_STRING, &post, "With --trigger: so much after it (5 s)",
         "SECONDS"},
        {"hold-off", 0, 0, G_OPTION_ARG_STRING, &hold_off,
         "With --trigger: from one to the next so much at least (60 s)", "SECONDS"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "With -D: one JSON object per line", NULL},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);

    capture.files.path = path;
    capture.options = &options;
    capture.select.slice = slice;
    capture.select.only = only;
    capture.count = options.count;
    capture.files.on_demand = capture.event.expression != NULL;
    capture.event.files = &capture.files;
    capture.event.select = &capture.select;
    options.live.count = 0; /* what is written counts */
    options.live.duration_ns = capture.files.stop.duration_ns;
    options.live.device.immediate = path && output_awaited(path);
    capture.progress.on = !options.quiet && isatty(STDERR_FILENO);
    if (status == OPTIONS_GO_ON && list)
        status = capture_list(&options);
    if (status == OPTIONS_GO_ON && options.n_files == 0 && options.n_devices == 0)
        status = bad_usage(command, "from where? -i DEV; -D lists devices");
    if (status == OPTIONS_GO_ON)
        status = capture_event_options(&capture.event, command, pre, post, hold_off);
    if (status == OPTIONS_GO_ON)
        status = check(command, &capture);
    if (status == OPTIONS_GO_ON)
        status = go(&capture);
    options_free(&options);
    filter_free(capture.event.trigger.filter);
    g_free(capture.event.expression);
    g_free(path);
    g_free(pre);
    g_free(post);
    g_free(hold_off);
    return status;
}

const struct command command_capture = {
    .name = "capture",
    .arguments = "-i DEV -w OUT.pcapng",
    .what = "RDMA device or network interface -> file; -D lists devices; --slice",
    .details = "Writes pcapng. -r FILE takes packets from a file instead, to slice or filter it. "
               "Ends by itself (-a, -c) or by a signal; what was captured is in the file.",
    .run = run,
};
