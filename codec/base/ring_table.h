/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_RING_TABLE_H
#define RPCRDMA_BASE_RING_TABLE_H

/*
 * The latest members of one kind, found by key: a ring with a hash table, so that what is kept has
 * a bound. A full ring gives the oldest member's place away: the key is a hash that is another in
 * each run (base/siphash.h), and must not choose who goes.
 */

#include "base/table.h"

struct ring_table {
    uint32_t most, size; /* members; bytes of one, of which the first eight are its key, not 0 */
    void *members;       /* NULL: there was none yet. Owned */
    uint64_t added;      /* that were ever */
    struct flow_table by_key;
};

/* NULL: it is not there, or not any more. */
static inline void *ring_table_get(const struct ring_table *ring, uint64_t key)
{
    return flow_table_get(&ring->by_key, key);
}

/* Those that there are, i from 0, in no order; NULL: no more. */
static inline void *ring_table_at(const struct ring_table *ring, uint32_t i)
{
    return i < ring->most && i < ring->added ? (char *)ring->members + (size_t)i * ring->size
                                             : NULL;
}

/* A member for a key that is not there: but for its key, zero. NULL: no memory. */
void *ring_table_add(struct ring_table *ring, struct flow_memory *memory, uint64_t key);

void ring_table_free(struct ring_table *ring, struct flow_memory *memory);

#endif
