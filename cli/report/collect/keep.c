/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which connections the report keeps. Those that have not ended are counted (tallies.c), thousands
 * at once. One that ends is judged by the rules; where they have nothing to tell of it, it gives
 * way to others, and is added up. The last of these are kept, as another one may take their place,
 * and the busiest.
 */
#include "report/collect/collect.h"

#include <string.h>

#include "out/connection.h"
#include "report/collect/acked.h"
#include "report/collect/attempts.h"
#include "report/collect/opened.h"
#include "report/collect/tallies.h"
#include "report/hosts.h"

/* Of most connections. */
static const struct report_trouble no_trouble;

void report_free_connection(gpointer p)
{
    struct report_connection *c = p;

    if (c->trouble != &no_trouble)
        g_free((gpointer)(uintptr_t)c->trouble);
    latency_clear(&c->acks);
    latency_clear(&c->client_answers);
    g_free(c);
}

void report_keeping_begin(struct report *r, size_t max_bytes)
{
    r->most_connections = (guint)CLAMP(max_bytes / 8 / REPORT_CONNECTION_BYTES, REPORT_CONNECTIONS,
                                       REPORT_CONNECTIONS_MOST);
    report_tallies_begin(r, max_bytes);
    r->connections = g_hash_table_new_full(NULL, NULL, NULL, report_free_connection);
    report_hosts_begin(r);
    g_queue_init(&r->recent);
    g_queue_init(&r->pinned);
    g_queue_init(&r->one_ways);
    r->busy = g_sequence_new(NULL);
    report_attempts_begin(r);
    report_opened_begin(r);
    r->acked = report_acked_new();
}

void report_keeping_end(struct report *r)
{
    if (r->ending)
        report_free_connection(r->ending);
    g_queue_clear(&r->recent);
    g_queue_clear(&r->pinned);
    g_queue_clear(&r->one_ways);
    g_sequence_free(r->busy);
    report_attempts_end(r);
    report_opened_end(r);
    g_free(r->reads_alone);
    report_acked_free(r->acked);
    g_free(r->gone);
    g_hash_table_destroy(r->connections);
    report_hosts_end(r);
    g_hash_table_destroy(r->tallies);
}

/* It is in no list any more. */
static void unlist(struct report *r, struct report_connection *c)
{
    if (c->keep == REPORT_KEEP_RECENT)
        g_queue_delete_link(&r->recent, c->place);
    else if (c->keep == REPORT_KEEP_PINNED)
        g_queue_delete_link(&r->pinned, c->place);
    else if (c->keep == REPORT_KEEP_ONE_WAY)
        g_queue_delete_link(&r->one_ways, c->place);
    else if (c->keep == REPORT_KEEP_BUSY)
        g_sequence_remove(c->busy);
}

void report_keep(struct report *r, uint32_t number)
{
    struct report_connection *c = report_kept(r, number);

    if (!c)
        return;
    unlist(r, c);
    c->keep = REPORT_KEEP_TELLING;
}

static struct report_gone *gone(const struct report *r, uint32_t number)
{
    return r->gone ? &r->gone[number % REPORT_GONE] : NULL;
}

static void add_up(struct report *r, const struct report_connection *c, bool early)
{
    struct report_let_go *sum = &r->let_go;

    if (!r->gone)
        r->gone = g_new0(struct report_gone, REPORT_GONE);
    r->gone[c->pub.number % REPORT_GONE] =
        (struct report_gone){.number = c->pub.number, .rpcs = c->rpcs, .early = early};
    sum->connections++;
    sum->rpcs += c->rpcs;
    report_flaws_add(&sum->flaws, c);
    sum->with_credits += c->has_credits && c->credits.settled;
    sum->stalls += c->credits.stalls.count;
}

/* It was looked at, but not with the one that names it. */
static void not_in_order(struct report *r, struct report_gone *g)
{
    r->let_go.connections--;
    r->let_go.rpcs -= g->rpcs;
    *g = (struct report_gone){0};
}

void report_keep_named(struct report *r)
{
    bool older = false;

    for (unsigned i = 0; i < r->n_causes; i++) {
        uint32_t number = r->causes[i].names;
        struct report_gone *g = number != 0 ? gone(r, number) : NULL;

        if (g && g->number == number)
            not_in_order(r, g);
        else
            older = older || (g && g->number > number);
    }
    if (older && report_not_looked_at(r) == 0 && r->let_go.connections > 0)
        r->let_go.connections--; /* one at least; how many RPCs it had is forgotten */
}

static void let_go(struct report *r, struct report_connection *c, bool early)
{
    unlist(r, c);
    if (c->keep != REPORT_KEEP_ONE_WAY) /* that counts as one that was not looked at */
        add_up(r, c, early);
    report_hosts_remove(r, c);
    g_hash_table_remove(r->connections, GUINT_TO_POINTER(c->pub.number));
}

static gint most_telling(gconstpointer a, gconstpointer b, gpointer unused)
{
    (void)unused;
    return report_most_telling(a, b);
}

/* There is one. */
static struct report_connection *last_busy(struct report *r)
{
    return g_sequence_get(g_sequence_iter_prev(g_sequence_get_end_iter(r->busy)));
}

static void keep_busy(struct report *r, struct report_connection *c)
{
    c->keep = REPORT_KEEP_BUSY;
    c->busy = g_sequence_insert_sorted(r->busy, c, most_telling, NULL);
    if (g_sequence_get_length(r->busy) > REPORT_BUSY)
        let_go(r, last_busy(r), false);
}

static void keep_recent(struct report *r, struct report_connection *c)
{
    c->keep = REPORT_KEEP_RECENT;
    g_queue_push_tail(&r->recent, c);
    c->place = r->recent.tail;
    if (g_queue_get_length(&r->recent) > REPORT_RECENT)
        keep_busy(r, g_queue_pop_head(&r->recent));
}

/* Until the one that takes its place has ended: what the rules say of that goes by both. */
static void pin(struct report *r, uint32_t number, struct report_tally *next)
{
    struct report_connection *was = report_kept(r, number);

    if (!was || (was->keep != REPORT_KEEP_RECENT && was->keep != REPORT_KEEP_BUSY))
        return;
    unlist(r, was);
    was->keep = REPORT_KEEP_PINNED;
    g_queue_push_tail(&r->pinned, was);
    was->place = r->pinned.tail;
    report_trouble(next)->pinned = number;
}

static void unpin(struct report *r, uint32_t number)
{
    struct report_connection *was = report_kept(r, number);

    if (!was || was->keep != REPORT_KEEP_PINNED)
        return;
    unlist(r, was);
    keep_busy(r, was);
}

static struct report_tally *tally_of(struct report *r, const struct rpcrdma_connection *pub)
{
    struct report_tally *t = report_tally(r, pub->number);

    if (t)
        return t;
    r->n_connections = MAX(r->n_connections, pub->number);
    t = pub->number > r->refused ? report_tally_add(r, pub->number) : NULL;
    if (!t) { /* what it has up to now is not counted, so that what follows is not, either */
        r->refused = MAX(r->refused, pub->number);
        return NULL;
    }
    report_accepted(r, pub);
    if (pub->life.previous != 0)
        pin(r, pub->life.previous, t);
    return t;
}

/* It hangs on the connection: an RPC asks for it several times, and it is fetched ahead so. */
struct report_tally *report_tally_of(struct report *r, const struct rpcrdma_connection *pub)
{
    struct report_tally *t = pub->user;

    if (!t) {
        t = tally_of(r, pub);
        rpcrdma_connection_set_user(pub, t);
    }
    return t;
}

/* -- its end ---------------------------------------------------------------------------------- */

static struct report_connection *ending(struct report *r, const struct rpcrdma_connection *pub)
{
    if (!r->ending) {
        r->ending = g_new0(struct report_connection, 1);
        r->ending->pub.number = pub->number;
        r->ending->trouble = &no_trouble;
    }
    return r->ending;
}

/* rpcrdma_flow tells it before the connection's end, and nothing between. */
void report_credits(void *context, const struct rpcrdma_connection *connection,
                    const struct rpcrdma_credit_result *results, size_t n)
{
    struct report_connection *c = ending(context, connection);

    for (size_t i = 0; i < n; i++) {
        c->at_limit += results[i].stalls.count;
        if (connection->role[results[i].end] != RPCRDMA_ROLE_SERVER && !c->has_credits) {
            c->has_credits = true;
            c->credits = results[i];
        }
    }
}

/* What was counted of it goes over. */
static void take(struct report *r, struct report_connection *c, struct report_tally *t)
{
    c->rpcs = t->rpcs;
    c->messages = t->messages;
    c->answers = t->answers;
    c->last_taken = t->last_taken;
    c->session = t->session;
    c->passed[0] = t->passed[0];
    c->passed[1] = t->passed[1];
    report_served(r, &c->pub, t);
    report_acked_add(r->acked, c);
    memcpy(c->brief_acks, t->acks, sizeof(c->brief_acks));
    if (t->moved)
        memcpy(c->moved, t->moved, sizeof(c->moved));
    if (t->trouble) {
        c->trouble = t->trouble;
        report_missed_end(r, c, t->trouble);
        t->trouble = NULL; /* c owns it */
    }
    if (t->detail) {
        report_timeline_over(r, t->detail);
        c->acks = t->detail->acks;
        c->client_answers = t->detail->client_answers;
        memcpy(c->slow_acks, t->detail->slow_longest, sizeof(c->slow_acks));
        c->pauses = t->detail->pauses;
        memcpy(c->moved, t->detail->moved, sizeof(c->moved));
        for (int to_server = 0; to_server < 2; to_server++)
            report_limited_end(t->detail, to_server);
        memcpy(c->limited, t->detail->limited, sizeof(c->limited));
        t->detail->acks = t->detail->client_answers = (struct latency){0};
        r->detailed--;
    }
    report_tally_drop(r, c->pub.number);
}

static bool make_room(struct report *r, enum report_keep keep)
{
    struct report_connection *c;

    while (g_hash_table_size(r->connections) >= r->most_connections) {
        c = g_sequence_get_length(r->busy) > 0 ? last_busy(r) : NULL;
        if (!c)
            c = g_queue_peek_head(&r->recent);
        if (!c)
            c = g_queue_peek_head(&r->pinned);
        if (!c && keep == REPORT_KEEP_TELLING)
            c = g_queue_peek_head(&r->one_ways);
        if (!c)
            return false;
        let_go(r, c, c->keep != REPORT_KEEP_BUSY);
    }
    return true;
}

/* A client tries for hours, at a server that refuses or does not answer: of these attempts only the
 * first and the last stand by themselves, so that there is room for what else goes wrong. */
static void after_attempts(struct report *r, struct report_connection *c)
{
    struct report_connection *was = report_kept(r, c->pub.life.previous);
    bool refused = report_refused(&c->pub);

    if (!refused && !connection_unanswered(&c->pub) && !connection_awaits_answer(&c->pub))
        return;
    c->attempt = 1;
    if (!was || was->attempt == 0 || was->keep != REPORT_KEEP_TELLING ||
        report_refused(&was->pub) != refused)
        return;
    c->attempt = was->attempt + 1;
    if (was->attempt <= REPORT_ATTEMPTS)
        return;
    c->pub.life.previous = was->pub.life.previous;
    c->attempts_between = was->attempts_between + 1;
    c->unheard_between = was->unheard_between || was->pub.life.unheard != 0;
    r->attempts_counted++;
    report_hosts_remove(r, was);
    g_hash_table_remove(r->connections, GUINT_TO_POINTER(was->pub.number));
}

/* refused: it was, and is counted as such. */
static void judge(struct report *r, struct report_connection *c, bool refused)
{
    /* the rules have not seen all of that one */
    bool waits = report_tally(r, c->pub.life.previous) != NULL;
    struct report_tally *next = report_tally(r, c->pub.life.next);
    enum report_keep keep = report_judge(r, c);
    struct report_gone *was = gone(r, c->pub.life.previous);

    if (was && was->early && was->number == c->pub.life.previous) /* the rules lacked that */
        not_in_order(r, was);

    if (waits && keep == REPORT_KEEP_RECENT)
        keep = REPORT_KEEP_TELLING;
    if (keep != REPORT_KEEP_RECENT)
        report_keep(r, c->pub.life.previous);
    else if (c->trouble->pinned != 0)
        unpin(r, c->trouble->pinned);
    after_attempts(r, c);
    if (!make_room(r, keep)) { /* as all that are kept are telling */
        if (keep == REPORT_KEEP_RECENT)
            add_up(r, c, true);
        else
            r->attempts_counted += refused;
        if (!report_attempt_takes(r, c))
            report_free_connection(c);
        return;
    }
    g_hash_table_insert(r->connections, GUINT_TO_POINTER(c->pub.number), c);
    report_hosts_add(r, c);
    c->keep = keep;
    if (keep == REPORT_KEEP_RECENT) {
        keep_recent(r, c);
        if (next)
            pin(r, c->pub.number, next);
    } else if (keep == REPORT_KEEP_ONE_WAY) {
        g_queue_push_tail(&r->one_ways, c);
        c->place = r->one_ways.tail;
    }
}

static void note_twice(struct report *r, const struct report_connection *c)
{
    if (!report_twice(c))
        return;
    r->twice++;
    for (int end = 0; end < 2; end++)
        r->twice_apart_ns = MAX(r->twice_apart_ns, c->path[end].apart_ns);
}

void report_ended(struct report *r, const struct rpcrdma_connection *pub)
{
    struct report_connection *c = ending(r, pub);
    struct report_tally *t = report_tally(r, pub->number);
    bool refused;

    r->ending = NULL;
    r->n_connections = MAX(r->n_connections, pub->number);
    rpcrdma_connection_set_user(pub, NULL); /* it is counted no more from here on */
    c->pub = *pub;
    for (int end = 0; end < 2; end++) {
        c->has_path[end] = pub->path[end] != NULL;
        if (c->has_path[end])
            c->path[end] = *pub->path[end];
        c->pub.path[end] = NULL;
    }
    refused = report_attempt(r, &c->pub);
    note_twice(r, c);
    if (t)
        take(r, c, t);
    else if (pub->messages > 0) { /* there was no room to count it */
        report_free_connection(c);
        return;
    }
    judge(r, c, refused);
}
