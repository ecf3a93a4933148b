/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_TABLE_H
#define RPCRDMA_BASE_TABLE_H

/*
 * A hash table from 64-bit keys to pointers: open addressing, linear probing, deletion by shifting
 * back (no tombstones, so a long-lived table does not slow down). Keys are hashes (flow_hash2); the
 * value distinguishes equals (a chain, a comparison).
 *
 * Keys come from the wire, and can be chosen. So the place of a key is its product with a secret
 * number of 128 bits (Dietzfelbinger 1996: of any two keys that are chosen without it, the chance
 * to meet is that of chance), which costs two multiplications.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/fetch.h"
#include "base/memory.h"
#include "base/step.h"

struct flow_slot {
    uint64_t key;
    void *value; /* NULL: free */
};

struct flow_table {
    struct flow_slot *slots; /* NULL while empty */
    size_t mask;             /* slots - 1; a power of two */
    size_t count;
    uint64_t secret[2]; /* low, high */
};

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 flow_uint128;
#endif

static inline size_t flow_table_home(const struct flow_table *table, uint64_t key)
{
#ifdef __SIZEOF_INT128__
    uint64_t high = (uint64_t)((flow_uint128)table->secret[0] * key >> 64);
#else
    uint64_t a = (table->secret[0] & UINT32_MAX) * (key & UINT32_MAX);
    uint64_t b = (table->secret[0] >> 32) * (key & UINT32_MAX) + (a >> 32);
    uint64_t c = (table->secret[0] & UINT32_MAX) * (key >> 32) + (b & UINT32_MAX);
    uint64_t high = (table->secret[0] >> 32) * (key >> 32) + (b >> 32) + (c >> 32);
#endif

    return (size_t)(high + table->secret[1] * key) & table->mask;
}

/* Mixes all bits of x into all bits (the finaliser of SplitMix64). */
static inline uint64_t flow_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static inline uint64_t flow_hash2(uint64_t a, uint64_t b)
{
    return flow_mix(a + UINT64_C(0x9e3779b97f4a7c15) * (b + 1));
}

/* Where the value of the key is, NULL where it is not: to be replaced by another that is not NULL,
 * before anything else is done with the table. */
static inline void **flow_table_at(const struct flow_table *table, uint64_t key)
{
    if (!table->slots)
        return NULL;
    for (size_t i = flow_table_home(table, key); table->slots[i].value; i = (i + 1) & table->mask) {
        RPCRDMA_STEP();
        if (table->slots[i].key == key)
            return &table->slots[i].value;
    }
    return NULL;
}

static inline void *flow_table_get(const struct flow_table *table, uint64_t key)
{
    void **at = flow_table_at(table, key);

    return at ? *at : NULL;
}

/* Asks for the memory that flow_table_get will look at. */
static inline void flow_table_fetch(const struct flow_table *table, uint64_t key)
{
    if (table->slots)
        flow_fetch_line(&table->slots[flow_table_home(table, key)]);
}

bool flow_table_grow(struct flow_table *table, struct flow_memory *memory);

/* Makes place for one more key. False: there is no memory. */
static inline bool flow_table_ready(struct flow_table *table, struct flow_memory *memory)
{
    /* at most three quarters full, so that probes stay short */
    return (table->slots && (table->count + 1) * 4 <= (table->mask + 1) * 3) ||
           flow_table_grow(table, memory);
}

/* Sets key to value (not NULL), replacing what was there. False when memory is short or the limit
 * is reached: then nothing changed. */
bool flow_table_put(struct flow_table *table, struct flow_memory *memory, uint64_t key,
                    void *value);

/* The same of a key that is not there. */
bool flow_table_add(struct flow_table *table, struct flow_memory *memory, uint64_t key,
                    void *value);

/* The same, to be filled at once; NULL where the key is there. flow_table_ready has said true. */
static inline void **flow_table_claim(struct flow_table *table, uint64_t key)
{
    size_t i = flow_table_home(table, key);

    for (; table->slots[i].value; i = (i + 1) & table->mask) {
        RPCRDMA_STEP();
        if (table->slots[i].key == key)
            return NULL;
    }
    table->slots[i].key = key;
    table->count++;
    return &table->slots[i].value;
}

/* Returns what was there, or NULL. */
void *flow_table_remove(struct flow_table *table, uint64_t key);

/* Removes the key if `value`, which is not NULL, is there. */
void flow_table_remove_value(struct flow_table *table, uint64_t key, const void *value);

void flow_table_free(struct flow_table *table, struct flow_memory *memory);

#endif
