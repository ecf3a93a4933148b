/* SPDX-License-Identifier: BSD-2-Clause */
/* The database of an export itself: opened or made, its tables, and its keys at the end. */
#include "export/sqlite_file.h"

#ifdef HAVE_SQLITE

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/complain.h"
#include "each.h"
#include "export/past.h"
#include "export/schema.h" /* schema_sql, from schema.sql */
#include "export/tables.h"

enum { PATIENCE_MS = 10000 }; /* where another program has it locked */

enum { APPLICATION = 0x52704472 }; /* "RpDr": what file(1) and `PRAGMA application_id` show */

/* Of the tables: PRAGMA user_version. */
#define SCHEMA 8
#define SET_SCHEMA "PRAGMA user_version = " G_STRINGIFY(SCHEMA)

const struct sqlite_calls *sqlite_lib;

bool sqlite_file_fail(struct sqlite_file *f)
{
    if (!f->failed)
        complain("%s: %s", f->path, f->db ? sqlite_lib->sqlite3_errmsg(f->db) : "out of memory");
    f->failed = true;
    return false;
}

bool sqlite_file_run(struct sqlite_file *f, const char *sql)
{
    return sqlite_lib->sqlite3_exec(f->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
           sqlite_file_fail(f);
}

bool sqlite_file_statement(struct sqlite_file *f, const char *sql, sqlite3_stmt **statement)
{
    return sqlite_lib->sqlite3_prepare_v3(f->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement,
                                          NULL) == SQLITE_OK ||
           sqlite_file_fail(f);
}

int64_t sqlite_file_number(struct sqlite_file *f, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;

    if (sqlite_lib->sqlite3_prepare_v2(f->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite_lib->sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite_lib->sqlite3_column_int64(statement, 0);
    sqlite_lib->sqlite3_finalize(statement);
    return value;
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

static bool create_tables(struct sqlite_file *f)
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
    good = sqlite_file_run(f, sql->str);
    g_string_free(sql, TRUE);
    return good;
}

/* Its cache is a part of what the command may keep. */
static bool set_cache(struct sqlite_file *f, size_t bytes)
{
    enum { LEAST = 1 << 20, MOST = 16 << 20 };
    char sql[120];

    snprintf(sql, sizeof(sql),
             "PRAGMA busy_timeout = %d; PRAGMA cache_size = -%zu; PRAGMA page_size = 8192",
             PATIENCE_MS, CLAMP(bytes, LEAST, MOST) / 1024);
    return sqlite_file_run(f, sql);
}

bool sqlite_file_open(struct sqlite_file *f, const struct database_name *name, size_t bytes)
{
    int64_t application;

    *f = (struct sqlite_file){.path = g_strdup(name->given), .fd = name->fd};
    if (sqlite_lib->sqlite3_open_v2(name->resolved, &f->db,
                                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                        SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX,
                                    NULL) != SQLITE_OK ||
        !set_cache(f, bytes)) {
        sqlite_file_fail(f);
        sqlite_file_close(f);
        return false;
    }
    application = sqlite_file_number(f, "PRAGMA application_id");
    f->fresh = application == 0 && sqlite_file_number(f, "SELECT count(*) FROM sqlite_schema") == 0;
    if (f->fresh ||
        (application == APPLICATION && sqlite_file_number(f, "PRAGMA user_version") == SCHEMA))
        return true;
    if (!f->failed)
        complain(application == APPLICATION
                     ? "%s: a database of another version of this program: export to a new one"
                     : "%s: not a database of rpcrdma export",
                 f->path);
    sqlite_file_close(f);
    return false;
}

void sqlite_file_close(struct sqlite_file *f)
{
    if (f->db)
        sqlite_lib->sqlite3_close(f->db);
    g_free(f->path);
}

/* Its log and that one's index are opened now, and stay. False: there can be none here (a file
 * system of a network). */
static bool share(struct sqlite_file *f)
{
    sqlite3_stmt *statement = NULL;
    bool wal;

    wal = sqlite_lib->sqlite3_prepare_v2(f->db, "PRAGMA journal_mode = WAL", -1, &statement,
                                         NULL) == SQLITE_OK &&
          sqlite_lib->sqlite3_step(statement) == SQLITE_ROW &&
          strcmp((const char *)sqlite_lib->sqlite3_column_text(statement, 0), "wal") == 0;
    sqlite_lib->sqlite3_finalize(statement);
    return wal;
}

bool sqlite_file_begin(struct sqlite_file *f, bool shared)
{
    /* The journal is opened now, and stays: files cannot be opened once packets are read. Rows are
     * appended, so that it holds next to nothing. */
    return ((shared && share(f)) ||
            sqlite_file_run(f, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = PERSIST")) &&
           sqlite_file_run(f, "PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY") &&
           (f->fresh ? create_tables(f) : sqlite_file_run(f, "BEGIN; " SET_SCHEMA "; COMMIT"));
}

static sqlite3_stmt *prepare_for(struct sqlite_file *f, const char *format, const char *table)
{
    char sql[160];
    sqlite3_stmt *statement = NULL;

    snprintf(sql, sizeof(sql), format, table);
    if (sqlite_lib->sqlite3_prepare_v2(f->db, sql, -1, &statement, NULL) != SQLITE_OK)
        sqlite_file_fail(f);
    return statement;
}

/* Of rows with one key the first stays. One sort more than without: in SQL it takes two. */
static bool delete_twins(struct sqlite_file *f, const char *table, uint64_t *n)
{
    /* what is deleted meanwhile does not disturb it: it is sorted aside */
    sqlite3_stmt *all = prepare_for(f, "SELECT id, rowid FROM %s ORDER BY id, rowid", table);
    sqlite3_stmt *delete = prepare_for(f, "DELETE FROM %s WHERE rowid = ?", table);
    int64_t before = 0;
    int step = SQLITE_DONE;

    for (bool first = true; !f->failed && (step = sqlite_lib->sqlite3_step(all)) == SQLITE_ROW;
         first = false) {
        int64_t id = sqlite_lib->sqlite3_column_int64(all, 0);

        if (!first && id == before) {
            sqlite_lib->sqlite3_bind_int64(delete, 1, sqlite_lib->sqlite3_column_int64(all, 1));
            if (sqlite_lib->sqlite3_step(delete) != SQLITE_DONE)
                sqlite_file_fail(f);
            sqlite_lib->sqlite3_reset(delete);
            ++*n;
        }
        before = id;
    }
    if (step != SQLITE_DONE)
        sqlite_file_fail(f);
    sqlite_lib->sqlite3_finalize(all);
    sqlite_lib->sqlite3_finalize(delete);
    return !f->failed;
}

/* The keys of all tables. Where rows came in without them, one that is there twice goes first. */
static bool make_keys(struct sqlite_file *f, uint64_t *twice)
{
    for (enum table_id table = 0; table < N_TABLES; table++) {
        const char *name = tables[table].name;
        char sql[160];

        if (table == TABLE_CAPTURES)
            continue;
        snprintf(sql, sizeof(sql), "CREATE UNIQUE INDEX IF NOT EXISTS %s_id ON %s(id)", name, name);
        if (sqlite_lib->sqlite3_exec(f->db, sql, NULL, NULL, NULL) == SQLITE_OK)
            continue;
        if ((sqlite_lib->sqlite3_errcode(f->db) & 0xff) != SQLITE_CONSTRAINT)
            return sqlite_file_fail(f);
        if (!delete_twins(f, name, twice) || !sqlite_file_run(f, sql))
            return false;
    }
    return true;
}

static bool keep_same_key(struct sqlite_file *f, uint64_t rows)
{
    char sql[120];

    snprintf(sql, sizeof(sql), "UPDATE captures SET same_key = coalesce(same_key, 0) + %" PRIu64,
             rows);
    return rows == 0 || sqlite_file_run(f, sql);
}

bool sqlite_file_finish(struct sqlite_file *f, uint64_t *twice)
{
    /* something is written in any case: the journal that was kept goes with it. A log stays where
     * somebody reads by it. */
    if (sqlite_lib->sqlite3_exec(f->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) !=
            SQLITE_OK &&
        (sqlite_lib->sqlite3_errcode(f->db) & 0xff) != SQLITE_BUSY)
        sqlite_file_fail(f);
    if (!f->fresh && !f->failed && sqlite_file_run(f, "BEGIN; " SET_SCHEMA) &&
        make_keys(f, twice) && keep_same_key(f, *twice) && sqlite_file_run(f, schema_sql))
        sqlite_file_run(f, "COMMIT; PRAGMA analysis_limit = 1000; PRAGMA optimize");
    return !f->failed;
}

#endif
