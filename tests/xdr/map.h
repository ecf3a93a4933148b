/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_XDR_MAP_H
#define RPCRDMA_TESTS_XDR_MAP_H

/*
 * A family's header names each member of rpcgen's structures and what of rpcrdma_message it is,
 * once; the map then goes either way: it builds the structure from the message, or checks that the
 * two say the same. The message's lists are read by their iterators, so that it may be built or
 * decoded.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/message.h"
#include "wire/property.h"

struct map {
    const struct rpcrdma_message *m;
    bool build;               /* else check */
    bool differs;             /* checking found something */
    char why[160];            /* the first thing */
    size_t used;              /* of memory */
    max_align_t memory[4096]; /* what a built structure points to */
};

static inline void map_start(struct map *map, const struct rpcrdma_message *m, bool build)
{
    map->m = m;
    map->build = build;
    map->differs = false;
    map->used = 0;
}

static inline void *map_memory(struct map *map, size_t n)
{
    char *p = (char *)map->memory + map->used;

    map->used += (n + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (map->used > sizeof(map->memory))
        abort();
    return memset(p, 0, n);
}

static inline void map_differs(struct map *map, const char *what, uint64_t xdr, uint64_t ours)
{
    if (!map->differs)
        snprintf(map->why, sizeof(map->why), "%s: %#llx by rpcgen, %#llx by us", what,
                 (unsigned long long)xdr, (unsigned long long)ours);
    map->differs = true;
}

/* One member of the structure and what it stands for in the message. */
#define SAME(map, member, ours)                                                                    \
    do {                                                                                           \
        if ((map)->build)                                                                          \
            (member) = (__typeof__(member))(ours);                                                 \
        else if ((uint64_t)(member) != (uint64_t)(ours))                                           \
            map_differs(map, #member, (uint64_t)(member), (uint64_t)(ours));                       \
    } while (0)

/* What the XDR from cel-08 on calls rdma_rpc_first_word is the payload's start. */
static inline uint32_t map_first_word(const struct rpcrdma_message *m)
{
    const uint8_t *p = m->payload.data;

    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The bytes of a property, which a message that was built may give as a number. */
static inline uint32_t map_property_bytes(const struct rpcrdma_property *p, uint8_t number[4],
                                          const uint8_t **bytes)
{
    *bytes = p->data.data;
    if (p->data.data)
        return p->data.caplen;
    if (p->state != RPCRDMA_PROPERTY_VALUE && p->state != RPCRDMA_PROPERTY_BOOL)
        return 0;
    for (int i = 0; i < 4; i++)
        number[i] = (uint8_t)(p->value >> (24 - 8 * i));
    *bytes = number;
    return 4;
}

static inline void map_bytes(struct map *map, unsigned *len, char **val, const uint8_t *bytes,
                             uint32_t n)
{
    SAME(map, *len, n);
    if (map->build) {
        *val = map_memory(map, n);
        if (n > 0)
            memcpy(*val, bytes, n);
    } else if (!map->differs && n > 0 && memcmp(*val, bytes, n) != 0) {
        map_differs(map, "bytes", 0, 0);
    }
}

static inline void map_words(struct map *map, unsigned *len, unsigned **val,
                             const struct rpcrdma_words *words)
{
    SAME(map, *len, words->count);
    if (map->build)
        *val = map_memory(map, words->count * sizeof(**val));
    for (uint32_t i = 0; !map->differs && i < words->count; i++)
        SAME(map, (*val)[i], rpcrdma_words_get(words, i));
}

/* A set of properties or characteristics; which and data are the members of one. */
#define MAP_SET(map, len, val, which, data, set, xchar)                                            \
    do {                                                                                           \
        struct rpcrdma_property_iter it_ =                                                         \
            rpcrdma_property_begin(set, rpcrdma_dialect(JUDGE_DIALECT), xchar);                    \
        struct rpcrdma_property p_;                                                                \
                                                                                                   \
        SAME(map, len, (set)->count);                                                              \
        if ((map)->build)                                                                          \
            (val) = map_memory(map, (set)->count * sizeof(*(val)));                                \
        for (unsigned i_ = 0; !(map)->differs && rpcrdma_property_next(&it_, &p_); i_++)           \
            MAP_PROPERTY(map, (val)[i_], which, data, &p_);                                        \
    } while (0)

#define MAP_PROPERTY(map, one, which, data, p)                                                     \
    do {                                                                                           \
        uint8_t number_[4];                                                                        \
        const uint8_t *bytes_;                                                                     \
        uint32_t n_ = map_property_bytes(p, number_, &bytes_);                                     \
                                                                                                   \
        SAME(map, (one).which, (p)->id);                                                           \
        map_bytes(map, &(one).data.data##_len, &(one).data.data##_val, bytes_, n_);                \
    } while (0)

/* A count that we refuse, and for which libtirpc would allocate and clear gigabytes to find out:
 * for itself, or for lengths in the bytes it then takes for elements (which only a sanitizer's
 * allocator cannot bear). */
static inline bool map_too_large(const uint8_t *buf, size_t len, size_t off)
{
    return off + 4 <= len && (buf[off] || buf[off + 1] ||
                              (unsigned)(buf[off + 2] << 8 | buf[off + 3]) > JUDGE_LARGEST);
}

#endif
