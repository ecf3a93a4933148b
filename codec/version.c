/* SPDX-License-Identifier: BSD-2-Clause */
#include "version.h"

const char *rpcrdma_version(void)
{
    return RPCRDMA_VERSION;
}
