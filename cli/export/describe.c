/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/describe.h"

#include "export/clickhouse.h"
#include "export/duckdb.h"
#include "export/tables.h"
#include "out/json_writer.h"
#include "output/finish.h"

static int no_table(const struct command *command, const char *name)
{
    GString *all = g_string_new(NULL);
    int status;

    for (enum table_id table = 0; table < N_TABLES; table++)
        g_string_append_printf(all, "%s%s",
                               table == 0              ? ""
                               : table == N_TABLES - 1 ? " or "
                                                       : ", ",
                               tables[table].name);
    status = bad_usage(command, "--tables: there is no table \"%s\"; choose %s", name, all->str);
    g_string_free(all, TRUE);
    return status;
}

int describe_chosen(const struct command *command, const char *names, unsigned *wanted)
{
    char **list;
    int status = OPTIONS_GO_ON;

    if (!names) {
        *wanted = (1u << N_TABLES) - 1;
        return OPTIONS_GO_ON;
    }
    if (!*names)
        return no_table(command, names);
    list = g_strsplit(names, ",", -1);
    for (char **name = list; *name && status == OPTIONS_GO_ON; name++) {
        enum table_id table = 0;

        while (table < N_TABLES && strcmp(tables[table].name, *name) != 0)
            table++;
        if (table == N_TABLES)
            status = no_table(command, *name);
        else
            *wanted |= 1u << table;
    }
    g_strfreev(list);
    return status;
}

int describe_columns(const struct options *options, unsigned wanted)
{
    struct out out;
    int status = begin_output(options, &out);
    struct json json = {.out = &out};

    if (status != OPTIONS_GO_ON)
        return status;
    for (enum table_id table = 0; table < N_TABLES; table++)
        for (size_t i = 0; wanted >> table & 1 && i < tables[table].n_columns; i++) {
            const struct column *column = &tables[table].columns[i];
            const char *help = column_help(column);

            json_open(&json, '{');
            json_key(&json, KEY(table)), json_plain(&json, tables[table].name);
            json_key(&json, KEY(column)), json_plain(&json, column->name);
            json_key(&json, KEY(unit)), json_plain(&json, column_unit(column->type));
            if (column->field[0])
                json_key(&json, KEY(field)), json_plain(&json, column->field);
            json_key(&json, KEY(help)), json_string(&json, help, strlen(help));
            json_close(&json, '}');
            json_end(&json);
        }
    return end_output(&out, EXIT_DONE);
}

int describe_sql(const struct command *command, const struct options *options, unsigned wanted,
                 const char *engine, const char *cluster)
{
    bool duckdb = strcmp(engine, "duckdb") == 0;
    struct out out;
    int status;

    if (!duckdb && strcmp(engine, "clickhouse") != 0)
        return bad_usage(command, "--sql: there is no engine \"%s\"; choose clickhouse or duckdb",
                         engine);
    if (cluster && duckdb)
        return bad_usage(command, "--cluster: DuckDB has none");
    if (cluster && !clickhouse_cluster_name(cluster))
        return bad_usage(command, "--cluster: letters, digits and _, not \"%s\"", cluster);
    status = begin_output(options, &out);
    if (status != OPTIONS_GO_ON)
        return status;
    if (duckdb)
        duckdb_views(&out, wanted);
    else
        clickhouse_schema(&out, cluster);
    return end_output(&out, EXIT_DONE);
}
