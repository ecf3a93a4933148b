/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_MODULE_CALLS_ZSTD_H
#define RPCRDMA_CLI_MODULE_CALLS_ZSTD_H

#include <zstd.h>
#include <zstd_errors.h>

#include "module/module.h"

/* The functions that are called. */
#define ZSTD_CALLS(CALL)                                                                           \
    CALL(ZSTD_CStreamOutSize)                                                                      \
    CALL(ZSTD_DCtx_setParameter)                                                                   \
    CALL(ZSTD_compressStream2)                                                                     \
    CALL(ZSTD_createCStream)                                                                       \
    CALL(ZSTD_createDStream)                                                                       \
    CALL(ZSTD_decompressStream)                                                                    \
    CALL(ZSTD_freeCStream)                                                                         \
    CALL(ZSTD_freeDStream)                                                                         \
    CALL(ZSTD_getErrorCode)                                                                        \
    CALL(ZSTD_getErrorName)                                                                        \
    CALL(ZSTD_isError)                                                                             \
    CALL(ZSTD_sizeof_DStream)

struct zstd_calls {
    ZSTD_CALLS(MODULE_CALL)
};

#endif
