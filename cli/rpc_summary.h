/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_RPC_SUMMARY_H
#define RPCRDMA_CLI_RPC_SUMMARY_H

/* Transactions by operation: how many, how much, how long. */

#include "flow/rpc.h"
#include "out/out.h"

struct rpc_summary;

struct rpc_summary *rpc_summary_new(void);
void rpc_summary_add(struct rpc_summary *summary, const struct rpcrdma_transaction *transaction);
void rpc_summary_text(struct rpc_summary *summary, struct out *out);
void rpc_summary_json(struct rpc_summary *summary, struct out *out); /* an object per operation */
void rpc_summary_free(struct rpc_summary *summary);

#endif
