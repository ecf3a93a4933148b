/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_NFS_PATHS_H
#define RPCRDMA_CLI_NFS_PATHS_H

/*
 * Which file a file handle is: learned from what LOOKUP, OPEN, CREATE, READDIRPLUS, MOUNT, RENAME,
 * LINK and REMOVE say. Bounded: where it is full, nothing more is learned and `dropped` counts. A
 * handle belongs to a server: two servers may use the same bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfs/arguments.h"
#include "op.h"

struct nfs_paths;

struct nfs_paths *nfs_paths_new(size_t max_bytes);
void nfs_paths_free(struct nfs_paths *paths);
uint64_t nfs_paths_dropped(const struct nfs_paths *paths);

/* Called before anything that has a name loses it or has another one. */
void nfs_paths_before_change(struct nfs_paths *paths, void (*changes)(void *context),
                             void *context);
/* The caller keeps a path of that length, so that memory counts; false: there is no room, which
 * `dropped` counts. And gives it up. */
bool nfs_paths_keep(struct nfs_paths *paths, size_t length);
void nfs_paths_release(struct nfs_paths *paths, size_t length);

/* The server took a session, or created it (trunks.h): it may be one with another address. */
void nfs_paths_session(struct nfs_paths *paths, const struct rpcrdma_address *server,
                       const struct nfs_session_use *use);
/* The address that stands for all of the server's. */
const struct rpcrdma_address *nfs_paths_server(const struct nfs_paths *paths,
                                               const struct rpcrdma_address *server);

/* `directory` NULL: `name` is a whole path. */
void nfs_paths_learn(struct nfs_paths *paths, const struct rpcrdma_address *server,
                     const struct nfs_handle *directory, const char *name, size_t length,
                     const struct nfs_handle *handle);
/* Without `new_name`, which may have been cut off, or where it is not known in which directory that
 * is, the file has no name any more, or the other one that it has. */
void nfs_paths_rename(struct nfs_paths *paths, const struct rpcrdma_address *server,
                      const struct nfs_handle *from, const struct nfs_name *name,
                      const struct nfs_handle *to, const struct nfs_name *new_name);

/* The file `name` in the directory `handle`, or `handle` itself where it has no name, has a second
 * one. It is shown by the second when the first is removed or another file has it. */
void nfs_paths_link(struct nfs_paths *paths, const struct rpcrdma_address *server,
                    const struct nfs_handle *handle, const struct nfs_name *name,
                    const struct nfs_handle *to, const struct nfs_name *new_name);
/* A file that has no other keeps its name: that is what was done with it. */
void nfs_paths_remove(struct nfs_paths *paths, const struct rpcrdma_address *server,
                      const struct nfs_handle *directory, const struct nfs_name *name);

/* The handle of `name` in the directory `handle`, and nothing *left of the name; else the last
 * directory on the way whose handle is known, and the names from there. One directory or file that
 * has several handles here (the root: PUTROOTFH, and its own) always gets the same. */
void nfs_paths_file(struct nfs_paths *paths, const struct rpcrdma_address *server,
                    const struct nfs_handle *handle, const struct nfs_name *name,
                    struct nfs_handle *file, struct nfs_name *left);

enum { NFS_PATH = 1024 };

/* Writes the path of `name` (length 0: none) in the directory `handle`, or of `handle` itself. It
 * begins with "..." where its upper part is not known. Returns its length, 0: nothing is known. */
size_t nfs_paths_get(struct nfs_paths *paths, const struct rpcrdma_address *server,
                     const struct nfs_handle *handle, const struct nfs_name *name,
                     char buf[NFS_PATH]);

#endif
