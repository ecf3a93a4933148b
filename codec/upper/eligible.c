/* SPDX-License-Identifier: BSD-2-Clause */
#include "upper/ddp.h"

#include "upper/binding.h"
#include "upper/body.h"
#include "upper/names.h"
#include "upper/nfs4.h"
#include "upper/private.h"

enum {
    NFS_READLINK = 5, /* versions 2 and 3 */
    NFS_READ = 6,
    NFS3_READDIR = 16,
    NFS3_READDIRPLUS = 17,
    STATEID = 16,
};

/* The next result that may be in a Write chunk returns so much. */
static void want(struct rpcrdma_ddp *out, uint32_t bytes)
{
    out->read_bytes += bytes;
    if (out->n_wants < RPCRDMA_DDP_RESULTS)
        out->wants[out->n_wants++] = bytes;
}

/* The count that stands behind the file handle and `between` more bytes of the arguments; 0: it
 * cannot be read. *off: its place in the stream. */
static uint32_t count_behind(const struct rpcrdma_rpc_stream *call, size_t between, uint32_t *off)
{
    struct rpcrdma_cursor c = rpcrdma_cursor_init(call->data, call->caplen, call->len);
    uint32_t n = 32; /* a handle of version 2 */

    if (!rpcrdma_rpc_body(call->rpc, call->rpc, &c))
        return 0;
    if (call->rpc->version == 3)
        n = rpcrdma_cursor_be32(&c, "file handle");
    if (c.status != RPCRDMA_OK || n > 64)
        return 0;
    rpcrdma_cursor_take(&c, n + (-n & 3), "file handle");
    rpcrdma_cursor_take(&c, between, "what is before the count");
    *off = (uint32_t)c.off;
    n = rpcrdma_cursor_be32(&c, "count");
    return c.status == RPCRDMA_OK ? n : 0;
}

/* NFSv2 and NFSv3: what its results may carry in a Write chunk, and how much its READ or READDIR
 * may return. */
static void nfs_results(const struct rpcrdma_rpc_stream *call, struct rpcrdma_ddp *out)
{
    enum { COOKIE = 8, VERIFIER = 8, DIRCOUNT = 4 };
    const uint32_t version = call->rpc->version, procedure = call->rpc->procedure;

    if (procedure == NFS_READ || procedure == NFS_READLINK) {
        out->results = 1;
        want(out,
             procedure == NFS_READ ? count_behind(call, version == 3 ? 8 : 4, &out->count_off) : 0);
    } else if (version == 3 && procedure == NFS3_READDIR) {
        out->read_bytes = count_behind(call, COOKIE + VERIFIER, &out->count_off);
    } else if (version == 3 && procedure == NFS3_READDIRPLUS) {
        out->read_bytes = count_behind(call, COOKIE + VERIFIER + DIRCOUNT, &out->count_off);
    }
}

void rpcrdma_ddp_call(const struct rpcrdma_rpc_stream *call,
                      const struct rpcrdma_reduction *reduction, struct rpcrdma_ddp *out)
{
    const uint32_t need = RPCRDMA_RPC_HAS_PROGRAM | RPCRDMA_RPC_HAS_BODY;

    *out = (struct rpcrdma_ddp){0};
    if ((call->rpc->present & need) != need)
        return;
    switch (call->rpc->program) {
    case RPCRDMA_PROGRAM_NFS:
        if (call->rpc->version > 3)
            return;
        nfs_results(call, out);
        break;
    case RPCRDMA_PROGRAM_NFSACL:
    case RPCRDMA_PROGRAM_MOUNT:
    case RPCRDMA_PROGRAM_NLM:
    case RPCRDMA_PROGRAM_NSM:
    case RPCRDMA_PROGRAM_RPCBIND:
        break;
    default:
        return;
    }
    out->known = true;
    if (reduction && reduction->n_gaps > 0)
        out->ineligible = !rpcrdma_binding_arguments(call, reduction, &out->which);
}

/* The operations that a session needs before it is there stand alone (RFC 8881 section 2.10.6). */
static bool without_session(const struct rpcrdma_compound *it, uint32_t number)
{
    switch (number) {
    case OP_BIND_CONN_TO_SESSION:
    case OP_EXCHANGE_ID:
    case OP_CREATE_SESSION:
    case OP_DESTROY_SESSION:
    case OP_DESTROY_CLIENTID:
        return it->declared == 1;
    default:
        return number == OP_ILLEGAL;
    }
}

/* sessionid, sequenceid, slotid, highest_slotid: alike in both directions. */
static void read_slot(const struct rpcrdma_compound *it, uint32_t off, struct rpcrdma_ddp *out)
{
    struct rpcrdma_cursor c = it->xdr.in;

    c.off = off + 4;
    out->session[0] = rpcrdma_cursor_be64(&c, "session");
    out->session[1] = rpcrdma_cursor_be64(&c, "session");
    out->seqid = rpcrdma_cursor_be32(&c, "sequence");
    out->slot_off = (uint32_t)c.off;
    out->slot = rpcrdma_cursor_be32(&c, "slot");
    out->highest = rpcrdma_cursor_be32(&c, "highest slot");
    out->has_slot = c.status == RPCRDMA_OK;
}

/* clientid, sequence, flags; of the fore channel: padding, three sizes, operations, requests. */
static uint32_t requests_of(const struct rpcrdma_compound *it, uint32_t off)
{
    struct rpcrdma_cursor c = it->xdr.in;
    uint32_t n;

    c.off = off + 4;
    rpcrdma_cursor_take(&c, 8 + 4 + 4 + 5 * 4, "what comes before the requests");
    n = rpcrdma_cursor_be32(&c, "requests");
    return c.status == RPCRDMA_OK ? n : 0;
}

/* READ, READ_PLUS: stateid, offset, count. READDIR: cookie, verifier, how much of names, of all. */
static uint32_t count_of(const struct rpcrdma_compound *it, const struct rpcrdma_operation *op,
                         struct rpcrdma_ddp *out)
{
    uint32_t before = op->number == OP_READDIR ? 8 + 8 + 4 : STATEID + 8, n;
    struct rpcrdma_cursor c = it->xdr.in;

    c.off = op->off + 4;
    rpcrdma_cursor_take(&c, before, "what comes before the count");
    n = rpcrdma_cursor_be32(&c, "count");
    if (out->count_off == 0)
        out->count_off = op->off + 4 + before;
    return c.status == RPCRDMA_OK ? n : 0;
}

void rpcrdma_ddp_operation(const struct rpcrdma_compound *it, const struct rpcrdma_operation *op,
                           struct rpcrdma_ddp *out)
{
    if (op->index == 0) {
        out->operations = it->declared;
        out->first_off = op->off;
    }
    if (!op->name) {
        out->undefined = true;
        out->undefined_off = op->off;
    }
    out->slot_known |= op->index == 0;
    if (op->index == 0 && (it->minor > 0 || it->callback)) {
        uint32_t sequence = it->callback ? OP_CB_SEQUENCE : OP_SEQUENCE;

        if (op->number == sequence) {
            read_slot(it, op->off, out);
            out->slot_known = out->has_slot;
        } else {
            out->no_sequence = it->minor > 0 && (it->callback || !without_session(it, op->number));
        }
    }
    if (it->callback)
        return;
    switch (op->number) {
    case OP_READ:
        out->results++;
        want(out, count_of(it, op, out));
        break;
    case OP_READLINK:
        out->results++;
        want(out, 0);
        break;
    case OP_READ_PLUS:
        out->tolerated++;
        want(out, count_of(it, op, out));
        break;
    case OP_CREATE_SESSION:
        out->slots_asked = requests_of(it, op->off);
        break;
    case OP_READDIR:
        out->read_bytes += count_of(it, op, out);
        break;
    default:
        break;
    }
}

void rpcrdma_ddp_compound(const struct rpcrdma_compound *it, struct rpcrdma_ddp *out)
{
    const struct rpcrdma_reduction *reduction = it->xdr.reduction;

    if (it->has_count && it->declared == 0)
        out->slot_known = true;
    if (it->xdr.ineligible) {
        out->known = out->ineligible = true;
        out->which = it->xdr.ineligible_gap;
        return;
    }
    if (!rpcrdma_compound_exact(it))
        return;
    out->known = true;
    if (reduction && it->xdr.gap < reduction->n_gaps) {
        out->ineligible = true;
        out->which = it->xdr.gap;
    }
}
