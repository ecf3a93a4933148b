/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CREDITS_RUNNING_H
#define RPCRDMA_CLI_CREDITS_RUNNING_H

/* rpcrdma credits -i DEV --interval N: a line per connection and direction every N seconds, as sar
 * has them, and averages at the end. */

#include "pipeline/pipeline.h"

/* Returns the exit status. */
int credits_running(struct pipeline *pipeline, unsigned seconds);

#endif
