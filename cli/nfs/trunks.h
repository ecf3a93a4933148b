/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_NFS_TRUNKS_H
#define RPCRDMA_CLI_NFS_TRUNKS_H

/*
 * Which addresses are one server's: those that take one session (RFC 8881 section 2.10.5). Servers
 * choose names of sessions each by itself, so a session counts whose creation at one of them was
 * seen, and at no other; and at another address a request of it that goes on with the numbers of a
 * slot. One far from them is of another server's session, which began before the capture.
 * Bounded: of more than it keeps nothing is learned.
 */

#include <stdbool.h>

#include "nfs/arguments.h"
#include "op.h"

enum { NFS_SESSION = 16 };

struct nfs_trunks;

struct nfs_trunks *nfs_trunks_new(void);
void nfs_trunks_free(struct nfs_trunks *trunks);

/* What the server at that address said of a session. Whether that showed that it is one with
 * another address. */
bool nfs_trunks_session(struct nfs_trunks *trunks, const struct rpcrdma_address *address,
                        const struct nfs_session_use *use);

/* The address that stands for the server that has this one. */
const struct rpcrdma_address *nfs_trunks_server(const struct nfs_trunks *trunks,
                                                const struct rpcrdma_address *address);

#endif
