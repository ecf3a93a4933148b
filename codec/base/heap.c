/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/heap.h"

#include "base/step.h"

static bool before(const struct heap_node *a, const struct heap_node *b)
{
    return a->key < b->key || (a->key == b->key && a->tie < b->tie);
}

static struct heap_node *meld(struct heap_node *a, struct heap_node *b)
{
    RPCRDMA_STEP();
    if (before(b, a)) {
        struct heap_node *t = a;

        a = b;
        b = t;
    }
    b->previous = a;
    b->next = a->child;
    if (b->next)
        b->next->previous = b;
    a->child = b;
    return a;
}

/* One heap of a list of them. */
static struct heap_node *meld_all(struct heap_node *first)
{
    struct heap_node *pairs = NULL, *all = NULL;

    while (first) {
        struct heap_node *a = first, *b = a->next;

        first = b ? b->next : NULL;
        a->next = a->previous = NULL;
        if (b) {
            b->next = b->previous = NULL;
            a = meld(a, b);
        }
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        struct heap_node *next = pairs->next;

        pairs->next = NULL;
        all = all ? meld(all, pairs) : pairs;
        pairs = next;
    }
    return all;
}

void heap_add(struct heap_node **heap, struct heap_node *node, uint64_t key, uint64_t tie)
{
    *node = (struct heap_node){.key = key, .tie = tie, .in = true};
    *heap = *heap ? meld(*heap, node) : node;
}

void heap_remove(struct heap_node **heap, struct heap_node *node)
{
    struct heap_node *previous = node->previous, *next = node->next, *children;

    if (!node->in)
        return;
    children = meld_all(node->child);
    node->in = false;
    if (!previous) {
        *heap = children;
        return;
    }
    if (previous->child == node)
        previous->child = next;
    else
        previous->next = next;
    if (next)
        next->previous = previous;
    if (children)
        *heap = meld(*heap, children);
}
