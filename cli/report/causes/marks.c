/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that causes mark: those that they name, and those whose RPCs may be slow by what is
 * told of already, as they are of the same two hosts. */
#include "report/causes/causes.h"
#include "report/hosts.h"

#include <string.h>

/* The one or the other of them, whichever is the server. */
static const struct rpcrdma_address *host(const struct report_connection *c, bool second)
{
    const struct rpcrdma_endpoint *end = c->pub.end;
    bool swapped = memcmp(&end[0].address, &end[1].address, sizeof(end[0].address)) > 0;

    return &end[second != swapped].address;
}

static gint by_hosts(gconstpointer a, gconstpointer b)
{
    int order = memcmp(host(a, false), host(b, false), sizeof(struct rpcrdma_address));

    return order ? order : memcmp(host(a, true), host(b, true), sizeof(struct rpcrdma_address));
}

static void add(GTree *hosts, const struct report_connection *c)
{
    if (c && !g_tree_lookup(hosts, c))
        g_tree_insert(hosts, (gpointer)(uintptr_t)c, (gpointer)(uintptr_t)c);
}

/* Of TCP it is known when an end stood still: what came again then had arrived. */
static bool time_known(const struct report_cause *cause)
{
    return cause->id == CAUSE_STALLED && cause->count > 0 && cause->of && !cause->connections &&
           cause->of->pub.carrier == RPCRDMA_CARRIER_IWARP;
}

/* RPCs of the connection that seem to be an end's fault waited at that time, too. */
static bool waited_then(const struct report_cause *cause, const struct report_connection *c)
{
    const struct report_still *still = cause->of->trouble->still;
    const struct report_slow *slow[] = {&c->trouble->slow_own[0], &c->trouble->slow_own[1],
                                        &c->trouble->slow_often};
    bool then = still[0].when.n + still[1].when.n == 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(slow); i++)
        for (int end = 0; end < 2; end++)
            then |= report_periods_shared(&slow[i]->periods, &still[end].when) > 0;
    return then;
}

/* Returns whether one is of the whole capture. Those whose time is known are told apart. */
static bool collect(const struct report *r, GTree *hosts)
{
    bool all = false;

    for (unsigned i = 0; i < r->n_causes; i++) {
        const struct report_cause *cause = &r->causes[i];

        if (time_known(cause))
            continue;
        all |= !cause->of;
        add(hosts, cause->of);
        for (guint n = 0; cause->connections && n < cause->connections->len; n++)
            add(hosts, report_numbered(r, g_array_index(cause->connections, uint32_t, n)));
    }
    return all;
}

static void mark_then(struct report *r, const struct report_cause *cause)
{
    const struct report_connection *one = report_of_hosts(r, cause->of);

    for (; one; one = report_of_hosts_next(one))
        if (!one->disturbed && waited_then(cause, one))
            report_kept(r, one->pub.number)->disturbed = true;
}

void report_mark_disturbed(struct report *r)
{
    GTree *hosts = g_tree_new(by_hosts);
    bool all = collect(r, hosts);
    GHashTableIter each = report_each(r);
    struct report_connection *c;

    while ((c = report_next(&each)))
        c->disturbed = !r->slow_told && (all || g_tree_lookup(hosts, c));
    g_tree_destroy(hosts);
    for (unsigned i = 0; i < r->n_causes && !r->slow_told; i++)
        if (time_known(&r->causes[i]))
            mark_then(r, &r->causes[i]);
}

static void mark(struct report *r, uint32_t number)
{
    struct report_connection *c = report_kept(r, number);

    if (c)
        c->named = true;
}

void report_mark_named(struct report *r)
{
    enum { FEW = 8 }; /* of many others should be shown, too */

    for (unsigned i = 0; i < r->n_causes; i++) {
        const struct report_connection *c = r->causes[i].of;
        const GArray *all = r->causes[i].connections;

        if (!c)
            continue;
        mark(r, c->pub.number);
        mark(r, c->pub.life.previous);
        mark(r, c->trouble->resent_from);
        for (guint k = 0; all && k < MIN(all->len, FEW); k++)
            mark(r, g_array_index(all, uint32_t, k));
    }
}
