/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/property.h"

#include <assert.h>

#include "wire/cursor.h"
#include "wire/xchar.h"

/*
 * What a property's opaque data means (ietf-07 section 5.1, xcharext-01 section 2.1):
 *
 *     unknown id                         skipped by a receiver; its bytes are kept
 *     no data                            the default (properties); too short (characteristics)
 *     shorter than the type, or a value
 *     the type does not have             an error: BAD_PROPVAL, or an XDR error
 *     longer than the type               neither draft calls it an error: the prefix is the value
 */

enum { PROPERTY_HEAD = 8 }; /* id, length */

static void set_number(struct rpcrdma_property *property, const struct rpcrdma_property_desc *desc)
{
    uint32_t max = desc->type == RPCRDMA_PROPERTY_TYPE_BOOL   ? 1
                   : desc->type == RPCRDMA_PROPERTY_TYPE_ENUM ? desc->max
                                                              : UINT32_MAX;

    if (property->data.len < 4)
        return;
    property->value = rpcrdma_get_be32(property->data.data);
    if (property->value > max)
        return;
    property->state =
        desc->type == RPCRDMA_PROPERTY_TYPE_BOOL ? RPCRDMA_PROPERTY_BOOL : RPCRDMA_PROPERTY_VALUE;
    property->too_long = property->data.len > 4;
}

/* opaque<> within the opaque: a count of its own, and padding (ietf-07 section 5.2.6). */
static void set_opaque(struct rpcrdma_property *property)
{
    uint64_t need;

    if (property->data.len < 4)
        return;
    need = 4 + (((uint64_t)rpcrdma_get_be32(property->data.data) + 3) & ~UINT64_C(3));
    if (property->data.len < need)
        return;
    property->state = RPCRDMA_PROPERTY_OPAQUE;
    property->too_long = property->data.len > need;
}

static void interpret(struct rpcrdma_property *property, bool xchar)
{
    if (!property->desc) {
        property->state = RPCRDMA_PROPERTY_OPAQUE;
        return;
    }
    if (property->data.len == 0 && !xchar) {
        property->state = RPCRDMA_PROPERTY_DEFAULT;
        return;
    }
    property->state = RPCRDMA_PROPERTY_BAD; /* until shown otherwise */
    if (property->desc->type == RPCRDMA_PROPERTY_TYPE_OPAQUE)
        set_opaque(property);
    else
        set_number(property, property->desc);
}

struct rpcrdma_property_iter rpcrdma_property_begin(const struct rpcrdma_propset *set,
                                                    const struct rpcrdma_dialect *dialect,
                                                    bool xchar)
{
    return (struct rpcrdma_property_iter){.set = *set, .dialect = dialect, .xchar = xchar};
}

bool rpcrdma_property_next(struct rpcrdma_property_iter *it, struct rpcrdma_property *out)
{
    const struct rpcrdma_propset *set = &it->set;

    if (it->index >= set->count)
        return false;
    if (set->wire.data) {
        const uint8_t *p = set->wire.data + it->pos;
        uint32_t length;

        /* The decoder checked it; but see chunk.c about what is read a second time. */
        if (set->wire.len < PROPERTY_HEAD || it->pos > set->wire.len - PROPERTY_HEAD)
            return false;
        length = rpcrdma_get_be32(p + 4);
        if (length > set->wire.len - PROPERTY_HEAD - it->pos)
            return false;
        *out = (struct rpcrdma_property){
            .id = rpcrdma_get_be32(p),
            .data = {.data = p + PROPERTY_HEAD,
                     .off = set->wire.off + it->pos + PROPERTY_HEAD,
                     .caplen = length,
                     .len = length},
        };
        it->pos += PROPERTY_HEAD + length + (-length & 3);
    } else {
        *out = set->properties[it->index];
    }
    it->index++;
    out->desc = it->xchar ? rpcrdma_xchar_property(out->id)
                          : rpcrdma_dialect_property(it->dialect, out->id);
    out->experimental = it->xchar && out->id >= RPCRDMA_XCHAR_EXPERIMENTAL;
    if (set->wire.data)
        interpret(out, it->xchar);
    return true;
}

uint32_t rpcrdma_words_get(const struct rpcrdma_words *words, uint32_t i)
{
    assert(i < words->count);
    return words->wire ? rpcrdma_get_be32(words->wire + (size_t)i * 4) : words->words[i];
}

bool rpcrdma_subset_has(const struct rpcrdma_words *subset, uint32_t position)
{
    /* "Words beyond the last one specified are assumed to contain zero." */
    if (position / 32 >= subset->count)
        return false;
    return rpcrdma_words_get(subset, position / 32) >> (position % 32) & 1;
}
