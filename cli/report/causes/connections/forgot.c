/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about a client that asks anew by a queue pair which its server still
 * has in a connection (REJ, stale connection): it does not know that any more. */
#include "report/causes/connections/life.h"
#include "report/collect/attempts.h"
#include "report/hosts.h"

#include <stdio.h>

#include "common/times.h"

bool report_stale(const struct rpcrdma_connection *c)
{
    enum { STALE_CONNECTION = 10 }; /* IBTA volume 1 section 12.6.7.2 */

    return c->rejected && c->life.reject_reason == STALE_CONNECTION && report_refused_by_server(c);
}

static uint32_t client_qpn(const struct rpcrdma_connection *c)
{
    return c->end[1 - report_server_end(c)].qpn;
}

/* It was set up by the same queue pair of the client's, and nobody closed it since. */
static bool is_forgotten(const struct report_connection *was, const struct report_connection *c)
{
    return was != c && was->pub.messages > 0 && was->pub.life.ended == RPCRDMA_ENDED_NOT &&
           was->pub.last_frame < c->pub.first_frame && client_qpn(&was->pub) == client_qpn(&c->pub);
}

/* The latest; NULL: it was set up before the capture began, or is not kept. */
static const struct report_connection *forgotten(const struct report *r,
                                                 const struct report_connection *c)
{
    const struct report_connection *found = NULL;

    for (const struct report_connection *was = report_of_hosts(r, c); was;
         was = report_of_hosts_next(was))
        if (is_forgotten(was, c) && (!found || was->pub.last_frame > found->pub.last_frame))
            found = was;
    return found;
}

void causes_of_forgotten(struct report *r, const struct report_connection *c)
{
    const struct report_connection *next = report_numbered(r, c->pub.life.next), *was;
    struct report_cause *cause;
    int64_t since_ns, until_ns;

    if (!report_stale(&c->pub) || !next || report_refused(&next->pub))
        return; /* `connection-refused` tells, or the next one does */
    was = forgotten(r, c);
    if (!was || report_end_told(was) || next->trouble->resent > 0)
        return; /* or Calls were sent again: connection-failed tells */
    since_ns = was->pub.last_time_ns;
    until_ns = next->pub.first_time_ns;
    cause = report_cause_add(r, CAUSE_CLIENT_RESTARTED, CONFIDENCE_MEDIUM);
    cause->time_ns = time_less(until_ns, since_ns);
    cause->frame = c->pub.life.ended_frame;
    report_cause_lasted(cause, REPORT_FAILED_RESTARTED, since_ns, until_ns);
    snprintf(cause->text, sizeof(cause->text),
             "The client, or its adapter, was restarted: it asked for a connection by queue pair "
             "%u, which the server still had in connection %u. The server refused that (REJ, stale "
             "connection), and accepted connection %u %.1f s after the last packet of that one.",
             (unsigned)client_qpn(&c->pub), (unsigned)was->pub.number, (unsigned)next->pub.number,
             report_seconds(cause->time_ns));
    snprintf(cause->against, sizeof(cause->against),
             "it may have closed that connection, and its DREQ not have come to the server");
}
