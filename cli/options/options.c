/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the command line: the options that commands share. */
#include "options/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "common/hosts.h"

gboolean options_number(const char *name, const char *text, uint64_t max, uint64_t *out,
                        GError **error)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 0);
    if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *out >= 1 && *out <= max)
        return TRUE;
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "%s needs a number from 1 to %" G_GUINT64_FORMAT ", not \"%s\"", name, max, text);
    return FALSE;
}

gboolean options_top(const char *name, const char *text, gpointer options, GError **error)
{
    return options_number(name, text, INT64_MAX, ((struct options *)options)->own, error);
}

static gboolean on_port(const char *name, const char *text, gpointer data, GError **error)
{
    struct options *options = data;
    uint64_t number;
    uint16_t port;

    if (!options_number(name, text, UINT16_MAX, &number, error))
        return FALSE;
    port = (uint16_t)number;
    g_array_append_val(options->ports, port);
    return TRUE;
}

static gboolean on_qpn(const char *name, const char *text, gpointer data, GError **error)
{
    struct options *options = data;
    uint64_t number;
    uint32_t qpn;

    if (!options_number(name, text, 0xffffff, &number, error))
        return FALSE;
    qpn = (uint32_t)number;
    g_array_append_val(options->qpns, qpn);
    return TRUE;
}

static gboolean on_count(const char *name, const char *text, gpointer data, GError **error)
{
    struct options *options = data;

    return options_number(name, text, UINT64_MAX, &options->count, error);
}

enum { MIB = 1024 * 1024 };

static gboolean on_memory(const char *name, const char *text, gpointer data, GError **error)
{
    struct options *options = data;

    if (!options_number(name, text, MIB, &options->max_memory, error))
        return FALSE;
    options->max_memory *= MIB;
    return TRUE;
}

static gboolean on_dialect(const char *name, const char *text, gpointer data, GError **error)
{
    struct options *options = data;

    options->dialect = rpcrdma_dialect_by_name(text);
    if (options->dialect && options->dialect->version == 2)
        return TRUE;
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "%s: version 2 has no dialect \"%s\"; it has", name, text);
    for (int id = 0; id < RPCRDMA_DIALECT_COUNT; id++) {
        const struct rpcrdma_dialect *one = rpcrdma_dialect((enum rpcrdma_dialect_id)id);
        char *message = (*error)->message;

        if (one->version != 2)
            continue;
        (*error)->message = g_strconcat(message, " ", one->name, NULL);
        g_free(message);
    }
    return FALSE;
}

static gboolean on_color(const char *name, const char *text, gpointer data, GError **error)
{
    static const char *const names[] = {"auto", "always", "never"};
    struct options *options = data;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            options->color = (enum options_color)i;
            return TRUE;
        }
    }
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "%s needs auto, always or never, not \"%s\"", name, text);
    return FALSE;
}

static gboolean on_time_source(const char *name, const char *text, gpointer data, GError **error)
{
    static const char *const names[] = {"auto", "capture", "hardware"};
    struct options *options = data;

    options->time_source_said = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            options->time_source = (enum options_time)i;
            return TRUE;
        }
    }
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "%s needs auto, capture or hardware, not \"%s\"", name, text);
    return FALSE;
}

/* How text is shown; of every command. */
static void add_shown(struct options *options, GOptionGroup *group)
{
    GOptionEntry entries[] = {
        {"color", 0, 0, G_OPTION_ARG_CALLBACK, on_color,
         "Color on a terminal: auto (default), always, never", "WHEN"},
        {"no-names", 0, 0, G_OPTION_ARG_NONE, &options->no_names,
         "Show addresses, also where a capture has names of hosts", NULL},
        {"no-pager", 0, 0, G_OPTION_ARG_NONE, &options->no_pager,
         "Do not use $PAGER for text on a terminal", NULL},
        G_OPTION_ENTRY_NULL,
    };

    g_option_group_add_entries(group, entries);
}

/* A command's own options, and what goes with its --json where it has that. */
static void add_own(struct options *options, GOptionGroup *group, const GOptionEntry *own)
{
    GOptionEntry header[] = {
        {"json-header", 0, 0, G_OPTION_ARG_NONE, &options->json_header,
         "Begin --json with an object that names program, version and command", NULL},
        G_OPTION_ENTRY_NULL,
    };

    g_option_group_add_entries(group, own);
    for (; own->long_name; own++)
        if (own->arg_data == &options->json)
            g_option_group_add_entries(group, header);
}

/* GLib's own --help has an ellipsis that many terminals cannot show, and exits without a look at
 * whether it could be written. */
static void print_help(GOptionContext *context)
{
    char *help = g_option_context_get_help(context, TRUE, NULL);
    char **parts = g_strsplit(help, "\xe2\x80\xa6", -1);
    char *plain = g_strjoinv("...", parts);

    fputs(plain, stdout);
    g_free(plain);
    g_strfreev(parts);
    g_free(help);
}

/* Of an option that takes a name, which is empty: as of a script's variable that is not set. What
 * is wrong with an expression, its reader shows. */
static const char *unnamed(const GOptionEntry *own)
{
    for (; own && own->long_name; own++)
        if (own->arg == G_OPTION_ARG_FILENAME &&
            g_strcmp0(own->arg_description, "EXPRESSION") != 0) {
            const char *name = *(char **)own->arg_data;

            if (name && !*name)
                return own->long_name;
        }
    return NULL;
}

static int parse(struct options *options, const struct command *command, GOptionContext *context,
                 GOptionGroup *group, GOptionEntry *own, int argc, char **argv)
{
    gboolean help = FALSE;
    GOptionEntry last[] = {
        {"help", 'h', 0, G_OPTION_ARG_NONE, &help, "Show this", NULL},
        G_OPTION_ENTRY_NULL,
    };
    GError *error = NULL;
    char **copy = g_strdupv(argv); /* it moves the pointers */
    char *program = g_strconcat("rpcrdma ", command->name, NULL);
    int result = OPTIONS_GO_ON;

    g_set_prgname(program);
    g_free(program);
    if (own)
        add_own(options, group, own);
    add_shown(options, group);
    g_option_group_add_entries(group, last);
    g_option_context_set_help_enabled(context, FALSE);
    g_option_context_set_main_group(context, group);
    g_option_context_set_summary(context, command->what);
    if (command->details)
        g_option_context_set_description(context, command->details);
    options->ports = g_array_new(FALSE, FALSE, sizeof(uint16_t));
    options->qpns = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    (void)argc;
    if (!g_option_context_parse_strv(context, &copy, &error)) {
        result = bad_usage(command, "%s", error->message);
        g_error_free(error);
    } else if (help) {
        print_help(context);
        result = EXIT_DONE;
    } else if (unnamed(own)) {
        result = bad_usage(command, "--%s was given an empty text", unnamed(own));
    }
    hosts_show(!options->no_names);
    g_strfreev(copy);
    g_option_context_free(context);
    return result;
}

int options_plain(const struct command *command, const char *path)
{
    static const char *const endings[] = {".gz", ".zst", ".lz4", ".xz", ".bz2"};

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (g_str_has_suffix(path, endings[i]))
            return bad_usage(command, "%s: compressed files are read, but not written", path);
    return OPTIONS_GO_ON;
}

/* Files or devices: one of them. */
static int check_input(const struct options *options, const struct command *command)
{
    if (options->n_files > 0 && options->n_devices > 0)
        return bad_usage(command, "a file and a device: choose one");
    if (options->n_files == 0 && options->n_devices == 0 && !options->optional_input)
        return bad_usage(command, "no capture file given");
    if (options->n_files > 0 && (options->live.device.snaplen || options->live.device.buffer ||
                                 options->live.device.not_promiscuous))
        return bad_usage(command, "-s, -B and -p are for -i");
    for (guint i = 0; i < options->n_files; i++)
        if (!*options->files[i])
            return bad_usage(command, "the name of a capture file is empty");
    if (options->follow && options->n_files != 1)
        return bad_usage(command, "--follow is for one file");
    if (options->time_source == TIME_HARDWARE && options->n_files != 1)
        return bad_usage(command, "--time-source hardware is for one file");
    return OPTIONS_GO_ON;
}

int options_parse(struct options *options, const struct command *command, GOptionEntry *own,
                  int argc, char **argv)
{
    char **named = NULL, **rest = NULL;
    GOptionEntry entries[] = {
        {"read-file", 'r', 0, G_OPTION_ARG_FILENAME_ARRAY, &named,
         "Read this capture file; - is standard input", "FILE"},
        {"follow", 0, options->no_follow ? G_OPTION_FLAG_HIDDEN : 0, G_OPTION_ARG_NONE,
         &options->follow,
         "At the end of the file, wait for more from another program that writes it; ^C ends",
         NULL},
        {"time-source", 0, 0, G_OPTION_ARG_CALLBACK, on_time_source,
         "Which times to use: auto (default), capture (the file's), hardware (in the packets)",
         "CLOCK"},
        {"count", 'c', 0, G_OPTION_ARG_CALLBACK, on_count, "Stop after that many packets", "N"},
        {"port", 0, 0, G_OPTION_ARG_CALLBACK, on_port,
         "Treat connections to this service port, not 20049, as RPC-over-RDMA; repeatable", "PORT"},
        {"qpn", 0, 0, G_OPTION_ARG_CALLBACK, on_qpn,
         "Treat what this queue pair receives as RPC-over-RDMA; repeatable", "QPN"},
        {"dialect", 0, 0, G_OPTION_ARG_CALLBACK, on_dialect,
         "Read version 2 messages by this published format (cel-00 ... ietf-07)", "NAME"},
        {"check-icrc", 0, 0, G_OPTION_ARG_NONE, &options->check_icrc,
         "Check each packet's ICRC, TCP's checksum and each FPDU's CRC (iWARP)", NULL},
        {"max-memory", 0, 0, G_OPTION_ARG_CALLBACK, on_memory,
         "Limit of memory for what is outstanding on the wire or kept until the end (128)", "MIB"},
        {"no-sandbox", 0, 0, G_OPTION_ARG_NONE, &options->no_sandbox,
         "Do not restrict this process while it reads a file (see rpcrdma(1))", NULL},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &options->quiet,
         options->quiet_means ? options->quiet_means : "Print only errors on standard error", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &rest, NULL, NULL},
        G_OPTION_ENTRY_NULL,
    };
    GOptionGroup *group = g_option_group_new("main", "", "", options, NULL);
    GPtrArray *files = g_ptr_array_new();
    int result;

    g_option_group_add_entries(group, entries);
    options_live(options, group);
    result =
        parse(options, command, g_option_context_new(command->arguments), group, own, argc, argv);
    for (char **file = named; file && *file; file++)
        g_ptr_array_add(files, *file);
    for (char **file = rest; file && *file; file++)
        g_ptr_array_add(files, *file);
    options->n_files = files->len;
    g_ptr_array_add(files, NULL);
    options->files = (char **)g_ptr_array_free(files, FALSE);
    g_free(named); /* the strings live on in files */
    g_free(rest);
    options->n_devices = options->devices ? g_strv_length(options->devices) : 0;
    options->live.device.filter = options->filter;
    options->live.device.immediate = true;
    options->live.count = options->count;
    options->live.no_sandbox = options->no_sandbox;
    return result == OPTIONS_GO_ON ? check_input(options, command) : result;
}

int options_parse_plain(struct options *options, const struct command *command, GOptionEntry *own,
                        int argc, char **argv)
{
    char **rest = NULL;
    GOptionEntry entries[] = {
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &rest, NULL, NULL},
        G_OPTION_ENTRY_NULL,
    };
    GOptionGroup *group = g_option_group_new("main", "", "", options, NULL);
    int result;

    g_option_group_add_entries(group, entries);
    result =
        parse(options, command, g_option_context_new(command->arguments), group, own, argc, argv);
    options->files = rest;
    options->n_files = rest ? g_strv_length(rest) : 0;
    return result;
}

void options_free(struct options *options)
{
    g_strfreev(options->files);
    g_strfreev(options->devices);
    g_free(options->filter);
    if (options->ports)
        g_array_free(options->ports, TRUE);
    if (options->qpns)
        g_array_free(options->qpns, TRUE);
}

int bad_usage(const struct command *command, const char *format, ...)
{
    char behind[80];
    va_list args;

    snprintf(behind, sizeof(behind), "; see rpcrdma %s --help", command->name);
    va_start(args, format);
    complain_of(command->name, behind, format, args);
    va_end(args);
    return EXIT_UNUSABLE;
}
