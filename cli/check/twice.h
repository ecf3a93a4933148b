/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CHECK_TWICE_H
#define RPCRDMA_CLI_CHECK_TWICE_H

/* Captures of two hosts with different clocks that were merged: each packet is there twice, and
 * seems to be sent again. */

#include "pipeline/pipeline.h"

struct check_twice;

/* Before pipeline_run. Freed by check_twice_free. */
struct check_twice *check_twice_join(struct pipeline *pipeline);
void check_twice_free(struct check_twice *twice);

/* After it: says so on standard error. */
void check_twice_say(struct check_twice *twice);

#endif
