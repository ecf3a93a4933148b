/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of a source, a file or the devices' other process, into files: looked at, cut or left
 * out. */
#include "capture/run.h"

#include <inttypes.h>
#include <poll.h>

#include "common/complain.h"
#include "common/interrupt.h"
#include "common/plural.h"
#include "output/finish.h"
#include "pipeline/pipeline.h"

/* Those there are by now, in their order: also such without packets. */
static void interfaces(struct capture *capture)
{
    while (!capture->files.by_packet && interface_numbers_add(&capture->numbers, capture->listed))
        capture->listed++;
}

/* The interface's number in what is written. Those of several files are not numbered through. */
static bool interface_of(struct capture *capture, uint32_t number, uint32_t *out)
{
    if (interface_numbers_find(&capture->numbers, number, out))
        return true;
    interfaces(capture);
    interface_numbers_add(&capture->numbers, number);
    return interface_numbers_find(&capture->numbers, number, out);
}

static void refresh_from_source(void *context, uint32_t index)
{
    struct capture *capture = context;

    interface_numbers_refresh(&capture->numbers, index);
}

static void lost_elsewhere(struct capture *capture, uint32_t number, struct source_interface one)
{
    if (!one.dropped_known)
        return;
    interface_numbers_share(&capture->numbers, number, &one);
    capture->dropped_elsewhere = source_sum(capture->dropped_elsewhere, one.dropped);
}

/* Of several files one is read to its end: its interfaces have their last counts. */
static void on_ended(void *context, uint32_t number, const struct source_interface *one)
{
    struct capture *capture = context;

    if (!interface_numbers_ended(&capture->numbers, number, one))
        lost_elsewhere(capture, number, *one);
}

static void statistics(struct capture *capture, const struct source *source)
{
    struct source_interface one;
    uint32_t index;

    interfaces(capture);
    for (uint32_t i = 0; i < capture->numbers.of_source->len; i++)
        refresh_from_source(capture, i);
    /* in a ring, those without packets are nowhere */
    for (uint32_t i = 0; capture->files.by_packet && source_interface(source, i, &one); i++)
        if (!interface_numbers_find(&capture->numbers, i, &index))
            lost_elsewhere(capture, i, one);
}

/* -a duration, of files; devices end by the clock. */
static bool is_late(struct capture *capture, const struct source_packet *one)
{
    int64_t most = capture->files.stop.duration_ns, time_ns = one->packet.time_ns;

    if (most == 0 || !capture->files.by_times || one->replayed)
        return false;
    if (!capture->started)
        capture->first_ns = time_ns;
    capture->started = true;
    return capture_limit_passed(&capture->first_ns, time_ns, most);
}

static void packet(struct capture *capture, const struct source_packet *one)
{
    struct rpcrdma_packet part = one->packet;
    uint32_t interface;

    if (is_late(capture, one)) {
        capture->files.enough = true;
        return;
    }
    capture->packets++;
    capture_files_came(&capture->files, one->packet.time_ns);
    capture->read += one->packet.caplen;
    if (capture->setups.known)
        capture_setups_packet(&capture->setups, one->interface, &one->packet);
    part.caplen = capture_select_packet(&capture->select, &one->packet);
    if (part.caplen == 0 && one->packet.caplen > 0) {
        if (capture->event.expression)
            capture_event_left_out(&capture->event, part.time_ns);
        return;
    }
    capture->files.early |= part.time_ns < 0;
    if (interface_of(capture, one->interface, &interface)) {
        if (capture->event.expression)
            capture_event_packet(&capture->event, interface, &part);
        else
            capture_files_packet(&capture->files, interface, &part,
                                 one->replayed ? SOURCE_REPLAYED : NULL);
    } else if (!capture->crowded) {
        complain("more than %d interfaces: packets of the rest are left out", INTERFACES_MOST);
        capture->crowded = true;
        capture->status = EXIT_UNUSABLE;
    }
}

/* Whether packets are there; what was written goes out before they are waited for. */
static void wait_for_packets(struct capture *capture, struct source *source)
{
    bool at_hand;
    struct pollfd fd = {.fd = source_devices_fd(source, &at_hand), .events = POLLIN};

    while (!at_hand && poll(&fd, 1, 0) == 0) {
        int wait_ms = capture->event.expression ? capture_event_no_packet(&capture->event) : 1000;

        capture_files_flush(&capture->files);
        capture_progress_show(&capture->progress, source, &capture->select, capture->packets);
        if (capture_enough(capture) ||
            interrupt_seen() || /* that, the source knows how to wait for */
            poll(&fd, 1, capture->progress.on ? MIN(wait_ms, 250) : wait_ms) > 0)
            return;
    }
}

static void failure(struct capture *capture, const struct source *source)
{
    complain("%s", source->error);
    capture->status = EXIT_UNUSABLE;
}

/* Of files: what is written has until when packets were awaited, if it has all to the end. */
static void read_out(struct capture *capture, const struct source *source, bool to_end)
{
    struct source_stats stats = {0};

    if (!to_end || capture->options->n_devices > 0 || capture_enough(capture) || interrupt_seen() ||
        capture->crowded || capture->status != EXIT_DONE)
        return;
    source_stats(source, &stats);
    capture_files_read(&capture->files, &stats, 0);
}

static void copy(struct capture *capture, struct source *source)
{
    struct source_packet packets[SOURCE_BATCH];
    enum source_status status = SOURCE_OK;
    size_t n;

    while (!capture_enough(capture)) {
        if (capture->options->n_devices > 0)
            wait_for_packets(capture, source);
        status = source_next(source, packets, SOURCE_BATCH, &n);
        if (status == SOURCE_END)
            break;
        if (status == SOURCE_ERROR)
            failure(capture, source);
        for (size_t i = 0; i < n && !capture_enough(capture); i++)
            packet(capture, &packets[i]);
        capture_progress_show(&capture->progress, source, &capture->select, capture->packets);
    }
    if (capture->options->n_devices > 0) { /* it has a last word on what was lost, or happened */
        source_devices_stop(source);
        while ((status = source_next(source, packets, SOURCE_BATCH, &n)) != SOURCE_END)
            if (status == SOURCE_ERROR)
                failure(capture, source);
    }
    read_out(capture, source, status == SOURCE_END);
    if (capture->event.expression && !capture_enough(capture))
        capture_event_last(&capture->event);
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

    if (interface_of(capture, interface, &index))
        capture_files_replay(&capture->files, index, packet);
}

/* Half of a file at most. The times in a file are anybody's, and may begin a file with each packet:
 * there, all files together begin with no more than was read, and REPEATED_MOST. */
static void on_began(void *context, uint64_t frame)
{
    enum { REPEATED_MOST = 16 << 20 };
    struct capture *capture = context;
    uint64_t bytes = capture->files.next.bytes;
    uint64_t most = bytes > 0 ? bytes / 2 : UINT64_MAX;

    if (capture->files.by_times)
        most = MIN(most, capture->read + REPEATED_MOST - capture->repeated);
    capture->repeated += capture_setups_each(&capture->setups, frame, most, on_setup, capture);
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
    const char *input = options_said(capture->options);
    const char *others = options_and_others(capture->options);
    struct source_stats stats = {0};

    source_stats(source, &stats);
    stats.texts_left_out += capture->files.interfaces.texts_left_out;
    if (capture->options->quiet)
        return;
    say_texts_left_out(capture->options, stats.texts_left_out);
    say_lost(capture->options, &stats);
    if (capture->dropped_elsewhere > 0)
        complain("%s%s: %" PRIu64 " lost packet%s counted by interfaces without packets, which are "
                 "left out",
                 input, others, capture->dropped_elsewhere,
                 capture->dropped_elsewhere == 1 ? " is" : "s are");
    if (stats.other_blocks > 0)
        complain("%s%s: %" PRIu64
                 " block%s without packets %s not copied (names of hosts, secrets, "
                 "a system's journal)",
                 input, others, stats.other_blocks, plural(stats.other_blocks),
                 stats.other_blocks == 1 ? "is" : "are");
    if (stats.untimed > 0)
        complain("%s: %" PRIu64 " packet%s no time: what is written has that of the packet before",
                 input, stats.untimed, stats.untimed == 1 ? " has" : "s have");
    if (stats.comments > 0)
        complain("%s%s: the comment%s of %" PRIu64 " packet%s %s not copied", input, others,
                 plural(stats.comments), stats.comments, plural(stats.comments),
                 stats.comments == 1 ? "is" : "are");
}

int capture_from_source(struct capture *capture)
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
    capture->files.by_times = options->n_devices == 0;
    capture->event.live = options->n_devices > 0;
    interface_numbers_begin(&capture->numbers, &capture->files, false);
    capture->numbers.source = source;
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
    interface_numbers_free(&capture->numbers);
    return capture->status;
}
