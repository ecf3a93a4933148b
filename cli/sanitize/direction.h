/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_DIRECTION_H
#define RPCRDMA_CLI_SANITIZE_DIRECTION_H

/* The directions of what may be connections, by addresses and queue pair, or ports of TCP. */

#include <glib.h>

#include "sanitize/queue.h"

/* A set of struct sanitize_direction, which it owns. */
GHashTable *sanitize_directions_new(void);

/* For questions to flow/: an operation of that direction, of no kind. */
struct rpcrdma_op sanitize_direction_op(const struct sanitize_direction *direction);

/* The operation's. NULL: there are too many. */
struct sanitize_direction *sanitize_direction_of(GHashTable *directions,
                                                 const struct rpcrdma_op *op);

/* The same, NULL: none was made. */
struct sanitize_direction *sanitize_direction_find(GHashTable *directions,
                                                   const struct rpcrdma_op *op);

#endif
