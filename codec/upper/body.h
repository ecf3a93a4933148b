/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_UPPER_BODY_H
#define RPCRDMA_UPPER_BODY_H

/* Where the arguments and the results of an RPC stand in its message. */

#include <stdbool.h>

#include "wire/cursor.h"
#include "wire/rpc.h"

/* True when `reply` was accepted and successful, and its header could be read: results follow. */
bool rpcrdma_rpc_has_results(const struct rpcrdma_rpc *reply);

/* Moves `in`, which is at the beginning of the message, to the arguments or results, and has it end
 * with them. rpc is the message's decoded header; call that of its Call (of a Call: itself), whose
 * credential says whether RPCSEC_GSS integrity wraps them (RFC 2203 section 5.3.2.2). False where
 * there are none that can be read: the header was cut, RPCSEC_GSS privacy, or a context that is
 * being made. Where `in` fails meanwhile, its status says why. */
bool rpcrdma_rpc_body(const struct rpcrdma_rpc *rpc, const struct rpcrdma_rpc *call,
                      struct rpcrdma_cursor *in);

#endif
