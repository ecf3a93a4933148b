/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_BYTES_FOLLOW_FEED_H
#define RPCRDMA_CLI_SOURCE_BYTES_FOLLOW_FEED_H

/* A file that another program writes: at its end more is waited for, until somebody asks us to end
 * (interrupt.h). */

#include "source/bytes/feed.h"

/* What `from` gives, which it owns in every case. NULL: no memory. */
struct feed *follow_feed_new(struct feed *from);

/* Whether it ended because it was asked to: what is whole by then is all there is to read. */
bool follow_feed_stopped(const struct feed *feed);

#endif
