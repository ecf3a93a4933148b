/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_CLICKHOUSE_H
#define RPCRDMA_CLI_EXPORT_CLICKHOUSE_H

#include <stdbool.h>

#include "out/out.h"

/* What may stand in the statements as a cluster's name. */
bool clickhouse_cluster_name(const char *name);

/* The statements that make the tables, and views, of a ClickHouse server, as NDJSON fills them.
 * `cluster`, where it is not NULL: and of the tables that are spread over its servers. */
void clickhouse_schema(struct out *out, const char *cluster);

#endif
