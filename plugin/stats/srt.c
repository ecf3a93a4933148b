/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/stats.h"

#include <epan/srt_table.h>

#include "store/titles.h"
#include "wireshark/protocol.h"

/*
 * From a Call's last packet to its Reply's: a table per program and version, a row per operation,
 * whose number is what Apply as Filter asks for; of a COMPOUND that is the main one. Tables and
 * rows are made as operations are met. What a capture may choose is bounded: beyond that, and
 * without a program, RPCs go to a table without a filter.
 */

enum { TABLES = 64, ROWS = 256 };

static const char nothing[] = "RPC-over-RDMA", others[] = "Other RPCs";

/* tshark takes a first table for granted. */
static void begin(struct register_srt *srt, GArray *tables)
{
    (void)srt;
    init_srt_table(nothing, nothing, tables, 0, nothing, NULL, NULL);
}

static srt_stat_table *add_table(GArray *tables, const char *program, const struct title *title)
{
    const char *name = g_intern_string(program); /* it is not copied; programs are few */
    srt_stat_table *table = g_array_index(tables, srt_stat_table *, 0);

    if (table->name != nothing)
        table = init_srt_table(name, name, tables, 0, name, NULL, NULL);
    table->name = table->short_name = table->proc_column_name = name;
    if (title)
        table->filter_string = g_strdup_printf("rpcrdma.rpcs.program==%u && "
                                               "rpcrdma.rpcs.version==%u && rpcrdma.rpcs.operation",
                                               title->program_number, title->version);
    return table;
}

static srt_stat_table *find_table(const GArray *tables, const char *program)
{
    for (unsigned i = 0; i < tables->len; i++) {
        srt_stat_table *table = g_array_index(tables, srt_stat_table *, i);

        if (strcmp(table->name, program) == 0)
            return table;
    }
    return NULL;
}

static srt_stat_table *table_of(GArray *tables, const struct title *title)
{
    bool own = title->program && title->operation_number < ROWS;
    srt_stat_table *table = own ? find_table(tables, title->program) : NULL;

    if (table)
        return table;
    if (own && tables->len < TABLES)
        return add_table(tables, title->program, title);
    table = find_table(tables, others);
    return table ? table : add_table(tables, others, NULL);
}

static int row_of(srt_stat_table *table, const struct title *title)
{
    int row = (int)title->operation_number;

    if (table->filter_string) {
        if (row >= table->num_procs || !table->procedures[row].procedure)
            init_srt_table_row(table, row, title->operation);
        return row;
    }
    for (row = 0; row < table->num_procs; row++)
        if (strcmp(table->procedures[row].procedure, title->text) == 0)
            return row;
    if (row == ROWS)
        return ROWS - 1;
    init_srt_table_row(table, row, row < ROWS - 1 ? title->text : "others");
    return row;
}

static tap_packet_status packet(void *data, packet_info *pinfo, epan_dissect_t *edt,
                                const void *what, tap_flags_t flags)
{
    const struct transacted *t = what;
    srt_stat_table *table;
    nstime_t response =
        NSTIME_INIT_SECS_NSECS(t->response_ns / 1000000000, (int)(t->response_ns % 1000000000));
    nstime_t called;

    (void)edt;
    (void)flags;
    if (!t->has_response || t->response_ns < 0)
        return TAP_PACKET_DONT_REDRAW;
    table = table_of(((srt_data_t *)data)->srt_array, t->title);
    /* the frame in hand may be one after the Reply: what counts is the time between the two */
    nstime_delta(&called, &pinfo->abs_ts, &response);
    add_srt_table_data(table, row_of(table, t->title), &called, pinfo);
    return TAP_PACKET_REDRAW;
}

void srt_register(void)
{
    register_srt_table(proto_rpcrdma, tap_name(TAP_TRANSACTIONS), TABLES, packet, begin, NULL);
}
