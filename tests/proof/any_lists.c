/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In place of wire/chunk.c, wire/property.c and rpcrdma_xchar_decode: lists of any number of any
 * items. That the real ones stay within the message is shown by lists.c and xchar.c.
 */
#include "proof.h"
#include "wire/property.h"
#include "wire/xchar.h"

static const uint8_t bytes[5]; /* a property's, of an odd length for the padding */

struct rpcrdma_segment rpcrdma_chunk_segment(const struct rpcrdma_chunk *chunk, uint32_t i)
{
    return (struct rpcrdma_segment){.handle = any_word(), .length = any_word()};
}

struct rpcrdma_read_iter rpcrdma_read_begin(const struct rpcrdma_read_list *list)
{
    return (struct rpcrdma_read_iter){.list = *list};
}

_Bool rpcrdma_read_next(struct rpcrdma_read_iter *it, struct rpcrdma_read_segment *out)
{
    it->off = any_word();
    ANY(out);
    return maybe();
}

struct rpcrdma_write_iter rpcrdma_write_begin(const struct rpcrdma_write_list *list)
{
    return (struct rpcrdma_write_iter){.list = *list};
}

_Bool rpcrdma_write_next(struct rpcrdma_write_iter *it, struct rpcrdma_chunk *out)
{
    it->off = any_word();
    ANY(out);
    out->wire = NULL;
    out->segments = NULL;
    return maybe();
}

struct rpcrdma_property_iter rpcrdma_property_begin(const struct rpcrdma_propset *set,
                                                    const struct rpcrdma_dialect *dialect,
                                                    _Bool xchar)
{
    return (struct rpcrdma_property_iter){.set = *set, .dialect = dialect, .xchar = xchar};
}

_Bool rpcrdma_property_next(struct rpcrdma_property_iter *it, struct rpcrdma_property *out)
{
    *out = (struct rpcrdma_property){
        .id = any_word(),
        .desc = rpcrdma_dialect_property(it->dialect, any_word()),
        .state = Frama_C_interval(RPCRDMA_PROPERTY_VALUE, RPCRDMA_PROPERTY_BAD),
        .experimental = maybe(),
        .value = any_word(),
        .data = {.data = maybe() ? bytes : NULL,
                 .off = any_word(),
                 .caplen = sizeof(bytes),
                 .len = any_word()},
    };
    return maybe();
}

uint32_t rpcrdma_words_get(const struct rpcrdma_words *words, uint32_t i)
{
    return any_word();
}

_Bool rpcrdma_xchar_decode(const struct rpcrdma_message *m, struct rpcrdma_xchar *out)
{
    ANY(out);
    out->status = Frama_C_interval(RPCRDMA_OK, RPCRDMA_MALFORMED);
    out->trailing = maybe();
    out->pendclr = maybe();
    return maybe();
}

const char *rpcrdma_xchar_name(uint32_t opttype)
{
    return maybe() ? "name" : NULL;
}
