/* SPDX-License-Identifier: BSD-2-Clause */
#include "nfs/paths.h"

#include <string.h>

#include <glib.h>

#include "common/keyed_hash.h"
#include "nfs/nodes.h"
#include "nfs/trunks.h"

struct nfs_paths {
    struct nfs_nodes nodes;
    struct nfs_trunks *trunks;
    struct rpcrdma_address address; /* that was asked for last, */
    uint64_t server;                /* and its hash; 0: none */
};

struct nfs_paths *nfs_paths_new(size_t max_bytes)
{
    struct nfs_paths *paths = g_new0(struct nfs_paths, 1);

    nfs_nodes_begin(&paths->nodes, max_bytes);
    paths->trunks = nfs_trunks_new();
    return paths;
}

void nfs_paths_free(struct nfs_paths *paths)
{
    if (!paths)
        return;
    nfs_nodes_end(&paths->nodes);
    nfs_trunks_free(paths->trunks);
    g_free(paths);
}

uint64_t nfs_paths_dropped(const struct nfs_paths *paths)
{
    return paths->nodes.dropped;
}

const struct rpcrdma_address *nfs_paths_server(const struct nfs_paths *paths,
                                               const struct rpcrdma_address *server)
{
    return nfs_trunks_server(paths->trunks, server);
}

void nfs_paths_before_change(struct nfs_paths *paths, void (*changes)(void *context), void *context)
{
    paths->nodes.changes = changes;
    paths->nodes.context = context;
}

bool nfs_paths_keep(struct nfs_paths *paths, size_t length)
{
    return nfs_nodes_keep(&paths->nodes, length);
}

void nfs_paths_release(struct nfs_paths *paths, size_t length)
{
    paths->nodes.bytes -= length;
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
static struct nfs_node *up(struct nfs_node *node, const char **names, size_t *length)
{
    while (node && first_of(*names, *length) == 2 && memcmp(*names, "..", 2) == 0) {
        size_t n = *length > 2 ? 3 : 2;

        node = nfs_node_itself(node->parent);
        *names += n;
        *length -= n;
    }
    return node;
}

/* The directory that the last of the names is in, which *names becomes: nothing where they only
 * lead up. make_: directories that are not known are made. NULL: it is not known. */
static struct nfs_node *directory_of(struct nfs_paths *paths, struct nfs_node *node,
                                     const char **names, size_t *length, bool make_)
{
    node = up(node, names, length);
    for (size_t n; node && (n = first_of(*names, *length)) < *length;) {
        struct nfs_node *below_it = nfs_nodes_child(&paths->nodes, node, *names, n);

        if (n == 0)
            return NULL;
        if (!below_it && make_) {
            below_it = nfs_nodes_add(&paths->nodes, node->server);
            if (below_it)
                nfs_nodes_name(&paths->nodes, below_it, node, *names, n);
        }
        node = nfs_node_itself(below_it);
        *names += n + 1;
        *length -= n + 1;
    }
    return node;
}

/* The root's handle is told. */
static void learn_root(struct nfs_paths *paths, uint64_t server, const struct nfs_handle *root,
                       const struct nfs_handle *handle)
{
    struct nfs_node *node = nfs_nodes_make(&paths->nodes, server, handle),
                    *top = node ? nfs_nodes_make(&paths->nodes, server, root) : NULL;

    if (!top || top == node || !top->handle.root || node->same)
        return;
    nfs_nodes_name(&paths->nodes, node, NULL, "/", 1);
    nfs_node_become_same(top, node);
}

void nfs_paths_learn(struct nfs_paths *paths, const struct rpcrdma_address *address,
                     const struct nfs_handle *directory, const char *name, size_t length,
                     const struct nfs_handle *handle)
{
    uint64_t server = server_of(paths, address);
    struct nfs_node *node = nfs_nodes_find(&paths->nodes, server, handle);
    struct nfs_node *parent = NULL, *old;

    if (length == 0 && directory && directory->root)
        learn_root(paths, server, directory, handle);
    if (length == 0 || memchr(name, '\0', length))
        return; /* no name of a file */
    if (directory) {
        parent = nfs_nodes_make(&paths->nodes, server, directory);
        if (!parent)
            return;
        if (directory->root && !nfs_nodes_of_handle(&paths->nodes, server, directory)->name)
            nfs_nodes_name(&paths->nodes, nfs_nodes_of_handle(&paths->nodes, server, directory),
                           NULL, "/", 1);
        parent = directory_of(paths, parent, &name, &length, true);
        if (!parent || length == 0 || is(name, length, ".") || is(name, length, ".."))
            return;
    }
    old = parent ? nfs_nodes_child(&paths->nodes, parent, name, length) : NULL;
    if (old && old->same && old->same == node)
        return; /* another name of it */
    if (old && !old->same && !nfs_node_has_handle(old) && !node) {
        nfs_nodes_set_handle(&paths->nodes, old, handle);
        return;
    }
    if (!node)
        node = nfs_nodes_make(&paths->nodes, server, handle);
    if (!node)
        return;
    if (old && !old->same && !nfs_node_has_handle(old) && !nfs_node_below(node, old)) {
        nfs_nodes_forget_name(&paths->nodes, old);
        nfs_node_become_same(old, node);
    }
    nfs_nodes_name(&paths->nodes, node, parent, name, length);
}

/* What has the name in that directory; NULL: it is not known. */
static struct nfs_node *named(struct nfs_paths *paths, uint64_t server,
                              const struct nfs_handle *directory, const struct nfs_name *name)
{
    struct nfs_node *parent = nfs_nodes_find(&paths->nodes, server, directory);
    const char *names = name->text;
    size_t length = name->length;

    parent = parent ? directory_of(paths, parent, &names, &length, false) : NULL;
    return parent ? nfs_nodes_child(&paths->nodes, parent, names, length) : NULL;
}

/* By a file that is not known. */
static void replaced(struct nfs_paths *paths, uint64_t server, const struct nfs_handle *directory,
                     const struct nfs_name *name)
{
    struct nfs_node *node = named(paths, server, directory, name);

    if (node)
        nfs_nodes_lose_name(&paths->nodes, node);
}

void nfs_paths_link(struct nfs_paths *paths, const struct rpcrdma_address *address,
                    const struct nfs_handle *handle, const struct nfs_name *name,
                    const struct nfs_handle *to, const struct nfs_name *new_name)
{
    uint64_t server = server_of(paths, address);
    struct nfs_node *node, *parent, *other;
    const char *new_ = new_name->text;
    size_t length = new_name->length;

    if (length == 0)
        return;
    node = name->length > 0 ? nfs_node_itself(named(paths, server, handle, name))
                            : nfs_nodes_make(&paths->nodes, server, handle);
    parent = nfs_nodes_make(&paths->nodes, server, to);
    parent = parent ? directory_of(paths, parent, &new_, &length, true) : NULL;
    if (!parent || length == 0 ||
        (node && nfs_node_itself(nfs_nodes_child(&paths->nodes, parent, new_, length)) == node))
        return;
    if (!node || !node->name) {
        if (node)
            nfs_nodes_name(&paths->nodes, node, parent, new_, length);
        return;
    }
    other = nfs_nodes_spare(&paths->nodes, node);
    if (other)
        nfs_nodes_name(&paths->nodes, other, parent, new_, length);
}

void nfs_paths_remove(struct nfs_paths *paths, const struct rpcrdma_address *address,
                      const struct nfs_handle *directory, const struct nfs_name *name)
{
    struct nfs_node *node = named(paths, server_of(paths, address), directory, name);

    if (node && (node->same || nfs_node_other_name(node)))
        nfs_nodes_lose_name(&paths->nodes, node);
}

void nfs_paths_rename(struct nfs_paths *paths, const struct rpcrdma_address *address,
                      const struct nfs_handle *from, const struct nfs_name *name,
                      const struct nfs_handle *to, const struct nfs_name *new_name)
{
    uint64_t server = server_of(paths, address);
    const char *old = name->text, *new_ = new_name->text;
    size_t old_length = name->length, new_length = new_name->length;
    struct nfs_node *directory = nfs_nodes_find(&paths->nodes, server, from), *node, *parent;

    if (!directory)
        return;
    directory = directory_of(paths, directory, &old, &old_length, false);
    node = directory ? nfs_nodes_child(&paths->nodes, directory, old, old_length) : NULL;
    if (!node) {
        replaced(paths, server, to, new_name);
        return;
    }
    parent = nfs_nodes_make(&paths->nodes, server, to);
    parent = parent ? directory_of(paths, parent, &new_, &new_length, true) : NULL;
    if (parent && new_length > 0 &&
        nfs_node_itself(nfs_nodes_child(&paths->nodes, parent, new_, new_length)) ==
            nfs_node_itself(node))
        return; /* two names of one file: nothing is done (RFC 8881 section 18.26.3) */
    if (parent && new_length > 0)
        nfs_nodes_name(&paths->nodes, node, parent, new_, new_length);
    else
        nfs_nodes_lose_name(&paths->nodes, node);
}

void nfs_paths_file(struct nfs_paths *paths, const struct rpcrdma_address *address,
                    const struct nfs_handle *handle, const struct nfs_name *name,
                    struct nfs_handle *file, struct nfs_name *left)
{
    struct nfs_node *node = nfs_nodes_find(&paths->nodes, server_of(paths, address), handle);
    const char *names = name->text;
    size_t length = name->length;

    *file = node ? node->handle : *handle;
    *left = *name;
    for (node = up(node, &names, &length); node;) {
        size_t n = first_of(names, length);

        if (nfs_node_has_handle(node)) {
            *file = node->handle;
            left->length = (uint16_t)length;
        }
        node = nfs_node_itself(nfs_nodes_child(&paths->nodes, node, names, n));
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
    struct nfs_node *node = nfs_nodes_of_handle(&paths->nodes, server_of(paths, address), handle),
                    *above;
    const char *names = name->text;
    size_t at = NFS_PATH, length = name->length;
    bool top = false, room = true;

    if (node && length == 0 && !node->name)
        return 0; /* the root as such: only where a path begins there */
    node = nfs_node_itself(node);
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
    for (; room && node && node->name; node = nfs_node_itself(node->parent)) {
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
