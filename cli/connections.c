/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma connections: who talks to whom. */
#include "finish.h"
#include "out/view.h"
#include "pipeline.h"

static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    struct view *view = context;

    view->ops->connection(view, connection);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {0};
    GOptionEntry own[] = {
        {"verbose", 'V', 0, G_OPTION_ARG_NONE, &options.verbose, "Show what each end announced",
         NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object per line", NULL},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    struct out out;
    struct pipeline pipeline = {.options = &options, .out = &out};
    struct view view = view_new(&view_text, &out, &pipeline.clock);
    struct rpcrdma_flow_sink sink = {.connection = on_connection, .context = &view};

    if (status == OPTIONS_GO_ON && options.json && options.verbose)
        status = bad_usage(command, "-V and --json: choose one");
    if (status == OPTIONS_GO_ON)
        status = begin_output(&out);
    if (status == OPTIONS_GO_ON) {
        view.ops = options.json ? &view_json : options.verbose ? &view_tree : &view_text;
        status = end_output(&out, pipeline_run(&pipeline, &sink));
    }
    options_free(&options);
    return status;
}

const struct command command_connections = {
    .name = "connections",
    .arguments = "FILE...",
    .what = "who talks to whom, version, thresholds, private data; --json",
    .run = run,
};
