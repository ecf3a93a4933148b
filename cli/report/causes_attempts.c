/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about attempts to connect that were refused, the last of them, too:
 * server-restarted tells of those behind which one was accepted. */
#include "report/causes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* By the server: a client refuses a REP that it does not want any more. A server that does so
 * behind its own REP had accepted it. */
static bool refused(const struct report_connection *c)
{
    return report_refused(&c->pub) &&
           (c->pub.life.established_frame == 0 || c->pub.carrier == RPCRDMA_CARRIER_IWARP) &&
           (c->pub.life.ended_by < 0 || c->pub.life.ended_by == report_server_end(&c->pub));
}

static const struct report_connection *numbered(const struct report *r, uint32_t number)
{
    return g_hash_table_lookup(r->connections, GUINT_TO_POINTER(number));
}

/* How, and what it means. */
static void tell_reason(const struct rpcrdma_connection *c, char text[200])
{
    enum { SERVICE_ID = 8, CONSUMER = 28 };
    const struct rpcrdma_life *life = &c->life;
    uint16_t port = c->service_port ? c->service_port : c->end[report_server_end(c)].port;
    const char *reason = rpcrdma_reject_reason(life->reject_reason);
    char at[32] = "there";

    if (port != 0)
        snprintf(at, sizeof(at), "on port %u", (unsigned)port);
    if (life->ended == RPCRDMA_ENDED_REFUSED)
        snprintf(text, 200, "a RST answers TCP's SYN: nothing listens %s", at);
    else if (life->ended == RPCRDMA_ENDED_RESET)
        snprintf(text, 200, "it accepted TCP %s, and reset it before MPA", at);
    else if (c->carrier == RPCRDMA_CARRIER_IWARP)
        snprintf(text, 200, "its MPA Reply rejects: what listens %s does not want it", at);
    else if (life->reject_reason == SERVICE_ID)
        snprintf(text, 200, "REJ, invalid service ID: nothing listens for RDMA %s", at);
    else if (life->reject_reason == CONSUMER)
        snprintf(text, 200, "REJ, consumer reject: what listens %s does not want it", at);
    else
        snprintf(text, 200, "REJ, %s (reason %u)", reason ? reason : "of a reason not known here",
                 (unsigned)life->reject_reason);
}

static const struct rpcrdma_address *host(const struct report_connection *c, bool server)
{
    int end = report_server_end(&c->pub);

    return &c->pub.end[server ? end : 1 - end].address;
}

static bool same_host(const struct report_connection *a, const struct report_connection *b,
                      bool server)
{
    return memcmp(host(a, server), host(b, server), sizeof(*host(a, server))) == 0;
}

static bool same_service(const struct report_connection *a, const struct report_connection *b)
{
    return same_host(a, b, true) && (a->pub.service_port == b->pub.service_port ||
                                     a->pub.service_port == 0 || b->pub.service_port == 0);
}

/* What else there was at this server. */
struct beside {
    bool accepted; /* one was, later, of whichever client: it refused for a while */
    const struct report_connection *open; /* the same client's, in use all the while; NULL: none */
};

static struct beside beside_of(GList *all, const struct report_connection *last)
{
    struct beside beside = {0};

    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;

        if (c == last || refused(c) || !same_service(c, last) ||
            (c->pub.life.established_frame == 0 && c->messages == 0))
            continue;
        beside.accepted |= c->pub.first_time_ns >= last->pub.first_time_ns;
        if (same_host(c, last, false) && c->pub.last_time_ns >= last->pub.last_time_ns)
            beside.open = c;
    }
    return beside;
}

static void connection_refused(struct report *r, GList *all, const struct report_connection *last)
{
    const struct report_connection *first = last, *was = last;
    const struct beside beside = beside_of(all, last);
    struct report_cause *cause;
    uint64_t attempts = 0;
    char reason[200], tried[32] = "an attempt", within[64] = "";

    if (beside.accepted)
        return;
    for (; was && refused(was); was = numbered(r, was->pub.life.previous)) {
        attempts++;
        first = was;
    }
    tell_reason(&last->pub, reason);
    r->about = first;
    cause = report_cause_add(r, CAUSE_CONNECTION_REFUSED,
                             attempts > 1 && !beside.open ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    r->about = NULL;
    cause->time_ns = MAX(last->pub.last_time_ns - first->pub.first_time_ns, 0);
    cause->frame =
        first->pub.life.ended_frame ? first->pub.life.ended_frame : first->pub.first_frame;
    if (attempts > 1) {
        snprintf(tried, sizeof(tried), "%" PRIu64 " attempts", attempts);
        snprintf(within, sizeof(within), " within %.1f s", report_seconds(cause->time_ns));
    }
    snprintf(cause->text, sizeof(cause->text),
             "The server refused %s to connect%s (%s), and none was accepted since.", tried, within,
             reason);
    if (beside.open)
        snprintf(cause->against, sizeof(cause->against),
                 "connection %u of the same hosts was in use meanwhile: it may be one too many",
                 (unsigned)beside.open->pub.number);
    else if (attempts == 1)
        snprintf(cause->against, sizeof(cause->against),
                 "it was tried once: the client may take another port, or TCP");
}

void causes_of_attempts(struct report *r)
{
    GList *all = report_connections(r);
    GHashTable *followed = g_hash_table_new(NULL, NULL); /* that another one took the place of */

    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;

        g_hash_table_add(followed, GUINT_TO_POINTER(c->pub.life.previous));
    }
    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;

        if (refused(c) && c->pub.life.next == 0 &&
            !g_hash_table_contains(followed, GUINT_TO_POINTER(c->pub.number)))
            connection_refused(r, all, c);
    }
    g_hash_table_destroy(followed);
    g_list_free(all);
}
