/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_SPLAY_H
#define RPCRDMA_BASE_SPLAY_H

/*
 * An ordered set of what the wire names: a splay tree (Sleator and Tarjan 1985) through the members
 * themselves. It needs no memory but two pointers a member, and n operations cost O(n log n)
 * whatever their order is; what was looked at last is found at once. No two members are equal.
 *
 * `compare` says whether a key comes before (negative), is (0) or comes after a member. All is in
 * line, so that it costs no call.
 */

#include <stddef.h>

#include "base/step.h"

struct splay_node {
    struct splay_node *left, *right;
};

typedef int splay_compare(const void *key, const struct splay_node *node);

/* Brings the member that is `key`, or else one next to where it would be, to the top. NULL: the
 * tree is empty. */
static inline struct splay_node *splay(struct splay_node *root, const void *key,
                                       splay_compare *compare)
{
    struct splay_node aside = {NULL, NULL}, *less = &aside, *greater = &aside;

    while (root) {
        int order = compare(key, root);
        struct splay_node *next = order < 0 ? root->left : root->right;

        RPCRDMA_STEP();
        if (order == 0 || !next)
            break;
        if (order < 0) {
            if (compare(key, next) < 0) {
                root->left = next->right;
                next->right = root;
                root = next;
                if (!root->left)
                    break;
            }
            greater->left = root;
            greater = root;
            root = root->left;
        } else {
            if (compare(key, next) > 0) {
                root->right = next->left;
                next->left = root;
                root = next;
                if (!root->right)
                    break;
            }
            less->right = root;
            less = root;
            root = root->right;
        }
    }
    if (!root)
        return NULL;
    less->right = root->left;
    greater->left = root->right;
    root->left = aside.right;
    root->right = aside.left;
    return root;
}

/* The member that is `key`, or else the last before it; NULL: there is none. */
static inline struct splay_node *splay_at_most(struct splay_node **root, const void *key,
                                               splay_compare *compare)
{
    *root = splay(*root, key, compare);
    if (!*root || compare(key, *root) >= 0)
        return *root;
    (*root)->left = splay((*root)->left, key, compare);
    return (*root)->left;
}

/* The member that is `key`, or else the first after it; NULL: there is none. */
static inline struct splay_node *splay_at_least(struct splay_node **root, const void *key,
                                                splay_compare *compare)
{
    *root = splay(*root, key, compare);
    if (!*root || compare(key, *root) <= 0)
        return *root;
    (*root)->right = splay((*root)->right, key, compare);
    return (*root)->right;
}

/* `node` is not in it, and nothing that is `key`, its key. */
static inline void splay_add(struct splay_node **root, struct splay_node *node, const void *key,
                             splay_compare *compare)
{
    struct splay_node *top = splay(*root, key, compare);

    *node = (struct splay_node){NULL, NULL};
    if (top && compare(key, top) < 0) {
        node->left = top->left;
        node->right = top;
        top->left = NULL;
    } else if (top) {
        node->right = top->right;
        node->left = top;
        top->right = NULL;
    }
    *root = node;
}

/* The member that is `key` goes: there is one. */
static inline void splay_remove(struct splay_node **root, const void *key, splay_compare *compare)
{
    struct splay_node *top = splay(*root, key, compare), *left;

    if (!top)
        return;
    left = top->left;
    if (left) {
        left = splay(left, key, compare);
        left->right = top->right;
    }
    *root = left ? left : top->right;
}

#endif
