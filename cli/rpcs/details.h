/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_RPCS_DETAILS_H
#define RPCRDMA_CLI_RPCS_DETAILS_H

/*
 * What arguments and results say of each RPC, from its Payload streams to its transaction: file
 * handle, offset, count, status, and the path as far as the capture names it. Bounded: of Calls
 * beyond DETAILS_MOST outstanding nothing is known.
 */

#include "nfs/arguments.h"
#include "nfs/paths.h"
#include "rpcs/rpc_line.h"

enum { DETAILS_MOST = 16384 };

struct details;

struct details *details_new(size_t path_bytes);
void details_free(struct details *details);
struct nfs_paths *details_paths(const struct details *details);

/* Nobody asks for more than each RPC's status, without the operation that failed. */
void details_status_only(struct details *details);
bool details_wants_no_calls(const struct details *details);

/* rpcrdma_flow_sink.payload_stream */
void details_stream(struct details *details, const struct rpcrdma_payload_stream *stream);

/* Of the transaction; the second forgets. */
struct rpc details_of(const struct details *details, const struct rpcrdma_transaction *transaction);
void details_done(struct details *details, const struct rpcrdma_transaction *transaction);

#endif
