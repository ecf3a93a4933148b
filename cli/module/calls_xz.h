/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_MODULE_CALLS_XZ_H
#define RPCRDMA_CLI_MODULE_CALLS_XZ_H

#include <lzma.h>

#include "module/module.h"

/* The functions that are called. */
#define XZ_CALLS(CALL)                                                                             \
    CALL(lzma_code)                                                                                \
    CALL(lzma_end)                                                                                 \
    CALL(lzma_memusage)                                                                            \
    CALL(lzma_stream_decoder)

struct xz_calls {
    XZ_CALLS(MODULE_CALL)
};

#endif
