/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_PROPERTY_H
#define RPCRDMA_WIRE_PROPERTY_H

/*
 * Transport properties (draft-ietf-nfsv4-rpcrdma-version-two-07 section 5) and xchar
 * characteristics (draft-dnoveck-nfsv4-rpcrdma-xcharext-01 section 2): both are a list of { uint32
 * id, opaque data<> }.
 */

#include <stdbool.h>
#include <stdint.h>

#include "../export.h"
#include "message.h"

RPCRDMA_BEGIN_DECLS

enum rpcrdma_property_state {
    RPCRDMA_PROPERTY_VALUE,   /* `value` is a number */
    RPCRDMA_PROPERTY_BOOL,    /* `value` is 0 or 1 */
    RPCRDMA_PROPERTY_OPAQUE,  /* unknown id, or a known one whose value is bytes: see data */
    RPCRDMA_PROPERTY_DEFAULT, /* known, of length 0: the default is meant */
    RPCRDMA_PROPERTY_BAD,     /* known, data too short or of an impossible value: see data */
};

struct rpcrdma_property {
    uint32_t id;
    const struct rpcrdma_property_desc *desc; /* NULL: unknown to the dialect */
    enum rpcrdma_property_state state;
    bool too_long;     /* known, with more data than its type has; value is the type's prefix */
    bool experimental; /* xchar: id at or above 4294967040 */
    uint32_t value;
    struct rpcrdma_span data; /* as on the wire, without count and padding. To encode: these bytes,
                               * or where data.data is NULL `value` as its state says, or none */
};

struct rpcrdma_property_iter {
    struct rpcrdma_propset set;
    const struct rpcrdma_dialect *dialect; /* names and types; xchar's table where `xchar` */
    bool xchar;
    uint32_t index, pos;
};

/* Walks the readable entries of a property set, which is copied; what it points to is borrowed.
 * `xchar`: the ids are characteristics, not properties of the dialect. */
RPCRDMA_API struct rpcrdma_property_iter
rpcrdma_property_begin(const struct rpcrdma_propset *set, const struct rpcrdma_dialect *dialect,
                       bool xchar);
/* True and the next property, or false at the end. */
RPCRDMA_API bool rpcrdma_property_next(struct rpcrdma_property_iter *it,
                                       struct rpcrdma_property *out);

/* Word `i` of a counted array, i < count. */
RPCRDMA_API uint32_t rpcrdma_words_get(const struct rpcrdma_words *words, uint32_t i);

/* A property subset is a bit mask of positions in the set it refers to: bit (position & 31), from
 * the least significant, of word (position >> 5). True when `position` is in it. */
RPCRDMA_API bool rpcrdma_subset_has(const struct rpcrdma_words *subset, uint32_t position);

RPCRDMA_END_DECLS

#endif
