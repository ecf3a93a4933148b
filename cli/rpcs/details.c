/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpcs/details.h"

#include <string.h>
#include <sys/queue.h>

#include <glib.h>

/* Slots that are used again; a tag is the number of a slot, from 1. */
enum { BLOCK = 64 };

struct slot {
    uint32_t next_free;
    uint16_t path_length;
    struct rpcrdma_address server;
    LIST_ENTRY(slot) entry; /* where the path is asked for when the RPC is told, or is kept */
    char *path;             /* NULL: it is not kept */
    struct nfs_arguments nfs;
};
LIST_HEAD(slots, slot);

struct details {
    GPtrArray *blocks;      /* of BLOCK slots each: they do not move */
    uint32_t n_slots, free; /* 0: none */
    bool status_only;
    struct nfs_arguments in_hand; /* where it is */
    struct nfs_paths *paths;
    struct slots open, kept; /* RPCs from the Call on: by whether names changed since */
    const struct rpcrdma_payload_stream *stream; /* in hand */
    struct nfs_learned learned;                  /* what is to be done with names */
};

static const struct nfs_arguments nothing;

/* Tags where only the status counts: no slot is needed for that. */
enum { TAG_FINE = 1, TAG_FAILED };
static const struct nfs_arguments fine = {.status_kind = NFS_STATUS_RPC, .status = 0};
static const struct nfs_arguments failed = {.status_kind = NFS_STATUS_RPC, .status = 1};

static void forget_path(struct details *d, struct slot *slot)
{
    if (slot->path)
        nfs_paths_release(d->paths, slot->path_length);
    g_free(slot->path);
    slot->path = NULL;
}

void details_free(struct details *d)
{
    struct slot *slot;

    if (!d)
        return;
    LIST_FOREACH(slot, &d->kept, entry)
    {
        forget_path(d, slot);
    }
    nfs_paths_free(d->paths);
    g_ptr_array_free(d->blocks, TRUE);
    g_free(d);
}

struct nfs_paths *details_paths(const struct details *d)
{
    return d->paths;
}

void details_status_only(struct details *d)
{
    d->status_only = true;
}

bool details_wants_no_calls(const struct details *d)
{
    return d->status_only;
}

static struct slot *slot_of(const struct details *d, uint64_t tag)
{
    uint32_t i = (uint32_t)tag - 1;

    return (struct slot *)g_ptr_array_index(d->blocks, i / BLOCK) + i % BLOCK;
}

/* 0 where there are too many. */
static uint32_t take(struct details *d)
{
    uint32_t tag = d->free;

    if (tag != 0) {
        d->free = slot_of(d, tag)->next_free;
        return tag;
    }
    if (d->n_slots == DETAILS_MOST)
        return 0;
    if (d->n_slots % BLOCK == 0)
        g_ptr_array_add(d->blocks, g_new(struct slot, BLOCK));
    return ++d->n_slots;
}

/* Names belong to the server, which is the Responder but of an RPC in the reverse direction. */
static const struct rpcrdma_address *server(const struct rpcrdma_connection *c)
{
    return &c->end[c->role[0] == RPCRDMA_ROLE_SERVER || c->role[1] == RPCRDMA_ROLE_CLIENT ? 0 : 1]
                .address;
}

static void learn(void *context, const struct nfs_handle *directory, const char *name,
                  size_t length, const struct nfs_handle *handle)
{
    struct details *d = context;

    nfs_paths_learn(d->paths, server(d->stream->connection), directory, name, length, handle);
}

static void rename_(void *context, const struct nfs_handle *from, const struct nfs_name *name,
                    const struct nfs_handle *to, const struct nfs_name *new_name)
{
    struct details *d = context;

    nfs_paths_rename(d->paths, server(d->stream->connection), from, name, to, new_name);
}

static void link_(void *context, const struct nfs_handle *handle, const struct nfs_name *name,
                  const struct nfs_handle *to, const struct nfs_name *new_name)
{
    struct details *d = context;

    nfs_paths_link(d->paths, server(d->stream->connection), handle, name, to, new_name);
}

static void remove_(void *context, const struct nfs_handle *directory, const struct nfs_name *name)
{
    struct details *d = context;

    nfs_paths_remove(d->paths, server(d->stream->connection), directory, name);
}

static void session(void *context, const struct nfs_session_use *use)
{
    struct details *d = context;

    nfs_paths_session(d->paths, server(d->stream->connection), use);
}

/* An RPC is told when its Reply is known to have arrived, which may be long after the Reply: until
 * then its file is called what it was. Without room it has no path. */
static void keep_paths(void *context)
{
    struct details *d = context;
    struct slot *slot;
    char path[NFS_PATH];

    while ((slot = LIST_FIRST(&d->open))) {
        size_t n = nfs_paths_get(d->paths, &slot->server, &slot->nfs.handle, &slot->nfs.name, path);

        slot->path_length = (uint16_t)(nfs_paths_keep(d->paths, n) ? n : 0);
        slot->path = g_malloc(slot->path_length + (gsize)1); /* not NULL of nothing */
        memcpy(slot->path, path, slot->path_length);
        LIST_REMOVE(slot, entry);
        LIST_INSERT_HEAD(&d->kept, slot, entry);
    }
}

struct details *details_new(size_t path_bytes)
{
    struct details *d = g_new0(struct details, 1);

    d->blocks = g_ptr_array_new_with_free_func(g_free);
    LIST_INIT(&d->open);
    LIST_INIT(&d->kept);
    d->paths = nfs_paths_new(path_bytes);
    nfs_paths_before_change(d->paths, keep_paths, d);
    d->learned = (struct nfs_learned){learn, rename_, link_, remove_, session, d};
    return d;
}

static void note_status(struct details *d, const struct rpcrdma_payload_stream *stream)
{
    struct nfs_arguments *nfs = &d->in_hand;

    nfs->status_kind = NFS_STATUS_NONE;
    nfs_reply(stream, nfs, NULL);
    if (nfs->status_kind != NFS_STATUS_NONE)
        *stream->tag = nfs_failed(nfs) ? TAG_FAILED : TAG_FINE;
}

/* Names are those of the message in hand, until they change. */
static void ask_again(struct details *d, struct slot *slot)
{
    if (!slot->path)
        return;
    forget_path(d, slot);
    LIST_REMOVE(slot, entry);
    LIST_INSERT_HEAD(&d->open, slot, entry);
}

void details_stream(struct details *d, const struct rpcrdma_payload_stream *stream)
{
    struct slot *slot;

    if (d->status_only) {
        note_status(d, stream);
        return;
    }
    if (*stream->tag == 0) {
        *stream->tag = take(d);
        if (*stream->tag == 0)
            return;
        slot = slot_of(d, *stream->tag);
        slot->path = NULL;
        nfs_reset(&slot->nfs);
        LIST_INSERT_HEAD(&d->open, slot, entry);
    } else {
        slot = slot_of(d, *stream->tag);
    }
    slot->server = *server(stream->connection);
    d->stream = stream;
    if (stream->direction == RPCRDMA_DIRECTION_CALL)
        nfs_call(stream, &slot->nfs);
    else
        nfs_reply(stream, &slot->nfs, &d->learned);
    ask_again(d, slot);
}

static const struct nfs_arguments *status_of(uint64_t tag)
{
    return tag == TAG_FAILED ? &failed : tag == TAG_FINE ? &fine : &nothing;
}

struct rpc details_of(const struct details *d, const struct rpcrdma_transaction *transaction)
{
    const struct slot *slot =
        transaction->tag != 0 && !d->status_only ? slot_of(d, transaction->tag) : NULL;

    return (struct rpc){
        .transaction = transaction,
        .nfs = slot             ? &slot->nfs
               : d->status_only ? status_of(transaction->tag)
                                : &nothing,
        .paths = d->paths,
        .path = slot ? slot->path : NULL,
        .path_length = slot && slot->path ? slot->path_length : 0,
    };
}

void details_done(struct details *d, const struct rpcrdma_transaction *transaction)
{
    struct slot *slot;

    if (transaction->tag == 0 || d->status_only)
        return;
    slot = slot_of(d, transaction->tag);
    if (slot->path)
        forget_path(d, slot);
    LIST_REMOVE(slot, entry);
    slot->next_free = d->free;
    d->free = (uint32_t)transaction->tag;
}
