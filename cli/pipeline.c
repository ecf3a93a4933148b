/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "flow/rpc.h"
#include "out/escape.h"
#include "reading.h"
#include "source/clock.h"
#include "source/interrupt.h"
#include "times.h"

#define SECOND INT64_C(1000000000)

enum {
    N_LINKS = 16, /* unknown link types that are reported */
    N_CLOCKS = 8, /* interfaces whose times are compared; of more, those that take turns are not */
};

/* Packets of one interface are in order of time. Those of several are not always: each has a queue.
 */
struct interface_clock {
    int64_t latest_ns;
    uint32_t interface;
    bool started;
    uint64_t set_back;
};

struct pipeline_private {
    const struct rpcrdma_flow_sink *sink;
    struct source *source;
    struct rpcrdma_analyzer *analyzer;
    struct rpcrdma_flow *flow; /* the analyzer's */
    int status;
    bool no_memory;
    uint64_t connections;
    int64_t taken_ns;    /* of devices: when packets came last, by our clock */
    uint64_t set_back;   /* how often the capture's clock was */
    int64_t set_back_ns; /* and by how much, at most */
    struct interface_clock clocks[N_CLOCKS];
    /* That of the packet before, which was an ordinary one: the next like it passes at once. NULL:
     * it was not */
    struct interface_clock *usual;
    uint32_t interface; /* of the packet before; and the place of capture that it is */
    bool placed;
    uint32_t link_known; /* the link type of the packet before */
    bool link_checked;
    uint32_t links_refused[N_LINKS];
    size_t n_links_refused;
};

static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    pipeline->own->connections++;
    if (sink->connection)
        sink->connection(sink->context, connection);
}

/* How often something was left out because --max-memory was reached. */
static void count_limit(struct pipeline *pipeline, const struct rpcrdma_finding *findings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pipeline->memory_limit += findings[i].rule == RPCRDMA_RULE_MEMORY_LIMIT;
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    pipeline->messages++;
    count_limit(pipeline, message->findings, message->n_findings);
    if (sink->message)
        sink->message(sink->context, message);
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    count_limit(pipeline, finding, 1);
    if (sink->finding)
        sink->finding(sink->context, connection, finding);
}

static void on_credits(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_credit_result *results, size_t n)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    sink->credits(sink->context, connection, results, n);
}

static void on_credit_point(void *context, const struct rpcrdma_connection *connection, int end,
                            const struct rpcrdma_credit_point *point)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    sink->credit_point(sink->context, connection, end, point);
}

static void on_rpc(void *context, const struct rpcrdma_rpc_message *message)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    sink->rpc(sink->context, message);
}

static void on_payload_stream(void *context, const struct rpcrdma_payload_stream *stream)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    sink->payload_stream(sink->context, stream);
}

static void on_data_transfer(void *context, const struct rpcrdma_data_transfer *transfer)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    sink->data_transfer(sink->context, transfer);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct pipeline *pipeline = context;
    const struct rpcrdma_flow_sink *sink = pipeline->own->sink;

    count_limit(pipeline, transaction->findings, transaction->n_findings);
    sink->transaction(sink->context, transaction);
}

static void on_repeated(void *context, const struct rpcrdma_repeated *repeated)
{
    const struct rpcrdma_flow_sink *sink = ((struct pipeline *)context)->own->sink;

    sink->repeated(sink->context, repeated);
}

static bool on_op(void *context, const struct rpcrdma_op *op)
{
    struct pipeline *pipeline = context;

    pipeline->op(pipeline->op_context, op);
    return true;
}

const struct rpcrdma_connection *pipeline_connection(const struct pipeline *pipeline,
                                                     const struct rpcrdma_op *op)
{
    return rpcrdma_flow_connection(pipeline->own->flow, op);
}

static void on_op_done(void *context, const struct rpcrdma_op *op)
{
    struct pipeline *pipeline = context;

    if (pipeline->setup && op->kind >= RPCRDMA_OP_CONNECT && op->kind <= RPCRDMA_OP_RESET) {
        const struct rpcrdma_connection *of =
            rpcrdma_flow_setup_connection(pipeline->own->flow, op);

        if (of)
            pipeline->setup(pipeline->op_context, op, of);
    }
    if (pipeline->op_done)
        pipeline->op_done(pipeline->op_context, op, rpcrdma_flow_path(pipeline->own->flow, op));
}

/* Says why. */
__attribute__((format(printf, 2, 3))) static void unusable(struct pipeline *pipeline,
                                                           const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    complain("%s", text);
    if (pipeline->problems)
        g_ptr_array_add(pipeline->problems, text);
    else
        g_free(text);
    pipeline->own->status = EXIT_UNUSABLE;
}

/* Says once of a link type that its packets cannot be read. */
static void refuse(struct pipeline *pipeline, const struct source_packet *packet)
{
    struct pipeline_private *own = pipeline->own;
    uint32_t linktype = packet->packet.linktype;
    struct source_interface interface = {0};
    char name[200] = "";

    for (size_t i = 0; i < own->n_links_refused; i++)
        if (own->links_refused[i] == linktype)
            return;
    if (own->n_links_refused < N_LINKS)
        own->links_refused[own->n_links_refused++] = linktype;
    source_interface(own->source, packet->interface, &interface);
    if (interface.name)
        escape_text(name, sizeof(name), interface.name);
    unusable(pipeline,
             "%s: packet %" PRIu64 ": link type %" PRIu32
             "%s%s is not known here; its packets are left out",
             interface.input, packet->packet.frame, linktype, interface.name ? " of " : "", name);
}

static bool link_known(struct pipeline *pipeline, const struct source_packet *packet)
{
    struct pipeline_private *own = pipeline->own;
    uint32_t linktype = packet->packet.linktype;

    if (own->link_checked && own->link_known == linktype)
        return true;
    if (!rpcrdma_net_link_known(linktype)) {
        refuse(pipeline, packet);
        return false;
    }
    own->link_checked = true;
    own->link_known = linktype;
    return true;
}

static void set_back(struct pipeline_private *own, struct interface_clock *clock, int64_t by_ns)
{
    enum {
        QUEUES_NS = 10000000
    }; /* an interface's own queues may change places: that is no clock */

    if (by_ns < QUEUES_NS)
        return;
    if (++clock->set_back > own->set_back) /* the same clock, as a rule, seen at each interface */
        own->set_back = clock->set_back;
    if (by_ns > own->set_back_ns)
        own->set_back_ns = by_ns;
}

static void look_at_clock(struct pipeline_private *own, const struct source_packet *one)
{
    struct interface_clock *clock = &own->clocks[one->interface % N_CLOCKS];
    int64_t now = one->packet.time_ns;

    if (!clock->started || clock->interface != one->interface)
        *clock = (struct interface_clock){.started = true, .interface = one->interface};
    else if (now < clock->latest_ns)
        set_back(own, clock, time_less(clock->latest_ns, now));
    clock->latest_ns = now;
}

static void start_clock(struct pipeline *pipeline, const struct source_packet *one)
{
    struct source_interface interface = {0};

    pipeline->clock.started = true;
    pipeline->clock.start_ns = one->packet.time_ns;
    if (source_interface(pipeline->own->source, one->interface, &interface))
        pipeline->clock.nanoseconds = interface.ticks > 1000000;
}

static void note(struct pipeline *pipeline, const struct source_packet *one)
{
    if (!pipeline->clock.notes)
        pipeline->clock.notes = g_new0(struct packet_notes, 1);
    packet_notes_add(pipeline->clock.notes, one->packet.frame, one->direction, one->comment,
                     one->comment_len);
}

static inline bool has_notes(const struct source_packet *one)
{
    return one->comment_len > 0 || one->direction != 0;
}

/* A packet like the one before: of the same interface and link type, later, and without notes. */
static inline bool is_usual(const struct pipeline_private *own, const struct source_packet *one)
{
    return own->usual && one->interface == own->interface && !one->replayed && !has_notes(one) &&
           one->packet.linktype == own->link_known && one->packet.time_ns >= own->usual->latest_ns;
}

/* Any other. False: its link type is not known. */
__attribute__((noinline)) static bool look_at(struct pipeline *pipeline,
                                              const struct source_packet *one)
{
    struct pipeline_private *own = pipeline->own;

    own->usual = NULL;
    if (!pipeline->clock.started && !one->replayed)
        start_clock(pipeline, one);
    if (has_notes(one))
        note(pipeline, one);
    if (!link_known(pipeline, one))
        return false;
    if (!one->replayed)
        look_at_clock(own, one);
    if (!own->placed || one->interface != own->interface) {
        own->placed = true;
        own->interface = one->interface;
        rpcrdma_flow_tap(own->flow, one->interface < UINT8_MAX ? (uint8_t)(one->interface + 1) : 0);
    }
    if (!one->replayed)
        own->usual = &own->clocks[one->interface % N_CLOCKS];
    return true;
}

static inline void packet(struct pipeline *pipeline, const struct source_packet *one)
{
    struct pipeline_private *own = pipeline->own;

    pipeline->clock.frame = one->packet.frame;
    pipeline->clock.now_ns = one->packet.time_ns;
    if (is_usual(own, one))
        own->usual->latest_ns = one->packet.time_ns;
    else if (!look_at(pipeline, one))
        return;
    own->no_memory = (one->replayed ? rpcrdma_analyzer_replay : rpcrdma_analyzer_packet)(
                         own->analyzer, &one->packet) == RPCRDMA_ANALYZER_NO_MEMORY;
}

static inline bool enough(const struct pipeline *pipeline)
{
    return pipeline->stop || pipeline->own->no_memory;
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
            pipeline->tick(pipeline->tick_context, now_ns, pipeline->own->flow);
            pipeline->next_tick_ns += pipeline->interval_ns;
            if (pipeline->next_tick_ns <= now_ns)
                pipeline->next_tick_ns = now_ns + pipeline->interval_ns;
            if (pipeline->out)
                out_flush(pipeline->out);
            continue;
        }
        /* an end that is slow to come, the source knows how to wait for */
        if (at_hand || interrupt_seen() || poll(&poll_fd, 1, (int)(left / 1000000 + 1)) != 0)
            return;
    }
}

/* The packets' clock may be an adapter's: what passed since the latest of them is measured by ours.
 */
void pipeline_pass_time(void *context, int64_t now_ns, struct rpcrdma_flow *flow)
{
    const struct pipeline *pipeline = context;

    if (pipeline->clock.started && now_ns > pipeline->own->taken_ns)
        rpcrdma_flow_time(flow, pipeline->clock.now_ns + (now_ns - pipeline->own->taken_ns));
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

    if (devices && pipeline->delivery && !pipeline->tick) {
        pipeline->tick = pipeline_pass_time;
        pipeline->tick_context = pipeline;
        pipeline->interval_ns = SECOND;
    }
    begin_reading(pipeline, &reading);
    while (left > 0 && !enough(pipeline) && !(pipeline->out && pipeline->out->error)) {
        if (pipeline->tick && devices)
            wait_and_tick(pipeline);
        status =
            source_next(source, packets, left < SOURCE_BATCH ? (size_t)left : SOURCE_BATCH, &n);
        if (status == SOURCE_END)
            break;
        if (status == SOURCE_ERROR)
            unusable(pipeline, "%s", source->error);
        if (n > 0)
            rpcrdma_analyzer_ahead(pipeline->own->analyzer, &packets[0].packet, sizeof(packets[0]),
                                   n);
        for (size_t i = 0; i < n && !enough(pipeline); i++)
            packet(pipeline, &packets[i]);
        if (devices && n > 0)
            pipeline->own->taken_ns = clock_now(CLOCK_REALTIME);
        left -= n;
        reading_show(&reading, source, n);
        if (source->live && pipeline->out)
            out_flush(pipeline->out);
    }
    end_reading(pipeline, &reading);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    interrupted = number;
}

/*
 * ^C at `tcpdump -w - | rpcrdma ...` goes to both: the capturing program ends its file, and we read
 * what it still had and sum up. A second ^C ends us.
 */
static void outlive_writer(void)
{
    struct sigaction action = {.sa_handler = on_interrupt,
                               .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

static void on_report(void *context, const char *text)
{
    (void)context;
    complain("%s", text);
}

static void say_nothing_found(const struct pipeline *pipeline)
{
    const struct rpcrdma_net_stats *stats = &pipeline->others.stats;
    char others[600];

    if (pipeline->found || pipeline->options->quiet || pipeline->own->status != EXIT_DONE)
        return;
    others_text(&pipeline->others, others, sizeof(others));
    complain("%s%s: no RPC-over-RDMA: %" PRIu64 " packet%s, %" PRIu64 " of them RDMA%s%s%s",
             options_input(pipeline->options),
             pipeline->options->n_files > 1 || pipeline->options->n_devices > 1 ? " and others"
                                                                                : "",
             stats->packets, stats->packets == 1 ? "" : "s", stats->rdma,
             stats->rdma > 0 ? "; --port or --qpn can say which connections carry it" : "",
             others[0] ? "; not RDMA: " : "", others);
}

/* What a reader of results would not expect of them. */
static void say_what_is_missing(const struct pipeline *pipeline)
{
    const struct pipeline_private *own = pipeline->own;
    uint64_t too_deep =
        own->analyzer ? rpcrdma_net_stats(rpcrdma_analyzer_net(own->analyzer))->too_deep : 0;
    const char *input = options_input(pipeline->options);
    struct source_stats stats = {0};

    source_stats(own->source, &stats);
    if (stats.texts_left_out > 0)
        complain("%s: %" PRIu64 " names and comments of interfaces are left out: too many", input,
                 stats.texts_left_out);
    if (stats.dropped_known && stats.dropped > 0 && pipeline->options->n_devices == 0)
        complain("%s: %" PRIu64 " packet%s lost before %s captured", input, stats.dropped,
                 stats.dropped == 1 ? " was" : "s were",
                 stats.dropped == 1 ? "it was" : "they were");
    if (pipeline->memory_limit > 0)
        complain("%s: --max-memory (%zu MiB) was reached %" PRIu64
                 " time%s: some of what was outstanding is left out",
                 input, options_max_memory(pipeline->options) >> 20, pipeline->memory_limit,
                 pipeline->memory_limit == 1 ? "" : "s");
    if (own->set_back > 0)
        complain("%s: the clock of the capture was set back %" PRIu64 " time%s, by up to %.3f s: "
                 "lengths of time across that are wrong, or left out",
                 input, own->set_back, own->set_back == 1 ? "" : "s",
                 (double)own->set_back_ns / 1e9);
    if (too_deep > 0)
        complain("%s: %" PRIu64 " packet%s not decoded: too many Ethernet and IP headers within "
                 "each other",
                 input, too_deep, too_deep == 1 ? " was" : "s were");
}

static bool start(struct pipeline *pipeline)
{
    const struct options *options = pipeline->options;
    struct pipeline_private *own = pipeline->own;
    struct rpcrdma_net_config net_config = {
        .size = sizeof(net_config),
        .check_icrc = options->check_icrc,
        .give_icrc = pipeline->delivery,
        .max_memory = options_memory(options, MEMORY_NET),
    };
    struct rpcrdma_flow_sink flow_sink = {
        .size = sizeof(flow_sink),
        .connection = on_connection,
        .message = own->sink->message || !pipeline->unlisted ? on_message : NULL,
        .finding = on_finding,
        .credits = own->sink->credits ? on_credits : NULL,
        .credit_point = own->sink->credit_point ? on_credit_point : NULL,
        /* wanting these is what makes flow/ put RPCs together */
        .rpc = own->sink->rpc ? on_rpc : NULL,
        .transaction = own->sink->transaction ? on_transaction : NULL,
        .data_transfer = own->sink->data_transfer ? on_data_transfer : NULL,
        .payload_stream = own->sink->payload_stream ? on_payload_stream : NULL,
        .repeated = own->sink->repeated ? on_repeated : NULL,
        .context = pipeline,
    };
    struct rpcrdma_flow_config flow_config = options_flow(options);

    flow_config.credits = pipeline->credits;
    flow_config.delivery = pipeline->delivery;
    own->analyzer = rpcrdma_analyzer_new(
        &(struct rpcrdma_analyzer_config){
            .size = sizeof(struct rpcrdma_analyzer_config),
            .net = &net_config,
            .flow = &flow_config,
        },
        &(struct rpcrdma_analyzer_sink){
            .size = sizeof(struct rpcrdma_analyzer_sink),
            .flow = &flow_sink,
            .op = pipeline->op ? on_op : NULL,
            .op_done = pipeline->op_done || pipeline->setup ? on_op_done : NULL,
            .context = pipeline,
        });
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

int pipeline_run(struct pipeline *pipeline, const struct rpcrdma_flow_sink *sink)
{
    struct pipeline_private own = {.sink = sink};
    struct source_stats stats = {0};
    char error[512];

    pipeline->own = &own;
    if (options_confine(pipeline->options, error, sizeof(error)))
        own.source = options_open(pipeline->options, error, sizeof(error));
    if (!own.source) {
        unusable(pipeline, "%s", error);
        pipeline->own = NULL;
        return own.status;
    }
    if (own.source->live && pipeline->options->n_devices == 0 && !pipeline->options->follow)
        outlive_writer();
    own.no_memory = !start(pipeline);
    if (!own.no_memory) {
        read_packets(pipeline);
        own.no_memory = rpcrdma_analyzer_end(own.analyzer) == RPCRDMA_ANALYZER_NO_MEMORY;
    }
    if (own.no_memory) {
        unusable(pipeline, "%s: packet %" PRIu64 ": out of memory",
                 options_input(pipeline->options), pipeline->clock.frame);
    } else {
        others_collect(&pipeline->others, rpcrdma_analyzer_net(own.analyzer));
        pipeline->memory_limit += pipeline->others.stats.memory_limit;
        source_stats(own.source, &stats);
        pipeline->capture_lost_known = stats.dropped_known;
        pipeline->capture_lost = stats.dropped_known ? stats.dropped : 0;
        pipeline->found = pipeline->messages > 0 || own.connections > 0;
        say_nothing_found(pipeline);
    }
    if (!pipeline->options->quiet) {
        say_what_is_missing(pipeline);
        source_report(own.source, on_report, NULL);
    }
    rpcrdma_analyzer_free(own.analyzer);
    source_close(own.source);
    g_free(pipeline->clock.notes);
    pipeline->clock.notes = NULL;
    pipeline->own = NULL;
    return own.status;
}
