/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_COLLECT_SERVICE_H
#define RPCRDMA_CLI_REPORT_COLLECT_SERVICE_H

/* What a client asks for: a key of hash tables. */

#include "report/report.h"

/* Zeroed, its padding, too: it is hashed. */
struct report_service {
    struct rpcrdma_address client, server;
    uint32_t port;  /* 0: not known */
    uint32_t iwarp; /* else RoCE or InfiniBand */
};

/* A GHashFunc and a GEqualFunc. */
guint report_service_hash(gconstpointer service);
gboolean report_service_equal(gconstpointer a, gconstpointer b);
/* What its client asked for. */
void report_service_of(struct report_service *service, const struct rpcrdma_connection *c);

#endif
