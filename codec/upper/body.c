/* SPDX-License-Identifier: BSD-2-Clause */
#include "upper/body.h"

#include "upper/names.h"

bool rpcrdma_rpc_has_results(const struct rpcrdma_rpc *reply)
{
    const uint32_t need = RPCRDMA_RPC_HAS_BODY | RPCRDMA_RPC_HAS_ACCEPT;

    return (reply->present & need) == need && reply->reply_stat == RPCRDMA_RPC_ACCEPTED &&
           reply->accept_stat == 0;
}

/* opaque databody_integ<> (seq_num, arguments or results), opaque checksum<> */
static void skip_integrity(struct rpcrdma_cursor *in)
{
    uint32_t n = rpcrdma_cursor_be32(in, "count of the protected data");

    *in = rpcrdma_cursor_sub(in, n, "count of the protected data");
    rpcrdma_cursor_be32(in, "GSS sequence number");
}

bool rpcrdma_rpc_body(const struct rpcrdma_rpc *rpc, const struct rpcrdma_rpc *call,
                      struct rpcrdma_cursor *in)
{
    if (!(rpc->present & RPCRDMA_RPC_HAS_BODY) || call->gss_procedure != 0 ||
        call->gss_service > RPCRDMA_GSS_INTEGRITY)
        return false;
    rpcrdma_cursor_take(in, rpc->body_off, "RPC header");
    if (call->gss_service == RPCRDMA_GSS_INTEGRITY)
        skip_integrity(in);
    return true;
}
