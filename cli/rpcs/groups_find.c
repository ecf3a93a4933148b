/* SPDX-License-Identifier: BSD-2-Clause */
/* The group of an RPC, which is made where there is none. */
#include "rpcs/groups.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/fetch.h"
#include "common/times.h"
#include "out/address.h"
#include "out/transaction.h"

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

struct group *groups_find(struct groups *groups, const struct groups_share *share)
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
