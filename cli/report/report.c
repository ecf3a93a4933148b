/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma report: what a capture shows, the verdict first. */
#include "report/report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "finish.h"
#include "source/create.h"

static int write_html(struct report *report, struct out *out, const char *path, int status)
{
    int error, fd = out->fd;

    report_html(report, out);
    error = out_close(out);
    if (create_is_gone(fd)) {
        complain("%s: it was removed while it was written to: all of it is lost", path);
        status = EXIT_UNUSABLE;
    }
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error == 0)
        return status;
    complain("%s: %s", path, strerror(error));
    return EXIT_UNUSABLE;
}

/* Before the sandbox forbids it. */
static int open_html(const char *path, const struct options *options, struct out *out)
{
    int fd;

    if (options_reads(options, path))
        return EXIT_UNUSABLE;
    fd = create_path(path, 0666);
    if (fd < 0) {
        complain("%s: %s", path, create_error(errno));
        return EXIT_UNUSABLE;
    }
    if (out_open(out, fd))
        return OPTIONS_GO_ON;
    close(fd);
    complain("out of memory");
    return EXIT_UNUSABLE;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {0};
    char *path = NULL, **traces = NULL;
    double slow_ms = 0;
    GOptionEntry own[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object", NULL},
        {"html", 0, 0, G_OPTION_ARG_FILENAME, &path,
         "Write the report to this file, with charts, instead; it needs nothing else", "OUT.html"},
        {"slow", 0, 0, G_OPTION_ARG_DOUBLE, &slow_ms,
         "Call a server slow that takes most of this time for an RPC (1000)", "MS"},
        {"trace", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &traces,
         "A kernel's trace of the same time, client's or server's, as text; repeatable", "FILE"},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    struct kernel *kernel = NULL;
    struct out out, html = {0};
    struct pipeline pipeline = {
        .options = &options, .out = &out, .credits = true, .delivery = true, .op_done = report_op};
    struct report *report = NULL;

    if (status == OPTIONS_GO_ON && (slow_ms < 0 || slow_ms > 1e9)) {
        complain("--slow: %g is no number of milliseconds", slow_ms);
        status = EXIT_UNUSABLE;
    }
    if (status == OPTIONS_GO_ON && traces) {
        kernel = kernel_open(traces, options_memory(&options, MEMORY_COMMAND) / 2);
        if (!kernel)
            status = EXIT_UNUSABLE;
    }
    if (status == OPTIONS_GO_ON && path)
        status = open_html(path, &options, &html);
    if (status == OPTIONS_GO_ON)
        status = begin_output(&options, &out);
    if (status == OPTIONS_GO_ON) {
        struct rpcrdma_flow_sink sink;

        report = report_new(&pipeline, options_memory(&options, MEMORY_COMMAND) / (kernel ? 2 : 1));
        report->slow_told = slow_ms > 0;
        if (report->slow_told)
            report->slow_ns = (int64_t)(slow_ms * 1e6);
        report->kernel = kernel;
        sink = report_sink(report);
        pipeline.op_context = report;
        status = kernel_end(kernel, pipeline_run(&pipeline, &sink));
        report_decide(report);
        report_complain(report);
        if (options.json)
            report_json(report, &out);
        else if (!path)
            report_text(report, &out);
        if (path)
            status = write_html(report, &html, path, status);
        status = end_output(&out, status);
    }
    report_free(report);
    kernel_free(kernel);
    g_strfreev(traces);
    g_free(path);
    options_free(&options);
    return status;
}

const struct command command_report = {
    .name = "report",
    .arguments = "FILE...",
    .what = "one page: what is wrong, where the time went; --html, --json",
    .details = "The rules by which causes are named stand in docs/report.md.",
    .run = run,
};
