/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_RPCS_RPC_LINE_H
#define RPCRDMA_CLI_RPCS_RPC_LINE_H

/* An RPC as lists show it: its transaction, and what its arguments and results say. */

#include "filter/filter.h"
#include "nfs/paths.h"

struct rpc {
    const struct rpcrdma_transaction *transaction;
    const struct nfs_arguments *nfs; /* never NULL */
    struct nfs_paths *paths;         /* NULL: none are known */
    const char *path;                /* NULL: as names are now */
    size_t path_length;
};

/* When it began, as far as was captured: its Call, else its Reply. */
static inline int64_t rpc_time(const struct rpcrdma_transaction *t)
{
    return t->call_frame ? t->call_time_ns : t->reply_time_ns;
}

static inline uint64_t rpc_frame(const struct rpcrdma_transaction *t)
{
    return t->call_frame ? t->call_frame : t->reply_frame;
}

/* Bytes of both RPC messages. */
static inline uint64_t rpc_bytes(const struct rpcrdma_transaction *t)
{
    return t->call_length + t->reply_length;
}

static inline const struct rpcrdma_address *rpc_caller(const struct rpcrdma_transaction *t)
{
    return &t->connection->end[t->caller_end].address;
}

static inline const struct rpcrdma_address *rpc_responder(const struct rpcrdma_transaction *t)
{
    return &t->connection->end[1 - t->caller_end].address;
}

/* The client's and the server's address; of an RPC from server to client the client is its
 * Responder. */
const struct rpcrdma_address *rpc_client(const struct rpcrdma_transaction *t);
const struct rpcrdma_address *rpc_server(const struct rpcrdma_transaction *t);

/* The path of what it is about; length 0: not known. */
size_t rpc_path(const struct rpc *rpc, char buf[NFS_PATH]);

/* Whether it matches; fills the filter's values. NULL matches. */
bool rpc_matches(struct filter *filter, const struct rpc *rpc);

#endif
