/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_MODULE_CALLS_LZ4_H
#define RPCRDMA_CLI_MODULE_CALLS_LZ4_H

#include <lz4frame.h>

#include "module/module.h"

/* The functions that are called. */
#define LZ4_CALLS(CALL)                                                                            \
    CALL(LZ4F_createDecompressionContext)                                                          \
    CALL(LZ4F_decompress)                                                                          \
    CALL(LZ4F_freeDecompressionContext)                                                            \
    CALL(LZ4F_getErrorName)                                                                        \
    CALL(LZ4F_isError)

struct lz4_calls {
    LZ4_CALLS(MODULE_CALL)
};

#endif
