/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpcs/groups.h"

#include <inttypes.h>
#include <string.h>

#include "common/complain.h"
#include "common/keyed_hash.h"

/* Groups that are found without their name: each procedure of a program; hosts, of which a capture
 * may have hundreds that take turns. */
enum { RECENT = 16, RECENT_ADDRESSES = 1024 };

static const struct json_key keys[] = {
    [GROUPS_OPERATION] = {JSON_KEY_operation}, [GROUPS_CLIENT] = {JSON_KEY_client},
    [GROUPS_SERVER] = {JSON_KEY_server},       [GROUPS_CONNECTION] = {JSON_KEY_connection},
    [GROUPS_FILE] = {JSON_KEY_file},           [GROUPS_USER] = {JSON_KEY_user},
};

bool groups_by_parse(const char *name, enum groups_by *by)
{
    for (size_t i = 1; i < G_N_ELEMENTS(keys); i++)
        if (strcmp(keys[i].name, name) == 0) {
            *by = (enum groups_by)i;
            return true;
        }
    return false;
}

struct json_key groups_by_key(enum groups_by by)
{
    return keys[by];
}

static guint group_hash(gconstpointer p)
{
    const struct group *g = p;

    return keyed_hash(g->key, g->key_length) + keyed_hash_numbers((guint64)g->interval, 0);
}

static gboolean group_equal(gconstpointer a, gconstpointer b)
{
    const struct group *x = a, *y = b;

    return x->interval == y->interval && x->key_length == y->key_length &&
           memcmp(x->key, y->key, x->key_length) == 0;
}

static void group_free(gpointer p)
{
    struct group *group = p;

    latency_clear(&group->latency);
    if (group->key != group->name)
        g_free(group->key);
    g_free(group->name);
    g_free(group->apart);
    g_free(group);
}

struct groups *groups_new(enum groups_by by, int64_t interval_ns, size_t max_bytes)
{
    struct groups *groups = g_new0(struct groups, 1);

    groups->by = by;
    groups->n_recent = by == GROUPS_CLIENT || by == GROUPS_SERVER ? RECENT_ADDRESSES : RECENT;
    groups->recent = g_new0(struct groups_recent, groups->n_recent);
    groups->interval_ns = interval_ns;
    groups->max_bytes = max_bytes;
    groups->most = GROUPS_MOST;
    groups->network = "";
    groups->table = g_hash_table_new(group_hash, group_equal);
    groups->groups = g_ptr_array_new_with_free_func(group_free);
    return groups;
}

void groups_free(struct groups *groups)
{
    if (!groups)
        return;
    g_hash_table_destroy(groups->table);
    g_ptr_array_free(groups->groups, TRUE);
    g_free(groups->recent);
    g_free(groups);
}

bool group_is_named(const struct groups *groups, const struct group *group)
{
    return group != groups->others && strcmp(group->name, "?") != 0;
}

const char *group_title(const struct groups *groups, const struct group *group,
                        char text[ADDRESS_SIZE])
{
    const struct rpcrdma_address *address = groups->by == GROUPS_CLIENT ? &group->src : &group->dst;

    if ((groups->by != GROUPS_CLIENT && groups->by != GROUPS_SERVER) ||
        address->family == RPCRDMA_ADDRESS_NONE)
        return group->name;
    text[address_or_name(address, text)] = '\0';
    return text;
}

void groups_complain(const struct groups *groups)
{
    if (groups->left_out > 0)
        complain("%" PRIu64 " %s summed up as (others): more than %d groups, or than "
                 "--max-memory holds",
                 groups->left_out, groups->left_out == 1 ? "RPC is" : "RPCs are", GROUPS_MOST);
    if (groups->rough > 0)
        complain("%" PRIu64 " %s counted next to where %s in the distribution: more than "
                 "--max-memory holds",
                 groups->rough, groups->rough == 1 ? "latency is" : "latencies are",
                 groups->rough == 1 ? "it belongs" : "they belong");
}

static double measure(const struct group *g, enum groups_sort sort)
{
    switch (sort) {
    case GROUPS_BY_TIME:
        return g->latency.sum_ns;
    case GROUPS_BY_LATENCY:
        return (double)g->latency.max_ns;
    case GROUPS_BY_BYTES:
        return (double)(g->call_bytes + g->reply_bytes);
    case GROUPS_BY_CALLS:
        return (double)g->calls;
    }
    return 0;
}

static gint compare(gconstpointer a, gconstpointer b, gpointer data)
{
    const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
    enum groups_sort sort = *(const enum groups_sort *)data;
    double m = measure(x, sort), n = measure(y, sort);

    if (x->interval != y->interval)
        return x->interval < y->interval ? -1 : 1;
    if (m < n || m > n)
        return m < n ? 1 : -1;
    return strcmp(x->name, y->name) != 0 ? strcmp(x->name, y->name)
           : x->time_ns != y->time_ns    ? (x->time_ns < y->time_ns ? -1 : 1)
                                         : 0;
}

void groups_sort(struct groups *groups, enum groups_sort sort)
{
    g_ptr_array_sort_with_data(groups->groups, compare, &sort);
}
