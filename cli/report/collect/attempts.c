/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attempts to connect that servers refused, by client, server and port, and which servers accepted
 * last. They are counted as they end: a client that retries for hours makes more attempts than
 * connections are kept, and what was accepted since may have given way to others.
 */
#include "report/collect/attempts.h"

#include <string.h>

#include "report/collect/collect.h"
#include "report/collect/opened.h"

enum { ANY_PORT = 0x10000 };

struct accepted {
    struct report_service service; /* client: zero */
    uint64_t frame;                /* of the latest, the first. Clocks are set back */
    uint32_t connection;           /* its number */
};

struct report_attempts {
    GHashTable *tries;    /* struct report_tries, each its own key */
    GHashTable *accepted; /* struct accepted, likewise */
    GQueue by_age; /* the same tries, roughly: those whose last attempt is the oldest first */
    guint most;
    uint64_t left_out;        /* attempts */
    uint64_t others_accepted; /* frame of the latest that there was no room for; 0: none */
};

/* Of a server's port, whoever asks. */
static void set_port(struct report_service *service, const struct rpcrdma_connection *c,
                     uint32_t port)
{
    memset(service, 0, sizeof(*service));
    service->server = c->end[report_server_end(c)].address;
    service->port = port;
}

static void free_tries(gpointer p)
{
    struct report_tries *tries = p;

    if (tries->own)
        report_free_connection(tries->own);
    g_free(tries);
}

void report_attempts_begin(struct report *r)
{
    struct report_attempts *a = r->attempts = g_new0(struct report_attempts, 1);

    a->most = r->most_connections;
    a->tries = g_hash_table_new_full(report_service_hash, report_service_equal, NULL, free_tries);
    a->accepted = g_hash_table_new_full(report_service_hash, report_service_equal, NULL, g_free);
}

void report_attempts_end(struct report *r)
{
    g_hash_table_destroy(r->attempts->tries);
    g_hash_table_destroy(r->attempts->accepted);
    g_free(r->attempts);
}

static void accept_at(struct report_attempts *a, const struct rpcrdma_connection *c, uint32_t port)
{
    struct report_service service;
    struct accepted *accepted;

    set_port(&service, c, port);
    accepted = g_hash_table_lookup(a->accepted, &service);
    if (!accepted && g_hash_table_size(a->accepted) >= 2 * a->most) {
        a->others_accepted = MAX(a->others_accepted, c->first_frame);
        return;
    }
    if (!accepted) {
        accepted = g_new0(struct accepted, 1);
        accepted->service = service;
        g_hash_table_add(a->accepted, accepted);
    }
    if (c->first_frame < accepted->frame)
        return;
    accepted->frame = c->first_frame;
    accepted->connection = c->number;
}

/* Whether it is what the client tried: the port of either may not be known. */
static bool is_tried(const struct report_tries *tries, const struct report_service *service)
{
    struct report_service same = *service;

    if (same.port == 0 || tries->service.port == 0)
        same.port = tries->service.port;
    return report_service_equal(&same, &tries->service);
}

static void accept_tries(struct report_attempts *a, const struct rpcrdma_connection *c)
{
    struct report_service service;
    struct report_tries *tries;
    GHashTableIter each;
    gpointer one;

    if (g_hash_table_size(a->tries) == 0)
        return;
    report_service_of(&service, c);
    if (service.port == 0) {
        g_hash_table_iter_init(&each, a->tries);
        while (g_hash_table_iter_next(&each, &one, NULL)) {
            tries = one;
            if (is_tried(tries, &service))
                tries->accepted = MAX(tries->accepted, c->first_frame);
        }
        return;
    }
    for (int known = 0; known < 2; known++) {
        service.port = known ? c->service_port : 0;
        tries = g_hash_table_lookup(a->tries, &service);
        if (tries)
            tries->accepted = MAX(tries->accepted, c->first_frame);
    }
}

void report_accepted(struct report *r, const struct rpcrdma_connection *c)
{
    if (report_refused_by_server(c))
        return;
    accept_tries(r->attempts, c);
    accept_at(r->attempts, c, ANY_PORT);
    accept_at(r->attempts, c, c->service_port);
}

static const struct accepted *accepted_at(const struct report_attempts *a,
                                          const struct report_service *of, uint32_t port)
{
    struct report_service service;

    memset(&service, 0, sizeof(service));
    service.server = of->server;
    service.port = port;
    return g_hash_table_lookup(a->accepted, &service);
}

/* Which the server accepted last, of whichever client; that may be forgotten. */
static void find_others(const struct report_attempts *a, struct report_tries *tries)
{
    const struct report_service *of = &tries->service;
    const struct accepted *last = accepted_at(a, of, of->port == 0 ? ANY_PORT : of->port),
                          *unknown = accepted_at(a, of, 0);

    if (!last || (unknown && unknown->frame > last->frame))
        last = unknown;
    tries->others =
        (last && last->frame >= tries->first_begun) || a->others_accepted >= tries->first_begun;
    tries->other = last && last->frame >= tries->first_begun ? last->connection : 0;
}

/* By TCP, behind the last attempt. */
static void find_opened(const struct report *r, struct report_tries *tries)
{
    const struct report_opened *opened = report_opened_of(r, &tries->service);
    bool since = opened && opened->frame > tries->last_frame;

    tries->opened_frame = since ? opened->frame : 0;
    tries->opened_ns = since ? opened->time_ns : 0;
}

/* What follows an attempt tells what became of it; and what is open beside is of use. */
static void follow(struct report_attempts *a, const struct rpcrdma_connection *c, bool accepted)
{
    struct report_service service;
    struct report_tries *tries;

    report_service_of(&service, c);
    tries = g_hash_table_lookup(a->tries, &service);
    if (!tries)
        return;
    tries->followed |= c->life.previous != 0 && c->life.previous == tries->last;
    if (accepted && c->last_frame >= tries->open_until) {
        tries->open = c->number;
        tries->open_until = c->last_frame;
    }
}

/* Who comes later may be the one that retries for hours. Whose server accepted one since gives way,
 * or who tried once, the longest ago; others are not looked at again soon. False: nobody does. */
static bool make_room(struct report_attempts *a)
{
    enum { LOOK = 64 };

    for (guint i = 0; i < LOOK && i < a->by_age.length; i++) {
        GList *oldest = g_queue_pop_head_link(&a->by_age);
        struct report_tries *tries = oldest->data;
        bool settled = tries->accepted >= tries->last_begun;

        if (!settled && tries->attempts > 1) {
            g_queue_push_tail_link(&a->by_age, oldest);
            continue;
        }
        a->left_out += settled ? 0 : tries->attempts;
        g_hash_table_remove(a->tries, tries);
        return true;
    }
    return false;
}

static struct report_tries *tries_of(struct report_attempts *a, const struct rpcrdma_connection *c)
{
    struct report_service service;
    struct report_tries *tries;

    report_service_of(&service, c);
    tries = g_hash_table_lookup(a->tries, &service);
    if (tries)
        g_queue_unlink(&a->by_age, &tries->age);
    else if (g_hash_table_size(a->tries) >= a->most && !make_room(a))
        return NULL;
    if (!tries) {
        tries = g_new0(struct report_tries, 1);
        tries->service = service;
        tries->age.data = tries;
        tries->late = a->left_out > 0;
        g_hash_table_add(a->tries, tries);
    }
    g_queue_push_tail_link(&a->by_age, &tries->age);
    return tries;
}

static void begin(struct report_tries *tries, const struct rpcrdma_connection *c)
{
    if (tries->own)
        report_free_connection(tries->own);
    *tries = (struct report_tries){.service = tries->service,
                                   .age = tries->age,
                                   .late = tries->late && tries->attempts == 0,
                                   .accepted = tries->accepted,
                                   .open = tries->open,
                                   .open_until = tries->open_until,
                                   .first = c->number,
                                   .first_ns = c->first_time_ns,
                                   .first_begun = c->first_frame,
                                   .first_frame =
                                       c->life.ended_frame ? c->life.ended_frame : c->first_frame};
}

bool report_attempt(struct report *r, const struct rpcrdma_connection *c)
{
    struct report_attempts *a = r->attempts;
    const struct report_opened *opened;
    struct report_tries *tries;
    bool accepted = c->life.established_frame != 0 || c->messages > 0;

    if (!report_refused_by_server(c)) {
        if (accepted)
            report_accepted(r, c);
        follow(a, c, accepted);
        return false;
    }
    tries = tries_of(a, c);
    if (!tries) {
        a->left_out++;
        return false;
    }
    opened = report_opened_of(r, &tries->service);
    if (opened)
        tries->accepted = MAX(tries->accepted, opened->before);
    if (tries->attempts == 0 || tries->accepted >= tries->first_begun)
        begin(tries, c);
    tries->attempts++;
    tries->last = c->number;
    tries->last_begun = c->first_frame;
    tries->last_ns = c->last_time_ns;
    tries->last_frame = c->last_frame;
    tries->followed = c->life.next != 0;
    tries->ended = c->life.ended;
    tries->carrier = c->carrier;
    tries->reject_reason = c->life.reject_reason;
    tries->port = c->service_port ? c->service_port : c->end[report_server_end(c)].port;
    return true;
}

bool report_attempt_takes(struct report *r, struct report_connection *c)
{
    struct report_service service;
    struct report_tries *tries;

    report_service_of(&service, &c->pub);
    tries = g_hash_table_lookup(r->attempts->tries, &service);
    if (!tries || tries->first != c->pub.number || tries->own)
        return false;
    tries->own = c;
    return true;
}

static gint by_last(gconstpointer a, gconstpointer b)
{
    const struct report_tries *x = a, *y = b;

    return x->last < y->last ? -1 : x->last > y->last;
}

GList *report_tries(const struct report *r)
{
    GList *found = NULL;
    GHashTableIter each;
    gpointer one;

    g_hash_table_iter_init(&each, r->attempts->tries);
    while (g_hash_table_iter_next(&each, &one, NULL)) {
        struct report_tries *tries = one;

        find_others(r->attempts, tries);
        find_opened(r, tries);
        tries->some_before = tries->accepted >= tries->first_begun; /* it was known late */
        if (!tries->followed && tries->accepted < tries->last_begun &&
            /* one shows nothing of the server then */
            !((tries->others || tries->opened_frame != 0) && tries->attempts == 1))
            found = g_list_prepend(found, tries);
    }
    return g_list_sort(found, by_last);
}

uint64_t report_attempts_left_out(const struct report *r)
{
    return r->attempts->left_out;
}
