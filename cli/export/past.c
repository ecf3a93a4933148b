/* SPDX-License-Identifier: BSD-2-Clause */
#ifdef HAVE_SQLITE

#include "export/past_private.h"

#include "export/identity.h"

#include <stdio.h>

const char past_schema[] =
    "CREATE TABLE exports (export INTEGER, capture INTEGER, name INTEGER, bytes INTEGER,"
    " head INTEGER, how INTEGER, packets INTEGER, time_ns INTEGER, packets_hash INTEGER,"
    " complete INTEGER,"
    " PRIMARY KEY (export, capture)) WITHOUT ROWID;"
    /* shared: another export made this row, too, so that it stays */
    "CREATE TABLE open_rows (of INTEGER, id INTEGER, export INTEGER, shared INTEGER,"
    " PRIMARY KEY (of, id, export)) WITHOUT ROWID;";

static const char *const statements[] = {
    [RECORD] = "INSERT OR REPLACE INTO exports VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [LIST] = "INSERT OR IGNORE INTO open_rows VALUES (?, ?, ?, ?)",
    [FIND] = "SELECT export, shared FROM open_rows WHERE of = ? AND id = ?",
    [SHARE] = "UPDATE open_rows SET shared = 1 WHERE of = ? AND id = ? AND shared = 0",
    [TAKE] = "DELETE FROM open_rows WHERE of = ? AND id = ? AND export = ?",
};

bool past_prepare(const struct past *p, const char *sql, sqlite3_stmt **statement)
{
    return p->lib->sqlite3_prepare_v2(p->db, sql, -1, statement, NULL) == SQLITE_OK;
}

/* Once, with numbers. */
static bool step(const struct past *p, enum past_statement which, const int64_t *numbers, int n)
{
    sqlite3_stmt *statement = p->statement[which];
    bool good;

    for (int i = 0; i < n; i++)
        p->lib->sqlite3_bind_int64(statement, i + 1, numbers[i]);
    good = p->lib->sqlite3_step(statement) == SQLITE_DONE;
    p->lib->sqlite3_reset(statement);
    return good;
}

bool past_ask(const struct past *p, const char *sql, int64_t *value)
{
    sqlite3_stmt *statement = NULL;
    bool good = past_prepare(p, sql, &statement) && p->lib->sqlite3_step(statement) == SQLITE_ROW;

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
    p->before = g_array_new(FALSE, FALSE, sizeof(struct earlier));
    p->taken = g_array_new(FALSE, FALSE, sizeof(int64_t));
    p->by_export = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (int i = 0; i < N_STATEMENTS; i++)
        if (!past_prepare(p, statements[i], &p->statement[i]))
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
    g_array_free(p->before, TRUE);
    if (p->input)
        g_array_free(p->input->watch, TRUE);
    g_free(p);
}

/* -- rows ------------------------------------------------------------------------------------ */

/* It has read what they had: by the number of packets, as clocks may jump; of more files than
 * before also by time, as packets of others may have come first, unless all was read. */
static bool has_come_far(const struct past *p)
{
    const struct store_input *input = p->input;
    bool all = *input->at_end && !*input->counted_out;

    return *input->packets >= p->far_packets &&
           (all || !p->other_files || *input->time_ns >= p->far_ns);
}

bool past_came_further(const struct past *p)
{
    return p->input && (p->again || p->goes_on) && !has_come_far(p);
}

bool past_wants(const struct past *p, const struct row *row)
{
    if (!p->input || !(*p->input->at_end || row->table == TABLE_CAPTURES))
        return true;
    if (past_came_further(p))
        return false;
    /* what was complete does not become less by being read again */
    return row->table != TABLE_CAPTURES || !p->again || p->input->complete;
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
        struct earlier *one = g_hash_table_lookup(p->by_export, &export);
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
    return result == SQLITE_DONE;
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

bool past_commit(struct past *p)
{
    const struct store_input *input = p->input;

    if (!input || p->again || past_came_further(p))
        return true;
    for (size_t i = 0; i < input->n; i++) {
        const struct store_capture *one = &input->captures[i];
        const int64_t numbers[] = {p->own,
                                   one->id,
                                   one->name,
                                   (int64_t)one->bytes,
                                   one->heads[identity_head(one->bytes)],
                                   input->how,
                                   (int64_t)*input->packets,
                                   *input->time_ns,
                                   *input->packets_hash,
                                   input->complete};

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
             "%" G_GINT64_FORMAT ") AND id NOT IN (SELECT capture FROM exports WHERE export <> "
             "%" G_GINT64_FORMAT ")",
             export, export);
    /* one that is whole, as a copy of the same packets, is still a capture that was exported */
    if ((one->known || !one->complete) && (p->input->tables >> TABLE_CAPTURES & 1) && !run(p, sql))
        return false;
    snprintf(sql, sizeof(sql),
             "DELETE FROM exports WHERE export = %" G_GINT64_FORMAT
             " AND NOT EXISTS (SELECT 1 FROM open_rows WHERE export = %" G_GINT64_FORMAT ")",
             export, export);
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
static bool is_other(const struct past *p)
{
    return p->again && *p->input->at_end && !*p->input->counted_out &&
           *p->input->packets_hash != p->again_hash;
}

static bool look_beside(struct past *p)
{
    struct past_told *told = &p->told;
    sqlite3_stmt *all = NULL;
    char sql[120];
    bool any = false;
    int result;

    told->other_packets = is_other(p);
    for (guint i = 0; i < p->before->len; i++) {
        const struct earlier *one = &g_array_index(p->before, struct earlier, i);
        bool beside = is_beside(p, one);

        any |= beside;
        told->beside |= one->named && !past_is_beginning(p, one);
        told->other_options |= beside && !one->ours;
    }
    if (!any)
        return true;
    snprintf(sql, sizeof(sql),
             "SELECT export, count(*) FROM open_rows WHERE shared = 0 AND %u >> of & 1 GROUP BY 1",
             p->input->tables);
    if (!past_prepare(p, sql, &all))
        return false;
    while ((result = p->lib->sqlite3_step(all)) == SQLITE_ROW) {
        int64_t export = p->lib->sqlite3_column_int64(all, 0);
        uint64_t open = (uint64_t)p->lib->sqlite3_column_int64(all, 1);
        const struct earlier *one = g_hash_table_lookup(p->by_export, &export);

        if (one && is_beside(p, one) && open > one->met)
            told->not_made += open - one->met;
    }
    p->lib->sqlite3_finalize(all);
    return result == SQLITE_DONE;
}

bool past_end(struct past *p)
{
    if (!p->input || past_came_further(p))
        return true;
    if (!past_commit(p))
        return false;
    for (guint i = 0; i < p->before->len; i++) {
        const struct earlier *one = &g_array_index(p->before, struct earlier, i);

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
