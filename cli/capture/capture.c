/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma capture: its options, and one run of it. */
#include "capture/list.h"
#include "capture/run.h"

#include <signal.h>
#include <unistd.h>

#include "output/file.h"
#include "output/finish.h"

static int go(struct capture *capture)
{
    const struct options *options = capture->options;
    bool looks = capture->select.slice || capture->select.only || capture->progress.on ||
                 capture->event.expression || capture_files_several(&capture->files);
    int status;

    signal(SIGPIPE, SIG_IGN);
    capture->select.options = options;
    capture->select.watch = capture->progress.on && options->n_devices > 0;
    if (options_reads(options, capture->files.path) ||
        !capture_files_prepare(&capture->files, options->no_sandbox))
        return EXIT_UNUSABLE;
    status = options->n_devices > 0 && !looks ? capture_from_devices(capture)
                                              : capture_from_source(capture);
    if (capture_files_opened(&capture->files) && !capture_files_end(&capture->files))
        status = EXIT_UNUSABLE;
    if (!options->quiet)
        capture_summary(capture);
    capture_select_end(&capture->select);
    capture_event_end(&capture->event);
    capture_setups_end(&capture->setups);
    capture_files_free(&capture->files);
    return status;
}

static gboolean on_autostop(const char *name, const char *text, gpointer data, GError **error)
{
    struct capture *capture = ((struct options *)data)->own;

    return capture_limit_parse(name, text, &capture->files.stop, error);
}

static gboolean on_ring(const char *name, const char *text, gpointer data, GError **error)
{
    struct capture *capture = ((struct options *)data)->own;

    return capture_limit_parse(name, text, &capture->files.next, error);
}

static int check(const struct command *command, const struct capture *capture)
{
    const struct capture_limits *next = &capture->files.next, *stop = &capture->files.stop;
    bool several = next->bytes > 0 || next->duration_ns > 0;

    if (!capture->files.path)
        return bad_usage(command, "where to? -w FILE, or -w - for a pipe");
    if (capture->files.on_demand && several)
        return bad_usage(
            command,
            "with --trigger a file begins and ends by that; -b files:N keeps the latest N");
    if ((next->files > 0 || stop->files > 0) && !several && !capture->files.on_demand)
        return bad_usage(command, "files:N needs -b filesize:KB or -b duration:SECONDS");
    if (capture->files.on_demand && create_standard(capture->files.path) >= 0)
        return bad_usage(command, "--trigger needs a file to write");
    if (several && create_standard(capture->files.path) >= 0)
        return bad_usage(command, "-b needs a file to write");
    return output_binary(command, "-w", capture->files.path);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct capture capture = {.status = EXIT_DONE};
    struct options options = {.optional_input = true, .own = &capture, .keeps_times = true};
    gboolean list = FALSE, slice = FALSE, only = FALSE;
    char *path = NULL, *pre = NULL, *post = NULL, *hold_off = NULL;
    GOptionEntry own[] = {
        {"list-interfaces", 'D', 0, G_OPTION_ARG_NONE, &list,
         "List what can be captured from, RDMA devices first", NULL},
        {"write", 'w', 0, G_OPTION_ARG_FILENAME, &path,
         "Write packets to this pcapng file; - is standard output", "FILE"},
        {"autostop", 'a', 0, G_OPTION_ARG_CALLBACK, on_autostop,
         "Stop after duration:SECONDS, filesize:KB or files:N", "CONDITION"},
        {"ring-buffer", 'b', 0, G_OPTION_ARG_CALLBACK, on_ring,
         "Begin a new file after duration:SECONDS or filesize:KB; keep the latest files:N",
         "CONDITION"},
        {"slice", 0, 0, G_OPTION_ARG_NONE, &slice,
         "Cut off file data, keep headers; decode, rpcs and credits stay exact", NULL},
        {"rpcrdma-only", 0, 0, G_OPTION_ARG_NONE, &only, "Leave out what is not RPC-over-RDMA",
         NULL},
        {"trigger", 0, 0, G_OPTION_ARG_FILENAME, &capture.event.expression,
         "Write nothing until this happens, then a file with the packets before and after it",
         "EXPRESSION"},
        {"pre", 0, 0, G_OPTION_ARG_STRING, &pre,
         "With --trigger: write the packets of this time before it (10)", "SECONDS"},
        {"post", 0, 0, G_OPTION_ARG_STRING, &post, "With --trigger: and of this time after it (5)",
         "SECONDS"},
        {"hold-off", 0, 0, G_OPTION_ARG_STRING, &hold_off,
         "With --trigger: no new file for events this soon after the last one (60)", "SECONDS"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "With -D: one JSON object per line", NULL},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);

    capture.files.path = path;
    capture.options = &options;
    capture.select.slice = slice;
    capture.select.only = only;
    capture.count = options.count;
    capture.files.on_demand = capture.event.expression != NULL;
    capture.event.files = &capture.files;
    capture.event.select = &capture.select;
    options.live.count = 0; /* what is written counts */
    options.live.duration_ns = capture.files.stop.duration_ns;
    options.live.device.immediate = path && output_awaited(path);
    capture.progress.on = !options.quiet && isatty(STDERR_FILENO);
    if (status == OPTIONS_GO_ON && list)
        status = capture_list(&options);
    if (status == OPTIONS_GO_ON && options.n_files == 0 && options.n_devices == 0)
        status = bad_usage(command, "from where? -i DEV; -D lists devices");
    if (status == OPTIONS_GO_ON)
        status = capture_event_options(&capture.event, command, pre, post, hold_off);
    if (status == OPTIONS_GO_ON)
        status = check(command, &capture);
    if (status == OPTIONS_GO_ON)
        status = go(&capture);
    options_free(&options);
    filter_free(capture.event.trigger.filter);
    g_free(capture.event.expression);
    g_free(path);
    g_free(pre);
    g_free(post);
    g_free(hold_off);
    return status;
}

const struct command command_capture = {
    .name = "capture",
    .arguments = "-i DEV|FILE... -w OUT.pcapng",
    .what = "RDMA device or network interface -> file; -D lists devices; --slice",
    .details = "Writes pcapng. -r FILE takes packets from a file instead, to slice or filter it. "
               "The capture\n"
               "ends by -a or -c, or by a signal; what was captured until then is in the file.",
    .run = run,
};
