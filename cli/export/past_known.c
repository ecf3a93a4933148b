/* SPDX-License-Identifier: BSD-2-Clause */
/* Which exports this one goes on from. */
#ifdef HAVE_SQLITE

#include "export/past_private.h"

#include "export/identity.h"

/* A file that has grown is known under another name, too, by this many of its first bytes: those of
 * fewer may be of no packet, but of sections and interfaces as many files have them. */
enum { HEAD_LEAST = 12 }; /* 2^12 */

/* What is said of a capture in `exports`. */
struct record {
    int64_t export, capture, name, bytes, head, how, packets, time_ns, packets_hash, complete;
};

/* The captures of one export, as they are compared with this one's. */
struct compared {
    size_t n;
    bool ours;                /* with these options */
    bool all, same, complete; /* are among this one's, as they are now; were read to their end */
    bool named;               /* none of them is known by its beginning alone */
    bool any;                 /* one is among this one's, and known so */
    uint64_t packets;
    int64_t time_ns, packets_hash;
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
    with->ours = record->how == how; /* of all of them */
    with->all = with->all && (named || has_grown(known->by_head, &record->head, record));
    with->any = with->any || named;
    with->same = with->same && is;
    with->named = with->named && named;
    with->complete = with->complete && record->complete;
    with->packets = MAX(with->packets, (uint64_t)record->packets);
    with->time_ns = MAX(with->time_ns, record->time_ns);
    with->packets_hash = record->packets_hash; /* it is of all of them */
}

static void decide(struct past *p, int64_t export, const struct compared *is)
{
    bool all = is->ours && is->all, same = is->same && is->n == p->input->n;
    const struct earlier earlier = {.export = export,
                                    .packets_hash = is->packets_hash,
                                    .packets = is->packets,
                                    .ours = is->ours,
                                    .named = all && is->named,
                                    .known = is->all,
                                    .of_these = is->any,
                                    .complete = is->complete,
                                    .watch = G_MAXUINT};

    if (is->n == 0)
        return;
    if (all && same && is->complete) {
        p->again = true;
        p->again_hash = is->packets_hash;
        p->own = export;
    } else {
        g_array_append_val(p->before, earlier);
    }
    p->other_options = p->other_options || (!is->ours && is->any);
    p->goes_on = p->goes_on || all;
    if (!all || !is->named) /* it is another's, until this one has come as far */
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

/* The packets that tell whether earlier exports, of whatever files, are the beginning of this one.
 * Of one that ends before the packet in hand there are no rows: that is the first one, or the first
 * that made a row.
 */
static void watch(struct past *p)
{
    g_array_sort(p->before, by_packets);
    for (guint i = 0; i < p->before->len; i++) {
        struct earlier *one = &g_array_index(p->before, struct earlier, i);
        const struct store_watch packet = {.frame = one->packets};

        if (one->packets < *p->input->packets) {
            one->begins = one->begins || one->named;
        } else if (!one->begins && one->packets > 0) {
            one->watch = p->input->watch->len;
            g_array_append_val(p->input->watch, packet);
        }
        g_hash_table_insert(p->by_export, &one->export, one);
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
    if (!past_ask(p,
                  "SELECT max(coalesce((SELECT max(export) FROM exports), 0),"
                  " coalesce((SELECT max(export) FROM open_rows), 0)) + 1",
                  &p->own))
        return false;
    known = know(input);
    if (past_prepare(p, "SELECT * FROM exports ORDER BY export", &all))
        while ((result = p->lib->sqlite3_step(all)) == SQLITE_ROW) {
            int64_t *const columns[] = {&record.capture, &record.name,         &record.bytes,
                                        &record.head,    &record.how,          &record.packets,
                                        &record.time_ns, &record.packets_hash, &record.complete};
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

#endif
