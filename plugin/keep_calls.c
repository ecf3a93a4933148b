/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keep.h"

#include "base/siphash.h"

/*
 * Calls that were told early, or late: flow/ may not know them yet when their Replies come. A Reply
 * must not be shown before its Call, which Wireshark would take for a retransmission then; so
 * Replies to Calls that are not shown at the first visit are shown at later ones, too.
 */
static GHashTable *calls; /* (stream, XID) -> struct told */

void keep_calls_file(void)
{
    g_clear_pointer(&calls, g_hash_table_destroy);
}

static int64_t key_of(const struct way *way, uint32_t xid)
{
    return (int64_t)(way->stream << 32 | xid);
}

/* XIDs are chosen by whoever sent them. */
static guint hash_of(gconstpointer p)
{
    struct siphash_key key = siphash_key();
    uint64_t word = (uint64_t) * (const int64_t *)p;

    return (guint)siphash_words(&key, &word, 1);
}

void keep_call(struct told *told, bool seen)
{
    int64_t key = key_of(told->way, told->xid);

    if (told->sort->direction != RPCRDMA_DIRECTION_CALL || (!calls && seen && !told->early))
        return;
    told->unseen = !seen;
    if (seen && !told->early) {
        g_hash_table_remove(calls, &key);
        return;
    }
    if (!calls)
        calls = g_hash_table_new_full(hash_of, g_int64_equal, g_free, NULL);
    g_hash_table_replace(calls, g_memdup2(&key, sizeof(key)), told);
}

void keep_call_find(struct told *told, struct sort *sort)
{
    int64_t key = key_of(told->way, told->xid);
    const struct told *call = NULL;

    if (sort->direction == RPCRDMA_DIRECTION_REPLY && calls)
        call = g_hash_table_lookup(calls, &key);
    if (!call)
        return;
    if (call->unseen)
        told->later_visits = true;
    if (!sort->has_call && call->sort->has_call) {
        sort->has_call = true;
        sort->program = call->sort->program;
        sort->version = call->sort->version;
        sort->procedure = call->sort->procedure;
        sort->gss_service = call->sort->gss_service;
    }
}
