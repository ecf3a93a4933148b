/* SPDX-License-Identifier: BSD-2-Clause */
#include "nfs/nodes.h"

#include <string.h>

#include "common/keyed_hash.h"

enum { NAMES = 64 }; /* of one file, at a time */

static guint handle_hash(gconstpointer p)
{
    const struct nfs_node *n = p;

    return keyed_hash(n->handle.bytes, n->handle.length) +
           keyed_hash_numbers(n->server, n->handle.root);
}

static gboolean handle_equal(gconstpointer a, gconstpointer b)
{
    const struct nfs_node *x = a, *y = b;

    return x->server == y->server && x->handle.length == y->handle.length &&
           x->handle.root == y->handle.root &&
           memcmp(x->handle.bytes, y->handle.bytes, x->handle.length) == 0;
}

static guint name_hash(gconstpointer p)
{
    const struct nfs_node *n = p;

    return keyed_hash_string(n->name) + keyed_hash_numbers((uintptr_t)n->parent, 0);
}

static gboolean name_equal(gconstpointer a, gconstpointer b)
{
    const struct nfs_node *x = a, *y = b;

    return x->parent == y->parent && strcmp(x->name, y->name) == 0;
}

void nfs_nodes_begin(struct nfs_nodes *nodes, size_t max_bytes)
{
    nodes->by_handle = g_hash_table_new(handle_hash, handle_equal);
    nodes->by_name = g_hash_table_new(name_hash, name_equal);
    nodes->max_bytes = max_bytes;
}

void nfs_nodes_end(struct nfs_nodes *nodes)
{
    g_hash_table_destroy(nodes->by_name);
    g_hash_table_destroy(nodes->by_handle);
    for (struct nfs_node *node = nodes->all, *next; node; node = next) {
        next = node->next;
        g_free(node->name);
        g_free(node);
    }
}

bool nfs_nodes_keep(struct nfs_nodes *nodes, size_t length)
{
    if (nodes->bytes + length > nodes->max_bytes) {
        nodes->dropped++;
        return false;
    }
    nodes->bytes += length;
    return true;
}

struct nfs_node *nfs_nodes_of_handle(const struct nfs_nodes *nodes, uint64_t server,
                                     const struct nfs_handle *handle)
{
    struct nfs_node key = {.server = server};

    if ((handle->length == 0 && !handle->root) || g_hash_table_size(nodes->by_handle) == 0)
        return NULL;
    key.handle = *handle;
    return g_hash_table_lookup(nodes->by_handle, &key);
}

struct nfs_node *nfs_nodes_find(const struct nfs_nodes *nodes, uint64_t server,
                                const struct nfs_handle *handle)
{
    return nfs_node_itself(nfs_nodes_of_handle(nodes, server, handle));
}

struct nfs_node *nfs_nodes_add(struct nfs_nodes *nodes, uint64_t server)
{
    struct nfs_node *node;

    /* node, its places in two tables, and what malloc adds */
    if (nodes->bytes + sizeof(*node) + 96 > nodes->max_bytes) {
        nodes->dropped++;
        return NULL;
    }
    nodes->bytes += sizeof(*node) + 96;
    node = g_new0(struct nfs_node, 1);
    node->server = server;
    node->next = nodes->all;
    nodes->all = node;
    return node;
}

void nfs_nodes_set_handle(struct nfs_nodes *nodes, struct nfs_node *node,
                          const struct nfs_handle *handle)
{
    node->handle = *handle;
    g_hash_table_add(nodes->by_handle, node);
}

struct nfs_node *nfs_nodes_make(struct nfs_nodes *nodes, uint64_t server,
                                const struct nfs_handle *handle)
{
    struct nfs_node *node = nfs_nodes_find(nodes, server, handle);

    if (node || (handle->length == 0 && !handle->root))
        return node;
    node = nfs_nodes_add(nodes, server);
    if (node)
        nfs_nodes_set_handle(nodes, node, handle);
    return node;
}

bool nfs_node_below(const struct nfs_node *node, const struct nfs_node *above)
{
    for (int depth = 0; node && depth < 256; depth++, node = nfs_node_itself(node->parent))
        if (node == above)
            return true;
    return false;
}

static void detach(struct nfs_nodes *nodes, struct nfs_node *node)
{
    if (node->parent && node->name && g_hash_table_lookup(nodes->by_name, node) == node)
        g_hash_table_remove(nodes->by_name, node);
    node->parent = NULL;
}

void nfs_nodes_forget_name(struct nfs_nodes *nodes, struct nfs_node *node)
{
    if (node->name && nodes->changes)
        nodes->changes(nodes->context);
    detach(nodes, node);
    if (node->name)
        nodes->bytes -= strlen(node->name);
    g_free(node->name);
    node->name = NULL;
}

void nfs_node_become_same(struct nfs_node *node, struct nfs_node *other)
{
    node->same = other;
    node->twin = other->twin;
    other->twin = node;
}

struct nfs_node *nfs_node_other_name(const struct nfs_node *node)
{
    struct nfs_node *other = node->same ? NULL : node->twin;

    for (int i = 0; i < NAMES && other && !other->name; i++)
        other = other->twin;
    return other && other->name ? other : NULL;
}

struct nfs_node *nfs_nodes_spare(struct nfs_nodes *nodes, struct nfs_node *node)
{
    struct nfs_node *other = node->twin;
    int n = 0;

    for (; other && n < NAMES; n++, other = other->twin)
        if (!other->name && !nfs_node_has_handle(other))
            return other;
    if (n == NAMES) {
        nodes->dropped++;
        return NULL;
    }
    other = nfs_nodes_add(nodes, node->server);
    if (other)
        nfs_node_become_same(other, node);
    return other;
}

void nfs_nodes_lose_name(struct nfs_nodes *nodes, struct nfs_node *node)
{
    struct nfs_node *other = nfs_node_other_name(node);

    nfs_nodes_forget_name(nodes, node);
    if (!other)
        return;
    if (other->parent && g_hash_table_lookup(nodes->by_name, other) == other)
        g_hash_table_remove(nodes->by_name, other);
    node->name = other->name;
    node->parent = other->parent;
    node->whole = other->whole;
    other->name = NULL;
    other->parent = NULL;
    if (node->parent)
        g_hash_table_replace(nodes->by_name, node, node);
}

struct nfs_node *nfs_nodes_child(const struct nfs_nodes *nodes, struct nfs_node *parent,
                                 const char *name, size_t length)
{
    enum { TWINS = 8 };
    char text[NFS_NAME + 1];
    struct nfs_node key = {.parent = parent, .name = text}, *found = NULL;

    if (length == 0 || length > NFS_NAME)
        return NULL;
    memcpy(text, name, length);
    text[length] = '\0';
    for (int i = 0; i < TWINS && key.parent && !found; i++, key.parent = key.parent->twin)
        found = g_hash_table_lookup(nodes->by_name, &key);
    return found;
}

void nfs_nodes_name(struct nfs_nodes *nodes, struct nfs_node *node, struct nfs_node *parent,
                    const char *name, size_t length)
{
    struct nfs_node *old;

    if (node->name && node->parent == parent && strlen(node->name) == length &&
        memcmp(node->name, name, length) == 0)
        return;
    if (parent && nfs_node_below(parent, node))
        return; /* a directory in itself: not what a file system has */
    if (nodes->bytes + length > nodes->max_bytes) {
        nodes->dropped++;
        return;
    }
    old = parent ? nfs_nodes_child(nodes, parent, name, length) : NULL;
    if (old && old != node)
        nfs_nodes_lose_name(nodes, old); /* another file has it now */
    nfs_nodes_forget_name(nodes, node);
    node->name = g_strndup(name, length);
    nodes->bytes += strlen(node->name);
    node->parent = parent;
    node->whole = !parent;
    if (parent)
        g_hash_table_replace(nodes->by_name, node, node);
}
