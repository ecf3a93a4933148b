/* SPDX-License-Identifier: BSD-2-Clause */
/* The modules as parts of the program. */
#include "module/module.h"

extern const struct module_table rpcrdma_module_devices, rpcrdma_module_sqlite, rpcrdma_module_zlib,
    rpcrdma_module_zstd, rpcrdma_module_xz, rpcrdma_module_bzip2, rpcrdma_module_lz4;

static const struct module_table *const modules[N_MODULES] = {
#if defined HAVE_PCAP || defined HAVE_VERBS
    [MODULE_DEVICES] = &rpcrdma_module_devices,
#endif
#ifdef HAVE_SQLITE
    [MODULE_SQLITE] = &rpcrdma_module_sqlite,
#endif
#ifdef HAVE_ZLIB
    [MODULE_ZLIB] = &rpcrdma_module_zlib,
#endif
#ifdef HAVE_ZSTD
    [MODULE_ZSTD] = &rpcrdma_module_zstd,
#endif
#ifdef HAVE_XZ
    [MODULE_XZ] = &rpcrdma_module_xz,
#endif
#ifdef HAVE_BZIP2
    [MODULE_BZIP2] = &rpcrdma_module_bzip2,
#endif
#ifdef HAVE_LZ4
    [MODULE_LZ4] = &rpcrdma_module_lz4,
#endif
};

void module_load(enum module module)
{
    (void)module;
}

const void *module_calls(enum module module, size_t size, char *error, size_t error_size)
{
    (void)size;
    (void)error;
    (void)error_size;
    return modules[module]->calls;
}

bool module_for_capabilities(void)
{
    return true;
}
