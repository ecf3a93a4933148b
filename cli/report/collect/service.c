/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/collect/service.h"

#include <string.h>

#include "common/keyed_hash.h"

guint report_service_hash(gconstpointer service)
{
    return keyed_hash(service, sizeof(struct report_service));
}

gboolean report_service_equal(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct report_service)) == 0;
}

void report_service_of(struct report_service *service, const struct rpcrdma_connection *c)
{
    int end = report_server_end(c);

    memset(service, 0, sizeof(*service));
    service->client = c->end[1 - end].address;
    service->server = c->end[end].address;
    service->port = c->service_port;
    service->iwarp = c->carrier == RPCRDMA_CARRIER_IWARP;
}
