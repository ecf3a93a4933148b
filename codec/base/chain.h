/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_CHAIN_H
#define RPCRDMA_BASE_CHAIN_H

/* Lists of those with the same key, the newest first: a hash table of their newest. */

#include "base/table.h"

struct chain { /* zeroed at first */
    uint64_t key;
    struct chain *older, *newer;
    bool listed;
};

/* The structure that has the link as this member. */
#define CHAIN_OF(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* NULL: there is none. */
static inline struct chain *chain_newest(const struct flow_table *table, uint64_t key)
{
    return flow_table_get(table, key);
}

/* Lists it as older than `above`, or as the newest where that is NULL. False: no memory. */
bool chain_add(struct flow_table *table, struct flow_memory *memory, uint64_t key,
               struct chain *above, struct chain *link);
/* Nothing is done where it is not listed. */
void chain_remove(struct flow_table *table, struct chain *link);

#endif
