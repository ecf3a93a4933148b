/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_RIGHTS_SANDBOX_CALLS_H
#define RPCRDMA_CLI_SOURCE_RIGHTS_SANDBOX_CALLS_H

#include <seccomp.h>

#include "source/rights/sandbox.h"

/* The caller's to release. NULL: it cannot be. */
scmp_filter_ctx sandbox_filter(const struct sandbox *sandbox);

#endif
