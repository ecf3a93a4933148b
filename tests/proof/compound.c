/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of a COMPOUND, and what RPCs of other versions of NFS have in chunks: streams of
 * any length, from which anything may have been taken out, by the cursor of any_cursor/. PROOF_LIST
 * says which.
 */
#include "proof.h"
#include "upper/binding.h"
#include "upper/ddp.h"
#include "upper/nfs4.h"
#include "upper/private.h"

enum { GAPS = 3, CHUNKS = 3 };

static struct rpcrdma_gap gaps[GAPS];
static uint32_t chunks[CHUNKS];
static struct rpcrdma_insertion places[CHUNKS];

static struct rpcrdma_rpc any_rpc(void)
{
    struct rpcrdma_rpc rpc;

    ANY(&rpc);
    rpc.cred.data = rpc.verf.data = NULL;
    return rpc;
}

/* As many of each as there is room for, or fewer. */
static struct rpcrdma_reduction any_reduction(void)
{
    ANY(&gaps);
    ANY(&chunks);
    return (struct rpcrdma_reduction){.gaps = gaps,
                                      .n_gaps = Frama_C_size_t_interval(0, GAPS),
                                      .chunks = chunks,
                                      .n_chunks = Frama_C_size_t_interval(0, CHUNKS),
                                      .pad_inline = maybe()};
}

static void operations(const uint8_t *data)
{
    struct rpcrdma_rpc rpc = any_rpc(), call = any_rpc();
    struct rpcrdma_reduction reduction = any_reduction();
    struct rpcrdma_rpc_stream stream = {&rpc, &call, maybe(), data, any_word(), any_word()};
    struct rpcrdma_ddp ddp = {0};
    struct rpcrdma_compound it;
    struct rpcrdma_operation op;

    if (!rpcrdma_compound_begin(&it, &stream, maybe() ? &reduction : NULL, maybe() ? places : NULL))
        return;
    while (rpcrdma_compound_next(&it, &op))
        rpcrdma_ddp_operation(&it, &op, &ddp);
    rpcrdma_ddp_compound(&it, &ddp);
}

/* Each operation's arguments and results, as nfs4.c has them. */
static void steps(const uint8_t *data)
{
    struct rpcrdma_reduction reduction = any_reduction();
    struct rpcrdma_bulk bulk;

    //@ loop unroll 400;
    for (uint32_t i = PROOF_FIRST * 4; i < (PROOF_LAST + 1) * 4; i++) {
        uint32_t number = i / 4 < 3 ? 10044 : i / 4;
        const struct rpcrdma_nfs4_operation *op =
            i % 4 < 2 ? rpcrdma_nfs4_operation(number) : rpcrdma_nfs4_callback(number);
        struct rpcrdma_xdr x;

        if (!op)
            continue;
        ANY(&x);
        x.in = rpcrdma_cursor_init(data, any_word(), any_word());
        x.in.off = any_word();
        x.in.status = maybe() ? RPCRDMA_OK : RPCRDMA_TRUNCATED;
        ANY(&bulk);
        bulk.found = maybe();
        x.bulk = maybe() ? &bulk : NULL;
        x.reduction = maybe() ? &reduction : NULL;
        x.places = maybe() ? places : NULL;
        x.ineligible = maybe();
        rpcrdma_xdr_step(&x, i % 2 ? op->arguments : op->results);
    }
}

/* READ and its like of versions 2 and 3, and what has no chunks. */
static void binding(const uint8_t *data)
{
    //@ loop unroll 100;
    for (uint32_t i = 0; i < 2 * 32; i++) {
        struct rpcrdma_rpc rpc = any_rpc(), call = any_rpc();
        struct rpcrdma_reduction reduction = any_reduction();
        struct rpcrdma_rpc_stream stream = {&rpc, &call, maybe(), data, any_word(), any_word()};
        struct rpcrdma_rpc_stream own = {&call, &call, maybe(), data, any_word(), any_word()};
        struct rpcrdma_bulk bulk;
        struct rpcrdma_ddp ddp;
        size_t which;

        call.program = rpc.program = 100003;
        call.version = rpc.version = 2 + i / 32;
        call.procedure = rpc.procedure = i % 32;
        switch (Frama_C_interval(0, 3)) {
        case 0:
            rpcrdma_binding_arguments(&own, &reduction, &which);
            break;
        case 1:
            rpcrdma_binding_place(&stream, &reduction, places);
            break;
        case 2:
            rpcrdma_binding_bulk(&stream, any_word(), any_word(), &bulk);
            break;
        default:
            rpcrdma_ddp_call(&own, &reduction, &ddp);
            break;
        }
    }
}

int main(void)
{
    PROOF_LIST(malloc(0));
    return 0;
}
