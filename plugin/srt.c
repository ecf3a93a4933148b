/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats.h"

#include <epan/srt_table.h>

/* From a Call's last packet to its Reply's, per operation. Rows are made as operations are met. */

static void begin(struct register_srt *srt, GArray *tables)
{
    (void)srt;
    init_srt_table("RPC-over-RDMA", "RPC-over-RDMA", tables, 0, "Operation", NULL, NULL);
}

static int row_of(srt_stat_table *table, const char *title)
{
    for (int i = 0; i < table->num_procs; i++)
        if (table->procedures[i].procedure && strcmp(table->procedures[i].procedure, title) == 0)
            return i;
    init_srt_table_row(table, table->num_procs, title);
    return table->num_procs - 1;
}

static tap_packet_status packet(void *data, packet_info *pinfo, epan_dissect_t *edt,
                                const void *what, tap_flags_t flags)
{
    const struct transacted *t = what;
    srt_stat_table *table = g_array_index(((srt_data_t *)data)->srt_array, srt_stat_table *, 0);
    nstime_t response =
        NSTIME_INIT_SECS_NSECS(t->response_ns / 1000000000, (int)(t->response_ns % 1000000000));
    nstime_t called;

    (void)edt;
    (void)flags;
    if (!t->has_response || t->response_ns < 0)
        return TAP_PACKET_DONT_REDRAW;
    /* the frame in hand may be one after the Reply: what counts is the time between the two */
    nstime_delta(&called, &pinfo->abs_ts, &response);
    add_srt_table_data(table, row_of(table, t->title), &called, pinfo);
    return TAP_PACKET_REDRAW;
}

void srt_register(void)
{
    register_srt_table(proto_rpcrdma, tap_name(TAP_TRANSACTIONS), 1, packet, begin, NULL);
}
