/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/nfs.h"

#include <string.h>

#include "upper/compound.h"
#include "upper/names.h"
#include "wire/cursor.h"

/* -- NFSv3: RFC 1813 --------------------------------------------------------------------------- */

/* type, mode, links; owners; size, used; device; file system, file; times */
#define FATTR "uuuwwhhuukkTTT"
#define ATTR "<1:" FATTR ";0:>"
#define WCC "<1:hTT;0:>" ATTR
#define SET_TIME "<2:T;0,1:>"
#define SATTR "<1:u;0:><1:w;0:><1:w;0:><1:h;0:>" SET_TIME SET_TIME
#define OK(good, bad) "<0:" good ";*:" bad ">"
#define MADE OK("<1:s;0:>" ATTR WCC, WCC)

struct procedure {
    const char *arguments, *results;
};

static const struct procedure nfs3[] = {
    [0] = {"", ""},
    [1] = {"s", OK(FATTR, "")},
    [2] = {"s" SATTR "<1:T;0:>", "u" WCC},
    [3] = {"ss", OK("s" ATTR ATTR, ATTR)},
    [4] = {"su", OK(ATTR "u", ATTR)},
    [5] = {"s", OK(ATTR "d", ATTR)},
    [6] = {"shu", OK(ATTR "uud", ATTR)},
    [7] = {"shuud", OK(WCC "uux8", WCC)},
    [8] = {"ss<0,1:" SATTR ";2:x8>", MADE},
    [9] = {"ss" SATTR, MADE},
    [10] = {"ss" SATTR "d", MADE},
    [11] = {"ss<3,4:" SATTR "uu;6,7:" SATTR ";*:>", MADE},
    [12] = {"ss", "u" WCC},
    [13] = {"ss", "u" WCC},
    [14] = {"ssss", "u" WCC WCC},
    [15] = {"sss", "u" ATTR WCC},
    [16] = {"skx8u", OK(ATTR "x8{ksk}u", ATTR)},
    [17] = {"skx8uu", OK(ATTR "x8{ksk" ATTR "<1:s;0:>}u", ATTR)},
    [18] = {"s", OK(ATTR "hhhhhhu", ATTR)},
    [19] = {"s", OK(ATTR "uuuuuuuhuuu", ATTR)},
    [20] = {"s", OK(ATTR "uuuuuu", ATTR)},
    [21] = {"shu", OK(WCC "x8", WCC)},
};

enum { NFS3_READLINK = 5, NFS3_SYMLINK = 10 };

#define ACL "u[uwu]u[uwu]"
static const struct procedure acl3[] = {
    [0] = {"", ""},
    [1] = {"su", OK(ATTR "u" ACL, ATTR)},
    [2] = {"su" ACL, OK(ATTR, ATTR)},
};

static const struct procedure mount3[] = {
    [0] = {"", ""},
    [1] = {"s", OK("s[u]", "")},
    [3] = {"s", ""},
    [4] = {"", ""},
};

static const struct procedure only_null[] = {[0] = {"", ""}};

static const struct procedure *procedure_of(const struct rpcrdma_rpc *call)
{
    const struct procedure *table = only_null;
    size_t n = 1;

    if (call->program == RPCRDMA_PROGRAM_NFS && call->version == 3)
        table = nfs3, n = sizeof(nfs3) / sizeof(nfs3[0]);
    else if (call->program == RPCRDMA_PROGRAM_NFSACL && call->version == 3)
        table = acl3, n = sizeof(acl3) / sizeof(acl3[0]);
    else if (call->program == RPCRDMA_PROGRAM_MOUNT && call->version == 3)
        table = mount3, n = sizeof(mount3) / sizeof(mount3[0]);
    return call->procedure < n && table[call->procedure].arguments ? &table[call->procedure] : NULL;
}

/* -- NFSv4 ------------------------------------------------------------------------------------- */

enum {
    COMMIT = 5,
    CREATE = 6,
    LOCK = 12,
    LOCKT = 13,
    LOCKU = 14,
    READ = 25,
    READLINK = 27,
    WRITE = 38,
    BACKCHANNEL_CTL = 40,
    CREATE_SESSION = 43,
    GETDEVICEINFO = 47,
    LAYOUTCOMMIT = 49,
    LAYOUTGET = 50,
    LAYOUTRETURN = 51,
    ALLOCATE = 59,
    COPY = 60,
    DEALLOCATE = 62,
    IO_ADVISE = 63,
    LAYOUTERROR = 64,
    LAYOUTSTATS = 65,
    OFFLOAD_STATUS = 67,
    READ_PLUS = 68,
    SEEK = 69,
    WRITE_SAME = 70,
    CLONE = 71,
    SET_SSV = 54,
    CB_LAYOUTRECALL = 5,
    CB_NOTIFY = 6,
    CB_NOTIFY_DEVICEID = 14,
    CB_OFFLOAD = 15,
};

/* Whether its numbers of 8 bytes are offsets and lengths. */
static bool has_offsets(uint32_t operation, bool callback)
{
    if (callback)
        return operation == CB_LAYOUTRECALL || operation == CB_OFFLOAD;
    switch (operation) {
    case COMMIT:
    case LOCK:
    case LOCKT:
    case LOCKU:
    case READ:
    case WRITE:
    case LAYOUTCOMMIT:
    case LAYOUTGET:
    case LAYOUTRETURN:
    case ALLOCATE:
    case COPY:
    case DEALLOCATE:
    case IO_ADVISE:
    case LAYOUTERROR:
    case LAYOUTSTATS:
    case OFFLOAD_STATUS:
    case READ_PLUS:
    case SEEK:
    case WRITE_SAME:
    case CLONE:
        return true;
    default:
        return false;
    }
}

/* Whether its opaques have a form of their own that is not known here: of a layout type, of a
 * notification. */
static bool has_bodies(uint32_t operation, bool callback)
{
    if (callback)
        return operation == CB_NOTIFY || operation == CB_NOTIFY_DEVICEID;
    return operation == GETDEVICEINFO || (operation >= LAYOUTCOMMIT && operation <= LAYOUTRETURN) ||
           operation == LAYOUTSTATS || operation == SET_SSV;
}

/* The same as the operation's grammar, but for credentials, and for what is neither offset nor
 * length where other numbers are. */
static const char *instead(const struct rpcrdma_compound *it, uint32_t operation)
{
#define CALLBACK_SECURITY "[<0:;1:wsww[w];6:uss>]"
#define CHANNEL "uuuuuu[u]"
    if (it->reply)
        return it->pending;
    if (it->callback)
        return operation == CB_LAYOUTRECALL ? "uuu<1:shhx16;2:kk;3:>" : it->pending;
    if (operation == LAYOUTCOMMIT)
        return "hhux16<1:h;0:><1:t;0:>us";
    if (operation == BACKCHANNEL_CTL)
        return "u" CALLBACK_SECURITY;
    if (operation == CREATE_SESSION)
        return "kuu" CHANNEL CHANNEL "u" CALLBACK_SECURITY;
    return it->pending;
}

/* The operations of `original`, which the walk is a copy of. */
static void compound(struct sanitize_walk *w, const struct sanitize_rpc *rpc)
{
    const struct rpcrdma_rpc_stream stream = {rpc->rpc,  rpc->call,   rpc->reverse,
                                              rpc->from, rpc->caplen, rpc->len};
    struct rpcrdma_compound it;
    struct rpcrdma_operation op;

    if (!rpcrdma_compound_begin(&it, &stream, w->reduction, NULL)) {
        w->failed = true;
        return;
    }
    sanitize_walk(w, it.reply ? "usu" : it.callback ? "suuu" : "suu");
    while (sanitize_walking(w) && rpcrdma_compound_next(&it, &op)) {
        if (op.off != w->off || !it.pending) {
            w->failed = true;
            return;
        }
        sanitize_walk_word(w);
        w->plain_hyper = has_offsets(op.number, it.callback);
        w->blank = has_bodies(op.number, it.callback);
        w->text_data = !it.callback && (op.number == CREATE || op.number == READLINK);
        sanitize_walk(w, instead(&it, op.number));
        w->blank = false;
    }
    if (sanitize_walking(w) && it.index < it.declared)
        w->failed = true;
}

/* -- RPC: RFC 5531, RFC 2203 ------------------------------------------------------------------- */

static void credential(struct sanitize_walk *w)
{
    enum { AUTH_NONE = 0, AUTH_SYS = 1 };
    uint32_t flavor = sanitize_walk_word(w), n = sanitize_walk_word(w);
    struct sanitize_walk inner;
    size_t whole = n + (-n & 3);

    if (!sanitize_walking(w))
        return;
    if (n > RPCRDMA_RPC_AUTH_MAX || whole > w->len - w->off) {
        w->failed = true;
        return;
    }
    inner = *w;
    inner.len = w->off + n;
    if (inner.caplen > inner.len)
        inner.caplen = inner.len;
    if (flavor == AUTH_SYS)
        sanitize_walk(&inner, "wsww[w]");
    else if (flavor == RPCRDMA_RPC_GSS)
        sanitize_walk(&inner, "uuuus");
    sanitize_blank(w, inner.off, w->off + whole - inner.off);
    if (w->off + whole > w->caplen)
        w->off = w->caplen, w->cut = true;
    else
        w->off += whole;
}

/* Flavor and length stay. */
static void verifier(struct sanitize_walk *w)
{
    uint32_t n;
    size_t whole;

    sanitize_walk_word(w);
    n = sanitize_walk_word(w);
    whole = n + (-n & 3);
    if (!sanitize_walking(w))
        return;
    if (n > RPCRDMA_RPC_AUTH_MAX || whole > w->len - w->off) {
        w->failed = true;
        return;
    }
    sanitize_blank(w, w->off, whole);
    if (w->off + whole > w->caplen)
        w->off = w->caplen, w->cut = true;
    else
        w->off += whole;
}

/* A word that has to be one of a few. */
static uint32_t one_of(struct sanitize_walk *w, const char *values)
{
    sanitize_walk(w, values);
    return sanitize_walking(w) ? rpcrdma_get_be32(w->p + w->off - 4) : 0;
}

/* True: arguments or results follow. */
static bool header(struct sanitize_walk *w)
{
    uint32_t type, status;

    sanitize_walk_word(w);
    type = one_of(w, "<0,1:>");
    if (!sanitize_walking(w)) {
        w->off = w->cut ? w->off : 0; /* no RPC message: its first word is no XID */
        return false;
    }
    if (type == RPCRDMA_RPC_CALL) {
        sanitize_walk(w, "<2:>uuu");
        credential(w);
        verifier(w);
        return sanitize_walking(w);
    }
    status = one_of(w, "<0,1:>");
    if (!sanitize_walking(w))
        return false;
    if (status == RPCRDMA_RPC_DENIED) {
        sanitize_walk(w, "<0:uu;1:u>");
        return false;
    }
    verifier(w);
    status = one_of(w, "<0,1,2,3,4,5:>");
    if (sanitize_walking(w) && status == RPCRDMA_RPC_PROG_MISMATCH)
        sanitize_walk(w, "uu");
    return sanitize_walking(w) && status == RPCRDMA_RPC_SUCCESS;
}

static void body(struct sanitize_walk *w, const struct sanitize_rpc *rpc)
{
    const struct rpcrdma_rpc *call = rpc->call;
    const struct procedure *procedure;
    bool integrity, callback;

    if (!call || !(call->present & RPCRDMA_RPC_HAS_PROGRAM) || call->gss_procedure != 0 ||
        call->gss_service == RPCRDMA_GSS_PRIVACY || !rpcrdma_rpc_protection_known(call, rpc->rpc)) {
        w->failed = w->off < w->len;
        return;
    }
    integrity = call->present & RPCRDMA_RPC_HAS_GSS && call->gss_service == RPCRDMA_GSS_INTEGRITY;
    if (integrity)
        sanitize_walk(w, "uu");
    if (rpcrdma_compound_is(call, rpc->reverse, &callback)) {
        compound(w, rpc);
    } else {
        procedure = procedure_of(call);
        if (!procedure) {
            w->failed = w->off < w->len;
            return;
        }
        w->plain_hyper = true;
        w->text_data = call->procedure == NFS3_READLINK || call->procedure == NFS3_SYMLINK;
        sanitize_walk(w, rpc->rpc->type == RPCRDMA_RPC_REPLY ? procedure->results
                                                             : procedure->arguments);
    }
    if (integrity && sanitize_walking(w)) {
        w->blank = true;
        sanitize_walk(w, "s");
    }
}

static bool attempt(const struct sanitize_rpc *rpc, uint8_t *to, bool pad_inline)
{
    struct rpcrdma_reduction reduction = rpc->reduction;
    struct sanitize_walk w = {.key = rpc->key,
                              .shift_s = rpc->shift_s,
                              .p = to,
                              .caplen = rpc->caplen,
                              .len = rpc->len,
                              .reduction = &reduction};

    reduction.pad_inline = pad_inline;
    memcpy(to, rpc->from, rpc->caplen);
    if (!rpc->rpc)
        w.failed = true;
    else if (header(&w))
        body(&w, rpc);
    sanitize_blank(&w, w.off, w.caplen - w.off);
    if (w.cut || (!w.failed && w.off == w.len))
        return true;
    /* an item that was here after all would have been read as what follows it */
    if (w.taken_out)
        sanitize_blank(&w, w.taken_out_off, w.caplen - w.taken_out_off);
    return false;
}

bool sanitize_rpc(const struct sanitize_rpc *rpc, uint8_t *to)
{
    bool whole = attempt(rpc, to, false);

    if (!whole && (rpc->reduction.n_gaps > 0 || rpc->reduction.n_chunks > 0))
        whole = attempt(rpc, to, true) || attempt(rpc, to, false);
    return whole;
}
