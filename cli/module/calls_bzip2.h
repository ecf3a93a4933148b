/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_MODULE_CALLS_BZIP2_H
#define RPCRDMA_CLI_MODULE_CALLS_BZIP2_H

#include <bzlib.h>

#include "module/module.h"

/* The functions that are called. */
#define BZIP2_CALLS(CALL)                                                                          \
    CALL(BZ2_bzDecompress)                                                                         \
    CALL(BZ2_bzDecompressEnd)                                                                      \
    CALL(BZ2_bzDecompressInit)

struct bzip2_calls {
    BZIP2_CALLS(MODULE_CALL)
};

#endif
