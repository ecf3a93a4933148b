/* SPDX-License-Identifier: BSD-2-Clause */
#include "upper/binding.h"

#include <assert.h>

#include "each.h"
#include "upper/body.h"
#include "upper/names.h"
#include "upper/private.h"

/* RFC 1813 section 2.6: post_op_attr; fattr3 is 84 bytes. RFC 1094: fattr is 68. */
#define ATTR3 "<1:x84;0:>"
#define ATTR2 "x68"

struct result {
    uint32_t version, procedure;
    const char *grammar;
};

/* Results with an item that may be in a write chunk: RFC 8267 section 4. */
static const struct result results[] = {
    {2, 5, "<0:d;*:>"},
    {2, 6, "<0:" ATTR2 "d;*:>"},
    {3, 5, "<0:" ATTR3 "d;*:" ATTR3 ">"},
    {3, 6, "<0:" ATTR3 "uud;*:" ATTR3 ">"},
};

/* RFC 1813 section 2.3.4: sattr3. */
#define SATTR3 "<1:u;0:><1:u;0:><1:u;0:><1:h;0:><2:uu;0,1:><2:uu;0,1:>"

/* Arguments with an item that may be in a read chunk. */
static const struct result arguments[] = {
    {2, 8, "x32uuud"},
    {2, 13, "x32sduuuuuuuu"},
    {3, 7, "shuud"},
    {3, 10, "ss" SATTR3 "d"},
};

_Static_assert(sizeof(results) == sizeof(arguments), "both are looked up by one loop");

static const struct result *find(const struct result *table, const struct rpcrdma_rpc *call)
{
    if (call->program == RPCRDMA_PROGRAM_NFS)
        for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
            if (table[i].version == call->version && table[i].procedure == call->procedure)
                return &table[i];
    return NULL;
}

static enum rpcrdma_binding_verdict verdict(const struct rpcrdma_cursor *in, bool exact)
{
    if (in->status == RPCRDMA_TRUNCATED)
        return RPCRDMA_BINDING_TRUNCATED;
    return exact ? RPCRDMA_BINDING_FITS : RPCRDMA_BINDING_MISFIT;
}

static enum rpcrdma_binding_verdict walk(const struct rpcrdma_rpc_stream *reply,
                                         const struct rpcrdma_reduction *reduction,
                                         struct rpcrdma_insertion *places)
{
    const struct result *result = find(results, reply->call);
    struct rpcrdma_compound compound;
    struct rpcrdma_operation operation;

    for (size_t i = 0; i < reduction->n_chunks; i++)
        places[i] = (struct rpcrdma_insertion){0};
    if (result) {
        struct rpcrdma_xdr x = {.in = rpcrdma_cursor_init(reply->data, reply->caplen, reply->len),
                                .reduction = reduction,
                                .places = places};

        rpcrdma_cursor_take(&x.in, reply->rpc->body_off, "RPC header");
        rpcrdma_xdr_step(&x, result->grammar);
        return verdict(&x.in, rpcrdma_cursor_left(&x.in) == 0);
    }
    if (!rpcrdma_compound_begin(&compound, reply, reduction, places))
        return RPCRDMA_BINDING_NONE;
    while (rpcrdma_compound_next(&compound, &operation))
        ;
    return verdict(&compound.xdr.in, rpcrdma_compound_exact(&compound));
}

bool rpcrdma_binding_arguments(const struct rpcrdma_rpc_stream *call,
                               const struct rpcrdma_reduction *reduction, size_t *which)
{
    const struct result *item = find(arguments, call->rpc);
    struct rpcrdma_xdr x = {.in = rpcrdma_cursor_init(call->data, call->caplen, call->len),
                            .reduction = reduction};

    *which = 0;
    if (!item || !rpcrdma_rpc_body(call->rpc, call->rpc, &x.in))
        return false;
    rpcrdma_xdr_step(&x, item->grammar);
    *which = x.ineligible ? x.ineligible_gap : x.gap;
    /* arguments that end where the first chunk begins: what shows how long it is went into it */
    return !x.ineligible && (x.gap == reduction->n_gaps || x.in.status == RPCRDMA_TRUNCATED ||
                             (x.in.status != RPCRDMA_OK && x.gap > 0));
}

enum rpcrdma_binding_verdict rpcrdma_binding_place(const struct rpcrdma_rpc_stream *reply,
                                                   struct rpcrdma_reduction *reduction,
                                                   struct rpcrdma_insertion *places)
{
    const struct rpcrdma_rpc *call = reply->call;
    enum rpcrdma_binding_verdict first;

    for (size_t i = 0; i < reduction->n_chunks; i++)
        places[i] = (struct rpcrdma_insertion){0};
    if (!call || !(call->present & RPCRDMA_RPC_HAS_PROGRAM) ||
        !rpcrdma_program_name(call->program, call->version, reply->reverse))
        return RPCRDMA_BINDING_UNKNOWN;
    if (call->gss_service >= RPCRDMA_GSS_INTEGRITY)
        return RPCRDMA_BINDING_PROTECTED;
    if (!rpcrdma_rpc_has_results(reply->rpc))
        return reply->rpc->status == RPCRDMA_TRUNCATED ? RPCRDMA_BINDING_TRUNCATED
                                                       : RPCRDMA_BINDING_NONE;
    first = walk(reply, reduction, places);
    if (first != RPCRDMA_BINDING_MISFIT)
        return first;
    /* RFC 5666 left open where the padding of an item in a chunk goes: try the other place. */
    reduction->pad_inline = !reduction->pad_inline;
    if (walk(reply, reduction, places) == RPCRDMA_BINDING_FITS)
        return RPCRDMA_BINDING_FITS;
    reduction->pad_inline = !reduction->pad_inline;
    return walk(reply, reduction, places);
}

/* The one item that may be in a chunk. */
static const struct result *bulk_item(const struct rpcrdma_rpc_stream *message)
{
    return find(message->rpc->type == RPCRDMA_RPC_CALL ? arguments : results, message->call);
}

/* Walks with `bulk` (NULL: as if nothing was aligned). True when the stream ends with its last
 * item. */
static bool aligned_walk(const struct rpcrdma_rpc_stream *message, struct rpcrdma_bulk *bulk)
{
    const struct result *item = bulk_item(message);
    struct rpcrdma_compound compound;
    struct rpcrdma_operation operation;
    struct rpcrdma_xdr x = {.bulk = bulk};

    if (item) {
        x.in = rpcrdma_cursor_init(message->data, message->caplen, message->len);
        rpcrdma_cursor_take(&x.in, message->rpc->body_off, "RPC header");
        rpcrdma_xdr_step(&x, item->grammar);
        return x.in.status == RPCRDMA_OK && rpcrdma_cursor_left(&x.in) == 0;
    }
    if (!rpcrdma_compound_begin(&compound, message, NULL, NULL))
        return false;
    compound.xdr.bulk = bulk;
    while (rpcrdma_compound_next(&compound, &operation))
        ;
    return rpcrdma_compound_exact(&compound);
}

enum rpcrdma_alignment rpcrdma_binding_bulk(const struct rpcrdma_rpc_stream *message,
                                            uint32_t align, uint32_t header,
                                            struct rpcrdma_bulk *out)
{
    const struct rpcrdma_rpc *call = message->call;
    const uint32_t need = RPCRDMA_RPC_HAS_PROGRAM | RPCRDMA_RPC_HAS_BODY;

    *out = (struct rpcrdma_bulk){.align = align, .header = header};
    if (align == 0)
        return RPCRDMA_ALIGNED_NOT;
    if (!call || !(call->present & RPCRDMA_RPC_HAS_PROGRAM) || !(message->rpc->present & need) ||
        !rpcrdma_program_name(call->program, call->version, message->reverse))
        return RPCRDMA_ALIGNED_UNKNOWN;
    if (aligned_walk(message, NULL))
        return RPCRDMA_ALIGNED_NOT;
    if (aligned_walk(message, out) && out->found)
        return out->pad > 0 ? RPCRDMA_ALIGNED : RPCRDMA_ALIGNED_NOT;
    /* A procedure without bulk has nothing to align. */
    return bulk_item(message) || out->found || call->version == 4 ? RPCRDMA_ALIGNED_UNKNOWN
                                                                  : RPCRDMA_ALIGNED_NOT;
}

const char *rpcrdma_binding_verdict_text(enum rpcrdma_binding_verdict v)
{
    static const char *const texts[] = {
        "the chunks fit the results",
        "no result of the procedure may be in a chunk",
        "no upper-layer binding is known for the program",
        "results protected by RPCSEC_GSS may not be in chunks",
        "the results were not captured whole",
        "the results cannot be read with the chunks taken out",
    };
    RPCRDMA_EACH(texts, RPCRDMA_BINDING_COUNT);

    assert((size_t)v < sizeof(texts) / sizeof(texts[0]));
    return texts[v];
}
