/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DuckDB finds out by itself what NDJSON has; but a column that has no value in any row is not in
 * these files, and one of few values may be taken for another type. So each view says what there
 * is.
 */
#include "export/duckdb.h"

#include "each.h"
#include "export/tables.h"

static void put_view(struct out *out, const struct table *table)
{
    static const char *const types[] = {
        [COLUMN_ID] = "VARCHAR",   [COLUMN_INT] = "BIGINT",    [COLUMN_TIME] = "BIGINT",
        [COLUMN_SPAN] = "BIGINT",  [COLUMN_BYTES] = "BIGINT",  [COLUMN_BOOL] = "BOOLEAN",
        [COLUMN_TEXT] = "VARCHAR", [COLUMN_COUNT] = "UBIGINT", [COLUMN_OFFSET] = "UBIGINT",
    };
    RPCRDMA_EACH(types, COLUMN_TYPES);

    out_text(out, "CREATE OR REPLACE VIEW ");
    out_text(out, table->name);
    out_text(out, " AS FROM read_json('");
    out_text(out, table->name);
    out_text(out, "*.ndjson*', format = 'newline_delimited', columns = {");
    for (size_t i = 0; i < table->n_columns; i++) {
        out_text(out, i > 0 ? ",\n    \"" : "\n    \"");
        out_text(out, table->columns[i].name);
        out_text(out, "\": '");
        out_text(out, types[table->columns[i].type]);
        out_char(out, '\'');
    }
    out_text(out, "});\n\n");
}

void duckdb_views(struct out *out, unsigned wanted)
{
    for (enum table_id table = 0; table < N_TABLES; table++)
        if (wanted >> table & 1)
            put_view(out, &tables[table]);
}
