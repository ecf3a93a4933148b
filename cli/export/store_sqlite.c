/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows into a database of SQLite, and what is told of them; the database itself: sqlite_file.c. */
#include "common/complain.h"
#include "export/stores.h"

#ifdef HAVE_SQLITE

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "export/past.h"
#include "export/sqlite_file.h"
#include "source/rights/create.h"
#include "source/rights/privilege.h"

struct sqlite_store {
    struct store store;
    struct sqlite_file file;
    sqlite3_stmt *insert[N_TABLES], *replace[N_TABLES];
    sqlite3_stmt *alike[N_TABLES];
    sqlite3_stmt *ours[N_TABLES]; /* NULL where it is fresh */
    struct past *past;
    bool quiet;
    uint64_t known;    /* rows that were there already */
    uint64_t stale;    /* of these, such as this export has otherwise, and may not replace */
    uint64_t same_key; /* left out as another one of this export has their key */
};

bool store_sqlite_built(void)
{
    return true;
}

bool store_sqlite_prepare(char *error, size_t size)
{
    sqlite_lib = module_calls(MODULE_SQLITE, sizeof(*sqlite_lib), error, size);
    return sqlite_lib != NULL;
}

static void bind_text(sqlite3_stmt *insert, int at, const struct cell *cell)
{
    char buffer[CELL_SHOWN];
    size_t n;
    const char *text = cell_shown(cell, buffer, &n);

    sqlite_lib->sqlite3_bind_text(insert, at, text, (int)n,
                                  text == buffer ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

static void bind_row(sqlite3_stmt *statement, const struct row *row)
{
    int n = (int)tables[row->table].n_columns;

    for (int i = 0; i < n; i++) {
        const struct cell *cell = &row->cells[i];

        if (cell->kind == CELL_INT)
            sqlite_lib->sqlite3_bind_int64(statement, i + 1, cell->is.number);
        else if (cell->kind == CELL_TEXT)
            bind_text(statement, i + 1, cell);
        else
            sqlite_lib->sqlite3_bind_null(statement, i + 1);
    }
}

static bool put(struct sqlite_store *s, sqlite3_stmt *insert, const struct row *row)
{
    int n = (int)tables[row->table].n_columns;

    bind_row(insert, row);
    if (row->table == TABLE_CAPTURES) /* same_key, the last column; the last such row has all */
        sqlite_lib->sqlite3_bind_int64(insert, n, (int64_t)s->same_key);
    if (sqlite_lib->sqlite3_step(insert) != SQLITE_DONE)
        return sqlite_file_fail(&s->file);
    sqlite_lib->sqlite3_reset(insert);
    return true;
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
    good = sqlite_file_statement(&s->file, sql->str, insert);
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

    sqlite_lib->sqlite3_bind_int64(ours, 1, row->cells[0].is.number); /* id */
    found = sqlite_lib->sqlite3_step(ours) == SQLITE_ROW;
    sqlite_lib->sqlite3_reset(ours);
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
    good = *alike || sqlite_file_statement(&s->file, sql->str, alike);
    g_string_free(sql, TRUE);
    if (!good)
        return false;
    bind_row(*alike, row);
    s->stale += sqlite_lib->sqlite3_step(*alike) != SQLITE_ROW;
    sqlite_lib->sqlite3_reset(*alike);
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
    if (s->file.fresh || sqlite_lib->sqlite3_changes(s->file.db) > 0)
        return past_added(s->past, row) || sqlite_file_fail(&s->file);
    if (is_ours(s, row)) {
        s->same_key++;
        return true;
    }
    s->known++;
    if (!past_there(s->past, row, &is))
        return sqlite_file_fail(&s->file);
    return is == PAST_REPLACE        ? put_instead(s, row)
           : is == PAST_STAYS_OTHERS ? look_whether_alike(s, row)
                                     : true;
}

static bool begin(struct store *store, const struct store_input *input)
{
    struct sqlite_store *s = (struct sqlite_store *)store;

    return past_begin(s->past, input) || sqlite_file_fail(&s->file);
}

static bool block(struct store *store)
{
    struct sqlite_store *s = (struct sqlite_store *)store;

    return past_block(s->past) || sqlite_file_fail(&s->file);
}

/* What there is so far is there for good, however this process ends. */
static bool commit(struct store *store)
{
    struct sqlite_store *s = (struct sqlite_store *)store;

    if (s->file.fd >= 0 && create_is_gone(s->file.fd)) {
        complain("%s: it was removed while it was written to: its rows are lost", s->file.path);
        s->file.failed = true;
        return false;
    }
    return (past_commit(s->past) || sqlite_file_fail(&s->file)) &&
           sqlite_file_run(&s->file, "COMMIT; BEGIN");
}

static void close_store(struct sqlite_store *s)
{
    for (enum table_id table = 0; table < N_TABLES; table++) {
        sqlite_lib->sqlite3_finalize(s->insert[table]);
        sqlite_lib->sqlite3_finalize(s->replace[table]);
        sqlite_lib->sqlite3_finalize(s->alike[table]);
        sqlite_lib->sqlite3_finalize(s->ours[table]);
    }
    past_free(s->past);
    sqlite_file_close(&s->file);
    g_free(s);
}

static void say_same_key(const struct sqlite_file *file, uint64_t rows, bool quiet)
{
    if (rows > 0 && !quiet)
        complain("%s: %" PRIu64 " row%s had the key of another, and %s left out", file->path, rows,
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
                 s->file.path);
    if (told->beside)
        complain("%s: an earlier export of some of these files was not of what they begin with: "
                 "its rows stay as they are; " OR_NEW,
                 s->file.path);
    if (told->other_options)
        complain("%s: an export of this capture with other options is in it, and its rows "
                 "stay%s%s; " OR_NEW,
                 s->file.path, rows->len > 0 ? ": " : "", rows->str);
    else if (!told->beside && !told->other_packets && rows->len > 0)
        complain("%s: an earlier export that this one does not go on from left rows as they were "
                 "at its end, and they stay: %s; " OR_NEW,
                 s->file.path, rows->str);
    g_string_free(rows, TRUE);
}

static int end(struct store *store, int status)
{
    struct sqlite_store *s = (struct sqlite_store *)store;

    if (!s->file.failed && (past_end(s->past) || sqlite_file_fail(&s->file)))
        sqlite_file_run(&s->file, "COMMIT");
    if (past_came_further(s->past) && !s->quiet)
        complain("%s: more of this capture is in it already", s->file.path);
    if (!s->quiet)
        say_what_stays(s);
    if (s->known > 0 && !s->quiet)
        complain("%s: %" PRIu64 " row%s there already", s->file.path, s->known,
                 s->known == 1 ? " was" : "s were");
    say_same_key(&s->file, s->same_key, s->quiet);
    if (s->file.failed)
        status = EXIT_UNUSABLE;
    close_store(s);
    return status;
}

/* Finds a row that came after those that are there now. */
static bool prepare_ours(struct sqlite_store *s, enum table_id table)
{
    const char *name = tables[table].name;
    char sql[160];

    snprintf(sql, sizeof(sql), "SELECT coalesce(max(rowid), 0) FROM %s", name);
    snprintf(sql, sizeof(sql), "SELECT 1 FROM %s WHERE id = ? AND rowid > %" PRIi64, name,
             sqlite_file_number(&s->file, sql));
    return sqlite_file_statement(&s->file, sql, &s->ours[table]);
}

static bool prepare(struct sqlite_store *s)
{
    bool good = past_new(sqlite_lib, s->file.db, &s->past) || sqlite_file_fail(&s->file);

    for (enum table_id table = 0; good && table < N_TABLES; table++)
        good = prepare_insert(s, "IGNORE", table, &s->insert[table]) &&
               (s->file.fresh || table == TABLE_CAPTURES || prepare_ours(s, table));
    return good;
}

struct store *store_sqlite(const struct database_name *name, size_t bytes, bool quiet, bool shared)
{
    struct sqlite_store *s = g_new0(struct sqlite_store, 1);
    struct privilege_lent lent;
    bool opened, good;

    privilege_lend(&lent);
    opened = sqlite_file_open(&s->file, name, bytes);
    good = opened && sqlite_file_begin(&s->file, shared) && prepare(s) &&
           sqlite_file_run(&s->file, "BEGIN");
    privilege_return(&lent);
    if (good) {
        s->quiet = quiet;
        s->store = (struct store){
            .begin = begin, .row = put_row, .block = block, .commit = commit, .end = end};
        return &s->store;
    }
    if (opened)
        close_store(s);
    else
        g_free(s);
    return NULL;
}

int store_sqlite_finish(const struct database_name *name, size_t bytes, bool quiet)
{
    struct sqlite_file file;
    uint64_t twice = 0;
    bool good;

    if (!sqlite_file_open(&file, name, bytes))
        return EXIT_UNUSABLE;
    good = sqlite_file_finish(&file, &twice);
    say_same_key(&file, twice, quiet);
    sqlite_file_close(&file);
    return good ? EXIT_DONE : EXIT_UNUSABLE;
}

#endif
