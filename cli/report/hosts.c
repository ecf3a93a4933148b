/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/hosts.h"

#include <string.h>

#include "common/keyed_hash.h"

struct hosts {
    struct rpcrdma_address server, client;
};

/* The latest is the value in the table; its own hosts are the key. */
static struct hosts hosts_of(const struct report_connection *c)
{
    struct hosts hosts;

    memset(&hosts, 0, sizeof(hosts));
    hosts.server = *report_host(&c->pub, true);
    hosts.client = *report_host(&c->pub, false);
    return hosts;
}

static guint hash_of(gconstpointer key)
{
    return keyed_hash(key, sizeof(struct hosts));
}

static gboolean same(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct hosts)) == 0;
}

void report_hosts_begin(struct report *r)
{
    r->of_hosts = g_hash_table_new_full(hash_of, same, g_free, NULL);
}

void report_hosts_end(struct report *r)
{
    g_hash_table_destroy(r->of_hosts);
}

void report_hosts_add(struct report *r, struct report_connection *c)
{
    struct hosts hosts = hosts_of(c);
    struct report_connection *older = g_hash_table_lookup(r->of_hosts, &hosts);

    c->of_hosts.older = older;
    c->of_hosts.newer = NULL;
    c->of_hosts.listed = true;
    if (older)
        older->of_hosts.newer = c;
    g_hash_table_insert(r->of_hosts, g_memdup2(&hosts, sizeof(hosts)), c);
}

void report_hosts_remove(struct report *r, struct report_connection *c)
{
    struct report_connection *older = c->of_hosts.older, *newer = c->of_hosts.newer;
    struct hosts hosts = hosts_of(c);

    if (!c->of_hosts.listed)
        return;
    c->of_hosts.listed = false;
    if (older)
        older->of_hosts.newer = newer;
    if (newer)
        newer->of_hosts.older = older;
    else if (older)
        g_hash_table_insert(r->of_hosts, g_memdup2(&hosts, sizeof(hosts)), older);
    else
        g_hash_table_remove(r->of_hosts, &hosts);
}

const struct report_connection *report_of_hosts(const struct report *r,
                                                const struct report_connection *c)
{
    struct hosts hosts = hosts_of(c);

    return g_hash_table_lookup(r->of_hosts, &hosts);
}
