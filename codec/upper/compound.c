/* SPDX-License-Identifier: BSD-2-Clause */
/*
 *     COMPOUND4args      tag<>, minorversion, argarray<>: number, arguments
 *     CB_COMPOUND4args   tag<>, minorversion, callback_ident, argarray<>
 *     COMPOUND4res and CB_COMPOUND4res   status, tag<>, resarray<>: number, results
 */
#include "upper/compound.h"

#include "upper/body.h"
#include "upper/names.h"
#include "upper/nfs4.h"
#include "upper/private.h"

bool rpcrdma_compound_is(const struct rpcrdma_rpc *call, bool reverse, bool *callback)
{
    if (!(call->present & RPCRDMA_RPC_HAS_PROGRAM) || call->procedure != 1)
        return false;
    *callback = rpcrdma_program_is_callback(call->program, call->version, reverse);
    return *callback || (call->program == RPCRDMA_PROGRAM_NFS && call->version == 4);
}

bool rpcrdma_compound_begin(struct rpcrdma_compound *it, const struct rpcrdma_rpc_stream *stream,
                            const struct rpcrdma_reduction *reduction,
                            struct rpcrdma_insertion *places)
{
    const struct rpcrdma_rpc *rpc = stream->rpc;
    struct rpcrdma_cursor *in = &it->xdr.in;

    *it = (struct rpcrdma_compound){.xdr = {.reduction = reduction, .places = places},
                                    .reply = rpc->type == RPCRDMA_RPC_REPLY};
    if ((it->reply && !rpcrdma_rpc_has_results(rpc)) ||
        !rpcrdma_compound_is(stream->call, stream->reverse, &it->callback))
        return false;
    *in = rpcrdma_cursor_init(stream->data, stream->caplen, stream->len);
    if (!rpcrdma_rpc_body(rpc, stream->call, in))
        return false;
    if (it->reply)
        it->status = rpcrdma_cursor_be32(in, "status of the COMPOUND");
    rpcrdma_xdr_step(&it->xdr, "s");
    if (!it->reply)
        it->minor = rpcrdma_cursor_be32(in, "minor version");
    if (!it->reply && it->callback)
        rpcrdma_cursor_be32(in, "callback_ident");
    it->declared = rpcrdma_cursor_be32(in, "count of operations");
    if (in->status == RPCRDMA_OK && it->declared > rpcrdma_cursor_left(in) / 4)
        rpcrdma_cursor_fail(in, RPCRDMA_MALFORMED, in->off - 4, "count of operations");
    it->has_count = in->status == RPCRDMA_OK;
    return true;
}

bool rpcrdma_compound_next(struct rpcrdma_compound *it, struct rpcrdma_operation *out)
{
    struct rpcrdma_cursor *in = &it->xdr.in;
    const struct rpcrdma_nfs4_operation *op;
    const uint8_t *status;

    if (it->pending) {
        rpcrdma_xdr_step(&it->xdr, it->pending);
        it->pending = NULL;
    }
    if (in->status != RPCRDMA_OK || it->index >= it->declared)
        return false;
    *out = (struct rpcrdma_operation){.off = (uint32_t)in->off, .index = it->index};
    out->number = rpcrdma_cursor_be32(in, "operation");
    if (in->status != RPCRDMA_OK)
        return false;
    op = it->callback ? rpcrdma_nfs4_callback(out->number) : rpcrdma_nfs4_operation(out->number);
    status = it->reply ? rpcrdma_cursor_peek(in, 4) : NULL;
    if (status) {
        out->has_status = true;
        out->status = rpcrdma_get_be32(status);
    }
    it->xdr.operation = it->index++;
    if (op) {
        out->name = op->name;
        it->pending = it->reply ? op->results : op->arguments;
    } else {
        rpcrdma_cursor_fail(in, RPCRDMA_MALFORMED, out->off, "operation");
    }
    return true;
}

bool rpcrdma_compound_exact(const struct rpcrdma_compound *it)
{
    return it->xdr.in.status == RPCRDMA_OK && !it->pending && it->index == it->declared &&
           rpcrdma_cursor_left(&it->xdr.in) == 0;
}
