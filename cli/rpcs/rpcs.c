/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma rpcs: a line per RPC transaction, or a summary. */
#include <inttypes.h>
#include <string.h>

#include "common/complain.h"
#include "common/plural.h"
#include "filter/where.h"
#include "options/moment.h"
#include "out/transaction.h"
#include "out/view.h"
#include "output/finish.h"
#include "pipeline/pipeline.h"
#include "rpcs/details.h"
#include "rpcs/groups.h"
#include "rpcs/in_order.h"
#include "rpcs/sorted.h"

enum sort { SORT_NONE, SORT_LATENCY, SORT_TIME, SORT_BYTES };

/* What the options said. */
struct choice {
    char *where, *since, *until, *sort, *per, *time, *interval;
    uint64_t top; /* 0: all */
    gboolean summary, histogram;
};

struct rpcs {
    struct view view;
    bool json;
    struct pipeline *pipeline;
    struct details *details;
    struct filter *filter;
    struct moment since, until;
    enum sort sort;
    /* one of: */
    struct groups *groups;
    struct sorted *sorted;
    struct order *order;
};

static void on_payload_stream(void *context, const struct rpcrdma_payload_stream *stream)
{
    struct rpcs *rpcs = context;

    details_stream(rpcs->details, stream);
    if (rpcs->order && stream->direction == RPCRDMA_DIRECTION_CALL && *stream->tag)
        order_expect(rpcs->order, *stream->tag, stream->time_ns);
}

static bool in_time(const struct rpcs *rpcs, const struct rpcrdma_transaction *t)
{
    int64_t time_ns = rpc_time(t), start_ns = rpcs->pipeline->clock.start_ns;

    return (rpcs->since.kind == MOMENT_NONE || time_ns >= moment_ns(&rpcs->since, start_ns)) &&
           (rpcs->until.kind == MOMENT_NONE || time_ns <= moment_ns(&rpcs->until, start_ns));
}

static void put_line(struct rpcs *rpcs, const struct rpc *rpc, struct out *out)
{
    char path[NFS_PATH + 1];
    struct transaction_file file = {.nfs = rpc->nfs, .path = path};

    file.path_length = rpc_path(rpc, path);
    path[file.path_length] = '\0';
    rpcs->view.out = rpcs->view.json.out = out;
    if (rpcs->json)
        transaction_file_json(&rpcs->view, rpc->transaction, &file);
    else
        transaction_file_text(&rpcs->view, rpc->transaction, &file);
}

static int64_t measure(const struct rpcs *rpcs, const struct rpcrdma_transaction *t)
{
    switch (rpcs->sort) {
    case SORT_LATENCY: /* an unanswered Call waited to the end */
        return t->has_latency ? t->latency_ns : t->call_frame ? INT64_MAX : INT64_MIN;
    case SORT_BYTES:
        return (int64_t)rpc_bytes(t);
    default:
        return -rpc_time(t);
    }
}

static void show(struct rpcs *rpcs, const struct rpc *rpc, bool wanted)
{
    const struct rpcrdma_transaction *t = rpc->transaction;

    if (rpcs->order) {
        struct out *out = order_begin(rpcs->order, t->tag, rpc_time(t));

        if (wanted)
            put_line(rpcs, rpc, out);
        order_done(rpcs->order, !wanted);
    } else if (!wanted) {
        return;
    } else if (rpcs->groups) {
        groups_add(rpcs->groups, rpc);
    } else if (rpcs->sorted) {
        if (!sorted_wants(rpcs->sorted, measure(rpcs, t)))
            return;
        put_line(rpcs, rpc, sorted_begin(rpcs->sorted));
        sorted_done(rpcs->sorted, measure(rpcs, t));
    } else {
        put_line(rpcs, rpc, rpcs->pipeline->out);
    }
}

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct rpcs *rpcs = context;
    struct rpc rpc = details_of(rpcs->details, transaction);

    show(rpcs, &rpc, in_time(rpcs, transaction) && rpc_matches(rpcs->filter, &rpc));
    details_done(rpcs->details, transaction);
}

static int moment_option(const struct command *command, const char *name, const char *text,
                         struct moment *moment)
{
    if (!text || moment_parse(text, moment))
        return OPTIONS_GO_ON;
    return bad_usage(command,
                     "%s \"%s\": no time; one is 12.5 (seconds after the first packet), "
                     "2026-11-22T07:15:30Z, 07:15:30, Nov 22 07:15:30 or @1795165963.5",
                     name, text);
}

/* Of times that are written alike; of others, that is known with the capture alone. */
static int check_order(const struct command *command, const struct choice *choice,
                       const struct rpcs *rpcs)
{
    const struct moment *since = &rpcs->since, *until = &rpcs->until;

    if (since->kind != until->kind || since->kind == MOMENT_NONE || since->kind == MOMENT_OF_YEAR ||
        until->ns >= since->ns)
        return OPTIONS_GO_ON;
    return bad_usage(command, "--until \"%s\" is before --since \"%s\"", choice->until,
                     choice->since);
}

static int sort_option(const struct command *command, struct rpcs *rpcs, const char *name)
{
    static const char *const names[] = {
        [SORT_LATENCY] = "latency", [SORT_TIME] = "time", [SORT_BYTES] = "bytes"};

    for (enum sort sort = SORT_LATENCY; name && sort <= SORT_BYTES; sort++)
        if (strcmp(names[sort], name) == 0)
            rpcs->sort = sort;
    return name && rpcs->sort == SORT_NONE
               ? bad_usage(command, "--sort latency, time or bytes, not \"%s\"", name)
               : OPTIONS_GO_ON;
}

static int choose(const struct command *command, struct rpcs *rpcs, const struct options *options,
                  const struct choice *choice)
{
    size_t share = options_memory(options, MEMORY_COMMAND) / 2;
    int status = where_compile(command, choice->where, filter_of_rpcs, &rpcs->filter);
    enum groups_by by = GROUPS_OPERATION;
    int64_t interval_ns = 0;

    if (status == OPTIONS_GO_ON)
        status = moment_option(command, "--since", choice->since, &rpcs->since);
    if (status == OPTIONS_GO_ON)
        status = moment_option(command, "--until", choice->until, &rpcs->until);
    if (status == OPTIONS_GO_ON)
        status = check_order(command, choice, rpcs);
    if (status == OPTIONS_GO_ON)
        status = sort_option(command, rpcs, choice->sort);
    if (status != OPTIONS_GO_ON)
        return status;
    if (choice->time && !view_time_parse(choice->time, &rpcs->view.time))
        return bad_usage(command, "there is no time format \"%s\"", choice->time);
    if (choice->per && !groups_by_parse(choice->per, &by))
        return bad_usage(command,
                         "--per operation, client, server, connection, file or user, not \"%s\"",
                         choice->per);
    if (choice->interval &&
        (!duration_parse(choice->interval, 1e9, &interval_ns) || interval_ns <= 0))
        return bad_usage(command, "--interval \"%s\": no duration; one is 10, 500ms or 1min",
                         choice->interval);
    rpcs->details = details_new(share);
    if (choice->summary || choice->per || choice->histogram || interval_ns > 0)
        rpcs->groups =
            groups_new(choice->per || interval_ns == 0 ? by : GROUPS_ALL, interval_ns, share);
    else if (rpcs->sort != SORT_NONE || choice->top > 0)
        rpcs->sorted = sorted_new((size_t)choice->top, &rpcs->view, share);
    else if (options->n_devices == 0) /* else a line when it is known: nobody waits for another */
        rpcs->order = order_new(rpcs->pipeline->out, &rpcs->view, share);
    if (rpcs->groups && !rpcs->filter && by != GROUPS_FILE && by != GROUPS_USER)
        details_status_only(rpcs->details);
    if (!rpcs->groups && !rpcs->sorted && !rpcs->order && options->n_devices == 0) {
        complain("out of memory");
        return EXIT_UNUSABLE;
    }
    if (rpcs->sorted && rpcs->sort == SORT_NONE)
        rpcs->sort = SORT_LATENCY;
    return OPTIONS_GO_ON;
}

static void finish(struct rpcs *rpcs, const struct choice *choice)
{
    struct out *out = rpcs->pipeline->out;
    const struct view_clock *clock = &rpcs->pipeline->clock;
    uint64_t n;

    if (rpcs->order) {
        n = order_end(rpcs->order);
        if (n > 0)
            complain("%" PRIu64 " %s not in order of time: more would have had to wait than "
                     "--max-memory allows",
                     n, n == 1 ? "line is" : "lines are");
    }
    if (rpcs->sorted) {
        n = sorted_end(rpcs->sorted, out);
        if (n > 0)
            complain("%" PRIu64 " RPC%s left out: --top, or more than --max-memory holds", n,
                     n == 1 ? " is" : "s are");
    }
    if (rpcs->groups) {
        struct groups_shown shown = {.span_ns = clock->now_ns - clock->start_ns,
                                     .start_ns = clock->start_ns,
                                     .top = (size_t)choice->top,
                                     .histogram = choice->histogram};

        groups_settle(rpcs->groups, details_paths(rpcs->details));
        groups_sort(rpcs->groups, rpcs->sort == SORT_LATENCY ? GROUPS_BY_LATENCY
                                  : rpcs->sort == SORT_BYTES ? GROUPS_BY_BYTES
                                                             : GROUPS_BY_TIME);
        (rpcs->json ? groups_json : groups_text)(rpcs->groups, &shown, out);
        groups_complain(rpcs->groups);
    }
    n = nfs_paths_dropped(details_paths(rpcs->details));
    if (n > 0 && !rpcs->pipeline->options->quiet)
        complain("%" PRIu64 " name%s of files %s not known: more than --max-memory holds", n,
                 plural(n), n == 1 ? "is" : "are");
}

static int run(const struct command *command, int argc, char **argv)
{
    struct choice choice = {0};
    struct options options = {.own = &choice.top};
    GOptionEntry own[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object per line", NULL},
        {"time", 't', 0, G_OPTION_ARG_STRING, &choice.time, VIEW_TIME_HELP, "FORMAT"},
        WHERE_OPTION(&choice.where),
        {"since", 0, 0, G_OPTION_ARG_STRING, &choice.since,
         "Only RPCs from then on: 12.5 s after the first packet, a date, a time", "TIME"},
        {"until", 0, 0, G_OPTION_ARG_STRING, &choice.until, "Only RPCs until then", "TIME"},
        {"sort", 0, 0, G_OPTION_ARG_STRING, &choice.sort, "By latency, time or bytes", "BY"},
        {"top", 0, 0, G_OPTION_ARG_CALLBACK, options_top,
         "Only the first N, by latency unless --sort says otherwise", "N"},
        {"summary", 0, 0, G_OPTION_ARG_NONE, &choice.summary,
         "A summary per operation instead of lines", NULL},
        {"per", 0, 0, G_OPTION_ARG_STRING, &choice.per,
         "A summary per operation, client, server, connection, file or user", "WHAT"},
        {"interval", 0, 0, G_OPTION_ARG_STRING, &choice.interval,
         "A summary per interval of so many seconds", "SECONDS"},
        {"histogram", 0, 0, G_OPTION_ARG_NONE, &choice.histogram,
         "A summary with the distribution of latencies", NULL},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    struct out out;
    struct pipeline pipeline = {
        .options = &options, .delivery = true, .unlisted = true, .out = &out};
    struct rpcs rpcs = {.view = view_new(&view_text, &out, &pipeline.clock), .pipeline = &pipeline};
    struct rpcrdma_flow_sink sink = {
        .transaction = on_transaction, .payload_stream = on_payload_stream, .context = &rpcs};

    if (status == OPTIONS_GO_ON && options.quiet) {
        if (!choice.summary)
            complain("rpcs -q will mean quiet, as everywhere; the summary is --summary");
        choice.summary = true;
    }
    if (status == OPTIONS_GO_ON)
        status = begin_output(&options, &out);
    if (status == OPTIONS_GO_ON) {
        rpcs.json = options.json;
        if (!options.json)
            fit_lines(&out, false);
        status = choose(command, &rpcs, &options, &choice);
        if (status == OPTIONS_GO_ON) {
            sink.replies_only = details_wants_no_calls(rpcs.details);
            status = pipeline_run(&pipeline, &sink);
            finish(&rpcs, &choice);
        }
        status = end_output(&out, status);
    }
    filter_free(rpcs.filter);
    groups_free(rpcs.groups);
    sorted_free(rpcs.sorted);
    order_free(rpcs.order);
    details_free(rpcs.details);
    g_free(choice.where);
    g_free(choice.since);
    g_free(choice.until);
    g_free(choice.sort);
    g_free(choice.per);
    g_free(choice.time);
    g_free(choice.interval);
    options_free(&options);
    return status;
}

const struct command command_rpcs = {
    .name = "rpcs",
    .arguments = "FILE...",
    .what = "a line per RPC: latency, sizes, file, status; --json; --summary",
    .details =
        "Lines are in order of time. Those of Replies without Call come later where only later\n"
        "packets show who called, and with -i a line comes when its RPC is over: --sort time has\n"
        "all in order. A Call retransmitted on a new connection is a line of its own, marked as\n"
        "such. Percentiles of the summary are at most 1/64 too high; its rates are over the\n"
        "whole capture. docs/filter.md describes EXPRESSION and TIME.",
    .run = run,
};
