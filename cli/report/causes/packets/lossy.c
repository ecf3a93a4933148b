/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that were lost on many connections of one server, towards the server or towards its
 * clients, are one cause: a switch or a port that all of them share loses them, most likely. */
#include "report/causes/causes.h"

#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"
#include "out/address.h"

static bool concerns(const struct report_cause *cause)
{
    return cause->has_lost;
}

static bool is_tcp(const struct report_cause *cause)
{
    return cause->of->pub.carrier == RPCRDMA_CARRIER_IWARP;
}

/* By the server, and the way. */
static int compare(const struct report_cause *a, const struct report_cause *b)
{
    if (a->id != b->id)
        return (int)a->id - (int)b->id;
    if (is_tcp(a) != is_tcp(b))
        return is_tcp(a) ? 1 : -1;
    return report_compare_hosts(a->of, b->of, true);
}

/* Of what one waited, what is not known when. */
static int64_t rest(const struct report_cause *cause)
{
    return MAX(0, time_less(cause->time_ns, report_periods_ns(&cause->when)));
}

/* The one of them that waited longest is named. How long they did, in all; the cost is how long one
 * of them did, at least. */
static int64_t add_up(struct report_cause *one, struct report_cause *const *all, guint n)
{
    int64_t all_ns, rest_ns = rest(all[0]);

    report_causes_add_up(one, all, n);
    for (guint i = 1; i < n; i++) {
        report_periods_add(&one->when, &all[i]->when);
        rest_ns = time_plus(rest_ns, rest(all[i]));
        one->time_ns = time_plus(one->time_ns, all[i]->time_ns);
        one->lost.naks += all[i]->lost.naks;
        one->lost.timeouts += all[i]->lost.timeouts;
        one->lost.packets += all[i]->lost.packets;
        if (all[i]->lost.longest_ns > one->lost.longest_ns) {
            one->lost.longest_ns = all[i]->lost.longest_ns;
            one->of = all[i]->of;
        }
    }
    all_ns = one->time_ns;
    one->time_ns = MIN(all_ns, time_plus(report_periods_ns(&one->when), rest_ns));
    return all_ns;
}

static void join(const struct report *r, struct report_cause *const *all, guint n)
{
    struct report_cause one = *all[0];
    char told[REPORT_LOST_ROOM], server[ADDRESS_SIZE], once[64] = "";
    guint hosts;
    int64_t all_ns;

    if (n <= REPORT_FEW)
        return;
    hosts = report_causes_hosts(all, n, false);
    report_causes_judge(&one, all, n, false);
    all_ns = add_up(&one, all, n);
    one.connections = report_causes_connections(all, n);
    server[address_or_name(report_host(&one.of->pub, true), server)] = '\0';
    report_tell_lost(&one.lost, all_ns, is_tcp(&one), told);
    if (all_ns - one.time_ns >= 1000000)
        snprintf(once, sizeof(once), ", %.3f s where what overlaps counts once",
                 report_seconds(one.time_ns));
    snprintf(one.text, sizeof(one.text),
             "Packets towards %s%s were lost on the network, on %s%u connections of %u client%s "
             "with the server %s: %s (connection %u)%s.",
             one.id == CAUSE_LOST_TO_SERVER   ? "the server"
             : one.id == CAUSE_LOST_TO_CLIENT ? "the client"
                                              : "a peer",
             one.id == CAUSE_LOST_TO_CLIENT ? plural(hosts) : "", report_at_least(r), n, hosts,
             plural(hosts), server, told, (unsigned)one.of->pub.number, once);
    report_causes_replace(all, n, &one);
}

void causes_of_all_lost(struct report *r)
{
    static const struct report_join rule = {concerns, compare, join};

    report_causes_join(r, &rule);
}
