/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about RDMA Reads of connections of which no message was captured. */
#include "report/collect/reads_alone.h"

#include <stdio.h>

#include "common/times.h"
#include "out/address.h"
#include "report/causes/causes.h"

/* A connection whose server asks that client; NULL: there is none, or this queue pair is one's. */
static const struct report_connection *of_hosts(const struct report *r,
                                                const struct report_read_alone *read)
{
    const struct report_connection *c, *found = NULL;
    GHashTableIter each = report_each(r);

    while ((c = report_next(&each))) {
        const struct rpcrdma_endpoint *client = &c->pub.end[1 - report_server_end(&c->pub)];

        if (c->messages == 0 ||
            !report_read_is_of(read, report_host(&c->pub, true), &client->address))
            continue;
        if (client->has_qpn && client->qpn == read->qpn)
            return NULL;
        found = c;
    }
    return found;
}

static void failed(struct report *r, const struct report_read_alone *read)
{
    const struct report_connection *c = of_hosts(r, read);
    char server[ADDRESS_SIZE], client[ADDRESS_SIZE], others[REPORT_BESIDE_ROOM] = "";
    struct report_cause *cause;

    if (!c)
        return;
    server[address_or_name(&read->src, server)] = '\0';
    client[address_or_name(&read->dst, client)] = '\0';
    report_look_hosts(r, c, read->since_ns, read->last_ns, others);
    cause = report_cause_add(r, CAUSE_CONNECTION_FAILED, CONFIDENCE_MEDIUM);
    cause->frame = read->frame;
    cause->time_ns = time_less(read->last_ns, read->since_ns);
    snprintf(cause->text, sizeof(cause->text),
             "A connection of which no message was captured failed: %s did not answer an RDMA Read "
             "of %s, which was sent to its queue pair %u %u times within %.1f s.%s",
             client, server, (unsigned)read->qpn, (unsigned)read->times,
             report_seconds(cause->time_ns), others);
    snprintf(
        cause->against, sizeof(cause->against),
        "its answers may have been lost, or not captured; it may have been another protocol's");
}

void causes_of_reads_alone(struct report *r)
{
    for (guint i = 0; r->reads_alone && i < REPORT_READS_ALONE; i++)
        if (r->reads_alone[i].times >= REPORT_RETRIES &&
            time_less(r->reads_alone[i].last_ns, r->reads_alone[i].since_ns) >= SECOND)
            failed(r, &r->reads_alone[i]);
}
