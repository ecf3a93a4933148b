/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_MODULE_MODULE_H
#define RPCRDMA_CLI_MODULE_MODULE_H

/*
 * Libraries that few runs need cost every run the time to load them. So the program is not linked
 * with them: a shared object of its own for each (NAME.so, in the folder rpcrdma of the libraries'
 * folder) is, as packages see, and has a table of the functions that are called. It is loaded where
 * the command line or a file's first bytes ask for it, and before the sandbox is entered, which
 * lets nothing more be loaded.
 *
 * Built with RPCRDMA_MODULES=OFF, and in tests, the tables are parts of the program (linked.c).
 */

#include <stdbool.h>
#include <stddef.h>

#include "version.h"

enum module {
    MODULE_DEVICES, /* libpcap and libibverbs */
    MODULE_SQLITE,
    MODULE_ZLIB,
    MODULE_ZSTD,
    MODULE_XZ,
    MODULE_BZIP2,
    MODULE_LZ4,
    N_MODULES
};

/* What the shared object exports, as rpcrdma_module. */
struct module_table {
    const char *version; /* of the program that it belongs to */
    size_t size;         /* of the table */
    const void *calls;   /* the table */
};

/* A member of a table's struct, and its value: functions by their own names. */
#define MODULE_CALL(function) __typeof__(function) *(function);
#define MODULE_ENTRY(function) .function = (function),

/* In a module's only file, for a `static const` table. */
#ifdef RPCRDMA_MODULES
#define MODULE_SYMBOL(name) rpcrdma_module
#else
#define MODULE_SYMBOL(name) rpcrdma_module_##name
#endif
#define MODULE(name, calls)                                                                        \
    extern const struct module_table MODULE_SYMBOL(name);                                          \
    __attribute__((visibility("default"))) const struct module_table MODULE_SYMBOL(name) = {       \
        RPCRDMA_VERSION, sizeof(calls), &(calls)}

/* Loads it, for module_calls to find: what is wrong is said there. Only what the program was built
 * with is asked for. */
void module_load(enum module module);

/* The table, of `size` bytes, which stays; loaded if it was not. NULL with one line in `error`. */
const void *module_calls(enum module module, size_t size, char *error, size_t error_size);

/* Whether this program, given capabilities (setcap), would load its modules. */
bool module_for_capabilities(void);

#endif
