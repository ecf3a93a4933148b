/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma credits: is a connection slow because it runs out of credits? */
#include "out/credits.h"
#include "common/complain.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "common/escape.h"
#include "common/same_file.h"
#include "credits/plot.h"
#include "credits/running.h"
#include "out/address.h"
#include "out/view.h"
#include "output/file.h"
#include "output/finish.h"
#include "pipeline/pipeline.h"

enum { SPARKLINE = 60 };

struct credits {
    bool summary; /* the verdicts alone */
    struct pipeline pipeline;
    GHashTable *open;           /* connection number -> struct credits_connection */
    GPtrArray *closed;          /* those with results */
    bool series;                /* somebody wants a picture */
    size_t bytes, series_bytes; /* of connections, and of their series */
    uint64_t left_out;          /* connections, for want of memory */
    bool series_ended;          /* for the same reason */
    struct output_file csv, plot;
    bool csv_begun;
};

static void free_connection(gpointer data)
{
    struct credits_connection *c = data;

    for (int i = 0; i < 2; i++) {
        if (c->series[i])
            series_free(c->series[i]);
        g_free(c->series[i]);
    }
    g_free(c->findings);
    g_free(c);
}

static size_t memory(const struct credits *credits)
{
    return options_memory(credits->pipeline.options, MEMORY_COMMAND) / 2;
}

static size_t size_of(const struct credits_connection *c)
{
    enum { ADDED = 96 }; /* by the table and malloc */

    return sizeof(*c) + ADDED + (c->findings ? CREDITS_FINDINGS * sizeof(*c->findings) : 0);
}

/* NULL: there is no room for one more. */
static struct credits_connection *get(struct credits *credits, uint32_t number)
{
    struct credits_connection *c = g_hash_table_lookup(credits->open, GUINT_TO_POINTER(number));

    if (!c && credits->bytes > memory(credits))
        return NULL;
    if (!c) {
        c = g_new0(struct credits_connection, 1);
        credits->bytes += size_of(c);
        g_hash_table_insert(credits->open, GUINT_TO_POINTER(number), c);
    }
    return c;
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct credits *credits = context;
    struct credits_connection *c;

    if (!connection || connection->number == 0)
        return;
    c = get(credits, connection->number);
    if (!c)
        return;
    if (!c->findings && credits->bytes <= memory(credits)) {
        c->findings = g_new0(struct rpcrdma_finding, CREDITS_FINDINGS);
        credits->bytes += CREDITS_FINDINGS * sizeof(*c->findings);
    }
    if (c->findings && c->n_findings < CREDITS_FINDINGS)
        c->findings[c->n_findings] = *finding;
    c->n_findings++;
}

/* Not before something was read: else the file keeps what it has. */
static void begin_csv(struct credits *credits)
{
    if (!credits->csv_begun)
        out_text(credits->csv.out, "time_ns,connection,direction,requested,granted,in_flight\n");
    credits->csv_begun = true;
}

static void put_csv(struct out *out, const struct rpcrdma_connection *connection, int end,
                    const struct rpcrdma_credit_point *point)
{
    out_i64(out, point->time_ns);
    out_char(out, ',');
    out_u64(out, connection->number);
    out_char(out, ',');
    out_text(out, credits_direction(connection, end,
                                    connection->dialect && connection->dialect->counting_credits));
    out_char(out, ',');
    if (point->has_requested)
        out_u64(out, point->requested);
    out_char(out, ',');
    if (point->has_granted)
        out_u64(out, point->granted);
    out_char(out, ',');
    out_u64(out, point->in_flight);
    out_line(out);
}

static void on_point(void *context, const struct rpcrdma_connection *connection, int end,
                     const struct rpcrdma_credit_point *point)
{
    struct credits *credits = context;
    struct credits_connection *c;
    uint32_t before;

    if (credits->csv.out) {
        begin_csv(credits);
        put_csv(credits->csv.out, connection, end, point);
    }
    if (!credits->series)
        return;
    c = get(credits, connection->number);
    if (credits->series_bytes > memory(credits))
        credits->series_ended = true;
    if (!c || credits->series_ended)
        return;
    if (!c->series[end]) {
        c->series[end] = g_new(struct series, 1);
        series_init(c->series[end], credits->pipeline.clock.start_ns);
    }
    before = c->series[end]->size;
    series_add(c->series[end], point);
    credits->series_bytes += (c->series[end]->size - before) * sizeof(struct series_column);
}

static void on_credits(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_credit_result *results, size_t n)
{
    struct credits *credits = context;
    struct credits_connection *c = get(credits, connection->number);

    if (!c) {
        credits->left_out++;
        return;
    }
    c->is = *connection;
    memcpy(c->results, results, n * sizeof(*results));
    c->n_results = n;
}

/* The connection ends: its findings have come. One without results is not shown. */
static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    struct credits *credits = context;
    gpointer key = GUINT_TO_POINTER(connection->number), c = NULL;

    if (!g_hash_table_steal_extended(credits->open, key, NULL, &c))
        return;
    if (((struct credits_connection *)c)->n_results > 0)
        g_ptr_array_add(credits->closed, c);
    else {
        credits->bytes -= size_of(c);
        free_connection(c);
    }
}

static gint by_number(gconstpointer a, gconstpointer b)
{
    const struct credits_connection *const *x = a, *const *y = b;

    return ((*x)->is.number > (*y)->is.number) - ((*x)->is.number < (*y)->is.number);
}

/* Which panels to leave out when there are too many: those that were at their limit least. */
static uint64_t weight(const struct rpcrdma_credit_result *result)
{
    return result->at_limit_ns * 1024 + result->calls + result->messages;
}

static uint64_t least_weight(const struct credits *credits)
{
    GArray *weights = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    uint64_t least = 0;

    for (guint i = 0; i < credits->closed->len; i++) {
        const struct credits_connection *c = credits->closed->pdata[i];

        for (size_t j = 0; j < c->n_results; j++) {
            uint64_t one = weight(&c->results[j]);
            guint at = 0;

            while (at < weights->len && g_array_index(weights, uint64_t, at) >= one)
                at++;
            if (at < PLOT_PANELS_MAX)
                g_array_insert_val(weights, at, one);
            if (weights->len > PLOT_PANELS_MAX)
                g_array_set_size(weights, PLOT_PANELS_MAX);
        }
    }
    if (weights->len == PLOT_PANELS_MAX)
        least = g_array_index(weights, uint64_t, PLOT_PANELS_MAX - 1);
    g_array_free(weights, TRUE);
    return least;
}

static char *panel_title(const struct credits_connection *c,
                         const struct rpcrdma_credit_result *result)
{
    char client[ADDRESS_SIZE], server[ADDRESS_SIZE];
    int first = view_client_end(&c->is) > 0 ? 1 : 0;
    size_t n = address_or_name(&c->is.end[first].address, client);
    size_t m = address_or_name(&c->is.end[1 - first].address, server);

    return g_strdup_printf("connection %u, %.*s %s %.*s, %s%s", c->is.number, (int)n, client,
                           view_client_end(&c->is) >= 0 ? "\xe2\x86\x92" : "\xe2\x86\x94", (int)m,
                           server, credits_direction(&c->is, result->end, result->counting),
                           result->counting ? " sends" : "");
}

static void draw(struct credits *credits)
{
    const struct view_clock *clock = &credits->pipeline.clock;
    uint64_t least = least_weight(credits);
    struct plot_panel panels[PLOT_PANELS_MAX];
    struct plot plot = {.panels = panels, .start_ns = clock->start_ns};
    char *title, *name, shown[300];
    size_t left_out = 0;

    plot.length_ns =
        clock->now_ns > clock->start_ns ? (uint64_t)clock->now_ns - (uint64_t)clock->start_ns : 1;
    for (guint i = 0; i < credits->closed->len; i++) {
        const struct credits_connection *c = credits->closed->pdata[i];

        for (size_t j = 0; j < c->n_results; j++) {
            const struct rpcrdma_credit_result *result = &c->results[j];
            char verdict[400];

            if (!c->series[result->end])
                continue;
            if (weight(result) < least || plot.n_panels == PLOT_PANELS_MAX) {
                left_out++;
                continue;
            }
            credits_verdict(c, result, verdict, sizeof(verdict));
            panels[plot.n_panels++] = (struct plot_panel){.series = c->series[result->end],
                                                          .counting = result->counting,
                                                          .title = panel_title(c, result),
                                                          .note = g_strdup(verdict)};
        }
    }
    name = g_path_get_basename(options_said(credits->pipeline.options));
    title = g_strdup_printf("Credit use: %s", escape_text(shown, sizeof(shown), name));
    g_free(name);
    plot.title = title;
    plot_write(&plot, credits->plot.out);
    g_free(title);
    for (size_t i = 0; i < plot.n_panels; i++) {
        g_free((char *)panels[i].title);
        g_free((char *)panels[i].note);
    }
    if (left_out > 0)
        complain("%s: %zu directions that were less at their limit are left out",
                 credits->plot.path, left_out);
}

static void show(struct credits *credits, bool sparkline)
{
    const struct options *options = credits->pipeline.options;
    struct out *out = credits->pipeline.out;
    struct json json = {.out = out};
    struct credits_style style = {.verdict_only = credits->summary,
                                  .sparkline = sparkline ? SPARKLINE : 0,
                                  .start_ns = credits->pipeline.clock.start_ns,
                                  .end_ns = credits->pipeline.clock.now_ns};

    if (options->json) {
        json_open(&json, '{');
        if (credits->pipeline.clock.started)
            json_key(&json, KEY(time_ns)), json_i64(&json, credits->pipeline.clock.start_ns);
        json_key(&json, KEY(connections));
        json_open(&json, '[');
    }
    for (guint i = 0; i < credits->closed->len; i++) {
        if (options->json)
            credits_json(&json, credits->closed->pdata[i]);
        else
            credits_text(out, credits->closed->pdata[i], &style);
    }
    if (options->json) {
        json_close(&json, ']');
        json_close(&json, '}');
        json_end(&json);
    }
}

/* A regular file: a device may be both. */
static bool is_file_of(const struct output_file *file, const char *path)
{
    struct stat x, y;

    return file->out == &file->own && fstat(file->own.fd, &x) == 0 && stat(path, &y) == 0 &&
           S_ISREG(x.st_mode) && same_file(&x, &y);
}

/* Those that options name: written at the end, when no file is opened. */
static int open_files(struct credits *credits, const char *series, const char *picture)
{
    const struct pipeline *pipeline = &credits->pipeline;
    int status = OPTIONS_GO_ON;

    if ((picture || series) && !output_has_input(pipeline->options))
        return EXIT_UNUSABLE;
    if (picture)
        status = output_file_open(&credits->plot, picture, pipeline->options, pipeline->out);
    if (status == OPTIONS_GO_ON && series && is_file_of(&credits->plot, series)) {
        complain("%s: --series and --plot are written to different files", series);
        return EXIT_UNUSABLE;
    }
    if (status == OPTIONS_GO_ON && series)
        status = output_text_open(&credits->csv, series, pipeline->options, pipeline->out);
    return status;
}

/* Reads the capture and shows what it says. */
static int measure(struct credits *credits, bool sparkline)
{
    struct rpcrdma_flow_sink sink = {
        .connection = on_connection,
        .finding = on_finding,
        .credits = on_credits,
        .credit_point = credits->series || credits->csv.out ? on_point : NULL,
        .context = credits,
    };
    const struct out *out = credits->pipeline.out;
    int status;

    status = pipeline_run(&credits->pipeline, &sink);
    g_ptr_array_sort(credits->closed, by_number);
    if (credits->csv.out != out && credits->plot.out != out)
        show(credits, sparkline);
    if (credits->left_out > 0)
        complain("%" PRIu64 " connection%s left out: more than --max-memory holds",
                 credits->left_out, credits->left_out == 1 ? " is" : "s are");
    if (credits->series_ended)
        complain("what is drawn ends before the capture does: more than --max-memory holds");
    if (credits->csv.out && credits->pipeline.was_read)
        begin_csv(credits);
    if (credits->plot.out && credits->pipeline.was_read)
        draw(credits);
    return status;
}

static bool shows_unicode(void)
{
    setlocale(LC_CTYPE, "");
    return isatty(STDOUT_FILENO) && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static gboolean on_interval(const char *name, const char *text, gpointer data, GError **error)
{
    uint64_t *interval = ((struct options *)data)->own;

    return options_number(name, text, 86400, interval, error);
}

/* What else goes to standard output, by an option. */
static const char *also_shown(const struct options *options, bool summary)
{
    return options->json ? "--json" : summary ? "--summary" : NULL;
}

static int check_files(const struct command *command, const char *series, const char *picture,
                       const char *shown)
{
    int status = OPTIONS_GO_ON;

    if (picture && plot_refuses(picture))
        status = bad_usage(command, "%s: %s", picture, plot_refuses(picture));
    if (status == OPTIONS_GO_ON && series)
        status = options_plain(command, series);
    if (status == OPTIONS_GO_ON)
        status =
            output_alone(command, "--series", series, output_standard(picture) ? "--plot" : shown);
    if (status == OPTIONS_GO_ON)
        status = output_alone(command, "--plot", picture, shown);
    return status;
}

static int check_interval(const struct command *command, const struct options *options,
                          bool pictures)
{
    if (options->n_devices == 0)
        return bad_usage(command, "--interval is for -i");
    if (pictures)
        return bad_usage(command, "--interval has no --series and no --plot");
    return OPTIONS_GO_ON;
}

static int run(const struct command *command, int argc, char **argv)
{
    uint64_t interval = 0; /* seconds; 0: none */
    struct options options = {.own = &interval, .headers_only = true};
    char *series = NULL, *picture = NULL;
    gboolean summary = FALSE;
    GOptionEntry own[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object", NULL},
        {"summary", 0, 0, G_OPTION_ARG_NONE, &summary, "Only the verdicts", NULL},
        {"series", 0, 0, G_OPTION_ARG_FILENAME, &series,
         "Write every change to this file: time, connection, direction, requested, granted, "
         "in flight; - is standard output",
         "FILE.csv"},
        {"plot", 0, 0, G_OPTION_ARG_FILENAME, &picture,
         "Draw the Calls in flight and the credit limit; - is standard output", "FILE.svg"},
        {"interval", 0, 0, G_OPTION_ARG_CALLBACK, on_interval,
         "With -i: how often to report; averages at the end", "SECONDS"},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    bool sparkline = !options.json && !summary && !options.quiet && shows_unicode();
    struct out out;
    struct credits credits = {
        .pipeline = {.options = &options, .credits = true, .unlisted = true, .out = &out},
        .open = g_hash_table_new_full(NULL, NULL, NULL, free_connection),
        .closed = g_ptr_array_new_with_free_func(free_connection),
        .series = picture || sparkline,
    };

    credits.summary = summary || options.quiet;
    if (status == OPTIONS_GO_ON && options.quiet && !summary && !options.json && !interval &&
        !series && !picture)
        complain("credits -q will mean quiet, as everywhere; the verdicts alone are --summary");
    if (status == OPTIONS_GO_ON)
        status = check_files(command, series, picture, also_shown(&options, summary));
    if (status == OPTIONS_GO_ON && interval != 0)
        status = check_interval(command, &options, series || picture);
    if (status == OPTIONS_GO_ON)
        status = open_files(&credits, series, picture);
    if (status == OPTIONS_GO_ON)
        status = begin_output(&options, &out);
    if (status == OPTIONS_GO_ON)
        status = end_output(&out, interval ? credits_running(&credits.pipeline, (unsigned)interval)
                                           : measure(&credits, sparkline));
    status = output_file_close(&credits.csv, status);
    status = output_file_close(&credits.plot, status);
    g_ptr_array_free(credits.closed, TRUE);
    g_hash_table_destroy(credits.open);
    options_free(&options);
    g_free(series);
    g_free(picture);
    return status;
}

const struct command command_credits = {
    .name = "credits",
    .arguments = "FILE...",
    .what = "credit use per connection and direction; --json, --series, --plot",
    .details =
        "Compares Calls in flight (version 2: messages) with the credits requested and granted: "
        "how\n"
        "much of the time a connection was at its limit, and which of the two was the limit.",
    .run = run,
};
