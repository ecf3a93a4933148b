/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma check: what broke a rule of the protocol, and what was lost. */
#include "finish.h"
#include "out/line.h"
#include "out/view.h"
#include "pipeline.h"

struct check {
    struct view view;
    enum rpcrdma_severity least;
    uint64_t violations;
};

static bool counts(struct check *check, const struct rpcrdma_finding *finding)
{
    enum rpcrdma_severity severity = rpcrdma_rule(finding->rule)->severity;

    if (severity >= RPCRDMA_WARNING)
        check->violations++;
    return severity >= check->least;
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct check *check = context;
    struct rpcrdma_finding kept[32];
    struct rpcrdma_flow_message shown = *message;
    size_t n = 0;

    for (size_t i = 0; i < message->n_findings; i++) {
        if (counts(check, &message->findings[i]))
            kept[n++] = message->findings[i];
        if (n == sizeof(kept) / sizeof(kept[0]) || (n > 0 && i + 1 == message->n_findings)) {
            shown.findings = kept;
            shown.n_findings = n;
            check->view.ops->message(&check->view, &shown);
            n = 0;
        }
    }
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct check *check = context;

    if (counts(check, finding))
        check->view.ops->finding(&check->view, connection, finding);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {0};
    gboolean notes = FALSE;
    GOptionEntry own[] = {
        {"notes", 'n', 0, G_OPTION_ARG_NONE, &notes,
         "Show notes, too: what was not captured or could not be decided", NULL},
        {"verbose", 'V', 0, G_OPTION_ARG_NONE, &options.verbose,
         "Show every field of the messages with findings", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object per line", NULL},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    struct out out;
    struct pipeline pipeline = {.options = &options, .credits = true, .out = &out};
    struct check check = {.view = view_new(&view_text, &out, &pipeline.clock)};
    struct rpcrdma_flow_sink sink = {
        .message = on_message, .finding = on_finding, .context = &check};

    if (status == OPTIONS_GO_ON && options.json && options.verbose)
        status = bad_usage(command, "-V and --json: choose one");
    if (status == OPTIONS_GO_ON)
        status = begin_output(&out);
    if (status == OPTIONS_GO_ON) {
        check.least = notes ? RPCRDMA_NOTE : RPCRDMA_WARNING;
        check.view.ops = options.json ? &view_json : options.verbose ? &view_tree : &view_text;
        status = end_output(&out, pipeline_run(&pipeline, &sink));
        if (status == EXIT_DONE && check.violations > 0)
            status = EXIT_FOUND;
    }
    options_free(&options);
    return status;
}

const struct command command_check = {
    .name = "check",
    .arguments = "FILE...",
    .what = "protocol violations, each with the section it breaks; --json",
    .details = "Exit status 1 when there is a warning or an error among the findings.",
    .run = run,
};
