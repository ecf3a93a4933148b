/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about servers that have clients try again later: NFS4ERR_DELAY,
 * NFS3ERR_JUKEBOX, NFS4ERR_GRACE. All of a server is one cause. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plural.h"
#include "common/times.h"
#include "out/address.h"
#include "report/collect/later.h"

static const enum report_cause_id ids[REPORT_LATERS] = {
    [REPORT_DELAY] = CAUSE_NFS_DELAY,
    [REPORT_GRACE] = CAUSE_NFS_GRACE,
};

/* Of one server. */
struct told {
    const struct rpcrdma_address *server;
    struct report_later sum;
    unsigned clients;
    int64_t longest_ns;  /* that one of them waited, ... */
    uint32_t connection; /* ... which was told so on this one first */
};

static bool is_of(const struct report_connection *c, const struct rpcrdma_address *server)
{
    return memcmp(report_host(&c->pub, true), server, sizeof(*server)) == 0;
}

static void add(struct told *told, const struct report_later *later)
{
    struct report_later *sum = &told->sum;
    int64_t waited_ns = report_periods_ns(&later->waited);

    if (told->clients++ == 0)
        *sum = *later;
    if (told->clients == 1 || waited_ns > told->longest_ns) {
        told->longest_ns = waited_ns;
        told->connection = later->connection;
    }
    if (told->clients == 1)
        return;
    if (later->frame < sum->frame) {
        sum->frame = later->frame;
        sum->status = later->status;
        sum->operation = later->operation;
    }
    sum->rpcs += later->rpcs;
    sum->since_ns = MIN(sum->since_ns, later->since_ns);
    sum->last_ns = MAX(sum->last_ns, later->last_ns);
}

/* The connection with a callback of the server's that its client did not answer meanwhile: it may
 * be asked for what it holds (CB_RECALL, CB_LAYOUTRECALL). NULL: none is known. */
static const struct report_connection *silent_client(GList *all, const struct told *told)
{
    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;
        const struct report_callback *callback = &c->trouble->callback;

        if (callback->frame != 0 && is_of(c, told->server) &&
            callback->since_ns <= told->sum.last_ns &&
            time_plus(callback->since_ns, callback->ns) >= told->sum.since_ns)
            return c;
    }
    return NULL;
}

static void tell_silent(struct report_cause *cause, int at, const struct report_connection *c)
{
    const struct report_callback *callback = &c->trouble->callback;
    char client[ADDRESS_SIZE], when[40] = "";

    client[address_or_name(report_host(&c->pub, false), client)] = '\0';
    if (callback->answered)
        snprintf(when, sizeof(when), " for %.1f s", report_seconds(callback->ns));
    snprintf(cause->text + at, sizeof(cause->text) - (size_t)at,
             " Meanwhile the client %s did not answer a callback of it%s (connection %u, frame "
             "%" PRIu64 "): what was asked for may be what that client holds.",
             client, when, (unsigned)c->pub.number, callback->frame);
}

static void tell(struct report *r, GList *all, const struct told *told, enum report_later_id kind)
{
    const struct report_connection *silent = kind == REPORT_DELAY ? silent_client(all, told) : NULL;
    const struct report_later *sum = &told->sum;
    struct report_cause *cause = report_cause_add(r, ids[kind], CONFIDENCE_HIGH);
    char server[ADDRESS_SIZE];
    int at;

    server[address_or_name(told->server, server)] = '\0';
    cause->of = report_numbered(r, told->connection);
    cause->rpcs = sum->rpcs;
    cause->time_ns = told->longest_ns;
    cause->frame = sum->frame;
    at = snprintf(cause->text, sizeof(cause->text),
                  "The server %s told %s to try again later: %" PRIu64
                  " RPC%s had %s (the first: %.60s), and a client waited %s%.1f s (connection %u).",
                  server, told->clients == 1 ? "a client" : "clients", sum->rpcs, plural(sum->rpcs),
                  sum->status, sum->operation ? sum->operation : "?",
                  report_waits_left_out(r->waits) ? "at least " : "",
                  report_seconds(told->longest_ns), (unsigned)told->connection);
    if (kind == REPORT_GRACE)
        snprintf(cause->text + at, sizeof(cause->text) - (size_t)at,
                 " After a restart it first lets clients reclaim what they held.");
    if (silent)
        tell_silent(cause, at, silent);
}

/* Of the server of this client, unless it was told of with one before it. */
static void of_server(struct report *r, GList *all, guint first, enum report_later_id kind)
{
    const struct report_client_later *one = report_clients_later(r->waits, first), *other;
    struct told told = {.server = &one->server};

    if (one->later[kind].rpcs == 0)
        return;
    for (guint i = 0; (other = report_clients_later(r->waits, i)); i++) {
        if (other->later[kind].rpcs == 0 ||
            memcmp(&other->server, &one->server, sizeof(one->server)) != 0)
            continue;
        if (i < first)
            return;
        add(&told, &other->later[kind]);
    }
    if (told.longest_ns >= SECOND)
        tell(r, all, &told, kind);
}

void causes_of_later(struct report *r)
{
    GList *all = report_connections(r);

    for (enum report_later_id kind = 0; kind < REPORT_LATERS; kind++)
        for (guint i = 0; report_clients_later(r->waits, i); i++)
            of_server(r, all, i, kind);
    g_list_free(all);
}
