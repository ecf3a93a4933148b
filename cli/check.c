/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma check: what broke a rule of the protocol, and what was lost. */
#include <inttypes.h>
#include <stdio.h>

#include "finish.h"
#include "out/transaction.h"
#include "out/view.h"
#include "pipeline.h"

struct check {
    struct view view;
    enum rpcrdma_severity least;
    uint64_t violations, notes;
    bool json;
};

static bool counts(struct check *check, const struct rpcrdma_finding *finding)
{
    enum rpcrdma_severity severity = rpcrdma_rule(finding->rule)->severity;

    if (severity >= RPCRDMA_WARNING)
        check->violations++;
    else
        check->notes++;
    return severity >= check->least;
}

/* Keeps of n findings those that are to be shown, in portions that fit. Returns how many of `kept`
 * are filled; *at is where to go on. */
enum { PORTION = 32 };

static size_t keep(struct check *check, const struct rpcrdma_finding *findings, size_t n,
                   size_t *at, struct rpcrdma_finding kept[PORTION])
{
    size_t count = 0;

    for (; *at < n && count < PORTION; ++*at)
        if (counts(check, &findings[*at]))
            kept[count++] = findings[*at];
    return count;
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct check *check = context;
    struct rpcrdma_finding kept[PORTION];
    struct rpcrdma_flow_message shown = *message;
    size_t at = 0;

    shown.findings = kept;
    while ((shown.n_findings = keep(check, message->findings, message->n_findings, &at, kept)) > 0)
        check->view.ops->message(&check->view, &shown);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct check *check = context;
    struct rpcrdma_finding kept[PORTION];
    struct rpcrdma_transaction shown = *transaction;
    size_t at = 0;

    shown.findings = kept;
    while ((shown.n_findings =
                keep(check, transaction->findings, transaction->n_findings, &at, kept)) > 0) {
        if (check->json)
            transaction_json(&check->view, &shown);
        else
            transaction_text(&check->view, &shown);
    }
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct check *check = context;

    if (counts(check, finding))
        check->view.ops->finding(&check->view, connection, finding);
}

/* Silence could also mean that nothing was looked at. */
static void say_clean(const struct check *check, const struct pipeline *pipeline)
{
    bool shown = check->least == RPCRDMA_NOTE;
    char notes[64] = "";

    if (check->notes > 0 && !shown)
        snprintf(notes, sizeof(notes), "; %" PRIu64 " %s, see -n", check->notes,
                 check->notes == 1 ? "note" : "notes");
    complain("%s%s: no violations in %" PRIu64 " messages%s", options_input(pipeline->options),
             pipeline->options->n_files + pipeline->options->n_devices > 1 ? " and others" : "",
             pipeline->messages, notes);
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
    struct rpcrdma_flow_sink sink = {.message = on_message,
                                     .transaction = on_transaction,
                                     .finding = on_finding,
                                     .context = &check};

    if (status == OPTIONS_GO_ON && options.json && options.verbose)
        status = bad_usage(command, "-V and --json: choose one");
    if (status == OPTIONS_GO_ON)
        status = begin_output(&out);
    if (status == OPTIONS_GO_ON) {
        check.json = options.json;
        check.least = notes ? RPCRDMA_NOTE : RPCRDMA_WARNING;
        check.view.ops = options.json ? &view_json : options.verbose ? &view_tree : &view_text;
        status = end_output(&out, pipeline_run(&pipeline, &sink));
        if (status == EXIT_DONE && check.violations > 0)
            status = EXIT_FOUND;
        else if (status == EXIT_DONE && pipeline.messages > 0 && !options.json && !options.quiet)
            say_clean(&check, &pipeline);
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
