/* SPDX-License-Identifier: BSD-2-Clause */
/* What the options say of the input: opens it, and gives up the rights that reading does not need.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/interrupt.h"
#include "common/same_file.h"
#include "options/options.h"
#include "source/bytes/input.h"
#include "source/bytes/spill.h"
#include "source/devices/device.h"
#include "source/rights/opened.h"
#include "source/rights/sandbox.h"

size_t options_max_memory(const struct options *options)
{
    enum { DEFAULT = 128 * 1024 * 1024 };

    return (size_t)(options->max_memory ? options->max_memory : DEFAULT);
}

/* Of several files: what reading them takes. */
static size_t memory_of_files(const struct options *options)
{
    return options->n_files > 1 ? options_max_memory(options) / 8 : 0;
}

size_t options_memory(const struct options *options, unsigned eighths)
{
    return (options_max_memory(options) - memory_of_files(options)) / 8 * eighths;
}

struct rpcrdma_flow_config options_flow(const struct options *options)
{
    return (struct rpcrdma_flow_config){
        .ports = options->ports->len > 0 ? (const uint16_t *)(void *)options->ports->data : NULL,
        .n_ports = options->ports->len,
        .qpns = options->qpns->len > 0 ? (const uint32_t *)(void *)options->qpns->data : NULL,
        .n_qpns = options->qpns->len,
        .dialect = options->dialect,
        .max_memory = options_memory(options, MEMORY_FLOW),
        .linger_ns = options->n_devices > 0 || options->follow ? OPTIONS_LINGER_NS : 0,
    };
}

static bool stat_of(const char *path, struct stat *is)
{
    return (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, is) : stat(path, is)) == 0;
}

static bool is_file(const char *path, const struct stat *file)
{
    struct stat is;

    return stat_of(path, &is) && same_file(&is, file);
}

bool options_all_there(const struct options *options)
{
    bool all = options->n_devices == 0 && !options->follow;
    struct stat is;

    for (guint i = 0; i < options->n_files && all; i++)
        all = stat_of(options->files[i], &is) && S_ISREG(is.st_mode);
    return all;
}

bool options_reads(const struct options *options, const char *path)
{
    struct stat out;
    bool reads = false;

    if (strcmp(path, "-") == 0 || stat(path, &out) != 0 || !S_ISREG(out.st_mode))
        return false;
    for (guint i = 0; i < options->n_files && !reads; i++)
        reads = is_file(options->files[i], &out);
    for (char **file = options->also_read; file && *file && !reads; file++)
        reads = is_file(*file, &out);
    if (reads)
        complain("%s is read, it cannot be written to", path);
    return reads;
}

bool options_reads_beside(const struct options *options, const char *path, const char *ending)
{
    char *name = g_strconcat(path, ending, NULL);
    bool reads = options_reads(options, name);

    g_free(name);
    return reads;
}

/* What libraries the input takes: in the sandbox none can be loaded any more. */
static bool load_libraries(const struct options *options, char *error, size_t size)
{
    for (size_t i = 0; i < options->n_files; i++) {
        const char *path = options->files[i];

        input_unpack_prepare(strcmp(path, "-") == 0 ? STDIN_FILENO : opened_look(path));
    }
    return !options->filter || !*options->filter || device_prepare(error, size);
}

bool options_confine(const struct options *options, char *error, size_t size)
{
    struct sandbox sandbox = {0};

    if (options->follow && !interrupt_watch()) {
        snprintf(error, size, "signals cannot be watched for");
        return false;
    }
    if (options->confined || options->n_devices > 0) /* there it is done once they are open */
        return true;
    if (!opened_before(options->files, options->n_files, &sandbox.n_reads)) {
        snprintf(error, size, "out of memory");
        return false;
    }
    if (!load_libraries(options, error, size))
        return false;
    if (options->n_files > 1)
        spill_prepare();
    sandbox.reads = options->files + (options->n_files - sandbox.n_reads);
    return options->no_sandbox || sandbox_files(&sandbox, error, size);
}

static struct source *open_file(const struct options *options, char *error, size_t size)
{
    const struct source_config config = {.follow = options->follow,
                                         .headers_only = options->headers_only &&
                                                         !options->check_icrc &&
                                                         !(options->filter && *options->filter)};
    struct source *source = source_file_open(options->files[0], &config, error, size);

    if (!source || options->time_source == TIME_CAPTURE ||
        (options->keeps_times && options->time_source == TIME_AUTO && !options->time_source_said))
        return source;
    return source_timed_open(source, options->time_source == TIME_HARDWARE, error, size);
}

struct source *options_open(const struct options *options, char *error, size_t size)
{
    struct source *source;

    while (input_window_log < 27 &&
           (size_t)2 << input_window_log <= options_max_memory(options) / 8)
        input_window_log++;

    if (memory_of_files(options) / SOURCE_INTERFACE > source_interfaces_most)
        source_interfaces_most = memory_of_files(options) / SOURCE_INTERFACE;
    if (options_max_memory(options) / 32 > source_texts_most)
        source_texts_most = options_max_memory(options) / 32;
    if (options->n_devices > 0) /* they filter themselves */
        return source_devices_open(options->devices, options->n_devices, &options->live, error,
                                   size);
    if (options->n_files > 1)
        source = source_merge_open(options->files, options->n_files, memory_of_files(options),
                                   error, size);
    else
        source = open_file(options, error, size);
    if (source && options->filter && *options->filter)
        source = source_filtered_open(source, options->filter, error, size);
    return source;
}

const char *options_input(const struct options *options)
{
    return options->n_devices > 0 ? options->devices[0] : options->files[0];
}

const char *options_said(const struct options *options)
{
    const char *input = options_input(options);

    return options->n_devices == 0 && strcmp(input, "-") == 0 ? "standard input" : input;
}

const char *options_and_others(const struct options *options)
{
    return options->n_files + options->n_devices > 1 ? " and others" : "";
}
