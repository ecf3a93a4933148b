/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_NFS_NODES_H
#define RPCRDMA_CLI_NFS_NODES_H

/* The files and directories of all servers: by handle, and by name in their directory. paths.c says
 * what operations tell of them. Memory is bounded: what does not fit is counted as dropped. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

#include "nfs/paths.h"

struct nfs_node {
    uint64_t server; /* hash of the address */
    struct nfs_handle handle;
    struct nfs_node *parent; /* NULL: `name` is a whole path, or the directory was not seen */
    char *name;
    bool whole; /* `name` is a whole path */
    /* A directory that was passed by name has no handle until one is told; that of another node:
     * it is the same directory. So is the root, of the handle that GETFH tells. */
    struct nfs_node *same;
    /* One that is the same as this. Of a file: another name of it, where it has one */
    struct nfs_node *twin;
    struct nfs_node *next; /* of all */
};

struct nfs_nodes {
    GHashTable *by_handle;
    GHashTable *by_name; /* of children that have a parent */
    struct nfs_node *all;
    size_t bytes, max_bytes;
    uint64_t dropped;
    void (*changes)(void *context); /* before a name changes. NULL: nobody asks */
    void *context;
};

void nfs_nodes_begin(struct nfs_nodes *nodes, size_t max_bytes);
void nfs_nodes_end(struct nfs_nodes *nodes);

/* Takes `length` bytes of the memory. False: there are not so many left. */
bool nfs_nodes_keep(struct nfs_nodes *nodes, size_t length);

static inline bool nfs_node_has_handle(const struct nfs_node *node)
{
    return node->handle.length > 0 || node->handle.root;
}

static inline struct nfs_node *nfs_node_itself(struct nfs_node *node)
{
    return node && node->same ? node->same : node;
}

/* The node that has this handle, or the one that is the same as that; NULL: there is none. */
struct nfs_node *nfs_nodes_of_handle(const struct nfs_nodes *nodes, uint64_t server,
                                     const struct nfs_handle *handle);
struct nfs_node *nfs_nodes_find(const struct nfs_nodes *nodes, uint64_t server,
                                const struct nfs_handle *handle);
/* A node without handle. NULL: there is no room. */
struct nfs_node *nfs_nodes_add(struct nfs_nodes *nodes, uint64_t server);
void nfs_nodes_set_handle(struct nfs_nodes *nodes, struct nfs_node *node,
                          const struct nfs_handle *handle);
/* The node of a handle, made where there is none. NULL: there is no room, or no handle. */
struct nfs_node *nfs_nodes_make(struct nfs_nodes *nodes, uint64_t server,
                                const struct nfs_handle *handle);

bool nfs_node_below(const struct nfs_node *node, const struct nfs_node *above);
/* `node` is the same directory, or another name of the same file, as `other`. */
void nfs_node_become_same(struct nfs_node *node, struct nfs_node *other);
/* Another name of the file: one of the latest. NULL: it has none. */
struct nfs_node *nfs_node_other_name(const struct nfs_node *node);
/* A node for one more name of the file, perhaps one that had a name before. NULL: the file has too
 * many, or there is no room. */
struct nfs_node *nfs_nodes_spare(struct nfs_nodes *nodes, struct nfs_node *node);

/* What has the name in that directory. NULL: it is not known. */
struct nfs_node *nfs_nodes_child(const struct nfs_nodes *nodes, struct nfs_node *parent,
                                 const char *name, size_t length);
/* parent: NULL where the name is a whole path. Another node that has the name loses it. */
void nfs_nodes_name(struct nfs_nodes *nodes, struct nfs_node *node, struct nfs_node *parent,
                    const char *name, size_t length);
void nfs_nodes_forget_name(struct nfs_nodes *nodes, struct nfs_node *node);
/* The same; a file that has another name takes that. The name may be that of a directory. */
void nfs_nodes_lose_name(struct nfs_nodes *nodes, struct nfs_node *node);

#endif
