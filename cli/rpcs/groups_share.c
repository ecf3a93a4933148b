/* SPDX-License-Identifier: BSD-2-Clause */
/* What an RPC adds to its groups. */
#include "rpcs/groups.h"

#include <string.h>

#include "common/times.h"
#include "out/transaction.h"
#include "upper/names.h"

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
    struct group *g = groups_find(groups, share);

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
