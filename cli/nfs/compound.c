/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NFSv4 COMPOUND: which file its operations are about. They go from handle to handle (RFC 8881
 * section 16.2.3): PUTFH sets the current one, LOOKUP, LOOKUPP, OPEN and CREATE move it, SAVEFH and
 * RESTOREFH put it aside and take it back.
 */
#include "nfs/fields.h"
#include "nfs/trunks.h"

/* NFSv4, RFC 8881 section 18 */
enum {
    V4_ACCESS = 3,
    V4_COMMIT = 5,
    V4_CREATE = 6,
    V4_GETATTR = 9,
    V4_GETFH = 10,
    V4_LINK = 11,
    V4_LOOKUP = 15,
    V4_LOOKUPP = 16,
    V4_NVERIFY = 17,
    V4_OPEN = 18,
    V4_OPENATTR = 19,
    V4_PUTFH = 22,
    V4_PUTPUBFH = 23,
    V4_PUTROOTFH = 24,
    V4_READ = 25,
    V4_REMOVE = 28,
    V4_RENAME = 29,
    V4_RESTOREFH = 31,
    V4_SAVEFH = 32,
    V4_VERIFY = 37,
    V4_WRITE = 38,
    V4_BIND_CONN_TO_SESSION = 41,
    V4_CREATE_SESSION = 43,
    V4_LAYOUTGET = 50,
    V4_SEQUENCE = 53,
    V4_ALLOCATE = 59,
    V4_DEALLOCATE = 62,
    V4_READ_PLUS = 68,
};

/* openflag4 and open_claim4 behind the owner: RFC 8881 section 18.16.1. False: which file it is
 * about is not known. */
static bool v4_open(struct rpcrdma_cursor *c, struct nfs_arguments *a)
{
    enum { CREATE = 1, EXCLUSIVE = 2, EXCLUSIVE_1 = 3 };
    enum { CLAIM_NULL = 0, CLAIM_DELEGATE_CUR = 2, CLAIM_DELEGATE_PREV = 3 };
    uint32_t length, how, claim;

    rpcrdma_cursor_skip(c, 12 + 8, "seqid, share, clientid");
    nfs_opaque(c, &length);
    if (rpcrdma_cursor_be32(c, "opentype") == CREATE) {
        how = rpcrdma_cursor_be32(c, "createmode");
        if (how >= EXCLUSIVE)
            rpcrdma_cursor_skip(c, 8, "verifier");
        if (how != EXCLUSIVE && c->status == RPCRDMA_OK) {
            length = rpcrdma_cursor_be32(c, "bitmap");
            if (length > rpcrdma_cursor_left(c) / 4)
                return false;
            rpcrdma_cursor_skip(c, (size_t)length * 4, "bitmap");
            nfs_opaque(c, &length);
        }
    }
    claim = rpcrdma_cursor_be32(c, "claim");
    if (c->status != RPCRDMA_OK)
        return false;
    if (claim == CLAIM_DELEGATE_CUR)
        rpcrdma_cursor_skip(c, 16, "stateid");
    if (claim == CLAIM_NULL || claim == CLAIM_DELEGATE_CUR || claim == CLAIM_DELEGATE_PREV)
        return nfs_take_name(c, &a->name);
    return true; /* the current handle's */
}

static bool v4_create(struct rpcrdma_cursor *c, struct nfs_arguments *a)
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
    return nfs_take_name(c, &a->name);
}

/* Where the operations have come to. `a` has the current handle and the names from there; where
 * they went back to the saved one, only when something is done with it: OPEN and CREATE end with
 * that, and are about their file. */
struct walk {
    struct nfs_arguments *a;
    struct nfs_handle saved;
    struct nfs_name saved_name;
    bool has_saved, saved_lost;
    bool lost;     /* a name was not captured, is too long, or there is none */
    bool restored; /* the saved handle is the current one */
    bool ended;    /* by RENAME or LINK, which have two */
    bool removed;  /* the last name is that of what REMOVE was about */
    uint16_t before;
};

enum { UNKNOWN = NFS_NAME + 1 };

/* What GETFH asked for no longer begins as the name does. */
static void forget(struct nfs_arguments *a, unsigned longer_than)
{
    for (unsigned i = 0; i < a->n_getfh; i++)
        if (a->getfh[i] > longer_than)
            a->getfh[i] = UNKNOWN;
}

static void forget_all(struct nfs_arguments *a)
{
    for (unsigned i = 0; i < a->n_getfh; i++)
        a->getfh[i] = UNKNOWN;
}

static void start(struct walk *w)
{
    forget_all(w->a);
    w->a->name.length = 0;
    w->lost = w->restored = w->removed = false;
}

/* Something is done with the current handle. */
static void arrive(struct walk *w)
{
    if (w->removed)
        w->a->name.length = w->before;
    w->removed = false;
    if (!w->restored)
        return;
    start(w);
    w->a->handle = w->saved;
    w->a->name = w->saved_name;
    w->lost = w->saved_lost;
}

static void save(struct walk *w)
{
    if (w->restored)
        return;
    w->saved = w->a->handle;
    w->saved_name = w->a->name;
    if (w->removed)
        w->saved_name.length = w->before;
    w->saved_lost = w->lost;
    w->has_saved = true;
}

/* LOOKUPP */
static void go_up(struct walk *w)
{
    struct nfs_name *name = &w->a->name;
    uint16_t n = name->length;

    if (n == 0 || (n >= 2 && memcmp(name->text + n - 2, "..", 2) == 0 &&
                   (n == 2 || name->text[n - 3] == '/'))) {
        w->lost |= !nfs_add_name(name, (const uint8_t *)"..", 2);
        return;
    }
    while (n > 0 && name->text[n - 1] != '/')
        n--;
    name->length = n > 0 ? n - 1 : 0;
    forget(w->a, name->length);
}

static void get_handle(struct walk *w)
{
    struct nfs_arguments *a = w->a;
    bool known = !w->lost && !w->restored && !w->ended;

    if (a->n_getfh < NFS_GETFH)
        a->getfh[a->n_getfh++] = !known ? UNKNOWN : w->removed ? w->before : a->name.length;
}

/* RENAME and LINK: the source is saved, the target current. */
static void two(struct walk *w, struct rpcrdma_cursor *c, bool rename)
{
    struct nfs_arguments *a = w->a;
    bool known = w->has_saved && !w->saved_lost;

    a->handle2 = a->handle;
    a->name2 = a->name;
    forget_all(a);
    if (w->has_saved) {
        a->handle = w->saved;
        a->name = w->saved_name;
    } else {
        a->handle.length = 0;
        a->handle.root = false;
        a->name.length = 0;
    }
    if (rename)
        known = a->renames = nfs_take_name(c, &a->name) && known;
    if (!nfs_take_name(c, &a->name2) || !known || w->lost)
        a->name2.length = 0;
    w->ended = true;
}

/* Whether an operation looks at the current handle only: Linux asks for the attributes of the
 * directory at the end. */
static bool looks_on(uint32_t number)
{
    return number == V4_GETATTR || number == V4_GETFH || number == V4_ACCESS ||
           number == V4_VERIFY || number == V4_NVERIFY || number == V4_SEQUENCE ||
           number == V4_LAYOUTGET || number == V4_SAVEFH || number == V4_RESTOREFH;
}

/* What moves the current handle, or names something in it. */
static void move(struct walk *w, struct rpcrdma_cursor *c, uint32_t number)
{
    struct nfs_arguments *a = w->a;

    if (!looks_on(number))
        arrive(w);
    switch (number) {
    case V4_PUTROOTFH:
    case V4_PUTPUBFH:
        start(w);
        a->handle = (struct nfs_handle){.root = true};
        break;
    case V4_PUTFH:
        start(w);
        nfs_take_handle(c, &a->handle);
        break;
    case V4_SAVEFH:
        save(w);
        break;
    case V4_RESTOREFH:
        w->restored = w->has_saved;
        w->removed = false;
        break;
    case V4_REMOVE:
        w->before = a->name.length;
        w->removed = nfs_take_name(c, &a->name);
        break;
    case V4_LOOKUP:
        w->lost |= !nfs_take_name(c, &a->name);
        break;
    case V4_LOOKUPP:
        go_up(w);
        break;
    case V4_OPENATTR: /* a directory that has no name */
        w->lost = true;
        break;
    case V4_OPEN:
        w->lost |= !v4_open(c, a);
        break;
    case V4_CREATE:
        w->lost |= !v4_create(c, a);
        break;
    case V4_RENAME:
    case V4_LINK:
        two(w, c, number == V4_RENAME);
        break;
    default:
        break;
    }
}

/* Of the file: of the last such operation. */
static void range(struct rpcrdma_cursor *c, uint32_t number, struct nfs_arguments *a)
{
    switch (number) {
    case V4_READ:
    case V4_READ_PLUS:
        rpcrdma_cursor_skip(c, 16, "stateid");
        nfs_take_range(c, a);
        break;
    case V4_COMMIT:
        nfs_take_range(c, a);
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

static struct rpcrdma_cursor behind(const struct rpcrdma_payload_stream *s, uint32_t off)
{
    struct rpcrdma_cursor c = nfs_cursor_of(s);

    rpcrdma_cursor_skip(&c, off, "operation");
    return c;
}

void nfs_compound_call(const struct rpcrdma_payload_stream *s, struct rpcrdma_compound *it,
                       struct nfs_arguments *a)
{
    struct rpcrdma_operation op;
    struct walk w;

    w.a = a; /* not all of it: it is large */
    w.has_saved = w.saved_lost = w.lost = w.restored = w.ended = w.removed = false;
    w.before = 0;
    while (rpcrdma_compound_next(it, &op)) {
        struct rpcrdma_cursor c = behind(s, op.off + 4);

        if (op.number == V4_GETFH)
            get_handle(&w);
        else if (!w.ended)
            move(&w, &c, op.number);
        range(&c, op.number, a);
    }
    a->removes = w.removed && !w.lost && !w.ended;
}

static void take_getfh(struct rpcrdma_cursor *c, const struct nfs_arguments *a, unsigned i,
                       const struct nfs_learned *learned)
{
    struct nfs_handle handle;

    nfs_take_handle(c, &handle);
    if (handle.length == 0 || i >= a->n_getfh || a->getfh[i] > NFS_NAME)
        return;
    if (a->getfh[i] > 0 || a->handle.root)
        learned->learn(learned->context, &a->handle, a->name.text, a->getfh[i], &handle);
}

/* What was done to names: to those of the first RENAME or LINK, or of the last REMOVE. */
static void names(uint32_t number, const struct nfs_arguments *a, const struct nfs_learned *learned)
{
    if (number == V4_RENAME && a->renames)
        learned->rename(learned->context, &a->handle, &a->name, &a->handle2, &a->name2);
    else if (number == V4_LINK)
        learned->link(learned->context, &a->handle, &a->name, &a->handle2, &a->name2);
    else if (number == V4_REMOVE && a->removes)
        learned->remove(learned->context, &a->handle, &a->name);
}

/* Its name comes first in the results; SEQUENCE's number and slot follow. */
static void take_session(struct rpcrdma_cursor *c, uint32_t number,
                         const struct nfs_learned *learned)
{
    struct nfs_session_use use = {.created = number == V4_CREATE_SESSION};

    use.name = rpcrdma_cursor_take(c, NFS_SESSION, "session");
    if (number == V4_SEQUENCE) {
        use.seqid = rpcrdma_cursor_be32(c, "sequence");
        use.slot = rpcrdma_cursor_be32(c, "slot");
        use.numbered = c->status == RPCRDMA_OK;
    }
    if (use.name)
        learned->session(learned->context, &use);
}

void nfs_compound_reply(const struct rpcrdma_payload_stream *s, struct rpcrdma_compound *it,
                        struct nfs_arguments *a, const struct nfs_learned *learned)
{
    struct rpcrdma_operation op;
    unsigned n_getfh = 0;

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
        if (op.number == V4_GETFH)
            take_getfh(&c, a, n_getfh++, learned);
        else if (op.number == V4_SEQUENCE || op.number == V4_BIND_CONN_TO_SESSION ||
                 op.number == V4_CREATE_SESSION)
            take_session(&c, op.number, learned);
        else if (op.has_status)
            names(op.number, a, learned);
    }
}
