/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups that turn out to be one. */
#include <string.h>

#include "common/times.h"
#include "rpcs/groups.h"

static void keep_common(struct rpcrdma_address *common, const struct rpcrdma_address *one)
{
    if (memcmp(common, one, sizeof(*common)) != 0)
        common->family = RPCRDMA_ADDRESS_NONE;
}

void group_merge(struct group *into, const struct group *from)
{
    into->time_ns = MIN(into->time_ns, from->time_ns);
    into->reverse = into->reverse && from->reverse;
    if (into->connection != from->connection)
        into->connection = 0;
    keep_common(&into->src, &from->src);
    keep_common(&into->dst, &from->dst);
    into->calls += from->calls;
    into->retransmitted += from->retransmitted;
    into->unanswered += from->unanswered;
    into->no_call += from->no_call;
    into->incomplete += from->incomplete;
    into->rdma_errors += from->rdma_errors;
    into->errors += from->errors;
    into->status_unknown += from->status_unknown;
    into->call_bytes += from->call_bytes;
    into->reply_bytes += from->reply_bytes;
    into->read_bytes += from->read_bytes;
    into->write_bytes += from->write_bytes;
    into->call_known |= from->call_known;
    into->reply_known |= from->reply_known;
    into->read_known |= from->read_known;
    into->write_known |= from->write_known;
    into->lengths_unknown += from->lengths_unknown;
    into->sizes_unknown += from->sizes_unknown;
    latency_merge(&into->latency, &from->latency);
    into->n_phases += from->n_phases;
    groups_add_phases(&into->phases, &from->phases);
    into->stalled_ns = time_plus(into->stalled_ns, from->stalled_ns);
}

static void set_key(struct groups *groups, struct group *g, const void *key, size_t length)
{
    g_hash_table_remove(groups->table, g);
    groups->bytes += length;
    groups->bytes -= g->key_length;
    g_free(g->key);
    g->key = g_memdup2(key, length);
    g->key_length = length;
    g_hash_table_add(groups->table, g);
}

/* The root was asked for before its handle was told, a file by names before its handle was. */
void groups_settle(struct groups *groups, struct nfs_paths *paths)
{
    char key[GROUPS_FILE_KEY];
    struct groups_file was, is;

    for (guint i = 0; groups->by == GROUPS_FILE && i < groups->groups->len;) {
        struct group *g = g_ptr_array_index(groups->groups, i++), *same;
        size_t length;

        if (!groups_file_from_key(g, &was))
            continue;
        is.server = was.server;
        nfs_paths_file(paths, &was.server, &was.handle, &was.name, &is.handle, &is.name);
        length = groups_file_key(&is, key);
        if (length == g->key_length && memcmp(key, g->key, length) == 0)
            continue;
        groups->key = (struct group){.key = key, .key_length = length, .interval = g->interval};
        same = g_hash_table_lookup(groups->table, &groups->key);
        if (!same) {
            set_key(groups, g, key, length);
            continue;
        }
        g_hash_table_remove(groups->table, g);
        group_merge(same, g);
        g_ptr_array_remove_index(groups->groups, --i);
    }
}
