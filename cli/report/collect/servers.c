/* SPDX-License-Identifier: BSD-2-Clause */
/* What RPCs of each server failed, of its connections that have ended. */
#include "report/collect/collect.h"

#include <string.h>

static void add_failed(struct report_server *one, enum report_level level,
                       const struct report_failed *failed, uint32_t connection)
{
    struct report_failed *sum = &one->failed[level];

    if (failed->rpcs == 0)
        return;
    if (sum->rpcs == 0 || failed->frame < sum->frame)
        sum->frame = failed->frame;
    sum->since_ns = sum->rpcs == 0 ? failed->since_ns : MIN(sum->since_ns, failed->since_ns);
    sum->last_ns = sum->rpcs == 0 ? failed->last_ns : MAX(sum->last_ns, failed->last_ns);
    one->connection[level] = sum->rpcs == 0 ? connection : 0;
    sum->rpcs += failed->rpcs;
    report_burst_add(&one->burst[level], &failed->bursts.worst);
}

void report_served(struct report *r, const struct rpcrdma_connection *c,
                   const struct report_tally *t)
{
    const struct rpcrdma_address *address = report_host(c, true);
    struct report_server *one = r->servers;
    unsigned i = 0;

    while (i < r->n_servers && memcmp(&one->address, address, sizeof(*address)) != 0)
        i++, one++;
    if (i == REPORT_SERVERS || t->rpcs == 0)
        return;
    if (i == r->n_servers)
        r->servers[r->n_servers++].address = *address;
    one->rpcs += t->rpcs;
    for (enum report_level level = 0; level < REPORT_LEVELS && t->trouble; level++)
        add_failed(one, level, &t->trouble->failed[level], c->number);
}
