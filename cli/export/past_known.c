/* SPDX-License-Identifier: BSD-2-Clause */
/* Which exports this one goes on from. */
#ifdef HAVE_SQLITE

#include "export/past_private.h"

#include "export/identity.h"

#include <stdio.h>

/* A file that has grown is known under another name, too, by this many of its first bytes: those of
 * fewer may be of no packet, but of sections and interfaces as many files have them. */
enum { HEAD_LEAST = 12 }; /* 2^12 */

/* What is said of a capture in `exports`. */
struct record {
    int64_t capture, name, bytes, head, how, packets, packets_hash, complete;
};

/* The captures of one export, as they are compared with this one's. */
struct compared {
    size_t n;
    bool ours;                /* with these options */
    bool all, same, complete; /* are among this one's, as they are now; were read to their end */
    bool named;               /* none of them is known by its beginning alone */
    bool any;                 /* one is among this one's, and known so */
    uint64_t packets;
    int64_t packets_hash;
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

static struct known *know(const struct store_input *input)
{
    struct known *known = g_new(struct known, 1);

    known->by_id = g_hash_table_new(g_int64_hash, g_int64_equal);
    known->by_name = g_hash_table_new(g_int64_hash, g_int64_equal);
    known->by_head = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (size_t i = 0; i < input->n; i++) {
        const struct store_capture *one = &input->captures[i];

        g_hash_table_insert(known->by_id, (gpointer)&one->id, (gpointer)one);
        g_hash_table_insert(known->by_name, (gpointer)&one->name, (gpointer)one);
        know_heads(known->by_head, one);
    }
    return known;
}

void past_known_free(struct known *known)
{
    if (!known)
        return;
    g_hash_table_destroy(known->by_id);
    g_hash_table_destroy(known->by_name);
    g_hash_table_destroy(known->by_head);
    g_free(known);
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
    with->ours = record->how == how; /* of all of them */
    with->all = with->all && (named || has_grown(known->by_head, &record->head, record));
    with->any = with->any || named;
    with->same = with->same && is;
    with->named = with->named && named;
    with->complete = with->complete && record->complete;
    with->packets = MAX(with->packets, (uint64_t)record->packets);
    with->packets_hash = record->packets_hash; /* it is of all of them */
}

/* NULL: there is none with that number. */
static struct earlier *load(struct past *p, int64_t export)
{
    sqlite3_stmt *statement = p->statement[OF_EXPORT];
    struct compared is = {.all = true, .same = true, .complete = true, .named = true};
    struct earlier *earlier;
    struct record record;
    int64_t *const columns[] = {&record.capture,      &record.name,    &record.bytes,
                                &record.head,         &record.how,     &record.packets,
                                &record.packets_hash, &record.complete};
    int result;

    past_bind(p, OF_EXPORT, &export, 1);
    while ((result = p->lib->sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < (int)G_N_ELEMENTS(columns); i++)
            *columns[i] = p->lib->sqlite3_column_int64(statement, i);
        compare(&is, p->known, &record, p->input->how);
    }
    p->lib->sqlite3_reset(statement);
    p->failed = p->failed || result != SQLITE_DONE;
    if (is.n == 0 || p->failed)
        return NULL;
    earlier = g_new(struct earlier, 1);
    *earlier = (struct earlier){.export = export,
                                .packets_hash = is.packets_hash,
                                .packets = is.packets,
                                .ours = is.ours,
                                .named = is.ours && is.all && is.named,
                                .known = is.all,
                                .of_these = is.any,
                                .same = is.same && is.n == p->input->n,
                                .complete = is.complete,
                                .watch = G_MAXUINT};
    g_hash_table_insert(p->by_export, &earlier->export, earlier);
    return earlier;
}

struct earlier *past_earlier(struct past *p, int64_t export)
{
    struct earlier *earlier = g_hash_table_lookup(p->by_export, &export);

    return earlier || !p->input ? earlier : load(p, export);
}

static bool is_file(const struct store_input *input)
{
    for (size_t i = 0; i < input->n; i++)
        if (input->captures[i].bytes == 0)
            return false;
    return true;
}

/* Of those that a statement finds by these numbers, that are there not yet. */
static bool add(struct past *p, enum past_statement which, const int64_t *numbers, int n)
{
    sqlite3_stmt *statement = p->statement[which];
    int result;

    past_bind(p, which, numbers, n);
    while ((result = p->lib->sqlite3_step(statement)) == SQLITE_ROW) {
        int64_t export = p->lib->sqlite3_column_int64(statement, 0);
        struct earlier *one = g_hash_table_contains(p->by_export, &export) ? NULL : load(p, export);

        if (!one)
            continue;
        g_ptr_array_add(p->before, one);
        p->other_options = p->other_options || (!one->ours && one->of_these);
        p->whole = p->whole || (one->named && one->same && one->complete && is_file(p->input));
    }
    p->lib->sqlite3_reset(statement);
    return result == SQLITE_DONE && !p->failed;
}

/* Those that may be of the same packets, by the first one of these; and of the same captures, by
 * what is known of these. However many others there are, they are not looked at. */
static bool find_before(struct past *p)
{
    const struct store_input *input = p->input;

    if (!add(p, OF_FIRST, &input->first, 1))
        return false;
    for (size_t i = 0; i < input->n; i++) {
        const struct store_capture *one = &input->captures[i];

        if (!add(p, OF_CAPTURE, &one->id, 1))
            return false;
        for (unsigned head = 0; one->bytes > 0 && head <= identity_head(one->bytes); head++) {
            const int64_t numbers[] = {one->heads[head], one->name};

            if (!(head >= HEAD_LEAST ? add(p, OF_HEAD, numbers, 1) : add(p, OF_NAME, numbers, 2)))
                return false;
        }
    }
    return true;
}

static gint by_packets(gconstpointer a, gconstpointer b)
{
    const struct earlier *const *x = a, *const *y = b;

    return ((*x)->packets > (*y)->packets) - ((*x)->packets < (*y)->packets);
}

/* The packets that tell whether earlier exports, of whatever files, are the beginning of this one.
 * Of one that ends before the packet in hand there are no rows: that is the first one, or the first
 * that made a row.
 */
static void watch(struct past *p)
{
    g_ptr_array_sort(p->before, by_packets);
    for (guint i = 0; i < p->before->len; i++) {
        struct earlier *one = g_ptr_array_index(p->before, i);
        const struct store_watch packet = {.frame = one->packets};

        if (one->packets < *p->input->packets) {
            one->begins = one->begins || one->named;
        } else if (!one->begins && one->packets > 0) {
            one->watch = p->input->watch->len;
            g_array_append_val(p->input->watch, packet);
        }
    }
}

bool past_is_read(const struct past *p, const struct earlier *one)
{
    const struct store_watch *packet;

    if (one->begins || one->watch >= p->input->watch->len)
        return one->begins;
    packet = &g_array_index(p->input->watch, struct store_watch, one->watch);
    return packet->seen &&
           (packet->packets_hash == one->packets_hash || packet->cut == one->packets_hash) &&
           *p->input->packets >= packet->frame;
}

bool past_is_beginning(const struct past *p, const struct earlier *one)
{
    return one->ours && past_is_read(p, one);
}

/* One that its file cuts may be whole there: those before it tell. */
bool past_is_within(struct past *p)
{
    const struct store_input *input = p->input;
    const struct store_block *block =
        &g_array_index(input->blocks, struct store_block, input->blocks->len - 1);
    const int64_t numbers[] = {input->first, input->how, p->own, block->number, block->before};
    int all = (int)(block->n * sizeof(block->marks[0]));
    int same = *input->cut ? all - (int)sizeof(block->marks[0]) : all;
    sqlite3_stmt *statement = p->statement[WITHIN];
    int result;

    if (all == 0) /* no packet */
        return false;
    past_bind(p, WITHIN, numbers, 5);
    p->lib->sqlite3_bind_blob(statement, 6, block->marks, all, SQLITE_STATIC);
    p->lib->sqlite3_bind_blob(statement, 7, block->marks, same, SQLITE_STATIC);
    p->lib->sqlite3_bind_int64(statement, 8, block->n == STORE_BLOCK);
    result = p->lib->sqlite3_step(statement);
    p->lib->sqlite3_reset(statement);
    p->failed = p->failed || (result != SQLITE_ROW && result != SQLITE_DONE);
    return result == SQLITE_ROW;
}

bool past_begin(struct past *p, const struct store_input *input)
{
    char sql[100];

    p->input = input;
    p->asked = UINT64_MAX;
    p->known = know(input);
    if (!past_ask(p,
                  "SELECT max(coalesce((SELECT max(export) FROM exports), 0),"
                  " coalesce((SELECT max(export) FROM open_rows), 0)) + 1",
                  &p->own))
        return false;
    /* of one with that number that was killed before it came as far as one before it */
    snprintf(sql, sizeof(sql), "DELETE FROM packet_marks WHERE export = %" G_GINT64_FORMAT, p->own);
    if (p->lib->sqlite3_exec(p->db, sql, NULL, NULL, NULL) != SQLITE_OK || !find_before(p))
        return false;
    watch(p);
    return true;
}

#endif
