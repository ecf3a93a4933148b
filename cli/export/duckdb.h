/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_DUCKDB_H
#define RPCRDMA_CLI_EXPORT_DUCKDB_H

#include "out/out.h"

/* The statements by which DuckDB reads the NDJSON of these tables, a bit each, in its working
 * directory: a view per table. */
void duckdb_views(struct out *out, unsigned wanted);

#endif
