/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_UPPER_STREAM_H
#define RPCRDMA_UPPER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../wire/rpc.h"

/* The Payload stream of an RPC message (RFC 8166 section 3.1), and what is known of it. All of it
 * is the caller's. */
struct rpcrdma_rpc_stream {
    const struct rpcrdma_rpc *rpc;  /* its decoded header */
    const struct rpcrdma_rpc *call; /* that of its Call (of a Call: its own); NULL: not seen */
    bool reverse;                   /* of an RPC from server to client: see rpcrdma_compound_is */
    const uint8_t *data;            /* the caplen bytes captured of the len that were sent in it */
    size_t caplen, len;
};

#endif
