/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "feed/keep.h"

#include "base/siphash.h"

/*
 * Calls that are held back, or were reported late. A Reply must not be shown before its Call, which
 * Wireshark would take for a retransmission then; so Replies to Calls that are not shown at the
 * first visit are shown at later ones, too.
 */
static GHashTable *calls; /* (stream, XID) -> struct message_note */

void keep_calls_file(void)
{
    g_clear_pointer(&calls, g_hash_table_destroy);
}

static int64_t key_of(const struct path *path, uint32_t xid)
{
    return (int64_t)(path->stream << 32 | xid);
}

/* XIDs are chosen by whoever sent them. */
static guint hash_of(gconstpointer p)
{
    struct siphash_key key = siphash_key();
    uint64_t word = (uint64_t) * (const int64_t *)p;

    return (guint)siphash_words(&key, &word, 1);
}

void keep_call(struct message_note *message_note, bool seen)
{
    int64_t key = key_of(message_note->path, message_note->xid);

    if (message_note->kind->direction != RPCRDMA_DIRECTION_CALL ||
        (!calls && seen && !message_note->held_back))
        return;
    message_note->unseen = !seen;
    if (seen && !message_note->held_back) {
        g_hash_table_remove(calls, &key);
        return;
    }
    if (!calls)
        calls = g_hash_table_new_full(hash_of, g_int64_equal, g_free, NULL);
    g_hash_table_replace(calls, g_memdup2(&key, sizeof(key)), message_note);
}

bool keep_call_unseen(const struct message_note *message_note)
{
    int64_t key = key_of(message_note->path, message_note->xid);
    const struct message_note *call = calls ? g_hash_table_lookup(calls, &key) : NULL;

    return call && call->unseen;
}
