/* SPDX-License-Identifier: BSD-2-Clause */
/* What befell connections of many clients of one server, or of one client with many servers, in the
 * same way is one cause: where all of them were down at once, that host most likely, or what is
 * next to it. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/times.h"
#include "out/address.h"

/* Restarts are told for all clients of a server, and all servers of a client, already. */
static bool concerns(const struct report_cause *cause)
{
    return cause->how != REPORT_FAILED_NOT && cause->id != CAUSE_SERVER_RESTARTED &&
           cause->id != CAUSE_CLIENT_RESTARTED;
}

static int compare(const struct report_cause *a, const struct report_cause *b, bool server)
{
    if (a->id != b->id)
        return (int)a->id - (int)b->id;
    if (a->how != b->how)
        return (int)a->how - (int)b->how;
    return report_compare_hosts(a->of, b->of, server);
}

static int compare_servers(const struct report_cause *a, const struct report_cause *b)
{
    return compare(a, b, true);
}

static int compare_clients(const struct report_cause *a, const struct report_cause *b)
{
    return compare(a, b, false);
}

/* server: all are of one; else of one client. */
static void join(const struct report *r, struct report_cause *const *all, guint n, bool server)
{
    const struct report_cause *told = report_causes_longest(all, n);
    const struct report_lasted lasted = report_causes_lasted(all, n);
    const int64_t start_ns = r->pipeline->clock.start_ns;
    struct report_cause one = *told;
    const guint others = report_causes_hosts(all, n, !server);
    char host[ADDRESS_SIZE], common[80] = "";
    const bool together = report_causes_at_once(all, n) == n;

    if (others <= REPORT_FEW)
        return;
    report_causes_add_up(&one, all, n);
    report_causes_judge(&one, all, n, false);
    one.connections = report_causes_connections(all, n);
    one.since_ns = all[0]->since_ns;
    one.until_ns = lasted.until_ns;
    one.time_ns = MAX(lasted.sum_ns, lasted.longest_ns);
    host[address_or_name(report_host(&one.of->pub, server), host)] = '\0';
    if (together)
        snprintf(common, sizeof(common),
                 ": what they have in common was down, the %s, its port or a switch",
                 server ? "server" : "client");
    snprintf(one.text, sizeof(one.text),
             "Connections of %s%u %s with the %s %s %s %" PRIu64
             " times%s, from %.1f s to %.1f s into the "
             "capture, %.1f s in all%s. %s: %.600s",
             report_at_least(r), others, server ? "clients" : "servers",
             server ? "server" : "client", host,
             one.id == CAUSE_CONNECTION_FAILED ? "failed" : "were broken off", one.count,
             together ? " at once" : "", report_seconds(time_less(one.since_ns, start_ns)),
             report_seconds(time_less(one.until_ns, start_ns)), report_seconds(one.time_ns), common,
             told->time_ns == lasted.longest_ns ? "The longest" : "One of them", told->text);
    report_causes_replace(all, n, &one);
}

static void join_clients(const struct report *r, struct report_cause *const *all, guint n)
{
    join(r, all, n, true);
}

static void join_servers(const struct report *r, struct report_cause *const *all, guint n)
{
    join(r, all, n, false);
}

void causes_in_common(struct report *r)
{
    static const struct report_join of_server = {concerns, compare_servers, join_clients};
    static const struct report_join of_client = {concerns, compare_clients, join_servers};

    report_causes_join(r, &of_server);
    report_causes_join(r, &of_client);
}
