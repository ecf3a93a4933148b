/* SPDX-License-Identifier: BSD-2-Clause */
#include "metrics/metrics.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/keyed_hash.h"
#include "common/times.h"
#include "flow/rpc.h"
#include "out/connection.h"

/* A connection that is open: of each direction, how much is in its pair's counters. */
struct followed {
    struct metrics_pair *pair;
    bool has_network; /* in its pair's name */
    int client;       /* which end; as far as it is known */
    struct metrics_path counted[2];
};

static void free_pair(gpointer p)
{
    struct metrics_pair *pair = p;

    g_free(pair->name);
    g_free(pair);
}

void metrics_init(struct metrics *m, struct pipeline *pipeline)
{
    size_t bytes = options_memory(pipeline->options, MEMORY_COMMAND);

    m->pipeline = pipeline;
    m->details = details_new(bytes / 4);
    m->rpcs = groups_new(GROUPS_SERIES, 0, bytes / 2);
    m->rpcs->most = METRICS_RPCS;
    m->rpcs->client_subnet = m->client_subnet;
    m->pairs = g_hash_table_new_full(keyed_hash_string, g_str_equal, NULL, free_pair);
    m->open = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    m->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

void metrics_clear(struct metrics *m)
{
    if (!m->pipeline)
        return;
    details_free(m->details);
    groups_free(m->rpcs);
    g_hash_table_destroy(m->open);
    g_hash_table_destroy(m->pairs);
    if (m->statm >= 0)
        close(m->statm);
}

static int client_end(const struct rpcrdma_connection *connection)
{
    return view_client_end(connection) > 0;
}

static struct metrics_pair *pair_named(struct metrics *m, const char *name)
{
    struct metrics_pair *pair = g_hash_table_lookup(m->pairs, name);

    if (pair)
        return pair;
    if (m->other)
        return m->other;
    if (g_hash_table_size(m->pairs) >= METRICS_PAIRS)
        name = "other\nother";
    pair = g_new0(struct metrics_pair, 1);
    pair->name = g_strdup(name);
    if (g_hash_table_size(m->pairs) >= METRICS_PAIRS)
        m->other = pair;
    g_hash_table_insert(m->pairs, pair->name, pair);
    return pair;
}

/* Each behind a tab, in the order of write.c's labels: a VLAN, the outer one, a VNI. "": no other
 * network has hosts of these addresses, as far as it is known. */
static void network_of(const struct metrics *m, const struct rpcrdma_connection *connection,
                       char text[METRICS_NETWORK])
{
    struct rpcrdma_network network;
    char vni[16] = "";

    text[0] = '\0';
    if (!pipeline_network(m->pipeline, connection, &network) ||
        (network.vlan == 0 && network.outer_vlan == 0 &&
         !network.has_vni)) /* it was untagged first */
        return;
    if (network.has_vni)
        snprintf(vni, sizeof(vni), "%u", (unsigned)network.vni);
    snprintf(text, METRICS_NETWORK, "\t%u\t%u\t%s", (unsigned)network.vlan,
             (unsigned)network.outer_vlan, vni);
}

static struct metrics_pair *pair_of(struct metrics *m, const struct rpcrdma_connection *connection)
{
    char name[GROUPS_ENDS], network[METRICS_NETWORK];
    int client = client_end(connection);

    network_of(m, connection, network);
    groups_ends(&connection->end[1 - client].address, &connection->end[client].address,
                m->client_subnet, network, name);
    return pair_named(m, name);
}

/* NULL: there are too many, which the connection's end is to tell. */
static struct followed *follow(struct metrics *m, const struct rpcrdma_connection *connection)
{
    gpointer key = GUINT_TO_POINTER(connection->number);
    struct followed *one = g_hash_table_lookup(m->open, key);
    struct rpcrdma_network network;

    if (!one) {
        if (g_hash_table_size(m->open) >= METRICS_CONNECTIONS) {
            rpcrdma_connection_set_user(connection, m); /* nothing owned */
            return NULL;
        }
        rpcrdma_connection_set_user(connection, NULL);
        one = g_new0(struct followed, 1);
        one->client = -1;
        g_hash_table_insert(m->open, key, one);
    }
    if (one->client != client_end(connection) ||
        (!one->has_network && pipeline_network(m->pipeline, connection, &network))) {
        one->client = client_end(connection);
        one->has_network = pipeline_network(m->pipeline, connection, &network);
        one->pair = pair_of(m, connection);
    }
    return one;
}

/* What is new of one counter. What the pipeline takes back stays counted until it is passed. */
static void take(uint64_t *sum, uint64_t *counted, uint64_t now)
{
    if (now <= *counted)
        return;
    *sum += now - *counted;
    *counted = now;
}

static void take_path(struct metrics_path *sum, struct metrics_path *counted,
                      const struct rpcrdma_path *now)
{
    take(&sum->packets, &counted->packets, now->packets);
    take(&sum->bytes, &counted->bytes, now->bytes);
    take(&sum->retransmitted, &counted->retransmitted, now->retransmitted);
    take(&sum->lost, &counted->lost, now->lost);
    take(&sum->timeouts, &counted->timeouts, now->timeouts);
    for (unsigned i = 0; i < RPCRDMA_NAKS; i++)
        take(&sum->naks[i], &counted->naks[i], now->naks[i]);
}

void metrics_op(void *context, const struct rpcrdma_op *op, const struct rpcrdma_path *path)
{
    struct metrics *m = context;
    const struct rpcrdma_connection *connection;
    struct followed *one;
    int end;

    if (!path)
        return;
    connection = pipeline_connection(m->pipeline, op);
    one = connection && connection->number > 0 ? follow(m, connection) : NULL;
    if (!one)
        return;
    end = connection_towards(connection, op);
    take_path(&one->pair->path[end != one->client], &one->counted[end], path);
}

static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    struct metrics *m = context;
    struct followed *one = g_hash_table_lookup(m->open, GUINT_TO_POINTER(connection->number));
    struct followed fresh = {.pair = pair_of(m, connection), .client = client_end(connection)};

    m->late += connection->user != NULL;
    if (!one)
        one = &fresh;
    fresh.pair->connections++;
    m->pairs_folded += fresh.pair == m->other;
    for (int end = 0; end < 2; end++)
        if (connection->path[end])
            take_path(&fresh.pair->path[end != fresh.client], &one->counted[end],
                      connection->path[end]);
    g_hash_table_remove(m->open, GUINT_TO_POINTER(connection->number));
}

static void on_credits(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_credit_result *results, size_t n)
{
    struct metrics_pair *pair = pair_of(context, connection);

    for (size_t i = 0; i < n; i++) {
        pair->at_limit_ns = source_sum(pair->at_limit_ns, results[i].at_limit_ns);
        pair->measured_ns = source_sum(pair->measured_ns, results[i].measured_ns);
        pair->violations += results[i].violations;
    }
}

static void on_payload_stream(void *context, const struct rpcrdma_payload_stream *stream)
{
    details_stream(((struct metrics *)context)->details, stream);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *t)
{
    struct metrics *m = context;
    struct rpc rpc = details_of(m->details, t);
    char network[METRICS_NETWORK];

    network_of(m, t->connection, network);
    m->rpcs->network = network;
    groups_add(m->rpcs, &rpc);
    m->rpcs->network = "";
    if (t->stalled_ns > 0 && (unsigned)t->stalled_by < METRICS_STALLS) {
        struct metrics_pair *pair = pair_of(m, t->connection);

        pair->stalled[t->stalled_by]++;
        pair->stalled_ns[t->stalled_by] += (uint64_t)t->stalled_ns;
    }
    details_done(m->details, t);
}

static void on_waiting(void *context, const struct rpcrdma_waiting *waiting)
{
    struct metrics *m = context;
    struct metrics_pair *pair = pair_of(m, waiting->connection);
    int64_t for_ns = time_less(m->now_ns, waiting->since_ns);

    pair->waiting += waiting->calls;
    if (for_ns > 0 && (uint64_t)for_ns > pair->waiting_ns) /* else the clock was set back */
        pair->waiting_ns = (uint64_t)for_ns;
}

void metrics_wait(struct metrics *m, struct rpcrdma_flow *flow, int64_t now_ns)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, m->pairs);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct metrics_pair *pair = value;

        pair->waiting = 0;
        pair->waiting_ns = 0;
    }
    m->now_ns = now_ns;
    if (flow)
        rpcrdma_flow_waiting(flow, on_waiting, m);
}

struct rpcrdma_flow_sink metrics_sink(struct metrics *m)
{
    return (struct rpcrdma_flow_sink){.connection = on_connection,
                                      .credits = on_credits,
                                      .transaction = on_transaction,
                                      .payload_stream = on_payload_stream,
                                      .context = m};
}
