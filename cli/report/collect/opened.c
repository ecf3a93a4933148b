/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/collect/opened.h"

#include <string.h>

void report_opened_begin(struct report *r)
{
    r->opened = g_hash_table_new_full(report_service_hash, report_service_equal, NULL, g_free);
}

void report_opened_end(struct report *r)
{
    g_hash_table_destroy(r->opened);
}

const struct report_opened *report_opened_of(const struct report *r,
                                             const struct report_service *service)
{
    return g_hash_table_lookup(r->opened, service);
}

static void syn_ack(struct report *r, const struct rpcrdma_op *op)
{
    struct report_service service;
    struct report_opened *opened;

    if (g_hash_table_size(r->opened) == 0)
        return;
    memset(&service, 0, sizeof(service));
    service.client = op->dst;
    service.server = op->src;
    service.port = op->src_port;
    service.iwarp = true;
    opened = g_hash_table_lookup(r->opened, &service);
    if (!opened)
        return;
    opened->frame = op->frame;
    opened->time_ns = op->time_ns;
    opened->client_port = op->dst_port;
}

/* A server may answer a SYN and then refuse what it is asked for: that opened nothing. */
static void refused(struct report *r, const struct rpcrdma_op *op)
{
    const struct rpcrdma_connection *c = pipeline_connection(r->pipeline, op);
    struct report_service service;
    struct report_opened *opened;

    if (!c || c->end[report_server_end(c)].port != op->src_port)
        return;
    report_service_of(&service, c);
    opened = g_hash_table_lookup(r->opened, &service);
    if (!opened && g_hash_table_size(r->opened) >= r->most_connections)
        return;
    if (!opened) {
        opened = g_new0(struct report_opened, 1);
        opened->service = service;
        g_hash_table_add(r->opened, opened);
    }
    if (opened->frame != 0 && opened->client_port != op->dst_port)
        opened->before = opened->frame;
    opened->frame = 0;
}

void report_opened_op(struct report *r, const struct rpcrdma_op *op)
{
    if (op->carrier != RPCRDMA_CARRIER_IWARP)
        return;
    if (op->kind == RPCRDMA_OP_SYN_ACK)
        syn_ack(r, op);
    else if (op->kind == RPCRDMA_OP_RESET || op->kind == RPCRDMA_OP_REJECT)
        refused(r, op);
}
