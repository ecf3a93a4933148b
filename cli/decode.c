/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma decode: every RPC-over-RDMA message. */
#include "finish.h"
#include "out/view.h"
#include "pipeline.h"

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct view *view = context;

    view->ops->message(view, message);
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct view *view = context;

    view->ops->finding(view, connection, finding);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {0};
    char *time = NULL;
    GOptionEntry own[] = {
        {"verbose", 'V', 0, G_OPTION_ARG_NONE, &options.verbose, "Show every field", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object per line", NULL},
        {"time", 't', 0, G_OPTION_ARG_STRING, &time,
         "Time: r relative to the first packet (default), d to the line before, e epoch, "
         "a local, ad with date, u UTC, ud with date",
         "FORMAT"},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    struct out out;
    struct pipeline pipeline = {.options = &options, .out = &out};
    struct view view = view_new(&view_text, &out, &pipeline.clock);
    struct rpcrdma_flow_sink sink = {
        .message = on_message, .finding = on_finding, .context = &view};

    if (status == OPTIONS_GO_ON && time && !view_time_parse(time, &view.time))
        status = bad_usage(command, "there is no time format \"%s\"", time);
    if (status == OPTIONS_GO_ON && options.json && options.verbose)
        status = bad_usage(command, "-V and --json: choose one");
    if (status == OPTIONS_GO_ON) {
        view.ops = options.json ? &view_json : options.verbose ? &view_tree : &view_text;
        status = begin_output(&out);
    }
    if (status == OPTIONS_GO_ON)
        status = end_output(&out, pipeline_run(&pipeline, &sink));
    options_free(&options);
    g_free(time);
    return status;
}

const struct command command_decode = {
    .name = "decode",
    .arguments = "FILE...",
    .what = "a line per RPC-over-RDMA message; -V every field; --json",
    .run = run,
};
