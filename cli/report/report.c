/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma report: what a capture shows, the verdict first. */
#include "report/show/show.h"

#include "output/file.h"
#include "output/finish.h"
#include "pipeline/points.h"

struct choice {
    char *html, **traces;
    double slow_ms; /* 0: not given */
};

/* What the report takes from the pipeline besides what its sink gets. */
static void join(struct pipeline *pipeline, struct report *report)
{
    pipeline->op_context = report;
    pipeline->op_done = report_op;
    pipeline->op_done_unusual = true; /* what report_op tells of is */
    pipeline->passes = report_passes;
    pipeline->passes_context = report;
}

/* Reads all, and shows it. to_file: what HTML is to replace stays as it was where nothing could be
 * read. */
static int read_and_show(struct report *report, const struct choice *choice, struct out *out,
                         struct out *html, bool to_file)
{
    struct pipeline *pipeline = report->pipeline;
    const struct rpcrdma_flow_sink sink = report_sink(report);
    int status = kernel_end(report->kernel, pipeline_run(pipeline, &sink));

    report_timeline_end(report);
    report_decide(report);
    report_complain(report);
    if (pipeline->options->json)
        report_json(report, out);
    else if (!choice->html)
        report_text(report, out);
    if (choice->html && (pipeline->was_read || !to_file))
        report_html(report, html);
    return status;
}

/* point: NULL where there are none. */
static int report_on(struct options *options, const struct choice *choice, const char *point)
{
    struct output_file html = {0};
    struct out out;
    struct pipeline pipeline = {.options = options, .out = &out, .credits = true, .delivery = true};
    struct kernel *kernel = NULL;
    struct report *report = NULL;
    bool to_file = choice->html && !output_standard(choice->html);
    int status = OPTIONS_GO_ON;

    options->also_read = choice->traces;
    if (choice->traces) {
        kernel = kernel_open(choice->traces, options_memory(options, MEMORY_COMMAND) / 2);
        if (!kernel)
            status = EXIT_UNUSABLE;
    }
    if (status == OPTIONS_GO_ON && to_file && !output_has_input(options))
        status = EXIT_UNUSABLE;
    if (status == OPTIONS_GO_ON && choice->html)
        status = output_text_open(&html, choice->html, options, &out);
    if (status == OPTIONS_GO_ON)
        status = begin_output(options, &out);
    if (status == OPTIONS_GO_ON) {
        report = report_new(&pipeline, options_memory(options, MEMORY_COMMAND) / (kernel ? 2 : 1));
        report->slow_told = choice->slow_ms > 0;
        if (report->slow_told)
            report->slow_ns = (int64_t)(choice->slow_ms * 1e6);
        report->all_checked = options->check_icrc;
        report->kernel = kernel;
        report->point = point;
        report->timeline = choice->html != NULL;
        join(&pipeline, report);
        pipeline.problems = g_ptr_array_new_with_free_func(g_free);
        pipeline.doubts = g_ptr_array_new_with_free_func(g_free);
        status = read_and_show(report, choice, &out, html.out, to_file);
        status = end_output(&out, output_file_close(&html, status));
    }
    report_free(report);
    g_clear_pointer(&pipeline.problems, g_ptr_array_unref);
    g_clear_pointer(&pipeline.doubts, g_ptr_array_unref);
    kernel_free(kernel);
    return status;
}

struct many {
    struct options *options;
    const struct choice *choice;
    bool any;
};

static int on_point(void *context, const struct point *point)
{
    const struct many *many = context;

    return report_on(many->options, many->choice, point->name);
}

static void point_heading(void *context, const struct point *point, struct out *out)
{
    struct many *many = context;

    if (many->options->json)
        return;
    if (many->any)
        out_char(out, '\n');
    many->any = true;
    out_style(out, OUT_HEADING);
    out_foreign(out, point->name);
    out_style(out, OUT_PLAIN);
    if (point->n_files > 1) {
        out_literal(out, ": ");
        out_u64(out, point->n_files);
        out_literal(out, " files");
    }
    out_line(out);
}

static int report_points(struct options *options, const struct choice *choice, guint jobs)
{
    struct many many = {.options = options, .choice = choice};
    struct points_call call = {.one = on_point, .before = point_heading, .context = &many};
    struct points points = {0};
    int status = points_find(&points, options);

    if (status == OPTIONS_GO_ON)
        status = points_each(&points, options, jobs, &call);
    points_free(&points);
    return status;
}

/* From a nanosecond on. */
static gboolean on_slow(const char *name, const char *text, gpointer data, GError **error)
{
    struct choice *choice = ((struct options *)data)->own;
    char *end;
    double ms = g_ascii_strtod(text, &end);

    if (end == text || *end || !(ms >= 1e-6 && ms <= 1e9)) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "%s: \"%s\" is no number of milliseconds", name, text);
        return FALSE;
    }
    choice->slow_ms = ms;
    return TRUE;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct choice choice = {0};
    struct options options = {.own = &choice};
    int jobs = POINTS_JOBS_UNSAID;
    GOptionEntry own[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json,
         "One JSON object, or one per capture point", NULL},
        {"html", 0, 0, G_OPTION_ARG_FILENAME, &choice.html,
         "Write the report to this file, with charts, instead; - is standard output", "OUT.html"},
        {"slow", 0, 0, G_OPTION_ARG_CALLBACK, on_slow,
         "Call a server (or a client that sends data) slow if it takes most of this time (1000)",
         "MS"},
        {"trace", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &choice.traces,
         "Kernel trace of the client or server at the same time, as text; repeatable", "FILE"},
        POINTS_JOBS(&jobs),
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);

    if (status == OPTIONS_GO_ON)
        status = output_alone(command, "--html", choice.html, options.json ? "--json" : NULL);
    if (status == OPTIONS_GO_ON)
        status = points_check(command, &options, &jobs);
    if (status == OPTIONS_GO_ON && points_wanted(&options, (guint)jobs)) {
        if (choice.html || choice.traces)
            status = bad_usage(command, "%s is for one capture point: give files, no folder, no -j",
                               choice.html ? "--html" : "--trace");
        else
            status = report_points(&options, &choice, (guint)jobs);
    } else if (status == OPTIONS_GO_ON) {
        status = report_on(&options, &choice, NULL);
    }
    g_strfreev(choice.traces);
    g_free(choice.html);
    options_free(&options);
    return status;
}

const struct command command_report = {
    .name = "report",
    .arguments = "FILE|FOLDER...",
    .what = "one page: what is wrong, where the time went; --html OUT, --json",
    .details = "docs/report.md has the rules by which causes are named.",
    .run = run,
};
