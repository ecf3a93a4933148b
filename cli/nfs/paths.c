/* SPDX-License-Identifier: BSD-2-Clause */
#include "nfs/paths.h"

#include <string.h>

#include <glib.h>

#include "keyed_hash.h"

struct node {
    uint64_t server; /* hash of the address */
    struct nfs_handle handle;
    struct node *parent; /* NULL: `name` is a whole path, or the directory was not seen */
    char *name;
    bool whole; /* `name` is a whole path */
};

struct nfs_paths {
    GHashTable *by_handle;
    GHashTable *by_name; /* of children that have a parent */
    size_t bytes, max_bytes;
    uint64_t dropped;
    struct rpcrdma_address address; /* that was asked for last, */
    uint64_t server;                /* and its hash; 0: none */
};

static guint handle_hash(gconstpointer p)
{
    const struct node *n = p;

    return keyed_hash(n->handle.bytes, n->handle.length) +
           keyed_hash_numbers(n->server, n->handle.root);
}

static gboolean handle_equal(gconstpointer a, gconstpointer b)
{
    const struct node *x = a, *y = b;

    return x->server == y->server && x->handle.length == y->handle.length &&
           x->handle.root == y->handle.root &&
           memcmp(x->handle.bytes, y->handle.bytes, x->handle.length) == 0;
}

static guint name_hash(gconstpointer p)
{
    const struct node *n = p;

    return keyed_hash_string(n->name) + keyed_hash_numbers((uintptr_t)n->parent, 0);
}

static gboolean name_equal(gconstpointer a, gconstpointer b)
{
    const struct node *x = a, *y = b;

    return x->parent == y->parent && strcmp(x->name, y->name) == 0;
}

static void free_node(gpointer p)
{
    struct node *node = p;

    g_free(node->name);
    g_free(node);
}

struct nfs_paths *nfs_paths_new(size_t max_bytes)
{
    struct nfs_paths *paths = g_new0(struct nfs_paths, 1);

    paths->by_handle = g_hash_table_new_full(handle_hash, handle_equal, NULL, free_node);
    paths->by_name = g_hash_table_new(name_hash, name_equal);
    paths->max_bytes = max_bytes;
    return paths;
}

void nfs_paths_free(struct nfs_paths *paths)
{
    if (!paths)
        return;
    g_hash_table_destroy(paths->by_name);
    g_hash_table_destroy(paths->by_handle);
    g_free(paths);
}

uint64_t nfs_paths_dropped(const struct nfs_paths *paths)
{
    return paths->dropped;
}

static uint64_t server_of(struct nfs_paths *paths, const struct rpcrdma_address *address)
{
    if (paths->server != 0 && memcmp(&paths->address, address, sizeof(*address)) == 0)
        return paths->server;
    paths->address = *address;
    paths->server =
        (uint64_t)keyed_hash(address->bytes, sizeof(address->bytes)) << 8 | address->family;
    return paths->server;
}

static struct node *find(const struct nfs_paths *paths, uint64_t server,
                         const struct nfs_handle *handle)
{
    struct node key = {.server = server};

    if ((handle->length == 0 && !handle->root) || g_hash_table_size(paths->by_handle) == 0)
        return NULL;
    key.handle = *handle;
    return g_hash_table_lookup(paths->by_handle, &key);
}

/* The node of a handle, made where there is none; NULL where it is full. */
static struct node *make(struct nfs_paths *paths, uint64_t server, const struct nfs_handle *handle)
{
    struct node *node = find(paths, server, handle);

    if (node || (handle->length == 0 && !handle->root))
        return node;
    /* node, its places in two tables, and what malloc adds */
    if (paths->bytes + sizeof(*node) + 96 > paths->max_bytes) {
        paths->dropped++;
        return NULL;
    }
    paths->bytes += sizeof(*node) + 96;
    node = g_new0(struct node, 1);
    node->server = server;
    node->handle = *handle;
    g_hash_table_add(paths->by_handle, node);
    return node;
}

static bool below(const struct node *node, const struct node *above)
{
    for (int depth = 0; node && depth < 256; depth++, node = node->parent)
        if (node == above)
            return true;
    return false;
}

static void detach(struct nfs_paths *paths, struct node *node)
{
    if (node->parent && node->name && g_hash_table_lookup(paths->by_name, node) == node)
        g_hash_table_remove(paths->by_name, node);
    node->parent = NULL;
}

static void forget_name(struct nfs_paths *paths, struct node *node)
{
    detach(paths, node);
    if (node->name)
        paths->bytes -= strlen(node->name);
    g_free(node->name);
    node->name = NULL;
}

static struct node *child(const struct nfs_paths *paths, struct node *parent, const char *name,
                          size_t length)
{
    char text[NFS_NAME + 1];
    struct node key = {.parent = parent, .name = text};

    if (length == 0 || length > NFS_NAME)
        return NULL;
    memcpy(text, name, length);
    text[length] = '\0';
    return g_hash_table_lookup(paths->by_name, &key);
}

static void name_node(struct nfs_paths *paths, struct node *node, struct node *parent,
                      const char *name, size_t length)
{
    struct node *old;

    if (node->name && node->parent == parent && strlen(node->name) == length &&
        memcmp(node->name, name, length) == 0)
        return;
    if (parent && below(parent, node))
        return; /* a directory in itself: not what a file system has */
    if (paths->bytes + length > paths->max_bytes) {
        paths->dropped++;
        return;
    }
    old = parent ? child(paths, parent, name, length) : NULL;
    if (old && old != node)
        forget_name(paths, old); /* another file has it now */
    forget_name(paths, node);
    node->name = g_strndup(name, length);
    paths->bytes += strlen(node->name);
    node->parent = parent;
    node->whole = !parent;
    if (parent)
        g_hash_table_replace(paths->by_name, node, node);
}

void nfs_paths_learn(struct nfs_paths *paths, const struct rpcrdma_address *address,
                     const struct nfs_handle *directory, const char *name, size_t length,
                     const struct nfs_handle *handle)
{
    uint64_t server = server_of(paths, address);
    struct node *node = find(paths, server, handle);
    struct node *parent = NULL;

    if (length == 0 || memchr(name, '\0', length))
        return; /* no name of a file */
    if (directory) {
        parent = make(paths, server, directory);
        if (!parent)
            return;
        if (parent->handle.root && !parent->name)
            name_node(paths, parent, NULL, "/", 1);
    }
    if (!node)
        node = make(paths, server, handle);
    if (node)
        name_node(paths, node, parent, name, length);
}

void nfs_paths_rename(struct nfs_paths *paths, const struct rpcrdma_address *address,
                      const struct nfs_handle *from, const struct nfs_name *name,
                      const struct nfs_handle *to, const struct nfs_name *new_name)
{
    uint64_t server = server_of(paths, address);
    struct node *directory = find(paths, server, from), *node, *parent;

    if (!directory || new_name->length == 0)
        return;
    node = child(paths, directory, name->text, name->length);
    parent = make(paths, server, to);
    if (node && parent)
        name_node(paths, node, parent, new_name->text, new_name->length);
}

bool nfs_paths_file(struct nfs_paths *paths, const struct rpcrdma_address *address,
                    const struct nfs_handle *handle, const struct nfs_name *name,
                    struct nfs_handle *file)
{
    struct node *node;

    if (name->length == 0) {
        *file = *handle;
        return handle->length > 0 || handle->root;
    }
    node = find(paths, server_of(paths, address), handle);
    node = node ? child(paths, node, name->text, name->length) : NULL;
    if (node)
        *file = node->handle;
    return node != NULL;
}

/* Puts text before what stands at buf[*at]. */
static bool before(char *buf, size_t *at, const char *text, size_t n)
{
    if (n > *at)
        return false;
    *at -= n;
    memcpy(buf + *at, text, n);
    return true;
}

size_t nfs_paths_get(struct nfs_paths *paths, const struct rpcrdma_address *address,
                     const struct nfs_handle *handle, const struct nfs_name *name,
                     char buf[NFS_PATH])
{
    const struct node *node = find(paths, server_of(paths, address), handle);
    size_t at = NFS_PATH;
    bool top = false, room = true;

    if (name->length > 0)
        room = before(buf, &at, name->text, name->length);
    else if (!node || !node->name)
        return 0;
    if (!node && handle->root)
        top = room && before(buf, &at, "/", 1);
    for (; room && node && node->name; node = node->parent) {
        size_t n = strlen(node->name);
        bool slash = at < NFS_PATH && node->name[n - 1] != '/';

        room = (!slash || before(buf, &at, "/", 1)) && before(buf, &at, node->name, n);
        top = node->whole;
        if (!node->parent)
            break;
    }
    if (!top || !room) {
        if (at < 4)
            at = 4;
        before(buf, &at, ".../", 4);
    }
    memmove(buf, buf + at, NFS_PATH - at);
    return NFS_PATH - at;
}
