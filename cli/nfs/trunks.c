/* SPDX-License-Identifier: BSD-2-Clause */
#include "nfs/trunks.h"

#include <string.h>

#include <glib.h>

#include "common/keyed_hash.h"

enum {
    SESSIONS_MOST = 4096,
    ADDRESSES_MOST = 1024,
    SLOTS = 16, /* of a session, the first: Requesters use these before others */
    NEAR = 8,   /* so many Replies of a slot may be known later, or are not in the capture */
};

struct session {
    uint8_t name[NFS_SESSION];
    struct rpcrdma_address server; /* that created it */
    uint32_t seqid[SLOTS];         /* the latest that was taken; 0: none */
    bool vague; /* several have, or one took it that was not seen to create it, or other numbers */
};

struct same {
    struct rpcrdma_address address, as;
};

struct nfs_trunks {
    GHashTable *sessions, *same; /* each is its own key */
    struct session *latest;      /* of these; NULL: none */
};

static guint session_hash(gconstpointer p)
{
    return keyed_hash(((const struct session *)p)->name, NFS_SESSION);
}

static gboolean session_equal(gconstpointer p, gconstpointer q)
{
    return memcmp(((const struct session *)p)->name, ((const struct session *)q)->name,
                  NFS_SESSION) == 0;
}

static guint same_hash(gconstpointer p)
{
    return keyed_hash(&((const struct same *)p)->address, sizeof(struct rpcrdma_address));
}

static bool equal(const struct rpcrdma_address *a, const struct rpcrdma_address *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static gboolean same_equal(gconstpointer p, gconstpointer q)
{
    return equal(&((const struct same *)p)->address, &((const struct same *)q)->address);
}

struct nfs_trunks *nfs_trunks_new(void)
{
    struct nfs_trunks *trunks = g_new0(struct nfs_trunks, 1);

    trunks->sessions = g_hash_table_new_full(session_hash, session_equal, g_free, NULL);
    trunks->same = g_hash_table_new_full(same_hash, same_equal, g_free, NULL);
    return trunks;
}

void nfs_trunks_free(struct nfs_trunks *trunks)
{
    if (!trunks)
        return;
    g_hash_table_destroy(trunks->sessions);
    g_hash_table_destroy(trunks->same);
    g_free(trunks);
}

static struct same *stands_for(const struct nfs_trunks *trunks,
                               const struct rpcrdma_address *address)
{
    return g_hash_table_lookup(trunks->same, &(struct same){.address = *address});
}

const struct rpcrdma_address *nfs_trunks_server(const struct nfs_trunks *trunks,
                                                const struct rpcrdma_address *address)
{
    struct same *same, *next;

    if (g_hash_table_size(trunks->same) == 0)
        return address;
    /* it ends: only an address that stands for itself becomes another one. Each way there gets
     * half as long: who makes one of a thousand addresses does not have it gone for each RPC */
    for (same = stands_for(trunks, address); same; same = next) {
        next = stands_for(trunks, &same->as);
        if (next)
            same->as = next->as;
        address = &same->as;
    }
    return address;
}

static bool join(struct nfs_trunks *trunks, const struct rpcrdma_address *address,
                 const struct rpcrdma_address *with)
{
    struct same same = {.address = *nfs_trunks_server(trunks, address),
                        .as = *nfs_trunks_server(trunks, with)};

    if (equal(&same.address, &same.as) || g_hash_table_size(trunks->same) >= ADDRESSES_MOST)
        return false;
    g_hash_table_add(trunks->same, g_memdup2(&same, sizeof(same)));
    return true;
}

static struct session *session_of(struct nfs_trunks *trunks, const struct rpcrdma_address *address,
                                  const struct nfs_session_use *use)
{
    struct session key = {.server = *address, .vague = !use->created}, *session = trunks->latest;

    memcpy(key.name, use->name, sizeof(key.name));
    if (session && session_equal(&key, session))
        return session;
    session = g_hash_table_lookup(trunks->sessions, &key);
    if (!session && g_hash_table_size(trunks->sessions) < SESSIONS_MOST) {
        session = g_memdup2(&key, sizeof(key));
        g_hash_table_add(trunks->sessions, session);
    }
    trunks->latest = session;
    return session;
}

/* Of Replies of several connections those of one slot may come in another order. */
static void number(uint32_t *seqid, uint32_t next)
{
    if (next == 1 || next - *seqid < UINT32_MAX / 2)
        *seqid = next;
}

bool nfs_trunks_session(struct nfs_trunks *trunks, const struct rpcrdma_address *address,
                        const struct nfs_session_use *use)
{
    struct session *session = session_of(trunks, address, use);
    bool own = session && (equal(&session->server, address) ||
                           equal(nfs_trunks_server(trunks, &session->server),
                                 nfs_trunks_server(trunks, address)));
    uint32_t *seqid, ahead;

    if (!session)
        return false;
    if (use->created) {
        session->vague |= !own;
        memset(session->seqid, 0, sizeof(session->seqid));
    }
    if (session->vague || !use->numbered || use->slot >= SLOTS)
        return false;
    seqid = &session->seqid[use->slot];
    ahead = use->seqid - *seqid;
    if (!own && *seqid == 0)
        return false; /* nothing to compare with */
    if (own || ahead == 1) {
        number(seqid, use->seqid);
        return !own && join(trunks, address, &session->server);
    }
    session->vague = ahead > NEAR && -ahead > NEAR;
    return false;
}
