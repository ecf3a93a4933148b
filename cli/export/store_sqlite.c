/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/stores.h"

#ifdef HAVE_SQLITE

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "each.h"
#include "export/past.h"
#include "export/schema.h" /* schema_sql, from schema.sql */
#include "module/calls_sqlite.h"
#include "plural.h"
#include "source/create.h"
#include "source/privilege.h"

enum { PATIENCE_MS = 10000 }; /* where another program has it locked */

enum { APPLICATION = 0x52704472 }; /* "RpDr": what file(1) and `PRAGMA application_id` show */

/* Of the tables: PRAGMA user_version. */
#define SCHEMA 6
#define SET_SCHEMA "PRAGMA user_version = " G_STRINGIFY(SCHEMA)

struct sqlite_store {
    struct store store;
    char *path;
    int fd; /* the caller's */
    sqlite3 *db;
    sqlite3_stmt *insert[N_TABLES], *replace[N_TABLES];
    sqlite3_stmt *alike[N_TABLES];
    sqlite3_stmt *ours[N_TABLES]; /* NULL where it is fresh */
    struct past *past;
    bool fresh; /* there was no database: uniqueness is looked at by the indexes, at the end */
    bool failed;
    bool quiet;
    uint64_t known;    /* rows that were there already */
    uint64_t stale;    /* of these, such as this export has otherwise, and may not replace */
    uint64_t same_key; /* left out as another one of this export has their key */
};

static const struct sqlite_calls *lib;

bool store_sqlite_built(void)
{
    return true;
}

bool store_sqlite_prepare(char *error, size_t size)
{
    lib = module_calls(MODULE_SQLITE, sizeof(*lib), error, size);
    return lib != NULL;
}

static bool fail(struct sqlite_store *s)
{
    if (!s->failed)
        complain("%s: %s", s->path, s->db ? lib->sqlite3_errmsg(s->db) : "out of memory");
    s->failed = true;
    return false;
}

static bool run(struct sqlite_store *s, const char *sql)
{
    return lib->sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK || fail(s);
}

static void bind_text(sqlite3_stmt *insert, int at, const struct cell *cell)
{
    char buffer[CELL_SHOWN];
    size_t n;
    const char *text = cell_shown(cell, buffer, &n);

    lib->sqlite3_bind_text(insert, at, text, (int)n,
                           text == buffer ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

static void bind_row(sqlite3_stmt *statement, const struct row *row)
{
    int n = (int)tables[row->table].n_columns;

    for (int i = 0; i < n; i++) {
        const struct cell *cell = &row->cells[i];

        if (cell->kind == CELL_INT)
            lib->sqlite3_bind_int64(statement, i + 1, cell->is.number);
        else if (cell->kind == CELL_TEXT)
            bind_text(statement, i + 1, cell);
        else
            lib->sqlite3_bind_null(statement, i + 1);
    }
}

static bool put(struct sqlite_store *s, sqlite3_stmt *insert, const struct row *row)
{
    int n = (int)tables[row->table].n_columns;

    bind_row(insert, row);
    if (row->table == TABLE_CAPTURES) /* same_key, the last column; the last such row has all */
        lib->sqlite3_bind_int64(insert, n, (int64_t)s->same_key);
    if (lib->sqlite3_step(insert) != SQLITE_DONE)
        return fail(s);
    lib->sqlite3_reset(insert);
    return true;
}

static bool prepare_one(struct sqlite_store *s, const char *sql, sqlite3_stmt **statement)
{
    return lib->sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) ==
               SQLITE_OK ||
           fail(s);
}

/* A capture that is exported again keeps how many of its rows were left out. */
static bool prepare_insert(struct sqlite_store *s, const char *otherwise, enum table_id table,
                           sqlite3_stmt **insert)
{
    GString *sql = g_string_new(NULL);
    bool good;

    g_string_append_printf(sql, "INSERT OR %s INTO %s VALUES (", otherwise, tables[table].name);
    for (size_t i = 1; i < tables[table].n_columns; i++)
        g_string_append(sql, "?, ");
    g_string_append(sql, table == TABLE_CAPTURES
                             ? "nullif(max(?, coalesce((SELECT same_key FROM captures "
                               "WHERE id = ?1), 0)), 0))"
                             : "?)");
    good = prepare_one(s, sql->str, insert);
    g_string_free(sql, TRUE);
    return good;
}

/* In place of the row with that key, if there is one. */
static bool put_instead(struct sqlite_store *s, const struct row *row)
{
    sqlite3_stmt **insert = &s->replace[row->table];

    return (*insert || prepare_insert(s, "REPLACE", row->table, insert)) && put(s, *insert, row);
}

/* A row that was not added: whether another one of this export has its key. */
static bool is_ours(struct sqlite_store *s, const struct row *row)
{
    sqlite3_stmt *ours = s->ours[row->table];
    bool found;

    lib->sqlite3_bind_int64(ours, 1, row->cells[0].is.number); /* id */
    found = lib->sqlite3_step(ours) == SQLITE_ROW;
    lib->sqlite3_reset(ours);
    return found;
}

/* A row that stays although this export does not go on from who made it: whether this one would
 * have another there. */
static bool look_whether_alike(struct sqlite_store *s, const struct row *row)
{
    sqlite3_stmt **alike = &s->alike[row->table];
    const struct table *table = &tables[row->table];
    GString *sql = g_string_new(NULL);
    bool good;

    g_string_append_printf(sql, "SELECT 1 FROM %s WHERE id = ?", table->name);
    for (size_t i = 1; i < table->n_columns; i++)
        g_string_append_printf(sql, " AND %s IS ?", table->columns[i].name);
    good = *alike || prepare_one(s, sql->str, alike);
    g_string_free(sql, TRUE);
    if (!good)
        return false;
    bind_row(*alike, row);
    s->stale += lib->sqlite3_step(*alike) != SQLITE_ROW;
    lib->sqlite3_reset(*alike);
    return true;
}

static bool put_row(struct store *store, const struct row *row)
{
    struct sqlite_store *s = (struct sqlite_store *)store;
    enum past_row is;

    if (!past_wants(s->past, row))
        return true;
    if (row->table == TABLE_CAPTURES)
        return put_instead(s, row);
    if (!put(s, s->insert[row->table], row))
        return false;
    if (s->fresh || lib->sqlite3_changes(s->db) > 0)
        return past_added(s->past, row) || fail(s);
    if (is_ours(s, row)) {
        s->same_key++;
        return true;
    }
    s->known++;
    if (!past_there(s->past, row, &is))
        return fail(s);
    return is == PAST_REPLACE        ? put_instead(s, row)
           : is == PAST_STAYS_OTHERS ? look_whether_alike(s, row)
                                     : true;
}

static bool begin(struct store *store, const struct store_input *input)
{
    struct sqlite_store *s = (struct sqlite_store *)store;

    return past_begin(s->past, input) || fail(s);
}

static bool block(struct store *store)
{
    struct sqlite_store *s = (struct sqlite_store *)store;

    return past_block(s->past) || fail(s);
}

/* What there is so far is there for good, however this process ends. */
static bool commit(struct store *store)
{
    struct sqlite_store *s = (struct sqlite_store *)store;

    if (s->fd >= 0 && create_is_gone(s->fd)) {
        complain("%s: it was removed while it was written to: its rows are lost", s->path);
        s->failed = true;
        return false;
    }
    return (past_commit(s->past) || fail(s)) && run(s, "COMMIT; BEGIN");
}

static void close_store(struct sqlite_store *s)
{
    for (enum table_id table = 0; table < N_TABLES; table++) {
        lib->sqlite3_finalize(s->insert[table]);
        lib->sqlite3_finalize(s->replace[table]);
        lib->sqlite3_finalize(s->alike[table]);
        lib->sqlite3_finalize(s->ours[table]);
    }
    past_free(s->past);
    if (s->db)
        lib->sqlite3_close(s->db);
    g_free(s->path);
    g_free(s);
}

static void say_same_key(const struct sqlite_store *s, uint64_t rows, bool quiet)
{
    if (rows > 0 && !quiet)
        complain("%s: %" PRIu64 " row%s had the key of another, and %s left out", s->path, rows,
                 plural(rows), rows == 1 ? "is" : "are");
}

static void append_count(GString *to, uint64_t n, const char *least, const char *what)
{
    if (n > 0)
        g_string_append_printf(to, "%s%s%" PRIu64 " row%s that %s", to->len > 0 ? " and " : "",
                               least, n, plural(n), what);
}

#define OR_NEW "export to a new database to have this one's alone"

static void say_what_stays(const struct sqlite_store *s)
{
    const struct past_told *told = past_told(s->past);
    const char *least = told->other_options ? "at least " : "";
    GString *rows = g_string_new(NULL);

    append_count(rows, s->stale, least, "this one has otherwise");
    append_count(rows, told->not_made, least, "this one does not have");
    if (told->other_packets)
        complain("%s: an earlier export of a capture that begins like this one had other packets: "
                 "its rows stay as they are; " OR_NEW,
                 s->path);
    if (told->beside)
        complain("%s: an earlier export of some of these files was not of what they begin with: "
                 "its rows stay as they are; " OR_NEW,
                 s->path);
    if (told->other_options)
        complain("%s: an export of this capture with other options is in it, and its rows "
                 "stay%s%s; " OR_NEW,
                 s->path, rows->len > 0 ? ": " : "", rows->str);
    else if (!told->beside && !told->other_packets && rows->len > 0)
        complain("%s: an earlier export that this one does not go on from left rows as they were "
                 "at its end, and they stay: %s; " OR_NEW,
                 s->path, rows->str);
    g_string_free(rows, TRUE);
}

static int end(struct store *store, int status)
{
    struct sqlite_store *s = (struct sqlite_store *)store;

    if (!s->failed && (past_end(s->past) || fail(s)))
        run(s, "COMMIT");
    if (past_came_further(s->past) && !s->quiet)
        complain("%s: more of this capture is in it already", s->path);
    if (!s->quiet)
        say_what_stays(s);
    if (s->known > 0 && !s->quiet)
        complain("%s: %" PRIu64 " row%s there already", s->path, s->known,
                 s->known == 1 ? " was" : "s were");
    say_same_key(s, s->same_key, s->quiet);
    if (s->failed)
        status = EXIT_UNUSABLE;
    close_store(s);
    return status;
}

static void put_columns(GString *sql, const struct table *table)
{
    static const char *const types[] = {
        [COLUMN_ID] = "INTEGER",   [COLUMN_INT] = "INTEGER",   [COLUMN_TIME] = "INTEGER",
        [COLUMN_SPAN] = "INTEGER", [COLUMN_BYTES] = "INTEGER", [COLUMN_BOOL] = "INTEGER",
        [COLUMN_TEXT] = "TEXT",    [COLUMN_COUNT] = "INTEGER", [COLUMN_OFFSET] = "INTEGER",
    };
    RPCRDMA_EACH(types, COLUMN_TYPES);

    for (size_t i = 0; i < table->n_columns; i++)
        g_string_append_printf(sql, "%s%s %s", i > 0 ? ", " : "", table->columns[i].name,
                               types[table->columns[i].type]);
}

static bool create_tables(struct sqlite_store *s)
{
    GString *sql = g_string_new("BEGIN;");
    bool good;

    for (enum table_id table = 0; table < N_TABLES; table++) {
        g_string_append_printf(sql, "CREATE TABLE %s (", tables[table].name);
        put_columns(sql, &tables[table]);
        g_string_append(sql, ");");
    }
    g_string_append(sql, past_schema);
    /* the one that is written again as the export goes on */
    g_string_append(sql, "CREATE UNIQUE INDEX captures_id ON captures(id);");
    g_string_append_printf(sql, "PRAGMA application_id = %d; " SET_SCHEMA "; COMMIT", APPLICATION);
    good = run(s, sql->str);
    g_string_free(sql, TRUE);
    return good;
}

static int64_t pragma(struct sqlite_store *s, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;

    if (lib->sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        lib->sqlite3_step(statement) == SQLITE_ROW)
        value = lib->sqlite3_column_int64(statement, 0);
    lib->sqlite3_finalize(statement);
    return value;
}

/* Finds a row that came after those that are there now. */
static bool prepare_ours(struct sqlite_store *s, enum table_id table)
{
    const char *name = tables[table].name;
    char sql[160];

    snprintf(sql, sizeof(sql), "SELECT coalesce(max(rowid), 0) FROM %s", name);
    snprintf(sql, sizeof(sql), "SELECT 1 FROM %s WHERE id = ? AND rowid > %" PRIi64, name,
             pragma(s, sql));
    return prepare_one(s, sql, &s->ours[table]);
}

static bool prepare(struct sqlite_store *s)
{
    bool good = past_new(lib, s->db, &s->past) || fail(s);

    for (enum table_id table = 0; good && table < N_TABLES; table++)
        good = prepare_insert(s, "IGNORE", table, &s->insert[table]) &&
               (s->fresh || table == TABLE_CAPTURES || prepare_ours(s, table));
    return good;
}

/* Its cache is a part of what the command may keep. */
static bool set_cache(struct sqlite_store *s, size_t bytes)
{
    enum { LEAST = 1 << 20, MOST = 16 << 20 };
    char sql[120];

    snprintf(sql, sizeof(sql),
             "PRAGMA busy_timeout = %d; PRAGMA cache_size = -%zu; PRAGMA page_size = 8192",
             PATIENCE_MS, CLAMP(bytes, LEAST, MOST) / 1024);
    return run(s, sql);
}

/* Made, or found; `fresh` then says which. */
static struct sqlite_store *open_database(const struct database_name *name, size_t bytes)
{
    struct sqlite_store *s = g_new0(struct sqlite_store, 1);
    int64_t application;

    s->path = g_strdup(name->given);
    s->fd = name->fd;
    if (lib->sqlite3_open_v2(name->resolved, &s->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW |
                                 SQLITE_OPEN_NOMUTEX,
                             NULL) != SQLITE_OK ||
        !set_cache(s, bytes)) {
        fail(s);
        close_store(s);
        return NULL;
    }
    application = pragma(s, "PRAGMA application_id");
    s->fresh = application == 0 && pragma(s, "SELECT count(*) FROM sqlite_schema") == 0;
    if (s->fresh || (application == APPLICATION && pragma(s, "PRAGMA user_version") == SCHEMA))
        return s;
    if (!s->failed)
        complain(application == APPLICATION
                     ? "%s: a database of another version of this program: export to a new one"
                     : "%s: not a database of rpcrdma export",
                 s->path);
    close_store(s);
    return NULL;
}

static sqlite3_stmt *prepare_for(struct sqlite_store *s, const char *format, const char *table)
{
    char sql[160];
    sqlite3_stmt *statement = NULL;

    snprintf(sql, sizeof(sql), format, table);
    if (lib->sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail(s);
    return statement;
}

/* Of rows with one key the first stays. One sort more than without: in SQL it takes two. */
static bool delete_twins(struct sqlite_store *s, const char *table, uint64_t *n)
{
    /* what is deleted meanwhile does not disturb it: it is sorted aside */
    sqlite3_stmt *all = prepare_for(s, "SELECT id, rowid FROM %s ORDER BY id, rowid", table);
    sqlite3_stmt *delete = prepare_for(s, "DELETE FROM %s WHERE rowid = ?", table);
    int64_t before = 0;
    int step = SQLITE_DONE;

    for (bool first = true; !s->failed && (step = lib->sqlite3_step(all)) == SQLITE_ROW;
         first = false) {
        int64_t id = lib->sqlite3_column_int64(all, 0);

        if (!first && id == before) {
            lib->sqlite3_bind_int64(delete, 1, lib->sqlite3_column_int64(all, 1));
            if (lib->sqlite3_step(delete) != SQLITE_DONE)
                fail(s);
            lib->sqlite3_reset(delete);
            ++*n;
        }
        before = id;
    }
    if (step != SQLITE_DONE)
        fail(s);
    lib->sqlite3_finalize(all);
    lib->sqlite3_finalize(delete);
    return !s->failed;
}

/* The keys of all tables. Where rows came in without them, one that is there twice goes first. */
static bool make_keys(struct sqlite_store *s, uint64_t *twice)
{
    for (enum table_id table = 0; table < N_TABLES; table++) {
        const char *name = tables[table].name;
        char sql[160];

        if (table == TABLE_CAPTURES)
            continue;
        snprintf(sql, sizeof(sql), "CREATE UNIQUE INDEX IF NOT EXISTS %s_id ON %s(id)", name, name);
        if (lib->sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK)
            continue;
        if ((lib->sqlite3_errcode(s->db) & 0xff) != SQLITE_CONSTRAINT)
            return fail(s);
        if (!delete_twins(s, name, twice) || !run(s, sql))
            return false;
    }
    return true;
}

/* Its log and that one's index are opened now, and stay. False: there can be none here (a file
 * system of a network). */
static bool share(struct sqlite_store *s)
{
    sqlite3_stmt *statement = NULL;
    bool wal;

    wal = lib->sqlite3_prepare_v2(s->db, "PRAGMA journal_mode = WAL", -1, &statement, NULL) ==
              SQLITE_OK &&
          lib->sqlite3_step(statement) == SQLITE_ROW &&
          strcmp((const char *)lib->sqlite3_column_text(statement, 0), "wal") == 0;
    lib->sqlite3_finalize(statement);
    return wal;
}

struct store *store_sqlite(const struct database_name *name, size_t bytes, bool quiet, bool shared)
{
    struct privilege_lent lent;
    struct sqlite_store *s;
    bool good;

    privilege_lend(&lent);
    s = open_database(name, bytes);
    /* The journal is opened now, and stays: files cannot be opened once packets are read. Rows are
     * appended, so that it holds next to nothing. */
    good = s &&
           ((shared && share(s)) ||
            run(s, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = PERSIST")) &&
           run(s, "PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY") &&
           (s->fresh ? create_tables(s) : run(s, "BEGIN; " SET_SCHEMA "; COMMIT")) && prepare(s) &&
           run(s, "BEGIN");
    privilege_return(&lent);
    if (good) {
        s->quiet = quiet;
        s->store = (struct store){
            .begin = begin, .row = put_row, .block = block, .commit = commit, .end = end};
        return &s->store;
    }
    if (s)
        close_store(s);
    return NULL;
}

static bool keep_same_key(struct sqlite_store *s, uint64_t rows)
{
    char sql[120];

    snprintf(sql, sizeof(sql), "UPDATE captures SET same_key = coalesce(same_key, 0) + %" PRIu64,
             rows);
    return rows == 0 || run(s, sql);
}

int store_sqlite_finish(const struct database_name *name, size_t bytes, bool quiet)
{
    struct sqlite_store *s = open_database(name, bytes);
    uint64_t twice = 0;
    bool good;

    if (!s)
        return EXIT_UNUSABLE;
    /* something is written in any case: the journal that was kept goes with it. A log stays where
     * somebody reads by it. */
    if (lib->sqlite3_exec(s->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) != SQLITE_OK &&
        (lib->sqlite3_errcode(s->db) & 0xff) != SQLITE_BUSY)
        fail(s);
    if (!s->fresh && !s->failed && run(s, "BEGIN; " SET_SCHEMA) && make_keys(s, &twice) &&
        keep_same_key(s, twice) && run(s, schema_sql))
        run(s, "COMMIT; PRAGMA analysis_limit = 1000; PRAGMA optimize");
    say_same_key(s, twice, quiet);
    good = !s->failed;
    close_store(s);
    return good ? EXIT_DONE : EXIT_UNUSABLE;
}

#endif
