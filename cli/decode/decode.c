/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma decode: every RPC-over-RDMA message. */
#include "common/complain.h"
#include "decode/cm_events.h"
#include "decode/message_summary.h"
#include "filter/message_values.h"
#include "filter/where.h"
#include "out/view.h"
#include "output/finish.h"
#include "pipeline/pipeline.h"

struct decode {
    struct view view;
    struct filter *filter;
    struct message_summary *summary; /* NULL: lines */
    struct cm_events *events;        /* NULL: not asked for */
};

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct decode *decode = context;

    if (decode->events)
        cm_events_until(decode->events, message->frame);
    if (!filter_message(decode->filter, message))
        return;
    if (decode->summary)
        message_summary_add(decode->summary, message);
    else
        decode->view.ops->message(&decode->view, message);
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct decode *decode = context;

    if (decode->events)
        cm_events_until(decode->events, finding->frame);
    if (!decode->summary && filter_finding(decode->filter, connection, finding, decode->view.clock))
        decode->view.ops->finding(&decode->view, connection, finding);
}

static void on_setup(void *context, const struct rpcrdma_op *op,
                     const struct rpcrdma_connection *connection)
{
    struct decode *decode = context;

    cm_events_op(decode->events, op, connection);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {0};
    char *time = NULL, *where = NULL;
    gboolean summary = FALSE, cm = FALSE;
    GOptionEntry own[] = {
        {"verbose", 'V', 0, G_OPTION_ARG_NONE, &options.verbose, "Show every field", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object per line", NULL},
        {"time", 't', 0, G_OPTION_ARG_STRING, &time, VIEW_TIME_HELP, "FORMAT"},
        WHERE_OPTION(&where),
        {"cm", 0, 0, G_OPTION_ARG_NONE, &cm,
         "Show set-up and end of connections, too: CM, MPA, TCP's FIN and RST", NULL},
        {"summary", 0, 0, G_OPTION_ARG_NONE, &summary,
         "A table per connection, type and procedure instead of lines", NULL},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    struct out out;
    struct pipeline pipeline = {.options = &options, .out = &out};
    struct decode decode = {.view = view_new(&view_text, &out, &pipeline.clock)};
    struct rpcrdma_flow_sink sink = {
        .message = on_message, .finding = on_finding, .context = &decode};

    if (status == OPTIONS_GO_ON && time && !view_time_parse(time, &decode.view.time))
        status = bad_usage(command, "there is no time format \"%s\"", time);
    if (status == OPTIONS_GO_ON && options.json && options.verbose)
        status = bad_usage(command, "-V and --json: choose one");
    if (status == OPTIONS_GO_ON && cm && (options.verbose || summary))
        status = bad_usage(command, "--cm is for lines and --json");
    if (status == OPTIONS_GO_ON)
        status = where_compile(command, where, filter_of_messages, &decode.filter);
    if (status == OPTIONS_GO_ON) {
        decode.view.ops = options.json ? &view_json : options.verbose ? &view_tree : &view_text;
        status = begin_output(&options, &out);
    }
    if (status == OPTIONS_GO_ON) {
        decode.summary = summary ? message_summary_new() : NULL;
        if (!options.json && !options.verbose)
            fit_lines(&out, false);
        if (cm) {
            decode.events =
                cm_events_new(&decode.view, decode.filter, options.json, options.n_devices > 0);
            pipeline.setup = decode.events ? on_setup : NULL;
            pipeline.op_context = &decode;
        }
        if (cm && !decode.events) {
            complain("out of memory");
            status = EXIT_UNUSABLE;
        } else {
            status = pipeline_run(&pipeline, &sink);
        }
        if (decode.events)
            cm_events_until(decode.events, UINT64_MAX);
        cm_events_free(decode.events);
        if (summary && options.json)
            message_summary_json(decode.summary, &out);
        else if (summary)
            message_summary_text(decode.summary, &out);
        message_summary_free(decode.summary);
        status = end_output(&out, status);
    }
    options_free(&options);
    filter_free(decode.filter);
    g_free(time);
    g_free(where);
    return status;
}

const struct command command_decode = {
    .name = "decode",
    .arguments = "FILE...",
    .what = "a line per RPC-over-RDMA message; -V every field; --json",
    .run = run,
};
