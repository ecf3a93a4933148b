/* SPDX-License-Identifier: BSD-2-Clause */
/* From the source to the analyzer, packet by packet. */
#include "common/complain.h"
#include "pipeline/private.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "common/heap.h"
#include "common/interrupt.h"
#include "common/times.h"
#include "pipeline/reading.h"
#include "source/clock.h"

/* Not before it, nor after an idle time. */
static inline bool follows(int64_t time_ns, int64_t latest_ns)
{
    return (uint64_t)time_ns - (uint64_t)latest_ns < PIPELINE_IDLE_NS;
}

/* A packet like the one before: of the same interface and link type, later, and without notes. */
static inline bool is_usual(const struct pipeline_private *own, const struct source_packet *one)
{
    return own->usual && one->interface == own->interface && source_is_plain(one) &&
           one->packet.linktype == own->link_known &&
           follows(one->packet.time_ns, own->usual->latest_ns);
}

static inline void packet(struct pipeline *pipeline, const struct source_packet *one)
{
    struct pipeline_private *own = pipeline->own;

    pipeline->clock.frame = one->packet.frame;
    pipeline->clock.now_ns = one->packet.time_ns;
    if (pipeline->passes)
        pipeline->passes(pipeline->passes_context, one);
    if (is_usual(own, one))
        own->usual->latest_ns = one->packet.time_ns;
    else if (!pipeline_look_at(pipeline, one))
        return;
    own->no_memory = (one->replayed ? rpcrdma_analyzer_replay(own->analyzer, &one->packet)
                                    : rpcrdma_analyzer_packet(own->analyzer, &one->packet)) ==
                     RPCRDMA_ANALYZER_NO_MEMORY;
}

/* How far packets from the i-th of n on, one behind the other, are like the one before them. */
static size_t usual_ones(const struct pipeline_private *own, const struct source_packet *packets,
                         size_t n, size_t i)
{
    int64_t latest_ns;

    if (!own->usual)
        return i;
    latest_ns = own->usual->latest_ns;
    if (i < own->source->alike && is_usual(own, &packets[i]) &&
        follows(packets[own->source->alike - 1].packet.time_ns, latest_ns)) {
        i = own->source->alike;
        latest_ns = packets[i - 1].packet.time_ns;
    }
    for (; i < n; i++) {
        const struct source_packet *one = &packets[i];

        if (one->interface != own->interface || !source_is_plain(one) ||
            one->packet.linktype != own->link_known || !follows(one->packet.time_ns, latest_ns))
            break;
        latest_ns = one->packet.time_ns;
    }
    return i;
}

static inline bool enough(const struct pipeline *pipeline)
{
    return pipeline->stop || pipeline->own->no_memory;
}

/* Some that are like the one before them; how many of n it took, 0 where the first needs another
 * look. */
static size_t several(struct pipeline *pipeline, const struct source_packet *packets, size_t n,
                      const char *soon, size_t soon_bytes)
{
    struct pipeline_private *own = pipeline->own;
    const struct rpcrdma_flow_batch batch = {
        &pipeline->clock.frame, &pipeline->clock.now_ns, &pipeline->stop, soon, soon_bytes, NULL};

    own->no_memory = rpcrdma_analyzer_packets(own->analyzer, &packets->packet, sizeof(*packets), &n,
                                              &batch) == RPCRDMA_ANALYZER_NO_MEMORY;
    if (n > 0)
        own->usual->latest_ns = packets[n - 1].packet.time_ns;
    return n;
}

/* A batch of the source's: what is as most packets are, at once. */
static void batch(struct pipeline *pipeline, const struct source_packet *packets, size_t n)
{
    bool each = pipeline->passes && !pipeline->passes_unlike; /* by itself */
    size_t i = 0, usual = each ? 0 : usual_ones(pipeline->own, packets, n, 0), taken;
    const char *soon = pipeline->own->source->soon;
    size_t part = soon ? pipeline->own->source->soon_bytes / n : 0;

    heap_look();
    if (pipeline->messages == 0)
        others_look(&pipeline->others, packets, n);
    if (usual < n) /* else several() does */
        rpcrdma_analyzer_ahead(pipeline->own->analyzer, &packets[0].packet, sizeof(packets[0]), n);
    while (i < n && !enough(pipeline)) {
        if (usual <= i && !each)
            usual = usual_ones(pipeline->own, packets, n, i);
        taken = usual > i ? several(pipeline, &packets[i], usual - i, soon ? soon + i * part : NULL,
                                    (usual - i) * part)
                          : 0;
        i += taken;
        if (taken == 0)
            packet(pipeline, &packets[i++]);
    }
}

/* Waits for packets of a device, and calls tick when it is time for that. */
static void wait_and_tick(struct pipeline *pipeline)
{
    struct source *source = pipeline->own->source;
    bool at_hand;
    struct pollfd poll_fd = {.fd = source_devices_fd(source, &at_hand), .events = POLLIN};

    for (;;) {
        int64_t now_ns = clock_now(CLOCK_REALTIME), left;

        if (pipeline->next_tick_ns == 0 || now_ns < pipeline->next_tick_ns - pipeline->interval_ns)
            pipeline->next_tick_ns = now_ns + pipeline->interval_ns; /* or the clock was set */
        left = pipeline->next_tick_ns - now_ns;
        if (left <= 0) {
            pipeline->own->behind = at_hand || poll(&poll_fd, 1, 0) > 0;
            pipeline->tick(pipeline->tick_context, now_ns, pipeline->own->flow);
            pipeline->next_tick_ns += pipeline->interval_ns;
            if (pipeline->next_tick_ns <= now_ns)
                pipeline->next_tick_ns = now_ns + pipeline->interval_ns;
            if (pipeline->out)
                out_flush(pipeline->out);
            if (enough(pipeline))
                return;
            continue;
        }
        /* an end that is slow to come, the source knows how to wait for */
        if (at_hand || interrupt_seen() || poll(&poll_fd, 1, (int)(left / 1000000 + 1)) != 0)
            return;
    }
}

/* That of packets may be an adapter's: what passed since the latest of them is measured by ours.
 * Where more are there to be taken, it is not known whether any has: these have their own times. */
int64_t pipeline_time(const struct pipeline *pipeline, int64_t now_ns)
{
    int64_t since_ns = time_less(now_ns, pipeline->own->taken_ns);

    if (pipeline->own->behind)
        since_ns = 0;
    return time_plus(pipeline->clock.now_ns, since_ns > 0 ? since_ns : 0);
}

void pipeline_pass_time(void *context, int64_t now_ns, struct rpcrdma_flow *flow)
{
    const struct pipeline *pipeline = context;

    if (pipeline->clock.started && now_ns > pipeline->own->taken_ns)
        rpcrdma_flow_time(flow, pipeline_time(pipeline, now_ns));
}

/* Output may go where the progress is shown. */
static void on_output(void *context)
{
    reading_end(context);
}

static void begin_reading(struct pipeline *pipeline, struct reading *reading)
{
    if (pipeline->own->source->live || pipeline->options->quiet || pipeline->options->no_progress ||
        !isatty(STDERR_FILENO))
        return;
    reading_begin(reading);
    if (pipeline->out && pipeline->out->terminal) {
        pipeline->out->first = on_output;
        pipeline->out->first_context = reading;
    }
}

static void end_reading(struct pipeline *pipeline, struct reading *reading)
{
    reading_end(reading);
    if (pipeline->out) {
        pipeline->out->first = NULL;
        pipeline->out->first_context = NULL; /* it ends here */
    }
}

static void read_packets(struct pipeline *pipeline)
{
    struct source *source = pipeline->own->source;
    bool devices = pipeline->options->n_devices > 0; /* they count for themselves */
    uint64_t left = pipeline->options->count && !devices ? pipeline->options->count : UINT64_MAX;
    struct reading reading = {0};
    struct source_packet packets[SOURCE_BATCH];
    enum source_status status;
    size_t n;

    if (devices && !pipeline->tick) {
        pipeline->tick = pipeline_pass_time;
        pipeline->tick_context = pipeline;
        pipeline->interval_ns = SECOND;
    }
    begin_reading(pipeline, &reading);
    while (left > 0 && !enough(pipeline) && !(pipeline->out && pipeline->out->error)) {
        if (pipeline->tick && devices) {
            wait_and_tick(pipeline);
            if (enough(pipeline))
                break;
        }
        status =
            source_next(source, packets, left < SOURCE_BATCH ? (size_t)left : SOURCE_BATCH, &n);
        if (status == SOURCE_END)
            break;
        if (status == SOURCE_ERROR)
            pipeline_unusable(pipeline, "%s", source->error);
        if (n > 0)
            batch(pipeline, packets, n);
        if (devices && n > 0)
            pipeline->own->taken_ns = clock_now(CLOCK_REALTIME);
        left -= n;
        reading_show(&reading, source, n);
        if (source->live && pipeline->out)
            out_flush(pipeline->out);
    }
    pipeline->counted_out = left == 0;
    end_reading(pipeline, &reading);
}

/* Until when packets were awaited. */
static void find_end(struct pipeline *pipeline)
{
    const struct pipeline_private *own = pipeline->own;
    int64_t end_ns = pipeline->clock.now_ns;
    struct source_stats stats = {0};

    if (own->taken_ns != 0) {
        stats.end_known = true;
        stats.end_ns = time_plus(end_ns, clock_now(CLOCK_REALTIME) - own->taken_ns);
    } else if (!pipeline->counted_out && !pipeline->stop) {
        source_stats(own->source, &stats);
    }
    pipeline->end_known = own->any_time && source_end_believed(&stats, end_ns);
    pipeline->end_ns = pipeline->end_known ? stats.end_ns : end_ns;
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    if (interrupt_first(number))
        interrupted = number;
}

/*
 * ^C at `tcpdump -w - | rpcrdma ...` goes to both: the capturing program ends its file, and we read
 * what it still had and sum up. A second ^C ends us.
 */
static void outlive_writer(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

static void on_report(void *context, const char *text)
{
    (void)context;
    complain("%s", text);
}

static bool start(struct pipeline *pipeline)
{
    const struct options *options = pipeline->options;
    struct pipeline_private *own = pipeline->own;
    struct rpcrdma_net_config net_config = {
        .size = sizeof(net_config),
        .check_icrc = options->check_icrc,
        .give_icrc = pipeline->delivery,
        .headers_only = options->headers_only && !options->check_icrc,
        .max_memory = options_memory(options, MEMORY_NET),
    };
    struct rpcrdma_flow_sink flow_sink = pipeline_flow_sink(pipeline);
    struct rpcrdma_analyzer_sink sink = pipeline_analyzer_sink(pipeline, &flow_sink);
    struct rpcrdma_flow_config flow_config = options_flow(options);

    flow_config.credits = pipeline->credits;
    flow_config.delivery = pipeline->delivery;
    own->analyzer = rpcrdma_analyzer_new(
        &(struct rpcrdma_analyzer_config){
            .size = sizeof(struct rpcrdma_analyzer_config),
            .net = &net_config,
            .flow = &flow_config,
        },
        &sink);
    if (!own->analyzer)
        return false;
    own->flow = rpcrdma_analyzer_flow(own->analyzer);
    return true;
}

void pipeline_counts(const struct pipeline *pipeline, struct pipeline_counts *counts)
{
    *counts = (struct pipeline_counts){
        .net = *rpcrdma_net_stats(rpcrdma_analyzer_net(pipeline->own->analyzer))};
    source_stats(pipeline->own->source, &counts->source);
}

/* Of devices: what is measured goes on until now, as no packet may have come for long. */
static void pass_to_end(struct pipeline *pipeline)
{
    rpcrdma_flow_until(pipeline->own->flow, pipeline->end_ns);
    if (pipeline->own->taken_ns == 0)
        return;
    pipeline_pass_time(pipeline, clock_now(CLOCK_REALTIME), pipeline->own->flow);
    if (!pipeline->credits)
        return;
    pipeline->own->muted = true; /* their results come with the end */
    rpcrdma_flow_credits(pipeline->own->flow, false);
    pipeline->own->muted = false;
}

int pipeline_run(struct pipeline *pipeline, const struct rpcrdma_flow_sink *sink)
{
    struct pipeline_private own = {.sink = sink};
    struct source_stats stats = {0};
    char error[512];

    pipeline->own = &own;
    pipeline->in_cut = pipeline->at_end = pipeline->was_read = false;
    pipeline->messages_unknown = false;
    if (options_confine(pipeline->options, error, sizeof(error)))
        own.source = options_open(pipeline->options, error, sizeof(error));
    if (!own.source) {
        pipeline_unusable(pipeline, "%s", error);
        pipeline->own = NULL;
        return own.status;
    }
    if (own.source->live && pipeline->options->n_devices == 0 && !pipeline->options->follow)
        outlive_writer();
    pipeline_clocks_begin(pipeline);
    own.no_memory = !start(pipeline);
    if (!own.no_memory) {
        read_packets(pipeline);
        pipeline->was_read = own.any_time || own.status == EXIT_DONE;
        find_end(pipeline);
        pipeline->at_end = true;
        pass_to_end(pipeline);
        if (pipeline->last)
            pipeline->last(pipeline->last_context, own.flow);
        pipeline->clock.started = own.any_time;
        own.no_memory = rpcrdma_analyzer_end(own.analyzer) == RPCRDMA_ANALYZER_NO_MEMORY;
        pipeline_clocks_apart(pipeline);
    }
    if (own.no_memory) {
        pipeline_unusable(pipeline, "%s%s: packet %" PRIu64 ": out of memory",
                          options_said(pipeline->options), options_and_others(pipeline->options),
                          pipeline->clock.frame);
    } else {
        others_collect(&pipeline->others, rpcrdma_analyzer_net(own.analyzer), own.source);
        pipeline->memory_limit += pipeline->others.stats.memory_limit;
        source_stats(own.source, &stats);
        pipeline->capture_lost_known = stats.dropped_known;
        pipeline->capture_lost = stats.dropped_known ? stats.dropped : 0;
        pipeline->found = pipeline->messages > 0 || own.connections > 0;
        pipeline_say_nothing_found(pipeline);
    }
    pipeline_by_file(pipeline);
    pipeline_tell_doubts(pipeline);
    pipeline_tell_missing(pipeline);
    if (!pipeline->options->quiet)
        source_report(own.source, on_report, NULL);
    rpcrdma_analyzer_free(own.analyzer);
    source_close(own.source);
    pipeline_clocks_end(pipeline);
    g_free(pipeline->own->parts.input);
    g_free(pipeline->clock.notes);
    pipeline->clock.notes = NULL;
    pipeline->own = NULL;
    return own.status;
}
