/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_LANE_H
#define RPCRDMA_CLI_SANITIZE_LANE_H

/* Lanes: one direction of what may be a connection, by its addresses and queue pair. */

#include <glib.h>

#include "sanitize/queue.h"

/* A set of struct sanitize_lane, which it owns. */
GHashTable *sanitize_lanes_new(void);

/* The operation's. NULL: there are too many. */
struct sanitize_lane *sanitize_lane_of(GHashTable *lanes, const struct rpcrdma_op *op);

#endif
