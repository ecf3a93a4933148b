/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_SQLITE_FILE_H
#define RPCRDMA_CLI_EXPORT_SQLITE_FILE_H

/* The database of an export, without the rows that store_sqlite.c puts into it. */

#ifdef HAVE_SQLITE

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/stores.h"
#include "module/calls_sqlite.h"

struct sqlite_file {
    sqlite3 *db;
    char *path;
    int fd;     /* the caller's */
    bool fresh; /* there was no database: uniqueness is looked at by the indexes, at the end */
    bool failed;
};

/* SQLite itself; set before anything else here is called. */
extern const struct sqlite_calls *sqlite_lib;

/* Made, or found; `fresh` then says which. False: it was told, and there is nothing to close. */
bool sqlite_file_open(struct sqlite_file *file, const struct database_name *name, size_t bytes);
void sqlite_file_close(struct sqlite_file *file);

/* Before rows come: its tables are there, and it opens no further file. shared: others may read it
 * meanwhile. */
bool sqlite_file_begin(struct sqlite_file *file, bool shared);
/* When all rows are there: keys, views. Of rows with one key the first stays: *twice are left out.
 */
bool sqlite_file_finish(struct sqlite_file *file, uint64_t *twice);

/* False; the first time it says why. */
bool sqlite_file_fail(struct sqlite_file *file);
bool sqlite_file_run(struct sqlite_file *file, const char *sql);
/* What it answers; -1: nothing. */
int64_t sqlite_file_number(struct sqlite_file *file, const char *sql);
bool sqlite_file_statement(struct sqlite_file *file, const char *sql, sqlite3_stmt **statement);

#endif

#endif
