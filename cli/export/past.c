/* SPDX-License-Identifier: BSD-2-Clause */
#ifdef HAVE_SQLITE

#include "export/past_private.h"

#include "export/identity.h"

#include <stdio.h>

const char past_schema[] =
    "CREATE TABLE exports (export INTEGER, capture INTEGER, name INTEGER, bytes INTEGER,"
    " head INTEGER, how INTEGER, packets INTEGER, packets_hash INTEGER, complete INTEGER,"
    " first INTEGER,"
    " PRIMARY KEY (export, capture)) WITHOUT ROWID;"
    "CREATE INDEX exports_first ON exports(first);"
    "CREATE INDEX exports_capture ON exports(capture);"
    "CREATE INDEX exports_head ON exports(head, name);"
    "CREATE TABLE packet_marks (export INTEGER, block INTEGER, before INTEGER, marks BLOB,"
    " PRIMARY KEY (export, block)) WITHOUT ROWID;"
    /* shared: another export made this row, too, so that it stays */
    "CREATE TABLE open_rows (of INTEGER, id INTEGER, export INTEGER, shared INTEGER,"
    " PRIMARY KEY (of, id, export)) WITHOUT ROWID;"
    "CREATE INDEX open_rows_export ON open_rows(export);";

static const char of_export[] =
    "SELECT capture, name, bytes, head, how, packets, packets_hash, complete"
    " FROM exports WHERE export = ?";

static const char *const statements[] = {
    [RECORD] = "INSERT OR REPLACE INTO exports VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [MARK] = "INSERT OR REPLACE INTO packet_marks VALUES (?, ?, ?, ?)",
    [LIST] = "INSERT OR IGNORE INTO open_rows VALUES (?, ?, ?, ?)",
    [FIND] = "SELECT export, shared FROM open_rows WHERE of = ? AND id = ?",
    [SHARE] = "UPDATE open_rows SET shared = 1 WHERE of = ? AND id = ? AND shared = 0",
    [TAKE] = "DELETE FROM open_rows WHERE of = ? AND id = ? AND export = ?",
    [COUNT_OPEN] = "SELECT count(*) FROM open_rows WHERE export = ? AND shared = 0 AND ? >> of & 1",
    [OF_EXPORT] = of_export,
    [OF_FIRST] = "SELECT export FROM exports WHERE first = ?",
    [OF_CAPTURE] = "SELECT export FROM exports WHERE capture = ?",
    [OF_HEAD] = "SELECT export FROM exports WHERE head = ?",
    [OF_NAME] = "SELECT export FROM exports WHERE head = ? AND name = ?",
    /* ?6: marks, ?7: but that of one that is cut, ?8: they fill a block */
    [WITHIN] = "SELECT 1 FROM exports AS e JOIN packet_marks AS m ON m.export = e.export"
               " WHERE e.first = ?1 AND e.how = ?2 AND e.export <> ?3 AND m.block = ?4"
               " AND m.before = ?5 AND substr(m.marks, 1, length(?7)) = ?7"
               " AND (length(m.marks) > length(?6) OR (m.marks <> ?6 AND length(m.marks) ="
               " length(?6)) OR (?8 AND EXISTS (SELECT 1 FROM packet_marks"
               " WHERE export = m.export AND block = m.block + 1)))",
};

static bool prepare(const struct past *p, const char *sql, sqlite3_stmt **statement)
{
    return p->lib->sqlite3_prepare_v2(p->db, sql, -1, statement, NULL) == SQLITE_OK;
}

void past_bind(const struct past *p, enum past_statement which, const int64_t *numbers, int n)
{
    for (int i = 0; i < n; i++)
        p->lib->sqlite3_bind_int64(p->statement[which], i + 1, numbers[i]);
}

/* Once, with numbers. */
static bool step(const struct past *p, enum past_statement which, const int64_t *numbers, int n)
{
    sqlite3_stmt *statement = p->statement[which];
    bool good;

    past_bind(p, which, numbers, n);
    good = p->lib->sqlite3_step(statement) == SQLITE_DONE;
    p->lib->sqlite3_reset(statement);
    return good;
}

bool past_ask(const struct past *p, const char *sql, int64_t *value)
{
    sqlite3_stmt *statement = NULL;
    bool good = prepare(p, sql, &statement) && p->lib->sqlite3_step(statement) == SQLITE_ROW;

    if (good)
        *value = p->lib->sqlite3_column_int64(statement, 0);
    p->lib->sqlite3_finalize(statement);
    return good;
}

bool past_new(const struct sqlite_calls *lib, sqlite3 *db, struct past **past)
{
    struct past *p = *past = g_new0(struct past, 1);
    int64_t value;

    p->lib = lib;
    p->db = db;
    p->before = g_ptr_array_new();
    p->taken = g_array_new(FALSE, FALSE, sizeof(int64_t));
    p->by_export = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    for (int i = 0; i < N_STATEMENTS; i++)
        if (!prepare(p, statements[i], &p->statement[i]))
            return false;
    if (!past_ask(p, "SELECT EXISTS (SELECT 1 FROM open_rows)", &value))
        return false;
    p->any = value != 0;
    return true;
}

void past_free(struct past *p)
{
    if (!p)
        return;
    for (int i = 0; i < N_STATEMENTS; i++)
        p->lib->sqlite3_finalize(p->statement[i]);
    g_hash_table_destroy(p->by_export);
    g_array_free(p->taken, TRUE);
    g_ptr_array_free(p->before, TRUE);
    if (p->input) {
        g_array_free(p->input->watch, TRUE);
        g_array_free(p->input->blocks, TRUE);
    }
    past_known_free(p->known);
    g_free(p);
}

/* -- rows ------------------------------------------------------------------------------------ */

bool past_came_further(struct past *p)
{
    if (!p->input)
        return false;
    if (p->asked != *p->input->packets) {
        p->asked = *p->input->packets;
        p->further = past_is_within(p);
    }
    return p->further;
}

bool past_wants(struct past *p, const struct row *row)
{
    if (!p->input || !(*p->input->at_end || row->open || row->table == TABLE_CAPTURES))
        return true;
    if (past_came_further(p))
        return false;
    /* what was complete does not become less by being read again */
    return row->table != TABLE_CAPTURES || !p->whole ||
           row->cells[COLUMN_CAPTURES_complete - FIRST_CAPTURES].is.number;
}

static int64_t id_of(const struct row *row)
{
    return row->cells[0].is.number; /* of all tables, it is the first column */
}

static bool list(struct past *p, const struct row *row, bool shared)
{
    const int64_t numbers[] = {row->table, id_of(row), p->own, shared};

    p->any = true;
    return step(p, LIST, numbers, 4);
}

bool past_added(struct past *p, const struct row *row)
{
    return !row->open || !p->input || list(p, row, false);
}

/* Who has the row open: whether exports that this one goes on from, and whether others. */
static bool find(struct past *p, const struct row *row, bool *ours, bool *others)
{
    sqlite3_stmt *statement = p->statement[FIND];
    int result;

    p->lib->sqlite3_bind_int64(statement, 1, row->table);
    p->lib->sqlite3_bind_int64(statement, 2, id_of(row));
    p->shared = false;
    g_array_set_size(p->taken, 0);
    while ((result = p->lib->sqlite3_step(statement)) == SQLITE_ROW) {
        int64_t export = p->lib->sqlite3_column_int64(statement, 0);
        bool shared = p->lib->sqlite3_column_int64(statement, 1);
        struct earlier *one = export != p->own ? past_earlier(p, export) : NULL;
        bool goes_on = one && past_is_beginning(p, one);

        p->shared = p->shared || shared;
        *ours = *ours || goes_on;
        *others = *others || (export != p->own && !goes_on);
        if (one) {
            one->touched = true;
            one->met += !shared && row->open;
        }
        if (goes_on)
            g_array_append_val(p->taken, export);
    }
    p->lib->sqlite3_reset(statement);
    return result == SQLITE_DONE && !p->failed;
}

bool past_there(struct past *p, const struct row *row, enum past_row *is)
{
    int64_t numbers[] = {row->table, id_of(row), 0};
    bool ours = false, others = false;

    *is = p->other_options ? PAST_STAYS_OTHERS : PAST_STAYS;
    if (!p->any)
        return true;
    if (!find(p, row, &ours, &others))
        return false;
    if (!ours && others) {
        *is = PAST_STAYS_OTHERS;
        /* whoever goes on from both of them takes it out */
        return row->open && p->input ? list(p, row, p->shared) : step(p, SHARE, numbers, 2);
    }
    if (!ours)
        return true;
    *is = PAST_REPLACE;
    for (guint i = 0; i < p->taken->len; i++) {
        numbers[2] = g_array_index(p->taken, int64_t, i);
        if (!step(p, TAKE, numbers, 3))
            return false;
    }
    if (row->open)
        return list(p, row, p->shared);
    /* it is final: who else left it open, and does not make it later, may not take it out */
    return !others || step(p, SHARE, numbers, 2);
}

/* -- how far it came ------------------------------------------------------------------------- */

static bool mark(const struct past *p, const struct store_block *block)
{
    const int64_t numbers[] = {p->own, block->number, block->before};

    p->lib->sqlite3_bind_blob(p->statement[MARK], 4, block->marks,
                              (int)(block->n * sizeof(block->marks[0])), SQLITE_STATIC);
    return step(p, MARK, numbers, 3);
}

static bool mark_all(const struct past *p)
{
    for (guint i = 0; i < p->input->blocks->len; i++)
        if (!mark(p, &g_array_index(p->input->blocks, struct store_block, i)))
            return false;
    return true;
}

bool past_block(struct past *p)
{
    return !p->input || mark_all(p);
}

bool past_commit(struct past *p)
{
    const struct store_input *input = p->input;

    if (!input || past_came_further(p))
        return !p->failed;
    if (!mark_all(p))
        return false;
    for (size_t i = 0; i < input->n; i++) {
        const struct store_capture *one = &input->captures[i];
        const int64_t numbers[] = {p->own,
                                   one->id,
                                   one->name,
                                   (int64_t)one->bytes,
                                   one->heads[identity_head(one->bytes)],
                                   input->how,
                                   (int64_t)*input->packets,
                                   *input->packets_hash,
                                   input->complete,
                                   input->first};

        if (!step(p, RECORD, numbers, (int)G_N_ELEMENTS(numbers)))
            return false;
    }
    return true;
}

static bool run(const struct past *p, const char *sql)
{
    return p->lib->sqlite3_exec(p->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* What it left open and this export did not make again, was so only as long as no more was known.
 * What another left open, too, is that one's. That of tables that this export does not make stays
 * open. */
static bool supersede(const struct past *p, const struct earlier *one)
{
    int64_t export = one->export;
    char sql[600];

    for (enum table_id table = 0; table < N_TABLES; table++) {
        if (!(p->input->tables >> table & 1))
            continue;
        snprintf(sql, sizeof(sql),
                 "DELETE FROM %s WHERE id IN (SELECT id FROM open_rows AS it WHERE of = %d AND"
                 " export = %" G_GINT64_FORMAT " AND shared = 0 AND NOT EXISTS (SELECT 1 FROM"
                 " open_rows WHERE of = it.of AND id = it.id AND export <> it.export));"
                 "DELETE FROM open_rows WHERE of = %d AND export = %" G_GINT64_FORMAT,
                 tables[table].name, (int)table, export, (int)table, export);
        if (!run(p, sql))
            return false;
    }
    snprintf(sql, sizeof(sql),
             "DELETE FROM captures WHERE id IN (SELECT capture FROM exports WHERE export = "
             "%" G_GINT64_FORMAT ") AND NOT EXISTS (SELECT 1 FROM exports WHERE capture = "
             "captures.id AND export <> %" G_GINT64_FORMAT ")",
             export, export);
    /* one that is whole, as a copy of the same packets, is still a capture that was exported */
    if ((one->known || !one->complete) && (p->input->tables >> TABLE_CAPTURES & 1) && !run(p, sql))
        return false;
    snprintf(sql, sizeof(sql),
             "DELETE FROM exports WHERE export = %" G_GINT64_FORMAT
             " AND NOT EXISTS (SELECT 1 FROM open_rows WHERE export = %" G_GINT64_FORMAT ");"
             "DELETE FROM packet_marks WHERE export = %" G_GINT64_FORMAT
             " AND NOT EXISTS (SELECT 1 FROM exports WHERE export = %" G_GINT64_FORMAT ")",
             export, export, export, export);
    return run(p, sql);
}

/* Whether this export, which does not go on from it, is of the same packets, or connections; then
 * what it left open, and this one did not make, stays. */
static bool is_beside(const struct past *p, const struct earlier *one)
{
    return !past_is_beginning(p, one) &&
           (one->touched || (!one->ours && (one->of_these || past_is_read(p, one))));
}

/* Captures are known by how they begin, those of a pipe by their first time alone: what they had
 * may have been something else. */
static bool look_beside(struct past *p)
{
    struct past_told *told = &p->told;
    sqlite3_stmt *open = p->statement[COUNT_OPEN];
    GHashTableIter all;
    gpointer value;

    g_hash_table_iter_init(&all, p->by_export);
    while (g_hash_table_iter_next(&all, NULL, &value)) {
        const struct earlier *one = value;
        const int64_t numbers[] = {one->export, p->input->tables};
        uint64_t n;

        if (one->named && !past_is_beginning(p, one)) {
            told->other_packets |= one->same;
            told->beside |= !one->same;
        }
        if (!is_beside(p, one))
            continue;
        told->other_options |= !one->ours;
        past_bind(p, COUNT_OPEN, numbers, 2);
        if (p->lib->sqlite3_step(open) != SQLITE_ROW)
            return false;
        n = (uint64_t)p->lib->sqlite3_column_int64(open, 0);
        p->lib->sqlite3_reset(open);
        told->not_made += n > one->met ? n - one->met : 0;
    }
    return true;
}

bool past_end(struct past *p)
{
    if (!p->input)
        return true;
    if (past_came_further(p)) {
        char sql[100];

        snprintf(sql, sizeof(sql), "DELETE FROM packet_marks WHERE export = %" G_GINT64_FORMAT,
                 p->own);
        return run(p, sql);
    }
    if (!past_commit(p))
        return false;
    for (guint i = 0; i < p->before->len; i++) {
        const struct earlier *one = g_ptr_array_index(p->before, i);

        if (past_is_beginning(p, one) && !supersede(p, one))
            return false;
    }
    return look_beside(p);
}

const struct past_told *past_told(const struct past *p)
{
    return &p->told;
}

#endif
