/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_DESCRIBE_H
#define RPCRDMA_CLI_EXPORT_DESCRIBE_H

/* Which tables there are, for who chooses among them or makes them elsewhere. All return a status:
 * an exit status, or OPTIONS_GO_ON. */

#include "command.h"
#include "options/options.h"

/* Sets a bit in *wanted, 0 before, for each table (enum table_id) of the list, which commas
 * separate; for all where it is NULL. */
int describe_chosen(const struct command *command, const char *names, unsigned *wanted);

/* Prints what the tables that are wanted have, an object per column. */
int describe_columns(const struct options *options, unsigned wanted);

/* Prints the statements that make them in another database, all of them or those that are wanted;
 * `cluster` may be NULL. */
int describe_sql(const struct command *command, const struct options *options, unsigned wanted,
                 const char *engine, const char *cluster);

#endif
