/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_UPPER_PRIVATE_H
#define RPCRDMA_UPPER_PRIVATE_H

/* What compound.c and xdr_grammar.c do for the library alone: it exports none of it, and this header
 * is not installed. */

#include <stdbool.h>

#include "upper/compound.h"
#include "upper/xdr_grammar.h"

/* Steps over what `grammar` describes; x->in.status says how it went. A grammar that is none is an
 * assertion. Where the grammar has an item 'd' and the input none of it (the operation failed), the
 * write chunk meant for it came back unused and is passed over (RFC 8166 section 4.3.2). */
void rpcrdma_xdr_step(struct rpcrdma_xdr *x, const char *grammar);

/* After the last operation: true when the stream ended exactly with it. */
bool rpcrdma_compound_exact(const struct rpcrdma_compound *it);

#endif
