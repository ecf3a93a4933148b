/* SPDX-License-Identifier: BSD-2-Clause */
#include "nfs/paths.h"

#include <string.h>

#include <glib.h>

#include "keyed_hash.h"
#include "nfs/trunks.h"

enum { NAMES = 64 }; /* of one file, at a time */

struct node {
    uint64_t server; /* hash of the address */
    struct nfs_handle handle;
    struct node *parent; /* NULL: `name` is a whole path, or the directory was not seen */
    char *name;
    bool whole; /* `name` is a whole path */
    /* A directory that was passed by name has no handle until one is told; that of another node:
     * it is the same directory. So is the root, of the handle that GETFH tells. */
    struct node *same;
    /* One that is the same as this. Of a file: another name of it, where it has one */
    struct node *twin;
    struct node *next; /* of all */
};

struct nfs_paths {
    GHashTable *by_handle;
    GHashTable *by_name; /* of children that have a parent */
    struct node *all;
    size_t bytes, max_bytes;
    uint64_t dropped;
    struct nfs_trunks *trunks;
    struct rpcrdma_address address; /* that was asked for last, */
    uint64_t server;                /* and its hash; 0: none */
    void (*changes)(void *context); /* NULL: nobody asks */
    void *context;
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

static bool has_handle(const struct node *node)
{
    return node->handle.length > 0 || node->handle.root;
}

static struct node *itself(struct node *node)
{
    return node && node->same ? node->same : node;
}

struct nfs_paths *nfs_paths_new(size_t max_bytes)
{
    struct nfs_paths *paths = g_new0(struct nfs_paths, 1);

    paths->by_handle = g_hash_table_new(handle_hash, handle_equal);
    paths->by_name = g_hash_table_new(name_hash, name_equal);
    paths->trunks = nfs_trunks_new();
    paths->max_bytes = max_bytes;
    return paths;
}

void nfs_paths_free(struct nfs_paths *paths)
{
    if (!paths)
        return;
    g_hash_table_destroy(paths->by_name);
    g_hash_table_destroy(paths->by_handle);
    nfs_trunks_free(paths->trunks);
    for (struct node *node = paths->all, *next; node; node = next) {
        next = node->next;
        g_free(node->name);
        g_free(node);
    }
    g_free(paths);
}

uint64_t nfs_paths_dropped(const struct nfs_paths *paths)
{
    return paths->dropped;
}

const struct rpcrdma_address *nfs_paths_server(const struct nfs_paths *paths,
                                               const struct rpcrdma_address *server)
{
    return nfs_trunks_server(paths->trunks, server);
}

void nfs_paths_before_change(struct nfs_paths *paths, void (*changes)(void *context), void *context)
{
    paths->changes = changes;
    paths->context = context;
}

bool nfs_paths_keep(struct nfs_paths *paths, size_t length)
{
    if (paths->bytes + length > paths->max_bytes) {
        paths->dropped++;
        return false;
    }
    paths->bytes += length;
    return true;
}

void nfs_paths_release(struct nfs_paths *paths, size_t length)
{
    paths->bytes -= length;
}

void nfs_paths_session(struct nfs_paths *paths, const struct rpcrdma_address *server,
                       const struct nfs_session_use *use)
{
    if (nfs_trunks_session(paths->trunks, server, use))
        paths->server = 0;
}

static uint64_t server_of(struct nfs_paths *paths, const struct rpcrdma_address *address)
{
    if (paths->server != 0 && memcmp(&paths->address, address, sizeof(*address)) == 0)
        return paths->server;
    paths->address = *address;
    address = nfs_trunks_server(paths->trunks, address);
    paths->server =
        (uint64_t)keyed_hash(address->bytes, sizeof(address->bytes)) << 8 | address->family;
    return paths->server;
}

static struct node *of_handle(const struct nfs_paths *paths, uint64_t server,
                              const struct nfs_handle *handle)
{
    struct node key = {.server = server};

    if ((handle->length == 0 && !handle->root) || g_hash_table_size(paths->by_handle) == 0)
        return NULL;
    key.handle = *handle;
    return g_hash_table_lookup(paths->by_handle, &key);
}

static struct node *find(const struct nfs_paths *paths, uint64_t server,
                         const struct nfs_handle *handle)
{
    return itself(of_handle(paths, server, handle));
}

/* A node without handle. NULL where it is full. */
static struct node *add(struct nfs_paths *paths, uint64_t server)
{
    struct node *node;

    /* node, its places in two tables, and what malloc adds */
    if (paths->bytes + sizeof(*node) + 96 > paths->max_bytes) {
        paths->dropped++;
        return NULL;
    }
    paths->bytes += sizeof(*node) + 96;
    node = g_new0(struct node, 1);
    node->server = server;
    node->next = paths->all;
    paths->all = node;
    return node;
}

static void set_handle(struct nfs_paths *paths, struct node *node, const struct nfs_handle *handle)
{
    node->handle = *handle;
    g_hash_table_add(paths->by_handle, node);
}

/* The node of a handle, made where there is none; NULL where it is full. */
static struct node *make(struct nfs_paths *paths, uint64_t server, const struct nfs_handle *handle)
{
    struct node *node = find(paths, server, handle);

    if (node || (handle->length == 0 && !handle->root))
        return node;
    node = add(paths, server);
    if (node)
        set_handle(paths, node, handle);
    return node;
}

static bool below(const struct node *node, const struct node *above)
{
    for (int depth = 0; node && depth < 256; depth++, node = itself(node->parent))
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
    if (node->name && paths->changes)
        paths->changes(paths->context);
    detach(paths, node);
    if (node->name)
        paths->bytes -= strlen(node->name);
    g_free(node->name);
    node->name = NULL;
}

static void become_same(struct node *node, struct node *other)
{
    node->same = other;
    node->twin = other->twin;
    other->twin = node;
}

/* Another name of the file that it has: one of the NAMES latest. */
static struct node *other_name(const struct node *node)
{
    struct node *other = node->same ? NULL : node->twin;

    for (int i = 0; i < NAMES && other && !other->name; i++)
        other = other->twin;
    return other && other->name ? other : NULL;
}

/* For one more name; it may have had one. NULL: it has NAMES, or there is no room. */
static struct node *spare(struct nfs_paths *paths, struct node *node)
{
    struct node *other = node->twin;
    int n = 0;

    for (; other && n < NAMES; n++, other = other->twin)
        if (!other->name && !has_handle(other))
            return other;
    if (n == NAMES) {
        paths->dropped++;
        return NULL;
    }
    other = add(paths, node->server);
    if (other)
        become_same(other, node);
    return other;
}

/* What a file or directory was called is no name of it any more. It has its next one. */
static void lose_name(struct nfs_paths *paths, struct node *node)
{
    struct node *other = other_name(node);

    forget_name(paths, node);
    if (!other)
        return;
    if (other->parent && g_hash_table_lookup(paths->by_name, other) == other)
        g_hash_table_remove(paths->by_name, other);
    node->name = other->name;
    node->parent = other->parent;
    node->whole = other->whole;
    other->name = NULL;
    other->parent = NULL;
    if (node->parent)
        g_hash_table_replace(paths->by_name, node, node);
}

static struct node *child(const struct nfs_paths *paths, struct node *parent, const char *name,
                          size_t length)
{
    enum { TWINS = 8 };
    char text[NFS_NAME + 1];
    struct node key = {.parent = parent, .name = text}, *found = NULL;

    if (length == 0 || length > NFS_NAME)
        return NULL;
    memcpy(text, name, length);
    text[length] = '\0';
    for (int i = 0; i < TWINS && key.parent && !found; i++, key.parent = key.parent->twin)
        found = g_hash_table_lookup(paths->by_name, &key);
    return found;
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
        lose_name(paths, old); /* another file has it now */
    forget_name(paths, node);
    node->name = g_strndup(name, length);
    paths->bytes += strlen(node->name);
    node->parent = parent;
    node->whole = !parent;
    if (parent)
        g_hash_table_replace(paths->by_name, node, node);
}

static bool is(const char *name, size_t length, const char *text)
{
    return length == strlen(text) && memcmp(name, text, length) == 0;
}

/* The length of the first of the names. */
static size_t first_of(const char *names, size_t length)
{
    const char *slash = memchr(names, '/', length);

    return slash ? (size_t)(slash - names) : length;
}

/* Takes LOOKUPPs off the names: from the node to its parents. NULL: these are not known. */
static struct node *up(struct node *node, const char **names, size_t *length)
{
    while (node && first_of(*names, *length) == 2 && memcmp(*names, "..", 2) == 0) {
        size_t n = *length > 2 ? 3 : 2;

        node = itself(node->parent);
        *names += n;
        *length -= n;
    }
    return node;
}

/* The directory that the last of the names is in, which *names becomes: nothing where they only
 * lead up. make_: directories that are not known are made. NULL: it is not known. */
static struct node *directory_of(struct nfs_paths *paths, struct node *node, const char **names,
                                 size_t *length, bool make_)
{
    node = up(node, names, length);
    for (size_t n; node && (n = first_of(*names, *length)) < *length;) {
        struct node *below_it = child(paths, node, *names, n);

        if (n == 0)
            return NULL;
        if (!below_it && make_) {
            below_it = add(paths, node->server);
            if (below_it)
                name_node(paths, below_it, node, *names, n);
        }
        node = itself(below_it);
        *names += n + 1;
        *length -= n + 1;
    }
    return node;
}

/* The root's handle is told. */
static void learn_root(struct nfs_paths *paths, uint64_t server, const struct nfs_handle *root,
                       const struct nfs_handle *handle)
{
    struct node *node = make(paths, server, handle), *top = node ? make(paths, server, root) : NULL;

    if (!top || top == node || !top->handle.root || node->same)
        return;
    name_node(paths, node, NULL, "/", 1);
    become_same(top, node);
}

void nfs_paths_learn(struct nfs_paths *paths, const struct rpcrdma_address *address,
                     const struct nfs_handle *directory, const char *name, size_t length,
                     const struct nfs_handle *handle)
{
    uint64_t server = server_of(paths, address);
    struct node *node = find(paths, server, handle);
    struct node *parent = NULL, *old;

    if (length == 0 && directory && directory->root)
        learn_root(paths, server, directory, handle);
    if (length == 0 || memchr(name, '\0', length))
        return; /* no name of a file */
    if (directory) {
        parent = make(paths, server, directory);
        if (!parent)
            return;
        if (directory->root && !of_handle(paths, server, directory)->name)
            name_node(paths, of_handle(paths, server, directory), NULL, "/", 1);
        parent = directory_of(paths, parent, &name, &length, true);
        if (!parent || length == 0 || is(name, length, ".") || is(name, length, ".."))
            return;
    }
    old = parent ? child(paths, parent, name, length) : NULL;
    if (old && old->same && old->same == node)
        return; /* another name of it */
    if (old && !old->same && !has_handle(old) && !node) {
        set_handle(paths, old, handle);
        return;
    }
    if (!node)
        node = make(paths, server, handle);
    if (!node)
        return;
    if (old && !old->same && !has_handle(old) && !below(node, old)) {
        forget_name(paths, old);
        become_same(old, node);
    }
    name_node(paths, node, parent, name, length);
}

/* What has the name in that directory; NULL: it is not known. */
static struct node *named(struct nfs_paths *paths, uint64_t server,
                          const struct nfs_handle *directory, const struct nfs_name *name)
{
    struct node *parent = find(paths, server, directory);
    const char *names = name->text;
    size_t length = name->length;

    parent = parent ? directory_of(paths, parent, &names, &length, false) : NULL;
    return parent ? child(paths, parent, names, length) : NULL;
}

/* By a file that is not known. */
static void replaced(struct nfs_paths *paths, uint64_t server, const struct nfs_handle *directory,
                     const struct nfs_name *name)
{
    struct node *node = named(paths, server, directory, name);

    if (node)
        lose_name(paths, node);
}

void nfs_paths_link(struct nfs_paths *paths, const struct rpcrdma_address *address,
                    const struct nfs_handle *handle, const struct nfs_name *name,
                    const struct nfs_handle *to, const struct nfs_name *new_name)
{
    uint64_t server = server_of(paths, address);
    struct node *node, *parent, *other;
    const char *new_ = new_name->text;
    size_t length = new_name->length;

    if (length == 0)
        return;
    node =
        name->length > 0 ? itself(named(paths, server, handle, name)) : make(paths, server, handle);
    parent = make(paths, server, to);
    parent = parent ? directory_of(paths, parent, &new_, &length, true) : NULL;
    if (!parent || length == 0 || (node && itself(child(paths, parent, new_, length)) == node))
        return;
    if (!node || !node->name) {
        if (node)
            name_node(paths, node, parent, new_, length);
        return;
    }
    other = spare(paths, node);
    if (other)
        name_node(paths, other, parent, new_, length);
}

void nfs_paths_remove(struct nfs_paths *paths, const struct rpcrdma_address *address,
                      const struct nfs_handle *directory, const struct nfs_name *name)
{
    struct node *node = named(paths, server_of(paths, address), directory, name);

    if (node && (node->same || other_name(node)))
        lose_name(paths, node);
}

void nfs_paths_rename(struct nfs_paths *paths, const struct rpcrdma_address *address,
                      const struct nfs_handle *from, const struct nfs_name *name,
                      const struct nfs_handle *to, const struct nfs_name *new_name)
{
    uint64_t server = server_of(paths, address);
    const char *old = name->text, *new_ = new_name->text;
    size_t old_length = name->length, new_length = new_name->length;
    struct node *directory = find(paths, server, from), *node, *parent;

    if (!directory || new_length == 0)
        return;
    directory = directory_of(paths, directory, &old, &old_length, false);
    node = directory ? child(paths, directory, old, old_length) : NULL;
    if (!node) {
        replaced(paths, server, to, new_name);
        return;
    }
    parent = make(paths, server, to);
    parent = parent ? directory_of(paths, parent, &new_, &new_length, true) : NULL;
    if (parent && new_length > 0 && itself(child(paths, parent, new_, new_length)) == itself(node))
        return; /* two names of one file: nothing is done (RFC 8881 section 18.26.3) */
    if (parent && new_length > 0)
        name_node(paths, node, parent, new_, new_length);
    else
        forget_name(paths, node);
}

void nfs_paths_file(struct nfs_paths *paths, const struct rpcrdma_address *address,
                    const struct nfs_handle *handle, const struct nfs_name *name,
                    struct nfs_handle *file, struct nfs_name *left)
{
    struct node *node = find(paths, server_of(paths, address), handle);
    const char *names = name->text;
    size_t length = name->length;

    *file = node ? node->handle : *handle;
    *left = *name;
    for (node = up(node, &names, &length); node;) {
        size_t n = first_of(names, length);

        if (has_handle(node)) {
            *file = node->handle;
            left->length = (uint16_t)length;
        }
        node = itself(child(paths, node, names, n));
        n += n < length;
        names += n;
        length -= n;
    }
    memmove(left->text, left->text + name->length - left->length, left->length);
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
    struct node *node = of_handle(paths, server_of(paths, address), handle), *above;
    const char *names = name->text;
    size_t at = NFS_PATH, length = name->length;
    bool top = false, room = true;

    if (node && length == 0 && !node->name)
        return 0; /* the root as such: only where a path begins there */
    node = itself(node);
    above = up(node, &names, &length);
    if (above && above->name) {
        node = above;
    } else {
        names = name->text;
        length = name->length;
    }
    if (length > 0)
        room = before(buf, &at, names, length);
    else if (!node || !node->name)
        return 0;
    if (!node && handle->root)
        top = room && before(buf, &at, "/", 1);
    for (; room && node && node->name; node = itself(node->parent)) {
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
