/* SPDX-License-Identifier: BSD-2-Clause */
/* What RPCs of each server failed, of its connections that have ended; and how long it took for
 * all. */
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

/* Its index, be it new; REPORT_SERVERS: there is no room. */
static unsigned index_of(struct report *r, const struct rpcrdma_connection *c)
{
    const struct rpcrdma_address *address = report_host(c, true);
    unsigned i = 0;

    while (i < r->n_servers && memcmp(&r->servers[i].address, address, sizeof(*address)) != 0)
        i++;
    if (i == r->n_servers && i < REPORT_SERVERS)
        r->servers[r->n_servers++].address = *address;
    return i;
}

void report_spend(struct report *r, const struct rpcrdma_transaction *t)
{
    struct report_tally *tally = report_tally_of(r, t->connection);
    unsigned i = tally && tally->server > 0 ? tally->server - 1u : index_of(r, t->connection);

    if (tally)
        tally->server = (i + 1u) & 127;
    if (i == REPORT_SERVERS)
        return;
    r->servers[i].n_spent++;
    r->servers[i].spent_ns = time_plus(r->servers[i].spent_ns, t->phases.server_ns);
}

void report_served(struct report *r, const struct rpcrdma_connection *c,
                   const struct report_tally *t)
{
    unsigned i = t->rpcs > 0 ? index_of(r, c) : REPORT_SERVERS;
    struct report_server *one;

    if (i == REPORT_SERVERS)
        return;
    one = &r->servers[i];
    one->rpcs += t->rpcs;
    for (enum report_level level = 0; level < REPORT_LEVELS && t->trouble; level++)
        add_failed(one, level, &t->trouble->failed[level], c->number);
}
