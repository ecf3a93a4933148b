/* SPDX-License-Identifier: BSD-2-Clause */
/* A COMPOUND of any operations, and as many, for what looks at each of them. */
#include "proof.h"
#include "upper/private.h"

bool rpcrdma_compound_begin(struct rpcrdma_compound *it, const struct rpcrdma_rpc_stream *stream,
                            const struct rpcrdma_reduction *reduction,
                            struct rpcrdma_insertion *places)
{
    ANY(it);
    it->xdr.in = rpcrdma_cursor_init(stream->data, stream->caplen, stream->len);
    it->xdr.in.off = any_word();
    it->xdr.reduction = reduction;
    it->xdr.places = places;
    it->xdr.bulk = NULL;
    it->pending = NULL;
    it->reply = maybe();
    it->callback = maybe();
    it->has_count = maybe();
    return maybe();
}

bool rpcrdma_compound_next(struct rpcrdma_compound *it, struct rpcrdma_operation *out)
{
    ANY(out);
    out->name = maybe() ? NULL : "READ";
    out->has_status = maybe();
    return maybe();
}

bool rpcrdma_compound_exact(const struct rpcrdma_compound *it)
{
    return maybe();
}

bool rpcrdma_compound_is(const struct rpcrdma_rpc *call, bool reverse, bool *callback)
{
    *callback = maybe();
    return maybe();
}

bool rpcrdma_rpc_has_results(const struct rpcrdma_rpc *reply)
{
    return maybe();
}
