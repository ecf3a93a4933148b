/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_HEAP_H
#define RPCRDMA_BASE_HEAP_H

/*
 * Which member has the lowest key: a pairing heap (Fredman et al. 1986) through the members
 * themselves, so that it needs no memory just when there is none. Adding takes one step, removing
 * any member O(log n) on average over all that was done.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
    struct heap_node *child, *next, *previous;
    uint64_t key, tie; /* of those with the same key, the lowest tie is first */
    bool in;           /* a heap */
};

/* `heap`: the lowest, NULL where it is empty. */
void heap_add(struct heap_node **heap, struct heap_node *node, uint64_t key, uint64_t tie);

/* It may be in no heap; else in this one. */
void heap_remove(struct heap_node **heap, struct heap_node *node);

/* It has this key from now on, wherever it was. */
static inline void heap_set(struct heap_node **heap, struct heap_node *node, uint64_t key,
                            uint64_t tie)
{
    if (node->in && node->key == key && node->tie == tie)
        return;
    heap_remove(heap, node);
    heap_add(heap, node, key, tie);
}

/* The struct whose `member` is this node. */
#define HEAP_OF(node, type, member)                                                                \
    ((type *)(uintptr_t)((const char *)(node)-offsetof(type, member)))

#endif
