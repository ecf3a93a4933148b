/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_BYTES_PIPE_FEED_H
#define RPCRDMA_CLI_SOURCE_BYTES_PIPE_FEED_H

/* What another process sends through a pipe, until it ends: it was asked to, and does not wait. */

#include "source/bytes/feed.h"

/* The descriptor is the feed's in every case. NULL: no memory. */
struct feed *pipe_feed_new(int fd, const char *name);

/* Whether the other process was asked to end, and sent nothing more for seconds, not even its end.
 */
bool pipe_feed_silent(const struct feed *feed);

#endif
