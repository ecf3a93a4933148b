/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/collect/later.h"

#include <string.h>

#include "bound.h"
#include "common/keyed_hash.h"
#include "common/times.h"
#include "out/transaction.h"
#include "upper/names.h"

enum {
    CLIENTS_MOST = RPCRDMA_BOUND(1024, 8), /* with one server each */
    WAITS_MOST = RPCRDMA_BOUND(4096, 16),  /* at once */
    AGAIN_S = 20, /* Linux asks again after 0.1 s to 15 s: what is later was asked for anew */
};

struct hosts {
    struct rpcrdma_address client, server;
};

/* What is waited for. Hashes are keyed: nobody can choose files that have one value. */
struct wait {
    struct {
        uint32_t client; /* index of struct report_client_later */
        uint32_t kind, program, operation;
        uint32_t handle, name; /* hashes; 0: not known, or none */
    } key;
    int64_t last_ns;
};

struct report_waits {
    GArray *clients;      /* struct report_client_later */
    GHashTable *by_hosts; /* of struct hosts: 1 more than the index */
    GHashTable *waits;    /* of struct wait, by itself */
    bool left_out;
};

static guint hash_hosts(gconstpointer hosts)
{
    return keyed_hash(hosts, sizeof(struct hosts));
}

static gboolean same_hosts(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct hosts)) == 0;
}

static guint hash_wait(gconstpointer wait)
{
    return keyed_hash(&((const struct wait *)wait)->key, sizeof(((const struct wait *)wait)->key));
}

static gboolean same_wait(gconstpointer a, gconstpointer b)
{
    const struct wait *x = a, *y = b;

    return memcmp(&x->key, &y->key, sizeof(x->key)) == 0;
}

struct report_waits *report_waits_new(void)
{
    struct report_waits *waits = g_new0(struct report_waits, 1);

    waits->clients = g_array_new(FALSE, TRUE, sizeof(struct report_client_later));
    waits->by_hosts = g_hash_table_new_full(hash_hosts, same_hosts, g_free, NULL);
    waits->waits = g_hash_table_new_full(hash_wait, same_wait, g_free, NULL);
    return waits;
}

void report_waits_free(struct report_waits *waits)
{
    if (!waits)
        return;
    g_array_free(waits->clients, TRUE);
    g_hash_table_destroy(waits->by_hosts);
    g_hash_table_destroy(waits->waits);
    g_free(waits);
}

static struct report_client_later *client_at(const struct report_waits *waits, guint i)
{
    return &g_array_index(waits->clients, struct report_client_later, i);
}

/* 1 more than the index; 0: it is not known, and there is no room. */
static guint client_of(struct report_waits *waits, const struct rpcrdma_connection *c, bool make)
{
    int server = report_server_end(c);
    const struct hosts hosts = {c->end[1 - server].address, c->end[server].address};
    guint i = GPOINTER_TO_UINT(g_hash_table_lookup(waits->by_hosts, &hosts));
    struct report_client_later one = {.client = hosts.client, .server = hosts.server};

    if (i > 0 || !make)
        return i;
    if (waits->clients->len >= CLIENTS_MOST) {
        waits->left_out = true;
        return 0;
    }
    g_array_append_val(waits->clients, one);
    i = waits->clients->len;
    g_hash_table_insert(waits->by_hosts, g_memdup2(&hosts, sizeof(hosts)), GUINT_TO_POINTER(i));
    return i;
}

static struct wait wait_of(guint client, enum report_later_id kind,
                           const struct rpcrdma_transaction *t, const struct nfs_arguments *nfs,
                           uint32_t operation)
{
    struct wait wait = {.last_ns = 0};

    wait.key.client = client;
    wait.key.kind = kind;
    wait.key.program = t->program;
    wait.key.operation = operation;
    if (nfs->handle.length > 0)
        wait.key.handle = keyed_hash(nfs->handle.bytes, nfs->handle.length);
    if (nfs->name.length > 0)
        wait.key.name = keyed_hash(nfs->name.text, nfs->name.length);
    return wait;
}

/* It waited until then. */
static void waited(struct report_later *later, struct wait *wait, int64_t time_ns)
{
    int64_t ns = time_less(time_ns, wait->last_ns);
    struct report_period when = {wait->last_ns, time_ns, ns};

    if (ns > 0 && ns <= AGAIN_S * SECOND)
        report_period_add(&later->waited, &when);
    wait->last_ns = time_ns;
}

static void count(struct report_later *later, const struct rpcrdma_transaction *t,
                  const struct nfs_arguments *nfs)
{
    if (later->rpcs++ == 0) {
        later->frame = t->reply_frame;
        later->connection = t->connection->number;
        later->since_ns = t->reply_time_ns;
        later->status = nfs_status_name(nfs);
        later->operation = transaction_status_operation(t, nfs);
        if (!later->operation)
            later->operation = rpcrdma_procedure_name(t->program, t->version, t->procedure, false);
    }
    later->last_ns = MAX(later->last_ns, t->reply_time_ns);
}

/* Those that were given up. */
static gboolean is_old(gpointer key, gpointer value, gpointer now)
{
    const struct wait *wait = value;

    (void)key;
    return time_less(*(const int64_t *)now, wait->last_ns) > AGAIN_S * SECOND;
}

void report_told_later(struct report_waits *waits, const struct rpcrdma_transaction *t,
                       const struct nfs_arguments *nfs, enum report_later_id kind)
{
    guint client = client_of(waits, t->connection, true);
    uint32_t operation = t->compound ? nfs->operation : t->procedure;
    struct report_later *later;
    struct wait wait, *before;

    if (client == 0)
        return;
    later = &client_at(waits, client - 1)->later[kind];
    count(later, t, nfs);
    wait = wait_of(client, kind, t, nfs, operation);
    before = g_hash_table_lookup(waits->waits, &wait);
    if (before) {
        waited(later, before, t->reply_time_ns);
        return;
    }
    if (g_hash_table_size(waits->waits) >= WAITS_MOST)
        g_hash_table_foreach_remove(waits->waits, is_old, (gpointer)&t->reply_time_ns);
    if (g_hash_table_size(waits->waits) >= WAITS_MOST) {
        waits->left_out = true;
        return;
    }
    wait.last_ns = t->reply_time_ns;
    before = g_memdup2(&wait, sizeof(wait));
    g_hash_table_insert(waits->waits, before, before);
}

static void end(struct report_waits *waits, const struct wait *which, int64_t time_ns)
{
    struct wait *wait = g_hash_table_lookup(waits->waits, which);

    if (!wait)
        return;
    waited(&client_at(waits, wait->key.client - 1)->later[wait->key.kind], wait, time_ns);
    g_hash_table_remove(waits->waits, wait);
}

void report_told_now(struct report_waits *waits, const struct rpcrdma_transaction *t,
                     const struct nfs_arguments *nfs)
{
    guint client;
    struct wait wait;

    if (g_hash_table_size(waits->waits) == 0)
        return;
    client = client_of(waits, t->connection, false);
    for (enum report_later_id kind = 0; client > 0 && kind < REPORT_LATERS; kind++) {
        wait = wait_of(client, kind, t, nfs, t->procedure);
        if (!t->compound)
            end(waits, &wait, t->reply_time_ns);
        for (uint32_t i = 0; i < t->n_operations; i++) {
            wait.key.operation = t->operations[i];
            end(waits, &wait, t->reply_time_ns);
        }
    }
}

const struct report_client_later *report_clients_later(const struct report_waits *waits, guint i)
{
    return i < waits->clients->len ? client_at(waits, i) : NULL;
}

bool report_waits_left_out(const struct report_waits *waits)
{
    return waits->left_out;
}
