/* SPDX-License-Identifier: BSD-2-Clause */
#include "nfs/fields.h"

#include <string.h>

#include "upper/compound.h"
#include "upper/names.h"
#include "wire/cursor.h"
#include "wire/hot.h"

/* NFSv3, RFC 1813 section 3.3 */
enum {
    V3_LOOKUP = 3,
    V3_READ = 6,
    V3_WRITE = 7,
    V3_CREATE = 8,
    V3_REMOVE = 12,
    V3_RMDIR = 13,
    V3_RENAME = 14,
    V3_LINK = 15,
    V3_READDIRPLUS = 17,
    V3_COMMIT = 21,
    V3_FATTR = 84, /* bytes of a fattr3 */
};

/* Puts the cursor at arguments or results. False where they cannot be read. */
static bool at_body(struct rpcrdma_cursor *c, const struct rpcrdma_rpc *rpc,
                    const struct rpcrdma_rpc *call)
{
    if (!(rpc->present & RPCRDMA_RPC_HAS_BODY) || !rpcrdma_rpc_protection_known(call, rpc))
        return false;
    if (call->present & RPCRDMA_RPC_HAS_GSS) {
        if (call->gss_procedure != 0 || call->gss_service == RPCRDMA_GSS_PRIVACY)
            return false;
        rpcrdma_cursor_skip(c, rpc->body_off, "header");
        if (call->gss_service == RPCRDMA_GSS_INTEGRITY)
            rpcrdma_cursor_skip(c, 8, "length and sequence number"); /* RFC 2203 section 5.3.2.2 */
        return c->status == RPCRDMA_OK;
    }
    rpcrdma_cursor_skip(c, rpc->body_off, "header");
    return c->status == RPCRDMA_OK;
}

static void take_user(const struct rpcrdma_rpc *rpc, struct nfs_arguments *a)
{
    enum { AUTH_SYS = 1 };
    struct rpcrdma_cursor c;
    uint32_t length;

    if (!(rpc->present & RPCRDMA_RPC_HAS_CRED) || rpc->cred_flavor != AUTH_SYS || !rpc->cred.data)
        return;
    c = rpcrdma_cursor_init(rpc->cred.data, rpc->cred.caplen, rpc->cred.len);
    rpcrdma_cursor_skip(&c, 4, "stamp");
    nfs_opaque(&c, &length); /* machine name */
    a->user = rpcrdma_cursor_be32(&c, "uid");
    a->has_user = c.status == RPCRDMA_OK;
}

static void v3_call(struct rpcrdma_cursor *c, uint32_t procedure, struct nfs_arguments *a)
{
    if (procedure == 0)
        return;
    nfs_take_handle(c, &a->handle);
    switch (procedure) {
    case V3_READ:
    case V3_WRITE:
    case V3_COMMIT:
        nfs_take_range(c, a);
        break;
    case V3_RENAME:
        a->renames = nfs_take_name(c, &a->name);
        nfs_take_handle(c, &a->handle2);
        nfs_take_name(c, &a->name2);
        break;
    case V3_LINK:
        nfs_take_handle(c, &a->handle2);
        nfs_take_name(c, &a->name2);
        break;
    default:
        /* LOOKUP, CREATE, MKDIR, SYMLINK, MKNOD, REMOVE, RMDIR */
        if (procedure == V3_LOOKUP || (procedure >= V3_CREATE && procedure < V3_RENAME))
            nfs_take_name(c, &a->name);
        a->removes = procedure == V3_REMOVE || procedure == V3_RMDIR;
    }
}

static bool compound_of(const struct rpcrdma_payload_stream *s, struct rpcrdma_compound *it)
{
    const struct rpcrdma_rpc_stream stream = {s->rpc,  s->call,   s->reverse,
                                              s->data, s->caplen, s->len};
    bool callback;

    return s->call && rpcrdma_rpc_protection_known(s->call, s->rpc) &&
           rpcrdma_compound_is(s->call, s->reverse, &callback) &&
           rpcrdma_compound_begin(it, &stream, s->reduction, NULL) && it->has_count;
}

RPCRDMA_APART static void other_call(const struct rpcrdma_payload_stream *s,
                                     struct nfs_arguments *a)
{
    const struct rpcrdma_rpc *rpc = s->rpc;
    struct rpcrdma_cursor c = nfs_cursor_of(s);
    struct rpcrdma_compound it;

    if (compound_of(s, &it)) {
        if (!it.callback)
            nfs_compound_call(s, &it, a);
        return;
    }
    if (!at_body(&c, rpc, rpc))
        return;
    if (rpc->program == RPCRDMA_PROGRAM_NFSACL && rpc->version == 3 && rpc->procedure > 0)
        nfs_take_handle(&c, &a->handle);
    else if (rpc->program == RPCRDMA_PROGRAM_MOUNT && (rpc->procedure == 1 || rpc->procedure == 3))
        nfs_take_name(&c, &a->name);
}

void nfs_call(const struct rpcrdma_payload_stream *s, struct nfs_arguments *a)
{
    const struct rpcrdma_rpc *rpc = s->rpc;
    struct rpcrdma_cursor c = nfs_cursor_of(s);

    if (!(rpc->present & RPCRDMA_RPC_HAS_PROGRAM))
        return;
    take_user(rpc, a);
    if (rpc->program != RPCRDMA_PROGRAM_NFS || rpc->version != 3)
        other_call(s, a);
    else if (at_body(&c, rpc, rpc))
        v3_call(&c, rpc->procedure, a);
}

static void skip_attributes(struct rpcrdma_cursor *c)
{
    if (rpcrdma_cursor_be32(c, "attributes follow") == 1)
        rpcrdma_cursor_skip(c, V3_FATTR, "attributes");
}

/* READDIRPLUS3resok: names with handles (RFC 1813 section 3.3.17) */
static void v3_entries(struct rpcrdma_cursor *c, const struct nfs_arguments *a,
                       const struct nfs_learned *learned)
{
    skip_attributes(c);
    rpcrdma_cursor_skip(c, 8, "cookieverf");
    while (rpcrdma_cursor_be32(c, "entry") == 1 && c->status == RPCRDMA_OK) {
        struct nfs_handle handle;
        const uint8_t *name;
        uint32_t length;

        rpcrdma_cursor_skip(c, 8, "fileid");
        name = nfs_opaque(c, &length);
        rpcrdma_cursor_skip(c, 8, "cookie");
        skip_attributes(c);
        if (rpcrdma_cursor_be32(c, "handle follows") != 1)
            continue;
        nfs_take_handle(c, &handle);
        if (!name || handle.length == 0 || c->status != RPCRDMA_OK)
            continue;
        if ((length == 1 && name[0] == '.') || (length == 2 && memcmp(name, "..", 2) == 0))
            continue;
        learned->learn(learned->context, &a->handle, (const char *)name, length, &handle);
    }
}

static void v3_results(struct rpcrdma_cursor *c, uint32_t procedure, const struct nfs_arguments *a,
                       const struct nfs_learned *learned)
{
    struct nfs_handle handle;

    if (procedure == V3_READDIRPLUS) {
        v3_entries(c, a, learned);
    } else if (a->renames) {
        learned->rename(learned->context, &a->handle, &a->name, &a->handle2, &a->name2);
    } else if (procedure == V3_LINK) {
        learned->link(learned->context, &a->handle, &a->name, &a->handle2, &a->name2);
    } else if (a->removes) {
        learned->remove(learned->context, &a->handle, &a->name);
    } else if (procedure == V3_LOOKUP || (procedure >= V3_CREATE && procedure <= 11)) {
        if (procedure != V3_LOOKUP && rpcrdma_cursor_be32(c, "handle follows") != 1)
            return;
        nfs_take_handle(c, &handle);
        if (handle.length > 0 && a->name.length > 0)
            learned->learn(learned->context, &a->handle, a->name.text, a->name.length, &handle);
    }
}

static void v3_reply(struct rpcrdma_cursor *c, bool nfs, uint32_t procedure,
                     struct nfs_arguments *a, const struct nfs_learned *learned)
{
    if (procedure == 0)
        return;
    a->status = rpcrdma_cursor_be32(c, "status");
    if (c->status != RPCRDMA_OK)
        return;
    a->status_kind = NFS_STATUS_NFS3;
    if (a->status == 0 && nfs && learned)
        v3_results(c, procedure, a, learned);
}

/* Whether the results of what succeeds begin with a status of their own. */
static bool has_own_status(const struct rpcrdma_rpc *call, bool reverse)
{
    bool callback;

    return rpcrdma_compound_is(call, reverse, &callback) ||
           ((call->program == RPCRDMA_PROGRAM_NFS || call->program == RPCRDMA_PROGRAM_NFSACL) &&
            call->procedure > 0) ||
           (call->program == RPCRDMA_PROGRAM_MOUNT && call->procedure == 1);
}

/* Whether it is what most Replies are, NFSv3's that begin with NFS3_OK. */
static bool is_v3_ok(const struct rpcrdma_payload_stream *s)
{
    enum {
        CALL = RPCRDMA_RPC_HAS_PROGRAM | RPCRDMA_RPC_HAS_CRED,
        RESULTS = RPCRDMA_RPC_HAS_ACCEPT | RPCRDMA_RPC_HAS_BODY
    };
    const struct rpcrdma_rpc *rpc = s->rpc, *call = s->call;

    return call && call->program == RPCRDMA_PROGRAM_NFS && call->version == 3 &&
           call->procedure > 0 && (call->present & (CALL | RPCRDMA_RPC_HAS_GSS)) == CALL &&
           call->cred_flavor != RPCRDMA_RPC_GSS && (rpc->present & RESULTS) == RESULTS &&
           rpc->reply_stat == RPCRDMA_RPC_ACCEPTED && rpc->accept_stat == RPCRDMA_RPC_SUCCESS &&
           rpc->body_off + UINT64_C(4) <= s->caplen &&
           rpcrdma_get_be32(s->data + rpc->body_off) == 0;
}

/* Whether results of it may say something of names. */
static bool v3_names(uint32_t procedure)
{
    return procedure == V3_LOOKUP || (procedure >= V3_CREATE && procedure <= V3_READDIRPLUS);
}

RPCRDMA_APART static void other_reply(const struct rpcrdma_payload_stream *s,
                                      struct nfs_arguments *a, const struct nfs_learned *learned)
{
    const struct rpcrdma_rpc *rpc = s->rpc, *call = s->call;
    struct rpcrdma_cursor c = nfs_cursor_of(s);
    struct rpcrdma_compound it;

    if (!(rpc->present & RPCRDMA_RPC_HAS_ACCEPT))
        return;
    if (rpc->reply_stat == RPCRDMA_RPC_DENIED) {
        a->status_kind = NFS_STATUS_DENIED;
        a->auth = rpc->reject_stat == RPCRDMA_RPC_AUTH_ERROR && rpc->present & RPCRDMA_RPC_HAS_AUTH;
        a->status = a->auth ? rpc->auth_stat : rpc->reject_stat;
        return;
    }
    /* How it ended is what the results say, be they cut, encrypted, or of a Call that was cut. */
    if (rpc->accept_stat == RPCRDMA_RPC_SUCCESS &&
        (!call || !(call->present & RPCRDMA_RPC_HAS_PROGRAM)))
        return;
    if (rpc->accept_stat != RPCRDMA_RPC_SUCCESS || !has_own_status(call, s->reverse)) {
        a->status_kind = NFS_STATUS_RPC;
        a->status = rpc->accept_stat;
        return;
    }
    a->encrypted = call->present & RPCRDMA_RPC_HAS_GSS && call->gss_service == RPCRDMA_GSS_PRIVACY;
    if (compound_of(s, &it)) {
        nfs_compound_reply(s, &it, a, learned);
        return;
    }
    if (!at_body(&c, rpc, call))
        return;
    if ((call->program == RPCRDMA_PROGRAM_NFS || call->program == RPCRDMA_PROGRAM_NFSACL) &&
        call->version == 3) {
        v3_reply(&c, call->program == RPCRDMA_PROGRAM_NFS, call->procedure, a, learned);
    } else if (call->program == RPCRDMA_PROGRAM_MOUNT && call->procedure == 1) {
        struct nfs_handle handle;

        a->status = rpcrdma_cursor_be32(&c, "status");
        if (c.status != RPCRDMA_OK)
            return;
        a->status_kind = NFS_STATUS_MOUNT;
        if (a->status != 0 || call->version != 3 || !learned)
            return;
        nfs_take_handle(&c, &handle);
        if (handle.length > 0 && a->name.length > 0)
            learned->learn(learned->context, NULL, a->name.text, a->name.length, &handle);
    }
}

void nfs_reply(const struct rpcrdma_payload_stream *s, struct nfs_arguments *a,
               const struct nfs_learned *learned)
{
    if (!is_v3_ok(s) || (learned && v3_names(s->call->procedure))) {
        other_reply(s, a, learned);
        return;
    }
    a->encrypted = false;
    a->status_kind = NFS_STATUS_NFS3;
    a->status = 0;
}

void nfs_reset(struct nfs_arguments *a)
{
    a->handle.length = a->handle2.length = 0;
    a->handle.root = a->handle2.root = false;
    a->name.length = a->name2.length = 0;
    a->has_offset = a->has_count = a->has_user = a->has_operation = a->auth = false;
    a->removes = a->renames = a->encrypted = false;
    a->n_getfh = 0;
    a->status_kind = NFS_STATUS_NONE;
    a->status = 0;
}
