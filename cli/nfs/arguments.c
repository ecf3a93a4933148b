/* SPDX-License-Identifier: BSD-2-Clause */
#include "nfs/arguments.h"

#include <string.h>

#include "upper/compound.h"
#include "upper/names.h"
#include "wire/cursor.h"

/* NFSv3, RFC 1813 section 3.3 */
enum {
    V3_LOOKUP = 3,
    V3_READ = 6,
    V3_WRITE = 7,
    V3_CREATE = 8,
    V3_RENAME = 14,
    V3_LINK = 15,
    V3_READDIRPLUS = 17,
    V3_COMMIT = 21,
    V3_FATTR = 84, /* bytes of a fattr3 */
};

/* NFSv4, RFC 8881 section 18 */
enum {
    V4_COMMIT = 5,
    V4_CREATE = 6,
    V4_GETFH = 10,
    V4_LINK = 11,
    V4_LOOKUP = 15,
    V4_OPEN = 18,
    V4_PUTFH = 22,
    V4_PUTPUBFH = 23,
    V4_PUTROOTFH = 24,
    V4_READ = 25,
    V4_REMOVE = 28,
    V4_RENAME = 29,
    V4_RESTOREFH = 31,
    V4_SAVEFH = 32,
    V4_WRITE = 38,
    V4_ALLOCATE = 59,
    V4_DEALLOCATE = 62,
    V4_READ_PLUS = 68,
};

static struct rpcrdma_cursor cursor_of(const struct rpcrdma_payload_stream *s)
{
    return rpcrdma_cursor_init(s->data, s->caplen, s->len);
}

/* opaque<> or string<> with its padding; NULL where it is not whole: then nothing behind it
 * is read. */
static const uint8_t *opaque(struct rpcrdma_cursor *c, uint32_t *length)
{
    const uint8_t *p;

    *length = rpcrdma_cursor_be32(c, "length");
    p = rpcrdma_cursor_take(c, *length, "bytes");
    rpcrdma_cursor_skip(c, -*length & 3, "padding");
    return c->status == RPCRDMA_OK ? p : NULL;
}

static void take_handle(struct rpcrdma_cursor *c, struct nfs_handle *handle)
{
    uint32_t length;
    const uint8_t *p = opaque(c, &length);

    handle->length = 0;
    handle->root = false;
    if (!p || length == 0 || length > NFS_HANDLE)
        return;
    handle->length = (uint8_t)length;
    memcpy(handle->bytes, p, length);
}

static void add_name(struct nfs_name *name, const uint8_t *p, uint32_t length)
{
    size_t at = name->length > 0 ? name->length + 1u : 0;

    if (!p || length == 0 || at + length > NFS_NAME)
        return;
    if (at > 0)
        name->text[at - 1] = '/';
    memcpy(name->text + at, p, length);
    name->length = (uint16_t)(at + length);
}

static void take_name(struct rpcrdma_cursor *c, struct nfs_name *name)
{
    uint32_t length;
    const uint8_t *p = opaque(c, &length);

    add_name(name, p, length);
}

static void take_range(struct rpcrdma_cursor *c, struct nfs_arguments *a)
{
    a->offset = rpcrdma_cursor_be64(c, "offset");
    a->has_offset = c->status == RPCRDMA_OK;
    a->count = rpcrdma_cursor_be32(c, "count");
    a->has_count = c->status == RPCRDMA_OK;
}

/* Puts the cursor at arguments or results. False where they cannot be read. */
static bool at_body(struct rpcrdma_cursor *c, const struct rpcrdma_rpc *rpc,
                    const struct rpcrdma_rpc *call)
{
    if (!(rpc->present & RPCRDMA_RPC_HAS_BODY) || !rpcrdma_rpc_protection_known(call))
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
    opaque(&c, &length); /* machine name */
    a->user = rpcrdma_cursor_be32(&c, "uid");
    a->has_user = c.status == RPCRDMA_OK;
}

static void v3_call(struct rpcrdma_cursor *c, uint32_t procedure, struct nfs_arguments *a)
{
    if (procedure == 0)
        return;
    take_handle(c, &a->handle);
    switch (procedure) {
    case V3_READ:
    case V3_WRITE:
    case V3_COMMIT:
        take_range(c, a);
        break;
    case V3_RENAME:
        take_name(c, &a->name);
        take_handle(c, &a->handle2);
        take_name(c, &a->name2);
        break;
    case V3_LINK:
        take_handle(c, &a->handle2);
        take_name(c, &a->name2);
        break;
    default:
        /* LOOKUP, CREATE, MKDIR, SYMLINK, MKNOD, REMOVE, RMDIR */
        if (procedure == V3_LOOKUP || (procedure >= V3_CREATE && procedure < V3_RENAME))
            take_name(c, &a->name);
    }
}

/* openflag4 and open_claim4 behind the owner: RFC 8881 section 18.16.1 */
static void v4_open(struct rpcrdma_cursor *c, struct nfs_arguments *a)
{
    enum { CREATE = 1, EXCLUSIVE = 2, EXCLUSIVE_1 = 3 };
    enum { CLAIM_NULL = 0, CLAIM_DELEGATE_CUR = 2, CLAIM_DELEGATE_PREV = 3 };
    uint32_t length, how, claim;

    rpcrdma_cursor_skip(c, 12 + 8, "seqid, share, clientid");
    opaque(c, &length);
    if (rpcrdma_cursor_be32(c, "opentype") == CREATE) {
        how = rpcrdma_cursor_be32(c, "createmode");
        if (how >= EXCLUSIVE)
            rpcrdma_cursor_skip(c, 8, "verifier");
        if (how != EXCLUSIVE && c->status == RPCRDMA_OK) {
            length = rpcrdma_cursor_be32(c, "bitmap");
            if (length > rpcrdma_cursor_left(c) / 4)
                return;
            rpcrdma_cursor_skip(c, (size_t)length * 4, "bitmap");
            opaque(c, &length);
        }
    }
    claim = rpcrdma_cursor_be32(c, "claim");
    if (c->status != RPCRDMA_OK)
        return;
    if (claim == CLAIM_DELEGATE_CUR)
        rpcrdma_cursor_skip(c, 16, "stateid");
    if (claim == CLAIM_NULL || claim == CLAIM_DELEGATE_CUR || claim == CLAIM_DELEGATE_PREV)
        take_name(c, &a->name);
}

static void v4_create(struct rpcrdma_cursor *c, struct nfs_arguments *a)
{
    enum { NF4BLK = 3, NF4CHR = 4, NF4LNK = 5 };
    uint32_t type = rpcrdma_cursor_be32(c, "type"), length;

    if (type == NF4LNK) {
        length = rpcrdma_cursor_be32(c, "length");
        if (length <= rpcrdma_cursor_left(c)) /* else it is in a chunk */
            rpcrdma_cursor_skip(c, length + (-length & 3), "linkdata");
    } else if (type == NF4BLK || type == NF4CHR) {
        rpcrdma_cursor_skip(c, 8, "device");
    }
    take_name(c, &a->name);
}

static void v4_operation(struct rpcrdma_cursor *c, uint32_t number, struct nfs_arguments *a)
{
    switch (number) {
    case V4_PUTROOTFH:
    case V4_PUTPUBFH:
        a->handle = (struct nfs_handle){.root = true};
        a->name.length = 0;
        break;
    case V4_PUTFH:
        take_handle(c, &a->handle);
        a->name.length = 0;
        break;
    case V4_SAVEFH: /* before RENAME and LINK: the source */
        a->handle2 = a->handle;
        break;
    case V4_LOOKUP:
    case V4_REMOVE:
        take_name(c, &a->name);
        break;
    case V4_OPEN:
        v4_open(c, a);
        break;
    case V4_CREATE:
        v4_create(c, a);
        break;
    case V4_RENAME: {
        struct nfs_handle to = a->handle; /* the target is current, the source saved */

        a->handle = a->handle2;
        a->handle2 = to;
        a->name.length = 0;
        take_name(c, &a->name);
        take_name(c, &a->name2);
        break;
    }
    case V4_LINK: {
        struct nfs_handle to = a->handle;

        a->handle = a->handle2;
        a->handle2 = to;
        take_name(c, &a->name2);
        break;
    }
    case V4_READ:
    case V4_READ_PLUS:
        rpcrdma_cursor_skip(c, 16, "stateid");
        take_range(c, a);
        break;
    case V4_COMMIT:
        take_range(c, a);
        break;
    case V4_WRITE:
        rpcrdma_cursor_skip(c, 16, "stateid");
        a->offset = rpcrdma_cursor_be64(c, "offset");
        a->has_offset = c->status == RPCRDMA_OK;
        rpcrdma_cursor_skip(c, 4, "stable");
        a->count = rpcrdma_cursor_be32(c, "length");
        a->has_count = c->status == RPCRDMA_OK;
        break;
    case V4_ALLOCATE:
    case V4_DEALLOCATE:
        rpcrdma_cursor_skip(c, 16, "stateid");
        a->offset = rpcrdma_cursor_be64(c, "offset");
        a->has_offset = c->status == RPCRDMA_OK;
        break;
    default:
        break;
    }
}

static bool compound_of(const struct rpcrdma_payload_stream *s, struct rpcrdma_compound *it)
{
    bool callback;

    return s->call && rpcrdma_rpc_protection_known(s->call) &&
           rpcrdma_compound_is(s->call, s->reverse, &callback) &&
           rpcrdma_compound_begin(it, s->rpc, s->call, s->reverse, s->data, s->caplen, s->len,
                                  s->reduction, NULL) &&
           it->has_count;
}

static struct rpcrdma_cursor behind(const struct rpcrdma_payload_stream *s, uint32_t off)
{
    struct rpcrdma_cursor c = cursor_of(s);

    rpcrdma_cursor_skip(&c, off, "operation");
    return c;
}

void nfs_call(const struct rpcrdma_payload_stream *s, struct nfs_arguments *a)
{
    const struct rpcrdma_rpc *rpc = s->rpc;
    struct rpcrdma_cursor c = cursor_of(s);
    struct rpcrdma_operation op;
    struct rpcrdma_compound it;

    if (!(rpc->present & RPCRDMA_RPC_HAS_PROGRAM))
        return;
    take_user(rpc, a);
    if (compound_of(s, &it)) {
        if (it.callback)
            return;
        while (rpcrdma_compound_next(&it, &op)) {
            c = behind(s, op.off + 4);
            v4_operation(&c, op.number, a);
        }
        return;
    }
    if (!at_body(&c, rpc, rpc))
        return;
    if (rpc->program == RPCRDMA_PROGRAM_NFS && rpc->version == 3)
        v3_call(&c, rpc->procedure, a);
    else if (rpc->program == RPCRDMA_PROGRAM_NFSACL && rpc->version == 3 && rpc->procedure > 0)
        take_handle(&c, &a->handle);
    else if (rpc->program == RPCRDMA_PROGRAM_MOUNT && (rpc->procedure == 1 || rpc->procedure == 3))
        take_name(&c, &a->name);
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
        name = opaque(c, &length);
        rpcrdma_cursor_skip(c, 8, "cookie");
        skip_attributes(c);
        if (rpcrdma_cursor_be32(c, "handle follows") != 1)
            continue;
        take_handle(c, &handle);
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
    struct nfs_handle handle = {0};

    if (procedure == V3_READDIRPLUS) {
        v3_entries(c, a, learned);
    } else if (procedure == V3_RENAME) {
        learned->rename(learned->context, &a->handle, &a->name, &a->handle2, &a->name2);
    } else if (procedure == V3_LOOKUP || (procedure >= V3_CREATE && procedure <= 11)) {
        if (procedure != V3_LOOKUP && rpcrdma_cursor_be32(c, "handle follows") != 1)
            return;
        take_handle(c, &handle);
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

static void v4_reply(const struct rpcrdma_payload_stream *s, struct rpcrdma_compound *it,
                     struct nfs_arguments *a, const struct nfs_learned *learned)
{
    struct rpcrdma_operation op;
    struct nfs_handle handle;

    a->status_kind = NFS_STATUS_NFS4;
    a->status = it->status;
    if (!learned)
        return;
    while (rpcrdma_compound_next(it, &op)) {
        struct rpcrdma_cursor c = behind(s, op.off + 8);

        if (op.has_status && op.status != 0) {
            a->operation = op.number;
            a->has_operation = true;
            return;
        }
        if (it->callback)
            continue;
        if (op.number == V4_GETFH) {
            take_handle(&c, &handle);
            if (handle.length > 0 && a->name2.length == 0) {
                if (a->name.length > 0)
                    learned->learn(learned->context, &a->handle, a->name.text, a->name.length,
                                   &handle);
                else if (a->handle.root)
                    learned->learn(learned->context, NULL, "/", 1, &handle);
            }
        } else if (op.number == V4_RENAME) {
            learned->rename(learned->context, &a->handle, &a->name, &a->handle2, &a->name2);
        }
    }
}

void nfs_reply(const struct rpcrdma_payload_stream *s, struct nfs_arguments *a,
               const struct nfs_learned *learned)
{
    const struct rpcrdma_rpc *rpc = s->rpc, *call = s->call;
    struct rpcrdma_cursor c = cursor_of(s);
    struct rpcrdma_compound it;

    if (!(rpc->present & RPCRDMA_RPC_HAS_ACCEPT))
        return;
    if (rpc->reply_stat == RPCRDMA_RPC_DENIED) {
        a->status_kind = NFS_STATUS_DENIED;
        a->auth = rpc->reject_stat == RPCRDMA_RPC_AUTH_ERROR && rpc->present & RPCRDMA_RPC_HAS_AUTH;
        a->status = a->auth ? rpc->auth_stat : rpc->reject_stat;
        return;
    }
    a->status_kind = NFS_STATUS_RPC;
    a->status = rpc->accept_stat;
    if (rpc->accept_stat != RPCRDMA_RPC_SUCCESS || !call ||
        !(call->present & RPCRDMA_RPC_HAS_PROGRAM))
        return;
    if (compound_of(s, &it)) {
        v4_reply(s, &it, a, learned);
        return;
    }
    if (!at_body(&c, rpc, call))
        return;
    if ((call->program == RPCRDMA_PROGRAM_NFS || call->program == RPCRDMA_PROGRAM_NFSACL) &&
        call->version == 3) {
        v3_reply(&c, call->program == RPCRDMA_PROGRAM_NFS, call->procedure, a, learned);
    } else if (call->program == RPCRDMA_PROGRAM_MOUNT && call->procedure == 1) {
        struct nfs_handle handle = {0};

        a->status = rpcrdma_cursor_be32(&c, "status");
        if (c.status != RPCRDMA_OK)
            return;
        a->status_kind = NFS_STATUS_MOUNT;
        if (a->status != 0 || call->version != 3 || !learned)
            return;
        take_handle(&c, &handle);
        if (handle.length > 0 && a->name.length > 0)
            learned->learn(learned->context, NULL, a->name.text, a->name.length, &handle);
    }
}

void nfs_reset(struct nfs_arguments *a)
{
    a->handle.length = a->handle2.length = 0;
    a->handle.root = a->handle2.root = false;
    a->name.length = a->name2.length = 0;
    a->has_offset = a->has_count = a->has_user = a->has_operation = a->auth = false;
    a->status_kind = NFS_STATUS_NONE;
    a->status = 0;
}
