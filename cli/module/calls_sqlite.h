/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_MODULE_CALLS_SQLITE_H
#define RPCRDMA_CLI_MODULE_CALLS_SQLITE_H

#include <sqlite3.h>

#include "module/module.h"

/* The functions that are called. */
#define SQLITE_CALLS(CALL)                                                                         \
    CALL(sqlite3_bind_blob)                                                                        \
    CALL(sqlite3_bind_int64)                                                                       \
    CALL(sqlite3_bind_null)                                                                        \
    CALL(sqlite3_bind_text)                                                                        \
    CALL(sqlite3_changes)                                                                          \
    CALL(sqlite3_close)                                                                            \
    CALL(sqlite3_column_int64)                                                                     \
    CALL(sqlite3_column_text)                                                                      \
    CALL(sqlite3_errcode)                                                                          \
    CALL(sqlite3_errmsg)                                                                           \
    CALL(sqlite3_exec)                                                                             \
    CALL(sqlite3_finalize)                                                                         \
    CALL(sqlite3_open_v2)                                                                          \
    CALL(sqlite3_prepare_v2)                                                                       \
    CALL(sqlite3_prepare_v3)                                                                       \
    CALL(sqlite3_reset)                                                                            \
    CALL(sqlite3_step)

struct sqlite_calls {
    SQLITE_CALLS(MODULE_CALL)
};

#endif
