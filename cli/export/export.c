/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma export: all that is known of a capture, as tables that other programs read. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/limits.h"
#include "common/complain.h"
#include "export/compress.h"
#include "export/database.h"
#include "export/describe.h"
#include "export/passed.h"
#include "export/rows.h"
#include "export/stores.h"
#include "output/file.h"
#include "output/finish.h"
#include "pipeline/points.h"
#include "source/rights/create.h"

enum { HEAD = 65536 }; /* of a file, for its key; and so much of its end */

struct exporter {
    struct options *options;
    struct pipeline pipeline;
    struct rows rows;
    struct store_capture *captures; /* one per file; id is known later where bytes are 0 */
    struct store_input input;
    struct passed passed;
};

enum { COMMIT_ROWS = 65536 };
#define SECOND_NS INT64_C(1000000000)

/* Before privileges are dropped: the user's files may be the user's alone. */
static void know_files(struct exporter *e)
{
    char *head = g_malloc(HEAD);

    e->captures = g_new0(struct store_capture, e->options->n_files);
    for (guint i = 0; i < e->options->n_files; i++) {
        const char *path = e->options->files[i];
        struct store_capture *capture = &e->captures[i];
        struct stat is;
        ssize_t n;
        int fd;

        capture->name = identity_file(0, path, strlen(path), NULL);

        /* a pipe that is opened and closed again ends who writes to it */
        if (stat(path, &is) != 0 || !S_ISREG(is.st_mode))
            continue;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
            continue;
        if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && (n = pread(fd, head, HEAD, 0)) > 0) {
            capture->bytes = (uint64_t)is.st_size;
            n = MIN(n, is.st_size); /* it may grow */
            capture->id = identity_file(capture->bytes, head, (size_t)n, capture->heads);
            if (is.st_size > HEAD && (n = pread(fd, head, HEAD, is.st_size - HEAD)) > 0)
                capture->id = identity_tail(capture->id, head, (size_t)n);
        }
        close(fd);
    }
    g_free(head);
}

static int64_t id_of(const struct exporter *e, const char *name,
                     const struct store_capture *capture)
{
    return capture->bytes > 0
               ? capture->id
               : identity_file((uint64_t)e->pipeline.clock.start_ns, name, strlen(name), NULL);
}

/* What a row says of a file, or of devices. */
struct counted {
    struct source_part read;
    uint64_t messages;
    bool messages_known;
};

static struct counted count_all(const struct exporter *e, bool at_end, bool complete)
{
    const struct pipeline *p = &e->pipeline;

    return (struct counted){.read = {.read = !at_end || p->was_read,
                                     .complete = complete,
                                     .has_times = p->clock.started,
                                     .first_ns = p->clock.start_ns,
                                     .last_ns = p->clock.now_ns,
                                     .packets = p->clock.frame,
                                     .dropped_known = complete && p->capture_lost_known,
                                     .dropped = p->capture_lost},
                            .messages = p->messages,
                            .messages_known = true};
}

/* Of one of several files. */
static struct counted count_one(const struct exporter *e, guint i, bool at_end)
{
    const struct pipeline_file *file = &e->pipeline.by_file[i];
    struct counted counted = {.read = file->source,
                              .messages = file->messages,
                              .messages_known = !e->pipeline.messages_unknown};

    counted.read.complete &= at_end;
    counted.read.dropped_known &= counted.read.complete;
    return counted;
}

static void put_capture(struct exporter *e, const char *name, const struct store_capture *capture,
                        const struct counted *counted)
{
    const struct source_part *read = &counted->read;
    struct row *row = &e->rows.row;

    if (!read->read)
        return;

    row_begin(row, TABLE_CAPTURES);
    row_int(row, COLUMN_CAPTURES_id, id_of(e, name, capture));
    row_text(row, COLUMN_CAPTURES_name, name);
    if (capture->bytes > 0)
        row_int(row, COLUMN_CAPTURES_bytes, (int64_t)capture->bytes);
    row_int(row, COLUMN_CAPTURES_read_with, e->options->n_files + e->options->n_devices);
    if (read->has_times) {
        row_int(row, COLUMN_CAPTURES_first_time_ns, read->first_ns);
        row_int(row, COLUMN_CAPTURES_last_time_ns, read->last_ns);
    }
    row_int(row, COLUMN_CAPTURES_packets, (int64_t)read->packets);
    if (counted->messages_known)
        row_int(row, COLUMN_CAPTURES_messages, (int64_t)counted->messages);
    if (read->dropped_known)
        row_int(row, COLUMN_CAPTURES_lost, (int64_t)MIN(read->dropped, INT64_MAX));
    row_int(row, COLUMN_CAPTURES_left_out, (int64_t)e->pipeline.memory_limit);
    row_int(row, COLUMN_CAPTURES_complete, read->complete);
    rows_put(&e->rows);
}

/* complete: all that was given was read to its end. */
static void put_captures(struct exporter *e, bool at_end, bool complete)
{
    static const struct store_capture device;
    struct counted counted = count_all(e, at_end, complete);

    e->input.complete = complete;
    if (!rows_want(&e->rows, TABLE_CAPTURES))
        return;
    if (!at_end)
        pipeline_by_file(&e->pipeline);
    for (guint i = 0; i < e->options->n_files; i++) {
        if (e->pipeline.by_file)
            counted = count_one(e, i, at_end);
        put_capture(e, e->options->files[i], &e->captures[i], &counted);
    }
    for (guint i = 0; i < e->options->n_devices; i++)
        put_capture(e, e->options->devices[i], &device, &counted);
}

static void on_passes(void *context, const struct source_packet *one)
{
    struct exporter *e = context;

    bool full = passed_full(&e->passed) && e->rows.begun && !e->rows.failed;

    if (full && !e->rows.store->block(e->rows.store)) {
        e->rows.failed = true;
        e->pipeline.stop = true;
    }
    passed_packet(&e->passed, one, full);
    passed_watch(&e->passed, e->input.watch, e->pipeline.clock.frame);
}

/* Of a pipe the key is known when its first packet is. */
static bool begin(void *context)
{
    struct exporter *e = context;

    for (guint i = 0; i < e->options->n_files; i++)
        e->captures[i].id = id_of(e, e->options->files[i], &e->captures[i]);
    e->input = (struct store_input){.captures = e->captures,
                                    .n = e->options->n_files,
                                    .how = identity_reading(e->options),
                                    .tables = e->rows.tables,
                                    .first = e->passed.first,
                                    .blocks = e->passed.blocks,
                                    .cut = &e->passed.is_cut,
                                    .packets = &e->pipeline.clock.frame,
                                    .time_ns = &e->pipeline.clock.now_ns,
                                    .packets_hash = &e->passed.hash,
                                    .at_end = &e->pipeline.at_end,
                                    .counted_out = &e->pipeline.counted_out,
                                    .complete = e->input.complete};
    e->input.watch = g_array_new(FALSE, FALSE, sizeof(struct store_watch));
    if (!e->rows.store->begin(e->rows.store, &e->input))
        return false;
    passed_watch(&e->passed, e->input.watch, e->pipeline.clock.frame);
    return true;
}

/* Between packets. */
static void go_on(void *context)
{
    struct exporter *e = context;

    put_captures(e, false, false);
    if (!e->rows.failed && !e->rows.store->commit(e->rows.store)) {
        e->rows.failed = true;
        e->pipeline.stop = true;
    }
}

/* Of devices: also where no packets come. */
static void on_tick(void *context, int64_t now_ns, struct rpcrdma_flow *flow)
{
    struct exporter *e = context;
    struct store *store = e->rows.store;

    pipeline_pass_time(&e->pipeline, now_ns, flow);
    if (!store->due || store->due(store))
        rows_commit(&e->rows);
}

static int analyse(void *context, struct store *store)
{
    struct exporter *e = context;
    struct rpcrdma_flow_sink sink;
    int status;

    e->rows.store = store;
    e->rows.commit_rows = store->commit ? COMMIT_ROWS : 0;
    if (store->commit) {
        e->pipeline.tick = on_tick;
        e->pipeline.tick_context = e;
        e->pipeline.interval_ns = SECOND_NS;
    }
    if (store->begin && e->options->n_devices == 0) { /* a device is read once */
        e->rows.begin = begin;
        e->pipeline.passes = on_passes;
        e->pipeline.passes_context = e;
        passed_begin(&e->passed);
    }
    e->pipeline.first = rows_start;
    e->pipeline.first_context = &e->rows;
    e->rows.commit = go_on;
    e->rows.commit_context = e;
    e->rows.details = details_new(options_memory(e->options, MEMORY_COMMAND));
    sink = rows_begin(&e->rows);
    if (e->options->n_files > 1)
        e->pipeline.by_file = g_new0(struct pipeline_file, e->options->n_files);
    status = pipeline_run(&e->pipeline, &sink);
    put_captures(e, true, status == EXIT_DONE && !e->pipeline.counted_out);
    g_free(e->pipeline.by_file);
    e->pipeline.by_file = NULL;
    details_free(e->rows.details);
    return e->rows.failed ? EXIT_UNUSABLE : status;
}

/* -- the command ----------------------------------------------------------------------------- */

struct choice {
    char *sqlite, *ndjson, *csv, *tables, *sql, *cluster;
    gboolean zstd, schema;
    int jobs;
};

static bool is_ring(const struct capture_limits *limits)
{
    return limits->bytes > 0 || limits->duration_ns > 0;
}

static int to_stream(struct exporter *e, enum text_form form)
{
    struct out out;
    int status = begin_output(e->options, &out);
    struct store *store;

    if (status != OPTIONS_GO_ON)
        return status;
    e->pipeline.out = &out;
    if (form == TEXT_CSV)
        store_stream_header(&out, (enum table_id)__builtin_ctz(e->rows.tables));
    store = store_stream(&out, form);
    status = store->end(store, analyse(e, store));
    return end_output(&out, status);
}

static int to_files(struct exporter *e, const char *folder, enum text_form form, bool compress)
{
    const struct capture_limits *ring = e->options->own;
    struct ring_task task = {.folder = folder,
                             .form = form,
                             .tables = e->rows.tables,
                             .compress = compress,
                             .no_sandbox = e->options->no_sandbox,
                             .bytes = ring->bytes,
                             .duration_ns = ring->duration_ns,
                             .now_ns =
                                 e->options->n_devices == 0 ? &e->pipeline.clock.now_ns : NULL,
                             .files = ring->files};
    struct store *store =
        is_ring(ring) ? store_ring(&task) : store_files(folder, form, e->rows.tables, compress);

    return store ? store->end(store, analyse(e, store)) : EXIT_UNUSABLE;
}

static int check(const struct command *command, const struct options *options,
                 const struct choice *choice, unsigned wanted)
{
    int n = (choice->sqlite != NULL) + (choice->ndjson != NULL) + (choice->csv != NULL);
    const char *stream = choice->csv ? choice->csv : choice->ndjson;
    const struct capture_limits *ring = options->own;
    bool standard = output_standard(stream);
    char error[1000];

    if (n != 1)
        return bad_usage(command, "--sqlite, --ndjson or --csv: choose one");
    if (choice->sqlite && !store_sqlite_built())
        return bad_usage(command, "this program was built without SQLite");
    if (choice->sqlite && create_standard(choice->sqlite) >= 0)
        return bad_usage(command, "--sqlite takes the name of a file");
    if (choice->sqlite && !database_possible(options, choice->sqlite))
        return EXIT_UNUSABLE;
    if (choice->zstd && (choice->sqlite || standard))
        return bad_usage(command, "--zstd is for files; of a pipe: | zstd");
    if (choice->zstd && !compress_built())
        return bad_usage(command, "this program was built without zstd");
    if (is_ring(ring) && (choice->sqlite || standard))
        return bad_usage(command, "-b needs a folder to write: --ndjson DIR or --csv DIR");
    if (ring->files > 0 && !is_ring(ring))
        return bad_usage(command, "files:N needs -b filesize:KB or -b duration:SECONDS");
    if (choice->csv && standard && (wanted & (wanted - 1)))
        return bad_usage(command, "--csv - takes one table: --tables rpcs");
    if ((choice->sqlite && !store_sqlite_prepare(error, sizeof(error))) ||
        (choice->zstd && !compress_prepare(error, sizeof(error)))) {
        complain("%s", error);
        return EXIT_UNUSABLE;
    }
    return OPTIONS_GO_ON;
}

static int export_to(struct exporter *e, const struct choice *choice)
{
    const char *stream = choice->csv ? choice->csv : choice->ndjson;
    enum text_form form = choice->csv ? TEXT_CSV : TEXT_NDJSON;

    if (!output_standard(stream) && !output_has_input(e->options))
        return EXIT_UNUSABLE;
    know_files(e);
    if (!stream) /* check(): one of the three was given */
        return database_export(e->options, choice->sqlite, analyse, e);
    if (output_standard(stream))
        return to_stream(e, form);
    return to_files(e, stream, form, choice->zstd);
}

/* -- many capture points ----------------------------------------------------------------------- */

struct many {
    struct exporter *e;
    const struct choice *choice;
};

/* A folder below the one given, for each. */
static int on_point(void *context, const struct point *point)
{
    const struct many *many = context;
    struct choice choice = *many->choice;
    const char *stream = choice.csv ? choice.csv : choice.ndjson;
    char *folder = stream ? g_build_filename(stream, point->name, NULL) : NULL;
    int status;

    if (!output_has_input(many->e->options)) {
        g_free(folder);
        return EXIT_UNUSABLE;
    }
    if (folder && g_mkdir_with_parents(folder, 0777) != 0) {
        complain("%s: %s", folder, strerror(errno));
        return EXIT_UNUSABLE;
    }
    if (choice.csv)
        choice.csv = folder;
    else if (choice.ndjson)
        choice.ndjson = folder;
    status = choice.sqlite && !database_possible(many->e->options, choice.sqlite)
                 ? EXIT_UNUSABLE
                 : export_to(many->e, &choice);
    g_free(folder);
    return status;
}

static int export_points(const struct command *command, struct exporter *e,
                         const struct choice *choice)
{
    struct many many = {.e = e, .choice = choice};
    struct points_call call = {.one = on_point, .context = &many};
    const char *stream = choice->csv ? choice->csv : choice->ndjson;
    struct points points = {0};
    int status;

    if (output_standard(stream))
        return bad_usage(command, "-: of several capture points, a folder");
    if (choice->sqlite && choice->jobs > 1)
        return bad_usage(command, "--sqlite: one process at a time writes a database; no -j");
    status = points_find(&points, e->options);
    if (status == OPTIONS_GO_ON)
        status = points_each(&points, e->options, (guint)choice->jobs, &call);
    points_free(&points);
    return status;
}

static gboolean on_ring(const char *name, const char *text, gpointer data, GError **error)
{
    return capture_limit_parse(name, text, ((struct options *)data)->own, error);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct capture_limits ring = {0};
    struct options options = {.optional_input = true, .own = &ring};
    struct choice choice = {.jobs = POINTS_JOBS_UNSAID};
    GOptionEntry own[] = {
        {"sqlite", 0, 0, G_OPTION_ARG_FILENAME, &choice.sqlite,
         "Into this database; rows that are in it stay, and are not added again", "OUT.db"},
        {"ndjson", 0, 0, G_OPTION_ARG_FILENAME, &choice.ndjson,
         "A file per table in this folder, a JSON object per line; - is standard output", "DIR"},
        {"csv", 0, 0, G_OPTION_ARG_FILENAME, &choice.csv, "The same as CSV; - takes one table",
         "DIR"},
        {"ring-buffer", 'b', 0, G_OPTION_ARG_CALLBACK, on_ring,
         "Begin new files after duration:SECONDS or filesize:KB; keep the latest files:N",
         "CONDITION"},
        {"zstd", 0, 0, G_OPTION_ARG_NONE, &choice.zstd, "Compress these files", NULL},
        {"tables", 0, 0, G_OPTION_ARG_STRING, &choice.tables, "Only these tables",
         "NAME[,NAME...]"},
        POINTS_JOBS(&choice.jobs),
        {"schema", 0, 0, G_OPTION_ARG_NONE, &choice.schema,
         "Show tables and columns instead, a JSON object per column", NULL},
        {"sql", 0, 0, G_OPTION_ARG_STRING, &choice.sql,
         "Show the statements that make these tables instead: clickhouse, duckdb", "ENGINE"},
        {"cluster", 0, 0, G_OPTION_ARG_STRING, &choice.cluster,
         "With --sql: spread over the servers of this cluster, too", "NAME"},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    struct out nowhere = {.fd = -1};
    struct exporter e = {.options = &options, .pipeline = {.options = &options, .out = &nowhere}};

    e.rows.pipeline = &e.pipeline;
    if (status == OPTIONS_GO_ON && choice.schema) {
        status = describe_chosen(command, choice.tables, &e.rows.tables);
        if (status == OPTIONS_GO_ON)
            status = describe_columns(&options, e.rows.tables);
    } else if (status == OPTIONS_GO_ON && choice.sql) {
        status = describe_chosen(command, choice.tables, &e.rows.tables);
        if (status == OPTIONS_GO_ON)
            status = describe_sql(command, &options, e.rows.tables, choice.sql, choice.cluster);
    } else if (status == OPTIONS_GO_ON) {
        if (choice.cluster)
            status = bad_usage(command, "--cluster: it goes with --sql");
        else if (options.n_files == 0 && options.n_devices == 0)
            status = bad_usage(command, "no capture file given");
        if (status == OPTIONS_GO_ON)
            status = describe_chosen(command, choice.tables, &e.rows.tables);
        if (status == OPTIONS_GO_ON)
            status = check(command, &options, &choice, e.rows.tables);
        if (status == OPTIONS_GO_ON)
            status = points_check(command, &options, &choice.jobs);
        if (status == OPTIONS_GO_ON && points_wanted(&options, (guint)choice.jobs))
            status = export_points(command, &e, &choice);
        else if (status == OPTIONS_GO_ON)
            status = export_to(&e, &choice);
    }
    g_free(e.captures);
    g_free(choice.sqlite);
    g_free(choice.ndjson);
    g_free(choice.csv);
    g_free(choice.tables);
    g_free(choice.sql);
    g_free(choice.cluster);
    options_free(&options);
    return status;
}

const struct command command_export = {
    .name = "export",
    .arguments = "FILE|FOLDER...",
    .what = "all of it as tables: an SQLite database, NDJSON, CSV",
    .details =
        "A capture has the same keys each time it is exported, alone or with others: exporting\n"
        "it again, or a file that is its beginning, adds nothing. docs/sql.md has the tables,\n"
        "and questions to ask them.",
    .run = run,
};
