/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_TRANSACTION_H
#define RPCRDMA_CLI_OUT_TRANSACTION_H

/* RPC transactions, as a line of text or a JSON object. */

#include "flow/rpc.h"
#include "out/view.h"

enum { TRANSACTION_NAME = 1024 }; /* of a COMPOUND with many operations; longer ones are cut */

void transaction_text(struct view *view, const struct rpcrdma_transaction *transaction);
void transaction_json(struct view *view, const struct rpcrdma_transaction *transaction);

/* Milliseconds with three digits: "0.512". */
void put_milliseconds(struct out *out, int64_t ns);

#endif
