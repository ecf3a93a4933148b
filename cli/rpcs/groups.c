/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpcs/groups.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/fetch.h"
#include "common/complain.h"
#include "common/keyed_hash.h"
#include "common/times.h"
#include "out/address.h"
#include "out/transaction.h"
#include "upper/names.h"

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

size_t groups_ends(const struct rpcrdma_address *server, const struct rpcrdma_address *client,
                   bool subnet, const char *network, char text[GROUPS_ENDS])
{
    struct rpcrdma_address of = *client;
    const char *prefix = "";
    size_t n = address_format(server, text);

    text[n++] = '\n';
    if (subnet && of.family == RPCRDMA_ADDRESS_IPV4) {
        of.bytes[3] = 0;
        prefix = "/24";
    } else if (subnet && of.family == RPCRDMA_ADDRESS_IPV6) {
        memset(of.bytes + 8, 0, 8);
        prefix = "/64";
    }
    n += address_format(&of, text + n);
    n += g_strlcpy(text + n, prefix, GROUPS_ENDS - n);
    return n + g_strlcpy(text + n, network, GROUPS_ENDS - n);
}

static void name_of(const struct groups *groups, const struct rpc *rpc, char *name, size_t size)
{
    const struct rpcrdma_transaction *t = rpc->transaction;
    char address[ADDRESS_SIZE];
    size_t n = 0;

    switch (groups->by) {
    case GROUPS_ALL:
        g_strlcpy(name, "all", size);
        break;
    case GROUPS_OPERATION:
        rpcrdma_transaction_title(t, name, size);
        break;
    case GROUPS_CLIENT:
    case GROUPS_SERVER:
        n = address_format(groups->by == GROUPS_CLIENT ? rpc_client(t) : rpc_server(t), address);
        memcpy(name, address, n);
        name[n] = '\0';
        break;
    case GROUPS_CONNECTION:
        snprintf(name, size, "%u", (unsigned)t->connection->number);
        break;
    case GROUPS_FILE:
        break; /* rpcs/groups_file.c */
    case GROUPS_USER:
        if (rpc->nfs->has_user)
            snprintf(name, size, "%u", (unsigned)rpc->nfs->user);
        else
            g_strlcpy(name, "(not known)", size);
        break;
    case GROUPS_SERIES:
        n = groups_ends(rpc_server(t), rpc_client(t), groups->client_subnet, groups->network, name);
        name[n++] = '\n';
        rpcrdma_transaction_title(t, name + n, MIN(size - n, GROUPS_TITLE));
    }
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

/* What an RPC's group is known by, where that is short. False: its name is to be made. */
static bool short_key(const struct groups *groups, const struct groups_share *share,
                      struct groups_recent *key)
{
    const struct rpcrdma_transaction *t = share->rpc->transaction;

    if (groups->interval_ns > 0)
        return false;
    switch (groups->by) {
    case GROUPS_OPERATION:
        key->program = (uint64_t)t->program << 32 | t->version;
        key->procedure = (uint64_t)share->reverse << 32 | t->procedure;
        return t->has_program && !t->compound;
    case GROUPS_CLIENT:
    case GROUPS_SERVER:
        key->program = key->procedure = 0;
        key->address = groups->by == GROUPS_CLIENT ? *share->client : *share->server;
        return true;
    default:
        return false;
    }
}

static bool same_key(const struct groups *groups, const struct groups_recent *a,
                     const struct groups_recent *b)
{
    return a->program == b->program && a->procedure == b->procedure &&
           (groups->by == GROUPS_OPERATION ||
            memcmp(&a->address, &b->address, sizeof(a->address)) == 0);
}

static void set_key(struct groups *groups, struct group *group, const void *key, size_t length)
{
    if (group->key != group->name) {
        groups->bytes -= group->key_length;
        g_free(group->key);
    }
    group->key = g_memdup2(key, length);
    group->key_length = length;
    groups->bytes += length;
}

static void rename_(struct groups *groups, struct group *group, const char *name)
{
    if (strcmp(group->name, name) == 0 || g_str_has_prefix(name, "handle "))
        return;
    groups->bytes += strlen(name);
    groups->bytes -= strlen(group->name);
    g_free(group->name);
    group->name = g_strdup(name);
}

/* The group of a file, and its key and name. It has the newest of its names. */
static struct group *find_file(struct groups *groups, const struct rpc *rpc,
                               char key[GROUPS_FILE_KEY], char name[NFS_PATH + 1])
{
    struct groups_file said, found;
    struct group *group;
    char other[GROUPS_FILE_KEY];

    groups_file_of(rpc, &said, &found);
    groups_file_name(rpc, &found, name);
    groups->key.key = key;
    groups->key.key_length = groups_file_key(&found, key);
    group = g_hash_table_lookup(groups->table, &groups->key);
    if (!group && found.name.length == 0 && said.name.length > 0) {
        /* it was asked for before its handle was known, or before it was there */
        groups->key.key = other;
        groups->key.key_length = groups_file_key(&said, other);
        group = g_hash_table_lookup(groups->table, &groups->key);
        groups->key.key = key;
        groups->key.key_length = groups_file_key(&found, key);
        if (group) {
            g_hash_table_remove(groups->table, group);
            set_key(groups, group, key, groups->key.key_length);
            g_hash_table_add(groups->table, group);
        }
    }
    if (group)
        rename_(groups, group, name);
    return group;
}

static struct group *find_named(struct groups *groups, const struct rpc *rpc,
                                char name[NFS_PATH + 1])
{
    name_of(groups, rpc, name, NFS_PATH + 1);
    groups->key.key = name;
    groups->key.key_length = strlen(name);
    return g_hash_table_lookup(groups->table, &groups->key);
}

static struct group *find(struct groups *groups, const struct rpc *rpc)
{
    enum { ADDED = 64 }; /* by the table and malloc */
    char name[NFS_PATH + 1], key[GROUPS_FILE_KEY];
    struct group *group;
    int64_t time_ns = rpc_time(rpc->transaction);

    if (!groups->started) {
        groups->started = true;
        groups->start_ns = time_ns;
    }
    groups->key.interval = 0;
    if (groups->interval_ns > 0) {
        int64_t since = time_less(time_ns, groups->start_ns);

        groups->key.interval =
            since < 0 ? -((-since - 1) / groups->interval_ns) - 1 : since / groups->interval_ns;
    }
    group = groups->by == GROUPS_FILE ? find_file(groups, rpc, key, name)
                                      : find_named(groups, rpc, name);
    if (group)
        return group;
    if (groups->groups->len >= groups->most || groups->bytes >= groups->max_bytes) {
        groups->left_out++;
        if (groups->others)
            return groups->others;
        g_strlcpy(name, "(others)", sizeof(name));
    }
    group = g_new0(struct group, 1);
    group->name = g_strdup(name);
    group->key = group->name;
    group->key_length = strlen(name);
    if (groups->by == GROUPS_FILE && groups->left_out == 0)
        set_key(groups, group, key, groups->key.key_length);
    group->interval = groups->key.interval;
    g_ptr_array_add(groups->groups, group);
    groups->bytes += sizeof(*group) + strlen(name) + ADDED;
    if (groups->left_out > 0)
        groups->others = group;
    else
        g_hash_table_add(groups->table, group);
    return group;
}

/* Without a key: where two meet, one is found by its name, as each was that is not recent. */
static uint64_t address_mix(const struct rpcrdma_address *address)
{
    uint64_t words[2];

    _Static_assert(sizeof(words) == sizeof(address->bytes), "all of them");
    memcpy(words, address->bytes, sizeof(words));
    return ((words[0] + 3 * words[1]) * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

static struct group *find_recent(struct groups *groups, const struct groups_share *share)
{
    struct groups_recent key, *recent;
    uint64_t at;

    if (!short_key(groups, share, &key))
        return find(groups, share->rpc);
    at = groups->by == GROUPS_OPERATION ? key.procedure : address_mix(&key.address);
    recent = &groups->recent[at & (groups->n_recent - 1)];
    if (recent->group && same_key(groups, recent, &key))
        return recent->group;
    key.group = find(groups, share->rpc);
    if (key.group != groups->others) /* that counts each one */
        *recent = key;
    return key.group;
}

static const struct groups_recent *place(const struct groups *groups,
                                         const struct rpcrdma_address *client)
{
    return &groups->recent[address_mix(client) & (groups->n_recent - 1)];
}

void groups_expect_soon(const struct groups *groups, const struct rpcrdma_address *client)
{
    const struct groups_recent *recent = place(groups, client);

    flow_fetch(recent, sizeof(*recent));
}

void groups_expect(const struct groups *groups, const struct rpcrdma_address *client)
{
    enum { SUMS = offsetof(struct group, latency.octave) };
    const struct group *group = place(groups, client)->group;

    if (!group)
        return;
    flow_fetch_line(&group->latency.octave[groups->octave]);
    flow_fetch(group, SUMS);
    flow_fetch_line(&group->n_phases);
    flow_fetch_line(&group->stalled_ns);
}

void groups_expect_latency(struct groups *groups, const struct rpcrdma_address *client, int64_t ns)
{
    const struct group *group = place(groups, client)->group;
    size_t bucket = bucket_of(ns > 0 ? (uint64_t)ns : 0, LATENCY_EXACT_BITS);
    const uint32_t *octave;

    groups->octave = bucket / LATENCY_FINE;
    octave = group ? group->latency.octave[groups->octave] : NULL;
    if (octave)
        flow_fetch_line(&octave[bucket % LATENCY_FINE]);
}

void groups_add_phases(struct rpcrdma_phases *sum, const struct rpcrdma_phases *one)
{
    sum->has_call |= one->has_call;
    sum->has_reply |= one->has_reply;
    sum->call_ns = time_plus(sum->call_ns, one->call_ns);
    sum->server_ns = time_plus(sum->server_ns, one->server_ns);
    sum->server_waiting_ns = time_plus(sum->server_waiting_ns, one->server_waiting_ns);
    sum->data_ns = time_plus(sum->data_ns, one->data_ns);
    sum->data_waiting_ns = time_plus(sum->data_waiting_ns, one->data_waiting_ns);
    sum->data_peer_ns = time_plus(sum->data_peer_ns, one->data_peer_ns);
    sum->reply_ns = time_plus(sum->reply_ns, one->reply_ns);
}

static void keep_common(struct rpcrdma_address *common, const struct rpcrdma_address *one)
{
    if (common->family != RPCRDMA_ADDRESS_NONE && memcmp(common, one, sizeof(*common)) != 0)
        common->family = RPCRDMA_ADDRESS_NONE;
}

/* What all of its RPCs share. */
static void add_ends(struct group *g, const struct groups_share *share)
{
    if (!g->begun) {
        g->begun = true;
        g->time_ns = share->time_ns;
        g->reverse = share->reverse;
        g->connection = share->connection;
        g->src = *share->client;
        g->dst = *share->server;
        return;
    }
    if (share->time_ns < g->time_ns)
        g->time_ns = share->time_ns;
    g->reverse &= share->reverse;
    if (g->connection != share->connection)
        g->connection = 0;
    keep_common(&g->src, share->client);
    keep_common(&g->dst, share->server);
}

/* Whether its name may lack something: a COMPOUND's operations, or all of it. */
static bool is_cut(const struct rpcrdma_transaction *t, bool reverse)
{
    bool compound =
        t->procedure == 1 && (reverse || (t->program == RPCRDMA_PROGRAM_NFS && t->version == 4));

    return !t->has_program || t->operations_cut || (compound && t->n_operations == 0);
}

/* An RDMA error is a Reply without RPC message. */
static void share_bytes(struct groups_share *share, const struct rpcrdma_transaction *t)
{
    const bool call = t->call_length > 0, reply = t->reply_length > 0 || t->error;
    const bool reads = t->reads_known, returns = t->returns_known;

    share->call_bytes = t->call_length;
    share->reply_bytes = t->reply_length;
    share->call_known = call;
    share->reply_known = reply;
    share->read_known = reads;
    share->write_known = returns;
    share->read_bytes = reads ? t->read_chunk_length : 0;
    share->write_bytes = returns ? t->write_chunk_length + t->reply_chunk_length : 0;
    share->lengths_unknown = !(call && reply && reads && returns);
    share->sizes_unknown = t->call_frame != 0 && t->reply_frame != 0 && !(call && reply);
}

void groups_share_of(const struct rpc *rpc, struct groups_share *share)
{
    const struct rpcrdma_transaction *t = rpc->transaction;
    const bool called = t->call_frame != 0, replied = t->reply_frame != 0;

    share->rpc = rpc;
    share->reverse = transaction_is_callback(t);
    share->client = share->reverse ? rpc_responder(t) : rpc_caller(t);
    share->server = share->reverse ? rpc_caller(t) : rpc_responder(t);
    share->connection = t->connection->number;
    share->time_ns = rpc_time(t);
    share->cut = is_cut(t, share->reverse);
    share->calls = called;
    share->no_call = !called;
    share->retransmitted = called && t->retransmitted;
    /* a Reply that never reached the client is none */
    share->unanswered = called && (!replied || t->reply.state == RPCRDMA_NOT_DELIVERED);
    share->rdma_errors = called && t->error;
    share->incomplete = called && replied && !t->complete && !t->error;
    share->errors = t->error || nfs_failed(rpc->nfs);
    share->status_unknown = replied && !t->error && rpc->nfs->status_kind == NFS_STATUS_NONE;
    share_bytes(share, t);
    share->phases = t->has_phases ? &t->phases : NULL;
}

static void add_counts(struct group *g, const struct groups_share *share)
{
    g->calls += share->calls;
    g->retransmitted += share->retransmitted;
    g->unanswered += share->unanswered;
    g->no_call += share->no_call;
    g->incomplete += share->incomplete;
    g->rdma_errors += share->rdma_errors;
    g->errors += share->errors;
    g->status_unknown += share->status_unknown;
    g->call_bytes += share->call_bytes;
    g->reply_bytes += share->reply_bytes;
    g->read_bytes += share->read_bytes;
    g->write_bytes += share->write_bytes;
    g->lengths_unknown += share->lengths_unknown;
    g->sizes_unknown += share->sizes_unknown;
    g->call_known |= share->call_known;
    g->reply_known |= share->reply_known;
    g->read_known |= share->read_known;
    g->write_known |= share->write_known;
}

struct group *groups_add_share(struct groups *groups, const struct groups_share *share)
{
    const struct rpcrdma_transaction *t = share->rpc->transaction;
    struct group *g = find_recent(groups, share);

    add_ends(g, share);
    if (share->cut && groups->by == GROUPS_OPERATION)
        g->unnamed = groups->unnamed = true;
    add_counts(g, share);
    if (t->has_latency)
        groups->rough +=
            !latency_add_within(&g->latency, t->latency_ns, &groups->bytes, groups->max_bytes);
    if (share->phases) {
        g->n_phases++;
        groups_add_phases(&g->phases, share->phases);
        g->stalled_ns = time_plus(g->stalled_ns, t->stalled_ns);
    }
    return g;
}

struct group *groups_add(struct groups *groups, const struct rpc *rpc)
{
    struct groups_share share;

    groups_share_of(rpc, &share);
    return groups_add_share(groups, &share);
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
