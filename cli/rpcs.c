/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma rpcs: a line per RPC transaction, or a summary per operation. */
#include "finish.h"
#include "out/transaction.h"
#include "out/view.h"
#include "pipeline.h"
#include "rpc_summary.h"

struct rpcs {
    struct view view;
    bool json;
    struct rpc_summary *summary; /* NULL: lines */
};

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct rpcs *rpcs = context;

    if (rpcs->summary)
        rpc_summary_add(rpcs->summary, transaction);
    else if (rpcs->json)
        transaction_json(&rpcs->view, transaction);
    else
        transaction_text(&rpcs->view, transaction);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {.quiet_means = "A summary per operation instead of lines"};
    GOptionEntry own[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object per line", NULL},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    struct out out;
    struct pipeline pipeline = {.options = &options, .out = &out};
    struct rpcs rpcs = {.view = view_new(&view_text, &out, &pipeline.clock)};
    struct rpcrdma_flow_sink sink = {.transaction = on_transaction, .context = &rpcs};

    if (status == OPTIONS_GO_ON)
        status = begin_output(&out);
    if (status == OPTIONS_GO_ON) {
        rpcs.json = options.json;
        if (options.quiet)
            rpcs.summary = rpc_summary_new();
        status = pipeline_run(&pipeline, &sink);
        if (rpcs.summary && options.json)
            rpc_summary_json(rpcs.summary, &out);
        else if (rpcs.summary)
            rpc_summary_text(rpcs.summary, &out);
        rpc_summary_free(rpcs.summary);
        status = end_output(&out, status);
    }
    options_free(&options);
    return status;
}

const struct command command_rpcs = {
    .name = "rpcs",
    .arguments = "FILE...",
    .what = "a line per RPC: latency, sizes, chunks; --json; -q a summary",
    .details = "A Call sent again on a new connection is a line of its own, marked as such.\n"
               "Percentiles of the summary are at most 1/64 too high.",
    .run = run,
};
