/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma check: what broke a rule of the protocol, and what was lost. */
#include <inttypes.h>
#include <stdio.h>

#include "check/check_options.h"
#include "check/report.h"
#include "check/tally.h"
#include "common/complain.h"
#include "common/plural.h"
#include "filter/message_values.h"
#include "out/transaction.h"
#include "out/view.h"
#include "output/finish.h"
#include "pipeline/copies.h"
#include "pipeline/pipeline.h"

struct check {
    struct view view;
    struct check_options options;
    struct tally tally;
    uint64_t violations, notes;         /* of notes those, too, that --fail-on makes violations */
    uint64_t hidden[RPCRDMA_ERROR + 1]; /* violations that are not shown: --severity */
    GPtrArray *problems;                /* why not all input could be read */
    uint64_t shown;                     /* one by one */
    /* that depend on which direction was first, where that is wrong: left out */
    uint64_t doubted;
    const struct pipeline *pipeline;
    /* whatever --fail-on says: warnings of what happened to packets, and of what was captured,
     * which break no rule of the protocol; and all that is more than those and notes */
    uint64_t transport, capture, broken;
};

/* Whether it is shown one by one. frame: of what it belongs to. */
static bool counts(struct check *check, const struct rpcrdma_finding *finding,
                   const struct rpcrdma_connection *connection, uint64_t frame)
{
    enum rpcrdma_severity severity = rpcrdma_rule(finding->rule)->severity;
    unsigned classes = rpcrdma_rule_help(finding->rule)->classes;
    const struct check_options *options = &check->options;
    bool report = options->format > CHECK_JSON;
    uint64_t n;

    tally_lacks(&check->tally, finding);
    if (!options->wanted[finding->rule])
        return false;
    if (pipeline_doubts_rule(check->pipeline, finding->rule)) {
        check->doubted++;
        return false;
    }
    if (severity >= options->fail_on)
        check->violations++;
    check->notes += severity == RPCRDMA_NOTE;
    if (severity == RPCRDMA_WARNING && classes & RPCRDMA_CLASS_TRANSPORT)
        check->transport++;
    else if (severity == RPCRDMA_WARNING && classes & RPCRDMA_CLASS_CAPTURE)
        check->capture++;
    else
        check->broken += severity > RPCRDMA_NOTE;
    if (severity < options->least) {
        check->hidden[severity] += severity >= options->fail_on;
        return false;
    }
    if (finding->frame)
        frame = finding->frame;
    n = check->tally.count[rule_set_first(finding->rule)];
    tally_add(&check->tally, finding, connection, frame, report && n < options->limit);
    if (n >= options->limit || report || options->summary)
        return false;
    check->shown++;
    return true;
}

/* Keeps of n findings those that are to be shown, in portions that fit. Returns how many of `kept`
 * are filled; *at is where to go on. */
enum { PORTION = 32 };

struct portion {
    const struct rpcrdma_finding *findings;
    size_t n, at;
    const struct rpcrdma_connection *connection;
    uint64_t frame;
    const struct rpcrdma_flow_message *message; /* that they belong to; or NULL, and: */
    const struct rpcrdma_transaction *transaction;
    struct rpcrdma_finding *kept; /* PORTION of them: not in here, where they would be cleared */
};

/* --where: of a finding by itself, with what it belongs to. */
static bool matches(const struct check *check, const struct portion *portion,
                    const struct rpcrdma_finding *finding)
{
    struct filter *filter = check->options.filter;
    struct rpcrdma_flow_message one;

    if (!filter)
        return true;
    if (portion->transaction)
        return filter_transaction(filter, portion->transaction, finding);
    if (!portion->message)
        return filter_finding(filter, portion->connection, finding, check->view.clock);
    one = *portion->message;
    one.findings = finding;
    one.n_findings = 1;
    return filter_message(filter, &one);
}

static size_t keep(struct check *check, struct portion *portion)
{
    size_t count = 0;

    for (; portion->at < portion->n && count < PORTION; portion->at++)
        if (matches(check, portion, &portion->findings[portion->at]) &&
            counts(check, &portion->findings[portion->at], portion->connection, portion->frame))
            portion->kept[count++] = portion->findings[portion->at];
    return count;
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct check *check = context;
    struct rpcrdma_finding kept[PORTION];
    struct rpcrdma_flow_message shown;
    struct portion portion;

    if (message->n_findings == 0)
        return;
    portion = (struct portion){.findings = message->findings,
                               .kept = kept,
                               .n = message->n_findings,
                               .connection = message->connection,
                               .message = message,
                               .frame = message->frame};
    shown = *message;
    shown.findings = kept;
    while ((shown.n_findings = keep(check, &portion)) > 0)
        check->view.ops->message(&check->view, &shown);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct check *check = context;
    struct rpcrdma_finding kept[PORTION];
    struct rpcrdma_transaction shown;
    struct portion portion;

    if (transaction->n_findings == 0)
        return;
    portion = (struct portion){
        .findings = transaction->findings,
        .kept = kept,
        .n = transaction->n_findings,
        .connection = transaction->connection,
        .transaction = transaction,
        .frame = transaction->call_frame ? transaction->call_frame : transaction->reply_frame,
    };
    shown = *transaction;
    shown.findings = kept;
    while ((shown.n_findings = keep(check, &portion)) > 0) {
        if (check->options.format == CHECK_JSON)
            transaction_json(&check->view, &shown);
        else
            transaction_text(&check->view, &shown);
    }
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct check *check = context;

    if (filter_finding(check->options.filter, connection, finding, check->view.clock) &&
        counts(check, finding, connection, 0))
        check->view.ops->finding(&check->view, connection, finding);
}

static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    struct check *check = context;

    tally_connection(&check->tally, connection);
}

/* That the status says more than what is shown would not be understood. */
static void say_hidden(const struct check *check, const struct pipeline *pipeline)
{
    uint64_t warnings = check->hidden[RPCRDMA_WARNING], notes = check->hidden[RPCRDMA_NOTE];
    char first[40] = "", second[40] = "";

    if (warnings + notes == 0 || warnings + notes < check->violations)
        return;
    if (warnings > 0)
        snprintf(first, sizeof(first), "%" PRIu64 " warning%s", warnings, plural(warnings));
    if (notes > 0)
        snprintf(second, sizeof(second), "%" PRIu64 " note%s", notes, plural(notes));
    complain("%s%s: %s%s%s %s not shown%s", options_said(pipeline->options),
             options_and_others(pipeline->options), first, warnings > 0 && notes > 0 ? " and " : "",
             second, warnings + notes == 1 ? "is" : "are",
             check->options.least == RPCRDMA_ERROR ? " (--severity error)"
                                                   : ", see -n (--fail-on note)");
}

/* Silence could also mean that nothing was looked at. partly: not all input could be read. */
static void say_clean(const struct check *check, const struct pipeline *pipeline, bool partly)
{
    bool shown = check->options.least == RPCRDMA_NOTE,
         fails = check->options.fail_on == RPCRDMA_NOTE;
    char notes[64] = "", transport[64] = "", capture[64] = "";

    if (check->capture > 0)
        snprintf(capture, sizeof(capture), "; %" PRIu64 " capture warning%s", check->capture,
                 plural(check->capture));
    if (check->transport > 0)
        snprintf(transport, sizeof(transport), "; %" PRIu64 " transport %s", check->transport,
                 check->transport == 1 ? "warning" : "warnings");
    if (check->notes > 0 && (!shown || fails))
        snprintf(notes, sizeof(notes), "; %" PRIu64 " note%s%s%s", check->notes,
                 plural(check->notes), shown ? "" : ", see -n", fails ? " (--fail-on note)" : "");
    complain("%s%s: no protocol violations%s in %" PRIu64 " message%s%s%s%s%s",
             options_said(pipeline->options), options_and_others(pipeline->options),
             check->options.filter ? " that --where asks for" : "", pipeline->messages,
             plural(pipeline->messages), partly ? " that could be read" : "", transport, capture,
             notes);
}

/* The last object, where there is no other. */
static void put_counts(const struct check *check, const struct pipeline *pipeline, struct out *out)
{
    struct json json = {.out = out};

    json_open(&json, '{');
    if (pipeline->clock.started)
        json_key(&json, KEY(time_ns)), json_i64(&json, pipeline->clock.start_ns);
    json_key(&json, KEY(messages)), json_u64(&json, pipeline->messages);
    json_key(&json, KEY(violations)), json_u64(&json, check->broken);
    json_key(&json, KEY(transport_warnings)), json_u64(&json, check->transport);
    json_key(&json, KEY(capture_warnings)), json_u64(&json, check->capture);
    json_key(&json, KEY(notes)), json_u64(&json, check->notes);
    json_key(&json, KEY(findings)), json_open(&json, '['), json_close(&json, ']');
    json_close(&json, '}');
    json_end(&json);
}

/* What went beyond --limit, a line per rule. */
static void tell_rest(struct check *check, struct out *out)
{
    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++) {
        uint64_t n = check->tally.count[id];

        if (n <= check->options.limit)
            continue;
        out_text(out, rpcrdma_rule((enum rpcrdma_rule_id)id)->name);
        out_literal(out, ": ");
        out_u64(out, n - check->options.limit);
        out_literal(out, " more, the last in frame ");
        out_u64(out, check->tally.last_frame[id]);
        out_line(out);
    }
}

/* The same for a program: one object. */
static void put_rest(struct check *check, const struct pipeline *pipeline, struct out *out)
{
    struct json json = {.out = out};
    bool any = false;

    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++) {
        uint64_t n = check->tally.count[id];

        if (n <= check->options.limit)
            continue;
        if (!any) {
            json_open(&json, '{');
            json_key(&json, KEY(time_ns)), json_i64(&json, pipeline->clock.start_ns);
            json_key(&json, KEY(limit)), json_u64(&json, check->options.limit);
            json_key(&json, KEY(beyond)), json_open(&json, '[');
            any = true;
        }
        json_open(&json, '{');
        json_key(&json, KEY(rule)), json_plain(&json, rpcrdma_rule((enum rpcrdma_rule_id)id)->name);
        json_key(&json, KEY(count)), json_u64(&json, n - check->options.limit);
        json_key(&json, KEY(last_frame)), json_u64(&json, check->tally.last_frame[id]);
        json_close(&json, '}');
    }
    if (!any)
        return;
    json_close(&json, ']');
    json_close(&json, '}');
    json_end(&json);
}

static void tell_end(struct check *check, const struct pipeline *pipeline, bool nothing,
                     struct out *out)
{
    const struct check_report report = {.options = &check->options,
                                        .tally = &check->tally,
                                        .input = pipeline->options,
                                        .problems = check->problems,
                                        .nothing = nothing,
                                        .out = out,
                                        .clock = &pipeline->clock};

    switch (check->options.format) {
    case CHECK_JUNIT:
        check_junit(&report);
        break;
    case CHECK_SARIF:
        check_sarif(&report);
        break;
    case CHECK_TAP:
        check_tap(&report);
        break;
    case CHECK_JSON:
        if (check->options.summary)
            check_summary_json(&report);
        else
            put_rest(check, pipeline, out);
        break;
    default:
        if (check->options.summary)
            check_summary_text(&report);
        else
            tell_rest(check, out);
        break;
    }
}

/* Files without any RPC-over-RDMA, the wrong interface's or filter's: nothing passed a check. Live,
 * there may have been none yet. */
static bool nothing_to_check(const struct check *check, const struct pipeline *pipeline)
{
    const struct options *options = pipeline->options;

    if (pipeline->found || options->n_devices > 0 || options->follow)
        return false;
    if (options->quiet) /* else it was said */
        say_nothing_found(options, &pipeline->others);
    g_ptr_array_add(check->problems, g_strdup("there is no RPC-over-RDMA: nothing to check"));
    return true;
}

/* What was captured twice seems to be sent again. */
static void say_copied(struct pipeline_copies *copies, const struct options *options)
{
    int64_t apart_ns = pipeline_copies_judge(copies);

    if (apart_ns != 0)
        complain(
            "%s%s: nearly every packet is there twice, %.3f s apart: two captures were merged, "
            "of hosts whose clocks differ by that. Transport warnings may come from it; give "
            "both captures as two files",
            options_said(options), options_and_others(options), (double)apart_ns / 1e9);
}

static int look(struct check *check, const struct options *options, struct out *out)
{
    struct pipeline pipeline = {.options = options,
                                .credits = true,
                                .delivery = true,
                                .out = out,
                                .problems = check->problems,
                                .op_done = pipeline_copies_op,
                                .op_done_unusual = true,
                                .passes = pipeline_copies_passes};
    struct rpcrdma_flow_sink sink = {.message = on_message,
                                     .transaction = on_transaction,
                                     .finding = on_finding,
                                     .connection = on_connection,
                                     .context = check,
                                     .without_findings = &pipeline.messages};
    struct pipeline_copies *copies = pipeline_copies_new(&pipeline);
    enum check_format format = check->options.format;
    bool nothing;
    int status, read;

    pipeline.op_context = pipeline.passes_context = copies;
    check->view = view_new(format == CHECK_JSON ? &view_json
                           : options->verbose   ? &view_tree
                                                : &view_text,
                           out, &pipeline.clock);
    check->pipeline = &pipeline;
    status = read = pipeline_run(&pipeline, &sink);
    if (check->transport > 0 && !options->quiet)
        say_copied(copies, options);
    pipeline_copies_free(copies);
    if (check->doubted > 0 && !options->quiet)
        complain("%s%s: %" PRIu64
                 " finding%s that depend%s on which direction was first %s left out",
                 options_said(options), options_and_others(options), check->doubted,
                 plural(check->doubted), check->doubted == 1 ? "s" : "",
                 check->doubted == 1 ? "is" : "are");
    if (check->tally.others > 0 && check->options.summary)
        complain("%" PRIu64 " %s summed up as (others): more connections than --max-memory holds",
                 check->tally.others, check->tally.others == 1 ? "finding is" : "findings are");
    nothing = status == EXIT_DONE && nothing_to_check(check, &pipeline);
    tell_end(check, &pipeline, nothing, out);
    if (status == EXIT_DONE && format == CHECK_JSON && !check->options.summary && check->shown == 0)
        put_counts(check, &pipeline, out);
    status = end_output(out, status);
    if (status == read && (read == EXIT_DONE || pipeline.messages > 0) && check->broken == 0 &&
        pipeline.found && format == CHECK_TEXT && !options->quiet)
        say_clean(check, &pipeline, read == EXIT_UNUSABLE);
    else if (status == EXIT_DONE && !options->quiet)
        say_hidden(check, &pipeline);
    if (status == EXIT_DONE && nothing)
        return EXIT_UNUSABLE;
    return status == EXIT_DONE && check->violations > 0 ? EXIT_FOUND : status;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {0};
    struct check check = {0};
    int status = check_options_parse(&check.options, &options, command, argc, argv);
    struct out out;

    check.problems = g_ptr_array_new_with_free_func(g_free);
    tally_init(&check.tally, options_memory(&options, MEMORY_COMMAND) / 2);
    if (status == OPTIONS_GO_ON)
        status = begin_output(&options, &out);
    if (status == OPTIONS_GO_ON) {
        if (check.options.format == CHECK_TEXT && !options.verbose)
            fit_lines(&out, true);
        status = look(&check, &options, &out);
    }
    tally_free(&check.tally);
    g_ptr_array_unref(check.problems);
    filter_free(check.options.filter);
    options_free(&options);
    return status;
}

const struct command command_check = {
    .name = "check",
    .arguments = "FILE...",
    .what = "protocol violations, each with the section it breaks; --json",
    .details = "Exit status 1 when there is a warning or an error among the findings (--fail-on),\n"
               "2 where the files have no RPC-over-RDMA: nothing was checked.\n"
               "What a rule means, and what to do: rpcrdma rules NAME.",
    .run = run,
};
