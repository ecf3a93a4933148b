/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_LIST_H
#define RPCRDMA_CLI_CAPTURE_LIST_H

#include "options/options.h"

/* -D. Returns the exit status. */
int capture_list(const struct options *options);

#endif
