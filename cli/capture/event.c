/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/event.h"

#include <inttypes.h>
#include <time.h>

#include "common/complain.h"
#include "common/plural.h"
#include "common/times.h"
#include "filter/where.h"
#include "options/moment.h"
#include "output/finish.h"
#include "source/clock.h"

#define ASTRAY                                                                                     \
    (-SECOND) /* interfaces are not in order with each other; beyond, a clock was set back */

static int duration_option(const struct command *command, const char *name, const char *text,
                           int64_t seconds, int64_t *ns)
{
    *ns = seconds * SECOND;
    if (!text || (duration_parse(text, 1e9, ns) && *ns >= 0))
        return OPTIONS_GO_ON;
    return bad_usage(command, "%s \"%s\": no duration; one is 10, 500ms or 1min", name, text);
}

int capture_event_options(struct capture_event *event, const struct command *command,
                          const char *pre, const char *post, const char *hold_off)
{
    const char *unknown;
    int status;

    if (!event->expression)
        return pre || post || hold_off
                   ? bad_usage(command, "--pre, --post and --hold-off need --trigger")
                   : OPTIONS_GO_ON;
    status = where_compile_of(command, "--trigger", event->expression, filter_of_triggers,
                              &event->trigger.filter);
    if (status == OPTIONS_GO_ON)
        status = duration_option(command, "--pre", pre, 10, &event->pre_ns);
    if (status == OPTIONS_GO_ON)
        status = duration_option(command, "--post", post, 5, &event->post_ns);
    if (status == OPTIONS_GO_ON)
        status = duration_option(command, "--hold-off", hold_off, 60, &event->hold_off_ns);
    if (status != OPTIONS_GO_ON)
        return status;
    unknown = capture_trigger_unknown(event->trigger.filter);
    if (unknown)
        return bad_usage(command, "--trigger: %s is known at the end only", unknown);
    return OPTIONS_GO_ON;
}

bool capture_event_begin(struct capture_event *event)
{
    size_t share = options_memory(event->select->options, MEMORY_COMMAND);

    capture_trigger_begin(&event->trigger, share / 8);
    event->select->trigger = &event->trigger;
    if (capture_before_new(&event->before, share - share / 8, event->pre_ns))
        return true;
    complain("out of memory");
    return false;
}

void capture_event_end(struct capture_event *event)
{
    capture_trigger_end(&event->trigger);
    capture_before_free(&event->before);
}

static void put_before(void *context, uint32_t interface, const struct rpcrdma_packet *packet,
                       bool last)
{
    struct capture_event *event = context;

    capture_files_packet(event->files, interface, packet, last ? event->comment : NULL);
}

static char *file_comment(const struct capture_event *event, int64_t from_ns)
{
    int64_t fraction = (event->at_ns % SECOND + SECOND) % SECOND;
    time_t seconds = (time_t)((event->at_ns - fraction) / SECOND);
    struct tm utc;
    char stamp[32];

    gmtime_r(&seconds, &utc);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
    return g_strdup_printf("rpcrdma capture --trigger '%s': %s, at %s.%09dZ; %.3f s before that, "
                           "%.3f s after",
                           event->expression, event->trigger.what, stamp, (int)fraction,
                           (double)time_less(event->at_ns, from_ns) / 1e9,
                           (double)event->post_ns / 1e9);
}

/* What was before it is counted from the latest packet: where it is met by silence, that is where
 * the silence began. */
static void write_file(struct capture_event *event)
{
    int64_t from_ns = time_less(event->latest_ns, event->pre_ns);
    char *comment = file_comment(event, from_ns);

    if (capture_files_begin(event->files, comment)) {
        event->writing = true;
        if (event->files->began)
            event->files->began(event->files->context,
                                capture_before_first(&event->before, from_ns));
        event->too_early += capture_before_lacks(&event->before, from_ns);
        event->comment = g_strdup_printf("trigger: %s", event->trigger.what);
        capture_before_each(&event->before, from_ns, put_before, event);
        g_free(event->comment);
        event->comment = NULL;
    }
    g_free(comment);
}

/* Since the latest that was met, at now_ns of the capture's clock. */
static int64_t since_met(const struct capture_event *event, int64_t now_ns)
{
    return time_less(now_ns, event->at_ns);
}

static int64_t since_met_own(const struct capture_event *event)
{
    return clock_now(CLOCK_MONOTONIC) - event->at_own_ns;
}

static bool is_held_off(const struct capture_event *event, int64_t now_ns)
{
    int64_t since = event->live ? since_met_own(event) : since_met(event, now_ns);

    return event->any && since >= ASTRAY && since < event->hold_off_ns;
}

/* Something met the expression. */
static void on_met(struct capture_event *event, int64_t now_ns)
{
    event->trigger.met = false;
    event->met++;
    if (event->writing) {
        event->within++;
    } else if (is_held_off(event, now_ns)) {
        event->held_off++;
    } else {
        event->any = true;
        event->at_ns = now_ns;
        event->at_own_ns = clock_now(CLOCK_MONOTONIC);
        write_file(event);
    }
}

/* The capture's clock may be set meanwhile, and packets may have waited before they came here: of
 * devices both clocks have to say that it is over. */
static void finish_at(struct capture_event *event, int64_t now_ns)
{
    int64_t since = since_met(event, now_ns);

    if (event->writing && (since > event->post_ns || since < ASTRAY) &&
        (!event->live || since_met_own(event) > event->post_ns)) {
        capture_files_close(event->files);
        event->writing = false;
    }
}

void capture_event_packet(struct capture_event *event, uint32_t interface,
                          const struct rpcrdma_packet *packet)
{
    bool was_writing;

    event->latest_ns = packet->time_ns;
    event->arrived_ns = clock_now(CLOCK_MONOTONIC);
    finish_at(event, packet->time_ns);
    capture_before_add(&event->before, interface, packet);
    was_writing = event->writing;
    if (event->trigger.met)
        on_met(event, packet->time_ns);
    if (was_writing)
        capture_files_packet(event->files, interface, packet, NULL);
}

void capture_event_left_out(struct capture_event *event, int64_t time_ns)
{
    finish_at(event, time_ns);
}

int capture_event_no_packet(struct capture_event *event)
{
    const int64_t most_ns = SECOND, ms = 1000000;
    int64_t now_ns, left_ns;

    if (event->arrived_ns == 0)
        return (int)(most_ns / ms);
    now_ns = time_plus(event->latest_ns, clock_now(CLOCK_MONOTONIC) - event->arrived_ns);
    capture_select_time(event->select, now_ns);
    finish_at(event, now_ns);
    if (event->trigger.met)
        on_met(event, now_ns);
    left_ns = event->writing ? time_less(event->post_ns, since_met_own(event)) : most_ns;
    return (int)((left_ns < 0 ? 0 : left_ns > most_ns ? most_ns : left_ns) / ms) + 1;
}

void capture_event_last(struct capture_event *event)
{
    if (event->arrived_ns == 0)
        return;
    capture_select_last(event->select);
    if (event->trigger.met)
        on_met(event, event->latest_ns);
}

void capture_event_summary(const struct capture_event *event)
{
    uint64_t files = event->met - event->within - event->held_off;

    complain("--trigger was met %" PRIu64 " time%s: %" PRIu64 " file%s, %" PRIu64
             " within what a file has already, %" PRIu64 " within --hold-off",
             event->met, plural(event->met), files, plural(files), event->within, event->held_off);
    if (event->too_early > 0)
        complain("%" PRIu64 " file%s begin%s later than --pre: --max-memory holds no more packets",
                 event->too_early, plural(event->too_early), event->too_early == 1 ? "s" : "");
}
