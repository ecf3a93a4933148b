/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_MODULE_CALLS_ZLIB_H
#define RPCRDMA_CLI_MODULE_CALLS_ZLIB_H

#define ZLIB_CONST
#include <zlib.h>

#include "module/module.h"

/* The functions that are called. */
#define ZLIB_CALLS(CALL)                                                                           \
    CALL(inflate)                                                                                  \
    CALL(inflateEnd)                                                                               \
    CALL(inflateInit2_)                                                                            \
    CALL(inflateReset)

struct zlib_calls {
    ZLIB_CALLS(MODULE_CALL)
};

#endif
