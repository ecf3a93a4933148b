/* SPDX-License-Identifier: BSD-2-Clause */
/* A step over items: the stream is anywhere behind it, or failed, and chunks were given their places. */
#include "proof.h"
#include "upper/private.h"

void rpcrdma_xdr_step(struct rpcrdma_xdr *x, const char *grammar)
{
    //@ assert grammar != \null && x->in.off <= UINT32_MAX;
    x->in.off = any_word();
    x->in.status = (enum rpcrdma_status)Frama_C_interval(RPCRDMA_OK, RPCRDMA_MALFORMED);
    x->gap = any_word();
    x->chunk = any_word();
    x->ineligible = maybe();
    x->ineligible_gap = any_word();
}
