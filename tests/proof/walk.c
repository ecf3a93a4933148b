/* SPDX-License-Identifier: BSD-2-Clause */
/* The walks: any message, RPC header and private data, as decoded or as built, well formed or not.
 */
#include "wire/walk.h"

#include "proof.h"

static char first_letter;

static void begin(void *context, const struct rpcrdma_record *record, uint32_t off, uint32_t len)
{
    first_letter = record->abbrev[0];
}

static void field(void *context, const struct rpcrdma_value *value)
{
    first_letter = value->field->abbrev[0];
    if (value->name)
        first_letter = value->name[0];
}

static void end(void *context, const struct rpcrdma_record *record)
{
    first_letter = record->abbrev[0];
}

int main(void)
{
    static const struct rpcrdma_visitor visitor = {.begin = begin, .field = field, .end = end};
    static uint8_t byte, discriminator[4]; /* of what the walk reads of a list itself */
    struct rpcrdma_message m;
    struct rpcrdma_rpc rpc;
    struct rpcrdma_private_data pd;
    const char *name = maybe() ? "name" : NULL;

    ANY(&m);
    m.base = maybe() ? &byte : NULL;
    m.dialect = rpcrdma_dialect(RPCRDMA_V1);
    m.kind = Frama_C_interval(RPCRDMA_KIND_UNKNOWN, RPCRDMA_KIND_REPLY_INLINE);
    m.error.body = Frama_C_interval(RPCRDMA_ERROR_VOID, RPCRDMA_ERROR_CANT_REPLY);
    m.call.wire = maybe() ? discriminator : NULL;
    m.read.wire = maybe() ? discriminator : NULL;
    m.write.wire = maybe() ? discriminator : NULL;
    m.reply_present = maybe();
    m.optional.info.data = maybe() ? &byte : NULL;
    rpcrdma_walk_message(&m, Frama_C_interval(-1, 1), &visitor);

    ANY(&rpc);
    rpc.cred.data = maybe() ? &byte : NULL;
    rpc.verf.data = maybe() ? &byte : NULL;
    rpcrdma_walk_rpc(Frama_C_interval(-1, 1), maybe() ? &rpc : NULL, name, &visitor);
    rpcrdma_walk_rpc_header(&rpc, any_word(), name, &visitor);

    ANY(&pd);
    rpcrdma_walk_private_data(&pd, any_word(), &visitor);
    return 0;
}
