/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_NFS_H
#define RPCRDMA_CLI_SANITIZE_NFS_H

#include "sanitize/grammar.h"
#include "wire/rpc.h"

/* An RPC message, or the reduced one: header and, of the programs that are known, arguments or
 * results. What is of none is zeros. */
struct sanitize_rpc {
    const struct sanitize_key *key;
    int64_t shift_s;
    const struct rpcrdma_rpc *rpc;  /* its header; NULL: none that can be read */
    const struct rpcrdma_rpc *call; /* its Call's; of a Call its own. NULL: not seen */
    bool reverse;
    const uint8_t *from; /* caplen bytes of len */
    size_t caplen, len;
    struct rpcrdma_reduction reduction;
};

/* Writes caplen bytes to `to`. False: not all of it is known, and zeros stand for the rest. */
bool sanitize_rpc(const struct sanitize_rpc *rpc, uint8_t *to);

#endif
