/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ClickHouse has no unique keys. Of rows that have the same sort key ReplacingMergeTree keeps one:
 * when it merges, or at once for who asks with FINAL. So all that is in a sort key is made of what
 * the row's id is made of. A cluster's tables are spread by the id: a row comes to the same server
 * whoever loads it.
 */
#include "export/clickhouse.h"

#include <string.h>

#include "each.h"
#include "export/clickhouse_views.h" /* clickhouse_views, from clickhouse.sql */
#include "export/tables.h"

#define DATABASE "rpcrdma"

bool clickhouse_cluster_name(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

    return strspn(name, first) > 0 && name[strspn(name, rest)] == '\0';
}

/* It is there in every row, and a part of what the id is made of. */
static bool is_row_time(const struct column *column)
{
    return column->type == COLUMN_TIME && strcmp(column->name, "time_ns") == 0;
}

/* Rows of a capture are written as it goes on: the one with most packets is the latest. */
static bool is_version(const struct table *table, const struct column *column)
{
    return table == &tables[TABLE_CAPTURES] && strcmp(column->name, "packets") == 0;
}

static bool has_row_time(const struct table *table)
{
    for (size_t i = 0; i < table->n_columns; i++)
        if (is_row_time(&table->columns[i]))
            return true;
    return false;
}

static void put_columns(struct out *out, const struct table *table)
{
    static const char *const types[] = {
        [COLUMN_ID] = "FixedString(18)", [COLUMN_INT] = "Int64",    [COLUMN_TIME] = "Int64",
        [COLUMN_SPAN] = "Int64",         [COLUMN_BYTES] = "Int64",  [COLUMN_BOOL] = "UInt8",
        [COLUMN_TEXT] = "String",        [COLUMN_COUNT] = "UInt64", [COLUMN_OFFSET] = "UInt64",
    };
    RPCRDMA_EACH(types, COLUMN_TYPES);

    for (size_t i = 0; i < table->n_columns; i++) {
        const struct column *column = &table->columns[i];
        bool version = is_version(table, column);
        bool known = version || strcmp(column->name, "id") == 0 || is_row_time(column);

        out_text(out, i > 0 ? ",\n    `" : "    `");
        out_text(out, column->name);
        out_text(out, known ? "` " : "` Nullable(");
        out_text(out, version ? "UInt64" : types[column->type]);
        if (!known)
            out_char(out, ')');
    }
}

static void begin_table(struct out *out, const struct table *table, const char *suffix)
{
    out_text(out, "CREATE TABLE IF NOT EXISTS " DATABASE ".");
    out_text(out, table->name);
    out_text(out, suffix);
    out_text(out, " (\n");
    put_columns(out, table);
    out_text(out, "\n) ENGINE = ");
}

static void put_table(struct out *out, const struct table *table, const char *cluster)
{
    begin_table(out, table, cluster ? "_local" : "");
    out_text(out, "ReplacingMergeTree");
    if (table == &tables[TABLE_CAPTURES])
        out_text(out, "(packets)");
    out_text(out, " ORDER BY ");
    out_text(out, has_row_time(table) ? "(time_ns, id);\n\n" : "id;\n\n");
    if (!cluster)
        return;
    begin_table(out, table, "");
    out_text(out, "Distributed(");
    out_text(out, cluster);
    out_text(out, ", " DATABASE ", ");
    out_text(out, table->name);
    out_text(out, "_local, sipHash64(id));\n\n");
}

void clickhouse_schema(struct out *out, const char *cluster)
{
    out_text(out, "CREATE DATABASE IF NOT EXISTS " DATABASE ";\n\n");
    for (enum table_id table = 0; table < N_TABLES; table++)
        put_table(out, &tables[table], cluster);
    out_text(out, clickhouse_views);
}
