/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/collect/later.h"

#include <string.h>

#include "bound.h"
#include "common/keyed_hash.h"
#include "common/times.h"
#include "out/transaction.h"
#include "upper/names.h"

enum { FAILED = REPORT_LATERS, KINDS = FAILED + REPORT_LEVELS };

enum {
    CLIENTS_MOST = RPCRDMA_BOUND(1024, 8), /* with one server each */
    WAITS_MOST = RPCRDMA_BOUND(4096, 16),  /* at once */
    AGAIN_S = 20,      /* Linux asks again after 0.1 s to 15 s: what is later was asked for anew */
    FAIL_AGAIN_S = 10, /* who watches a server asks every 15 s, and does not wait meanwhile */
};

struct hosts {
    struct rpcrdma_address client, server;
};

/* What is waited for. Hashes are keyed: nobody can choose files that have one value. */
struct wait {
    struct {
        uint32_t client; /* index of struct report_client_later */
        uint32_t kind;   /* enum report_later_id; or FAILED and enum report_level */
        uint32_t program, operation;
        uint32_t handle, name; /* hashes; 0: not known, or none */
    } key;
    int64_t last_ns;
};

struct report_waits {
    GArray *clients;      /* struct report_client_later */
    GHashTable *by_hosts; /* of struct hosts: 1 more than the index */
    GHashTable *waits;    /* of struct wait, by itself */
    int64_t last_ns;      /* of the wait that was told of last, ... */
    int64_t swept_ns;     /* and when old ones were looked for */
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

/* 1 more than the index; 0: it is not known, and there is no room, or none is made. */
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

static struct wait wait_of(guint client, uint32_t kind, const struct rpcrdma_transaction *t,
                           const struct nfs_arguments *nfs, uint32_t operation)
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
static void waited(struct report_waits *waits, struct wait *wait, int64_t time_ns)
{
    struct report_client_later *client = client_at(waits, wait->key.client - 1);
    struct report_periods *periods = wait->key.kind < FAILED
                                         ? &client->later[wait->key.kind].waited
                                         : &client->failed[wait->key.kind - FAILED];
    int64_t ns = time_less(time_ns, wait->last_ns);
    int64_t most_ns = (wait->key.kind < FAILED ? AGAIN_S : FAIL_AGAIN_S) * SECOND;
    struct report_period when = {wait->last_ns, time_ns, ns};

    if (ns > 0 && ns <= most_ns)
        report_period_add(periods, &when);
    wait->last_ns = time_ns;
    waits->last_ns = MAX(waits->last_ns, time_ns);
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

/* What failed: of a COMPOUND the operation that did, or the last where none was carried out. */
static uint32_t failed_operation(const struct rpcrdma_transaction *t,
                                 const struct nfs_arguments *nfs)
{
    if (!t->compound)
        return t->procedure;
    return nfs->has_operation || t->n_operations == 0 ? nfs->operation
                                                      : t->operations[t->n_operations - 1];
}

/* All that are old are looked for once in that time of the capture: there may be many. */
static void sweep(struct report_waits *waits, int64_t now_ns)
{
    if (time_less(now_ns, waits->swept_ns) < SECOND)
        return;
    waits->swept_ns = now_ns;
    g_hash_table_foreach_remove(waits->waits, is_old, &now_ns);
}

/* It begins with that answer, or goes on. */
static void begin(struct report_waits *waits, struct wait *wait, int64_t time_ns)
{
    struct wait *before = g_hash_table_lookup(waits->waits, wait);

    if (before) {
        waited(waits, before, time_ns);
        return;
    }
    if (g_hash_table_size(waits->waits) >= WAITS_MOST)
        sweep(waits, time_ns);
    if (g_hash_table_size(waits->waits) >= WAITS_MOST) {
        waits->left_out = true;
        return;
    }
    wait->last_ns = time_ns;
    waits->last_ns = g_hash_table_size(waits->waits) > 0 ? MAX(waits->last_ns, time_ns) : time_ns;
    before = g_memdup2(wait, sizeof(*wait));
    g_hash_table_insert(waits->waits, before, before);
}

void report_told_later(struct report_waits *waits, const struct rpcrdma_transaction *t,
                       const struct nfs_arguments *nfs, enum report_later_id kind)
{
    guint client = client_of(waits, t->connection, true);
    uint32_t operation = t->compound ? nfs->operation : t->procedure;
    struct wait wait;

    if (client == 0)
        return;
    count(&client_at(waits, client - 1)->later[kind], t, nfs);
    wait = wait_of(client, kind, t, nfs, operation);
    begin(waits, &wait, t->reply_time_ns);
}

void report_told_failed(struct report_waits *waits, const struct rpcrdma_transaction *t,
                        const struct nfs_arguments *nfs, enum report_level level)
{
    guint client = client_of(waits, t->connection, true);
    struct report_period itself = {t->call_time_ns, t->reply_time_ns, t->latency_ns};
    struct wait wait;

    if (client == 0 || t->call_frame == 0)
        return;
    if (itself.ns > 0)
        report_period_add(&client_at(waits, client - 1)->failed[level], &itself);
    /* What was cut, or has no file, cannot be told from others of its kind. */
    if (nfs->handle.length == 0)
        return;
    wait = wait_of(client, FAILED + level, t, nfs, failed_operation(t, nfs));
    begin(waits, &wait, t->reply_time_ns);
}

static void end(struct report_waits *waits, const struct wait *which, int64_t time_ns)
{
    struct wait *wait = g_hash_table_lookup(waits->waits, which);

    if (!wait)
        return;
    if (wait->key.kind < FAILED) /* why a client asked again for what failed is not known */
        waited(waits, wait, time_ns);
    g_hash_table_remove(waits->waits, wait);
}

void report_told_now(struct report_waits *waits, const struct rpcrdma_transaction *t,
                     const struct nfs_arguments *nfs, bool failed)
{
    uint32_t kinds = failed ? FAILED : KINDS;
    guint client;
    struct wait wait;

    if (g_hash_table_size(waits->waits) == 0)
        return;
    if (time_less(t->reply_time_ns, waits->last_ns) > AGAIN_S * SECOND) {
        g_hash_table_remove_all(waits->waits);
        return;
    }
    client = client_of(waits, t->connection, false);
    for (uint32_t kind = 0; client > 0 && kind < kinds; kind++) {
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
