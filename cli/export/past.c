/* SPDX-License-Identifier: BSD-2-Clause */
#ifdef HAVE_SQLITE

#include "export/past.h"

#include "export/identity.h"

#include <glib.h>
#include <stdio.h>

const char past_schema[] =
    "CREATE TABLE exports (export INTEGER, capture INTEGER, name INTEGER, bytes INTEGER,"
    " head INTEGER, how INTEGER, packets INTEGER, time_ns INTEGER, trace INTEGER,"
    " complete INTEGER,"
    " PRIMARY KEY (export, capture)) WITHOUT ROWID;"
    /* shared: another export made this row, too, so that it stays */
    "CREATE TABLE open_rows (of INTEGER, id INTEGER, export INTEGER, shared INTEGER,"
    " PRIMARY KEY (of, id, export)) WITHOUT ROWID;";

enum statement { RECORD, LIST, FIND, SHARE, TAKE, N_STATEMENTS };

static const char *const statements[] = {
    [RECORD] = "INSERT OR REPLACE INTO exports VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [LIST] = "INSERT OR IGNORE INTO open_rows VALUES (?, ?, ?, ?)",
    [FIND] = "SELECT export, shared FROM open_rows WHERE of = ? AND id = ?",
    [SHARE] = "UPDATE open_rows SET shared = 1 WHERE of = ? AND id = ? AND shared = 0",
    [TAKE] = "DELETE FROM open_rows WHERE of = ? AND id = ? AND export = ?",
};

/* A file that has grown is known under another name, too, by this many of its first bytes: those of
 * fewer may be of no packet, but of sections and interfaces as many files have them. */
enum { HEAD_LEAST = 12 }; /* 2^12 */

/* An export that this one goes on from, if what it read is what this one reads first, so that rows
 * other than the open ones are the same: the trace is the same where it ended. */
struct earlier {
    int64_t export, trace;
    uint64_t packets;
    bool begins; /* that is known; else `watch` tells */
    bool named;  /* files that have grown have their names: it is of these in any case */
    guint watch; /* in input->watch; beyond it: nothing tells */
};

struct past {
    const struct sqlite_calls *lib;
    sqlite3 *db;
    sqlite3_stmt *statement[N_STATEMENTS];
    bool any;                        /* rows are open: else none is looked for */
    const struct store_input *input; /* NULL: what nobody can go on with, as a device */
    int64_t own;                     /* this export's number */
    GArray *before;                  /* of struct earlier: those that it goes on from */
    bool again;       /* its captures were exported before, to their end: then the number is that */
    bool other_files; /* they are more, or longer, than before */
    uint64_t far_packets; /* what it needs to read to know more than before */
    int64_t far_ns;
    bool shared; /* of the row that was found last */
    bool beside; /* an earlier one was not the beginning of this: its rows stay */
};

static bool prepare(const struct past *p, const char *sql, sqlite3_stmt **statement)
{
    return p->lib->sqlite3_prepare_v2(p->db, sql, -1, statement, NULL) == SQLITE_OK;
}

/* Once, with numbers. */
static bool step(const struct past *p, enum statement which, const int64_t *numbers, int n)
{
    sqlite3_stmt *statement = p->statement[which];
    bool good;

    for (int i = 0; i < n; i++)
        p->lib->sqlite3_bind_int64(statement, i + 1, numbers[i]);
    good = p->lib->sqlite3_step(statement) == SQLITE_DONE;
    p->lib->sqlite3_reset(statement);
    return good;
}

static bool ask(const struct past *p, const char *sql, int64_t *value)
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
    p->before = g_array_new(FALSE, FALSE, sizeof(struct earlier));
    for (int i = 0; i < N_STATEMENTS; i++)
        if (!prepare(p, statements[i], &p->statement[i]))
            return false;
    if (!ask(p, "SELECT EXISTS (SELECT 1 FROM open_rows)", &value))
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
    g_array_free(p->before, TRUE);
    if (p->input)
        g_array_free(p->input->watch, TRUE);
    g_free(p);
}

/* -- which exports this one goes on from ----------------------------------------------------- */

/* What is said of a capture in `exports`. */
struct record {
    int64_t export, capture, name, bytes, head, how, packets, time_ns, trace, complete;
};

/* The captures of one export, as they are compared with this one's. */
struct compared {
    size_t n;
    bool all, same, complete; /* are among this one's, as they are now; were read to their end */
    bool named;               /* none of them is known by its beginning alone */
    uint64_t packets;
    int64_t time_ns, trace;
};

struct known {
    GHashTable *by_id, *by_name, *by_head; /* of struct store_capture */
};

/* Of several that begin alike the longest: the packets tell then. */
static void know_heads(GHashTable *by_head, const struct store_capture *one)
{
    for (unsigned i = HEAD_LEAST; one->bytes > 0 && i <= identity_head(one->bytes); i++) {
        const struct store_capture *other = g_hash_table_lookup(by_head, &one->heads[i]);

        if (!other || other->bytes < one->bytes)
            g_hash_table_replace(by_head, (gpointer)&one->heads[i], (gpointer)one);
    }
}

static struct known know(const struct store_input *input)
{
    struct known known = {g_hash_table_new(g_int64_hash, g_int64_equal),
                          g_hash_table_new(g_int64_hash, g_int64_equal),
                          g_hash_table_new(g_int64_hash, g_int64_equal)};

    for (size_t i = 0; i < input->n; i++) {
        const struct store_capture *one = &input->captures[i];

        g_hash_table_insert(known.by_id, (gpointer)&one->id, (gpointer)one);
        g_hash_table_insert(known.by_name, (gpointer)&one->name, (gpointer)one);
        know_heads(known.by_head, one);
    }
    return known;
}

/* It is longer now, and begins as it did. */
static bool has_grown(GHashTable *captures, const int64_t *key, const struct record *record)
{
    const struct store_capture *now = g_hash_table_lookup(captures, key);

    return now && record->bytes > 0 && (uint64_t)record->bytes < now->bytes &&
           record->head == now->heads[identity_head((uint64_t)record->bytes)];
}

static void compare(struct compared *with, const struct known *known, const struct record *record,
                    int64_t how)
{
    bool is = g_hash_table_contains(known->by_id, &record->capture);
    bool named = is || has_grown(known->by_name, &record->name, record);

    with->n++;
    with->all = with->all && record->how == how &&
                (named || has_grown(known->by_head, &record->head, record));
    with->same = with->same && is;
    with->named = with->named && named;
    with->complete = with->complete && record->complete;
    with->packets = MAX(with->packets, (uint64_t)record->packets);
    with->time_ns = MAX(with->time_ns, record->time_ns);
    with->trace = record->trace; /* it is of all of them */
}

static void decide(struct past *p, int64_t export, const struct compared *is)
{
    bool same = is->same && is->n == p->input->n;

    if (is->n == 0 || !is->all)
        return;
    if (same && is->complete) {
        p->again = true;
        p->own = export;
    } else {
        const struct earlier earlier = {.export = export,
                                        .trace = is->trace,
                                        .packets = is->packets,
                                        .named = is->named,
                                        .watch = G_MAXUINT};

        g_array_append_val(p->before, earlier);
    }
    if (!is->named) /* it is another's, until this one has come as far */
        return;
    p->other_files = p->other_files || !same;
    p->far_packets = MAX(p->far_packets, is->packets);
    p->far_ns = MAX(p->far_ns, is->time_ns);
}

static gint by_packets(gconstpointer a, gconstpointer b)
{
    uint64_t x = ((const struct earlier *)a)->packets, y = ((const struct earlier *)b)->packets;

    return (x > y) - (x < y);
}

/* The packets that tell whether earlier exports are the beginning of this one. Of one that ends
 * before the packet in hand there are no rows: that is the first one, or the first that made a row.
 */
static void watch(struct past *p)
{
    g_array_sort(p->before, by_packets);
    for (guint i = 0; i < p->before->len; i++) {
        struct earlier *one = &g_array_index(p->before, struct earlier, i);
        const struct store_watch packet = {.frame = one->packets};

        if (one->packets < *p->input->packets) {
            one->begins = one->begins || one->named;
        } else if (!one->begins) {
            one->watch = p->input->watch->len;
            g_array_append_val(p->input->watch, packet);
        }
    }
}

/* As far as is known by now: where it is not, this one has not come as far. */
static bool is_beginning(const struct past *p, const struct earlier *one)
{
    const struct store_watch *packet;

    if (one->begins || one->watch >= p->input->watch->len)
        return one->begins;
    packet = &g_array_index(p->input->watch, struct store_watch, one->watch);
    return packet->seen && packet->trace == one->trace && *p->input->packets >= packet->frame;
}

bool past_begin(struct past *p, const struct store_input *input)
{
    static const struct compared nothing = {
        .all = true, .same = true, .complete = true, .named = true, .time_ns = INT64_MIN};
    struct compared compared = nothing;
    struct known known;
    struct record record = {0};
    sqlite3_stmt *all = NULL;
    int result = SQLITE_ERROR;

    p->input = input;
    p->far_ns = INT64_MIN;
    if (!ask(p,
             "SELECT max(coalesce((SELECT max(export) FROM exports), 0),"
             " coalesce((SELECT max(export) FROM open_rows), 0)) + 1",
             &p->own))
        return false;
    known = know(input);
    if (prepare(p, "SELECT * FROM exports ORDER BY export", &all))
        while ((result = p->lib->sqlite3_step(all)) == SQLITE_ROW) {
            int64_t *const columns[] = {&record.capture, &record.name,  &record.bytes,
                                        &record.head,    &record.how,   &record.packets,
                                        &record.time_ns, &record.trace, &record.complete};
            int64_t export = p->lib->sqlite3_column_int64(all, 0);

            if (export != record.export) {
                decide(p, record.export, &compared);
                compared = nothing;
                record.export = export;
            }
            for (int i = 0; i < (int)G_N_ELEMENTS(columns); i++)
                *columns[i] = p->lib->sqlite3_column_int64(all, i + 1);
            compare(&compared, &known, &record, input->how);
        }
    decide(p, record.export, &compared);
    p->lib->sqlite3_finalize(all);
    g_hash_table_destroy(known.by_id);
    g_hash_table_destroy(known.by_name);
    g_hash_table_destroy(known.by_head);
    watch(p);
    return result == SQLITE_DONE;
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
    return p->input && (p->again || p->before->len > 0) && !has_come_far(p);
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

static bool goes_on_from(const struct past *p, int64_t export)
{
    for (guint i = 0; i < p->before->len; i++) {
        const struct earlier *one = &g_array_index(p->before, struct earlier, i);

        if (one->export == export)
            return is_beginning(p, one);
    }
    return false;
}

/* Who has the row open: whether exports that this one goes on from, and whether others. */
static bool find(struct past *p, const struct row *row, bool *ours, bool *others)
{
    sqlite3_stmt *statement = p->statement[FIND];
    int result;

    p->lib->sqlite3_bind_int64(statement, 1, row->table);
    p->lib->sqlite3_bind_int64(statement, 2, id_of(row));
    p->shared = false;
    while ((result = p->lib->sqlite3_step(statement)) == SQLITE_ROW) {
        int64_t export = p->lib->sqlite3_column_int64(statement, 0);

        p->shared = p->shared || p->lib->sqlite3_column_int64(statement, 1);
        *ours = *ours || goes_on_from(p, export);
        *others = *others || (export != p->own && !goes_on_from(p, export));
    }
    p->lib->sqlite3_reset(statement);
    return result == SQLITE_DONE;
}

bool past_there(struct past *p, const struct row *row, enum past_row *is)
{
    int64_t numbers[] = {row->table, id_of(row), 0};
    bool ours = false, others = false;

    *is = PAST_STAYS;
    if (!p->any)
        return true;
    if (!find(p, row, &ours, &others))
        return false;
    if (!ours && others) {
        *is = PAST_STAYS_OPEN;
        /* whoever goes on from both of them takes it out */
        return row->open && p->input ? list(p, row, p->shared) : step(p, SHARE, numbers, 2);
    }
    if (!ours)
        return true;
    *is = PAST_REPLACE;
    for (guint i = 0; i < p->before->len; i++) {
        const struct earlier *one = &g_array_index(p->before, struct earlier, i);

        numbers[2] = one->export;
        if (is_beginning(p, one) && !step(p, TAKE, numbers, 3))
            return false;
    }
    return !row->open || list(p, row, p->shared);
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
                                   *input->trace,
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
static bool supersede(const struct past *p, int64_t export)
{
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
    if ((p->input->tables >> TABLE_CAPTURES & 1) && !run(p, sql))
        return false;
    snprintf(sql, sizeof(sql),
             "DELETE FROM exports WHERE export = %" G_GINT64_FORMAT
             " AND NOT EXISTS (SELECT 1 FROM open_rows WHERE export = %" G_GINT64_FORMAT ")",
             export, export);
    return run(p, sql);
}

bool past_end(struct past *p)
{
    if (!p->input || past_came_further(p))
        return true;
    if (!past_commit(p))
        return false;
    for (guint i = 0; i < p->before->len; i++) {
        const struct earlier *one = &g_array_index(p->before, struct earlier, i);

        p->beside = p->beside || (one->named && !is_beginning(p, one));
        if (is_beginning(p, one) && !supersede(p, one->export))
            return false;
    }
    return true;
}

bool past_was_beside(const struct past *p)
{
    return p->beside;
}

#endif
