/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma metrics: counters for Prometheus, in a file that others collect. */
#include "metrics/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/complain.h"
#include "output/file.h"
#include "output/finish.h"
#include "source/rights/creator.h"
#include "source/rights/privilege.h"

enum { BILLION = 1000000000, INTERVAL = 15 };

/* The file is written as FILE.part beside it, and renamed: whoever reads it sees all of one time.
 */
struct textfile {
    struct metrics *metrics;
    const char *path; /* NULL: standard output */
    char *part;       /* without its folder */
    struct creator creator;
    int status;
};

/* Where nothing can be written any more, going on would only look like it. */
static void failed(struct textfile *file, int error)
{
    if (error == EOWNERDEAD || error == ENOENT || error == CREATE_BUSY)
        file->metrics->pipeline->stop = true;
    if (file->status == EXIT_DONE) /* said once; the next time it may go well */
        complain("%s: %s", file->path, create_error(error));
    file->status = EXIT_UNUSABLE;
}

static void put(struct textfile *file, const struct pipeline_counts *counts)
{
    int fd = creator_create(&file->creator, file->part), error = ENOMEM;
    struct out out;

    if (fd < 0) {
        failed(file, errno);
        return;
    }
    if (out_open(&out, fd)) {
        metrics_write(file->metrics, counts, &out);
        error = out_close(&out);
    }
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error == 0 && !creator_replace(&file->creator, file->part))
        error = errno;
    if (error == 0)
        return;
    creator_remove(&file->creator, file->part); /* a full disk is not made fuller */
    failed(file, error);
}

static void on_tick(void *context, int64_t now_ns, struct rpcrdma_flow *flow)
{
    struct textfile *file = context;
    struct pipeline_counts counts;

    pipeline_pass_time(file->metrics->pipeline, now_ns, flow);
    rpcrdma_flow_credits(flow, true);
    metrics_wait(file->metrics, flow, pipeline_time(file->metrics->pipeline, now_ns));
    pipeline_counts(file->metrics->pipeline, &counts);
    put(file, &counts);
}

/* Of files, those that wait when the last of them ends. A process that ends knows of none any more,
 * and its file stays. */
static void on_last(void *context, struct rpcrdma_flow *flow)
{
    struct metrics *metrics = context;
    const struct pipeline *pipeline = metrics->pipeline;

    metrics_wait(metrics, pipeline->options->n_devices > 0 ? NULL : flow, pipeline->end_ns);
}

/* Before privileges are dropped. */
static bool prepare(struct textfile *file, bool no_sandbox)
{
    static const char *const forms[] = {".part", NULL};
    struct creator_task task = {.how = CREATE_OVER, .mode = 0644, .removable = 1};
    struct privilege_lent lent;
    char error[200] = "";
    struct stat there;

    privilege_lend(&lent);
    task.folder = create_folder(file->path, &task.replaces);
    if (task.folder < 0)
        g_strlcpy(error, strerror(errno), sizeof(error));
    else if (fstatat(task.folder, task.replaces, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
             !S_ISREG(there.st_mode))
        g_strlcpy(error, create_error(S_ISLNK(there.st_mode) ? ELOOP : CREATE_IRREGULAR),
                  sizeof(error));
    else if (create_is_busy(task.folder, task.replaces))
        g_strlcpy(error, create_error(CREATE_BUSY), sizeof(error));
    privilege_return(&lent);
    if (*error && task.folder >= 0) {
        close(task.folder);
    } else if (task.folder >= 0) {
        task.names = (struct names){.stem = task.replaces,
                                    .stem_length = strlen(task.replaces),
                                    .forms = forms,
                                    .suffix = ""};
        file->part = g_strconcat(task.replaces, ".part", NULL);
        creator_begin(&file->creator, &task, no_sandbox, error, sizeof(error));
        close(task.folder);
    }
    if (*error)
        complain("%s: %s", file->path, error);
    return !*error;
}

static int count(struct textfile *file, struct out *out)
{
    struct pipeline *pipeline = file->metrics->pipeline;
    struct rpcrdma_flow_sink sink = metrics_sink(file->metrics);
    int status = pipeline_run(pipeline, &sink);
    struct pipeline_counts counts = {.net = pipeline->others.stats,
                                     .source = {.dropped_known = pipeline->capture_lost_known,
                                                .dropped = pipeline->capture_lost}};

    counts.net.memory_limit = 0; /* at the end it is in the pipeline's */
    if (file->path && (pipeline->was_read || pipeline->options->n_devices == 0))
        put(file, &counts);
    else if (!file->path)
        metrics_write(file->metrics, &counts, out);
    return file->status == EXIT_DONE ? status : file->status;
}

static gboolean on_interval(const char *name, const char *text, gpointer data, GError **error)
{
    return options_number(name, text, 86400, ((struct options *)data)->own, error);
}

static int check(const struct command *command, const struct options *options, const char *path,
                 bool interval)
{
    if (options->n_devices > 0 && !path)
        return bad_usage(command, "-i takes --textfile");
    if (options->n_devices == 0 && interval)
        return bad_usage(command, "--interval is for -i");
    if (path && create_standard(path) >= 0)
        return bad_usage(command, "--textfile takes the name of a file");
    if (path && (options_reads(options, path) || options_reads_beside(options, path, ".part") ||
                 !output_has_input(options)))
        return EXIT_UNUSABLE;
    return OPTIONS_GO_ON;
}

/* "mlx5_0", of several in one process "mlx5_0,mlx5_1". */
static char *device_of(const struct options *options)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < options->n_devices; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? "," : "", options->devices[i]);
    return g_string_free(text, FALSE);
}

static int run(const struct command *command, int argc, char **argv)
{
    uint64_t interval = 0;
    struct options options = {.own = &interval};
    gboolean subnet = FALSE, openmetrics = FALSE;
    char *path = NULL, *device = NULL;
    GOptionEntry own[] = {
        {"textfile", 0, 0, G_OPTION_ARG_FILENAME, &path,
         "Write to FILE.part and rename it to this; without it to standard output", "FILE"},
        {"interval", 0, 0, G_OPTION_ARG_CALLBACK, on_interval,
         "With -i: how often to write it (15)", "SECONDS"},
        {"openmetrics", 0, 0, G_OPTION_ARG_NONE, &openmetrics,
         "OpenMetrics 1.0 in place of Prometheus' own format", NULL},
        {"client-subnet", 0, 0, G_OPTION_ARG_NONE, &subnet,
         "Tell clients apart by subnet only: /24, of IPv6 /64", NULL},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    struct out out;
    struct pipeline pipeline = {
        .options = &options, .credits = true, .delivery = true, .op_done = metrics_op};
    struct metrics metrics = {.client_subnet = subnet, .openmetrics = openmetrics};
    struct textfile file = {.metrics = &metrics, .path = path, .creator = {.socket = -1}};

    if (status == OPTIONS_GO_ON)
        status = check(command, &options, path, interval > 0);
    if (status == OPTIONS_GO_ON && path && !prepare(&file, options.no_sandbox))
        status = EXIT_UNUSABLE;
    if (status == OPTIONS_GO_ON)
        status = begin_output(&options, &out);
    if (status == OPTIONS_GO_ON) {
        metrics_init(&metrics, &pipeline);
        metrics.device = device = device_of(&options);
        pipeline.out = &out;
        pipeline.op_context = &metrics;
        pipeline.tick = on_tick;
        pipeline.tick_context = &file;
        pipeline.last = on_last;
        pipeline.last_context = &metrics;
        pipeline.interval_ns = (int64_t)(interval > 0 ? interval : INTERVAL) * BILLION;
        status = end_output(&out, count(&file, &out));
    }
    creator_end(&file.creator);
    metrics_clear(&metrics);
    options_free(&options);
    g_free(file.part);
    g_free(path);
    g_free(device);
    return status;
}

const struct command command_metrics = {
    .name = "metrics",
    .arguments = "FILE...",
    .what = "counters for Prometheus: RPCs, latency, retransmissions, credits; --textfile",
    .details = "docs/metrics.md says what each metric counts, and how labels are bounded.",
    .run = run,
};
