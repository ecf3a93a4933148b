/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_DATABASE_H
#define RPCRDMA_CLI_EXPORT_DATABASE_H

/*
 * An export into an SQLite database, by processes that have nothing else to lose: one reads packets
 * and adds rows, another, which may do nothing outside of the database's folder, makes indexes and
 * views of what the first wrote. Signals that end the command end the first; the second still runs.
 */

#include "export/tables.h"
#include "options/options.h"

/* Whether a database may have that name: nothing but a regular file does, and neither it nor what
 * SQLite makes beside it is read. Otherwise it was said. */
bool database_possible(const struct options *options, const char *path);

/* `fill` runs in the first process: it adds rows and returns the exit status, as this does. What
 * goes wrong was said. */
int database_export(const struct options *options, const char *path,
                    int (*fill)(void *context, struct store *store), void *context);

#endif
