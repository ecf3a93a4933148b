/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "objects/export.h"

#include "common/keyed_hash.h"
#include "nfs/paths.h"
#include "upper/compound.h"
#include "upper/names.h"
#include "wire/cursor.h"

/*
 * Where in a message the bytes of a file are: NFSv3 READ and WRITE (RFC 1813
 * sections 3.3.6, 3.3.7), NFSv4 READ, READ_PLUS and WRITE (RFC 8881 sections 18.22, 18.32, RFC 7862
 * section 15.10). A READ's Reply does not say of which file it is, nor from where: its Call does,
 * and is kept.
 */

enum {
    READS = 8, /* of a COMPOUND that are distinguished */
    CALLS = 1 << 16,
    PATH_BYTES = 64 << 20,
};

enum { V3_READ = 6, V3_WRITE = 7, V4_READ = 25, V4_WRITE = 38, V4_READ_PLUS = 68 };

struct call {
    uint64_t stream;
    uint32_t xid;
    struct rpcrdma_rpc header; /* its spans are NULL */
    struct nfs_arguments arguments;
    unsigned n_reads;
    uint64_t reads[READS]; /* offsets */
};

static GHashTable *calls; /* struct call, of those that were not answered */
static struct nfs_paths *paths;

static guint call_hash(gconstpointer p)
{
    const struct call *call = p;

    return keyed_hash_numbers(call->stream, call->xid);
}

static gboolean call_equal(gconstpointer a, gconstpointer b)
{
    const struct call *x = a, *y = b;

    return x->stream == y->stream && x->xid == y->xid;
}

void export_nfs_reset(void)
{
    g_clear_pointer(&calls, g_hash_table_destroy);
    g_clear_pointer(&paths, nfs_paths_free);
}

static void begin(void)
{
    if (calls)
        return;
    calls = g_hash_table_new_full(call_hash, call_equal, g_free, NULL);
    paths = nfs_paths_new(PATH_BYTES);
}

static void learn(void *context, const struct nfs_handle *directory, const char *name,
                  size_t length, const struct nfs_handle *handle)
{
    const struct exported_rpc *rpc = context;

    nfs_paths_learn(paths, rpc->server, directory, name, length, handle);
}

static void rename_file(void *context, const struct nfs_handle *from, const struct nfs_name *name,
                        const struct nfs_handle *to, const struct nfs_name *new_name)
{
    const struct exported_rpc *rpc = context;

    nfs_paths_rename(paths, rpc->server, from, name, to, new_name);
}

static void link_file(void *context, const struct nfs_handle *handle, const struct nfs_name *name,
                      const struct nfs_handle *to, const struct nfs_name *new_name)
{
    const struct exported_rpc *rpc = context;

    nfs_paths_link(paths, rpc->server, handle, name, to, new_name);
}

static void remove_name(void *context, const struct nfs_handle *directory,
                        const struct nfs_name *name)
{
    const struct exported_rpc *rpc = context;

    nfs_paths_remove(paths, rpc->server, directory, name);
}

static void take_session(void *context, const struct nfs_session_use *use)
{
    const struct exported_rpc *rpc = context;

    nfs_paths_session(paths, rpc->server, use);
}

size_t export_nfs_path(const struct exported_data *data, char path[])
{
    return nfs_paths_get(paths, data->rpc->server, data->handle, data->name, path);
}

static struct rpcrdma_cursor cursor_at(const struct rpcrdma_payload_stream *s, uint32_t off)
{
    struct rpcrdma_cursor c = rpcrdma_cursor_init(s->data, s->caplen, s->len);

    rpcrdma_cursor_skip(&c, off, "operation");
    return c;
}

/* opaque data<>, at the cursor */
static void take(struct rpcrdma_cursor *c, const struct exported_rpc *rpc,
                 const struct nfs_arguments *arguments, bool written, uint64_t offset)
{
    uint32_t length = rpcrdma_cursor_be32(c, "length");
    struct exported_data data = {
        .rpc = rpc,
        .handle = &arguments->handle,
        .name = &arguments->name,
        .written = written,
        .offset = offset,
        .at = (uint32_t)c->off,
    };

    if (c->status != RPCRDMA_OK)
        return;
    data.length = (uint32_t)MIN(length, rpcrdma_cursor_captured(c));
    if (data.length > 0)
        export_file(&data);
    rpcrdma_cursor_skip(c, length, "data");
    rpcrdma_cursor_skip(c, -length & 3, "padding");
}

/* RFC 7862 section 15.10.3 */
static void take_contents(struct rpcrdma_cursor *c, const struct exported_rpc *rpc,
                          const struct nfs_arguments *arguments)
{
    enum { CONTENT_DATA = 0, HOLE_SIZE = 16 };
    uint32_t n;

    rpcrdma_cursor_skip(c, 4, "eof");
    n = rpcrdma_cursor_be32(c, "contents");
    for (uint32_t i = 0; i < n && c->status == RPCRDMA_OK; i++) {
        if (rpcrdma_cursor_be32(c, "what") == CONTENT_DATA) {
            uint64_t offset = rpcrdma_cursor_be64(c, "offset");

            take(c, rpc, arguments, false, offset);
        } else {
            rpcrdma_cursor_skip(c, HOLE_SIZE, "hole");
        }
    }
}

/* Puts the cursor at arguments or results of NFSv3. */
static bool at_body(const struct exported_rpc *rpc, const struct rpcrdma_rpc *call,
                    struct rpcrdma_cursor *c)
{
    bool gss = call->present & RPCRDMA_RPC_HAS_GSS;

    if (!(rpc->stream.rpc->present & RPCRDMA_RPC_HAS_BODY) || call->version != 3 ||
        !rpcrdma_rpc_protection_known(call, rpc->stream.rpc) ||
        (gss && (call->gss_procedure != 0 || call->gss_service == RPCRDMA_GSS_PRIVACY)))
        return false;
    *c = cursor_at(&rpc->stream, rpc->stream.rpc->body_off);
    if (gss && call->gss_service == RPCRDMA_GSS_INTEGRITY)
        rpcrdma_cursor_skip(c, 8, "length and sequence number");
    return c->status == RPCRDMA_OK;
}

static void add_read(struct call *call, uint64_t offset)
{
    if (call->n_reads < READS)
        call->reads[call->n_reads++] = offset;
}

static bool compound_begin(const struct rpcrdma_payload_stream *s, struct rpcrdma_compound *it)
{
    const struct rpcrdma_rpc_stream stream = {s->rpc,  s->call,   s->reverse,
                                              s->data, s->caplen, s->len};
    bool callback;

    return rpcrdma_compound_is(s->call, s->reverse, &callback) && !callback &&
           rpcrdma_compound_begin(it, &stream, NULL, NULL) && it->has_count;
}

static void call_v4(const struct exported_rpc *rpc, struct rpcrdma_compound *it, struct call *call)
{
    enum { STATEID = 16 };
    struct rpcrdma_operation op;

    while (rpcrdma_compound_next(it, &op)) {
        struct rpcrdma_cursor c = cursor_at(&rpc->stream, op.off + 4 + STATEID);
        uint64_t offset;

        if (op.number != V4_READ && op.number != V4_READ_PLUS && op.number != V4_WRITE)
            continue;
        offset = rpcrdma_cursor_be64(&c, "offset");
        if (op.number != V4_WRITE) {
            add_read(call, offset);
            continue;
        }
        rpcrdma_cursor_skip(&c, 4, "stable");
        take(&c, rpc, &call->arguments, true, offset);
    }
}

static void call_v3(const struct exported_rpc *rpc, struct call *call)
{
    struct rpcrdma_cursor c;
    uint32_t length;
    uint64_t offset;

    if (!at_body(rpc, &call->header, &c))
        return;
    length = rpcrdma_cursor_be32(&c, "length");
    rpcrdma_cursor_skip(&c, (size_t)length + (-length & 3), "handle");
    offset = rpcrdma_cursor_be64(&c, "offset");
    if (call->header.procedure == V3_READ) {
        add_read(call, offset);
    } else {
        rpcrdma_cursor_skip(&c, 8, "count, stable");
        take(&c, rpc, &call->arguments, true, offset);
    }
}

static void export_call(struct exported_rpc *rpc)
{
    struct call *call = g_new0(struct call, 1);
    struct rpcrdma_compound it;

    rpc->stream.call = rpc->stream.rpc;
    call->stream = rpc->calls;
    call->xid = rpc->stream.xid;
    call->header = *rpc->stream.rpc;
    call->header.cred = call->header.verf = (struct rpcrdma_span){.data = NULL};
    nfs_reset(&call->arguments);
    nfs_call(&rpc->stream, &call->arguments);
    if (compound_begin(&rpc->stream, &it))
        call_v4(rpc, &it, call);
    else if (call->header.program == RPCRDMA_PROGRAM_NFS &&
             (call->header.procedure == V3_READ || call->header.procedure == V3_WRITE))
        call_v3(rpc, call);
    if (g_hash_table_size(calls) < CALLS || g_hash_table_contains(calls, call))
        g_hash_table_replace(calls, call, call);
    else
        g_free(call);
}

static void reply_v4(const struct exported_rpc *rpc, struct rpcrdma_compound *it,
                     const struct call *call)
{
    struct rpcrdma_operation op;
    unsigned n = 0;

    while (rpcrdma_compound_next(it, &op)) {
        struct rpcrdma_cursor c = cursor_at(&rpc->stream, op.off + 8);

        if (op.number != V4_READ && op.number != V4_READ_PLUS)
            continue;
        if (!op.has_status || op.status != 0 || n == call->n_reads)
            return;
        if (op.number == V4_READ_PLUS) {
            take_contents(&c, rpc, &call->arguments);
        } else {
            rpcrdma_cursor_skip(&c, 4, "eof");
            take(&c, rpc, &call->arguments, false, call->reads[n]);
        }
        n++;
    }
}

static void reply_v3(const struct exported_rpc *rpc, const struct call *call)
{
    enum { FATTR = 84 };
    struct rpcrdma_cursor c;

    if (!at_body(rpc, &call->header, &c) || rpcrdma_cursor_be32(&c, "status") != 0)
        return;
    if (rpcrdma_cursor_be32(&c, "attributes follow") == 1)
        rpcrdma_cursor_skip(&c, FATTR, "attributes");
    rpcrdma_cursor_skip(&c, 8, "count, eof");
    take(&c, rpc, &call->arguments, false, call->reads[0]);
}

static void export_reply(struct exported_rpc *rpc)
{
    const struct nfs_learned learned = {.learn = learn,
                                        .rename = rename_file,
                                        .link = link_file,
                                        .remove = remove_name,
                                        .session = take_session,
                                        .context = rpc};
    const struct call key = {.stream = rpc->calls, .xid = rpc->stream.xid};
    struct call *call = g_hash_table_lookup(calls, &key);
    struct rpcrdma_compound it;

    if (!call)
        return;
    rpc->stream.call = &call->header;
    nfs_reply(&rpc->stream, &call->arguments, &learned);
    if (compound_begin(&rpc->stream, &it))
        reply_v4(rpc, &it, call);
    else if (call->header.program == RPCRDMA_PROGRAM_NFS && call->n_reads > 0)
        reply_v3(rpc, call);
    g_hash_table_remove(calls, call);
}

void export_nfs(const struct exported_rpc *rpc)
{
    struct exported_rpc own = *rpc;

    begin();
    if (rpc->stream.direction == RPCRDMA_DIRECTION_CALL &&
        rpc->stream.rpc->present & RPCRDMA_RPC_HAS_PROGRAM)
        export_call(&own);
    else if (rpc->stream.direction == RPCRDMA_DIRECTION_REPLY)
        export_reply(&own);
}
