/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about attempts to connect that were refused, the last of them, too:
 * server-restarted tells of those behind which one was accepted. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/times.h"
#include "out/address.h"
#include "report/causes/causes.h"
#include "report/causes/connections/restarted.h"
#include "report/collect/attempts.h"

enum { SERVICE_ID = 8, CONSUMER = 28 }; /* reasons of REJ */

/* How, and what it means. */
static void tell_reason(const struct report_tries *tries, char text[200])
{
    const char *reason = rpcrdma_reject_reason(tries->reject_reason);
    char at[32] = "there";

    if (tries->port != 0)
        snprintf(at, sizeof(at), "on port %u", (unsigned)tries->port);
    if (tries->ended == RPCRDMA_ENDED_REFUSED)
        snprintf(text, 200, "a RST answers TCP's SYN: nothing listens %s", at);
    else if (tries->ended == RPCRDMA_ENDED_RESET)
        snprintf(text, 200, "it accepted TCP %s, and reset it before MPA", at);
    else if (tries->carrier == RPCRDMA_CARRIER_IWARP)
        snprintf(text, 200, "its MPA Reply rejects: what listens %s does not want it", at);
    else if (tries->reject_reason == SERVICE_ID)
        snprintf(text, 200, "REJ, invalid service ID: nothing listens for RDMA %s", at);
    else if (tries->reject_reason == CONSUMER)
        snprintf(text, 200, "REJ, consumer reject: what listens %s does not want it", at);
    else
        snprintf(text, 200, "REJ, %s (reason %u)", reason ? reason : "of a reason not known here",
                 (unsigned)tries->reject_reason);
}

static bool same_hosts(const struct rpcrdma_connection *c, const struct report_service *of)
{
    return memcmp(report_host(c, true), &of->server, sizeof(of->server)) == 0 &&
           memcmp(report_host(c, false), &of->client, sizeof(of->client)) == 0;
}

/* The same client's, in use all the while; 0: none. */
static uint32_t open_beside(GList *all, const struct report_tries *tries)
{
    uint32_t open = tries->open_until >= tries->last_frame ? tries->open : 0;

    for (GList *one = all; one && open == 0; one = one->next) {
        const struct rpcrdma_connection *c = &((const struct report_connection *)one->data)->pub;
        uint16_t port = c->service_port;

        if (!report_refused_by_server(c) && (c->life.established_frame != 0 || c->messages > 0) &&
            same_hosts(c, &tries->service) &&
            (port == 0 || tries->service.port == 0 || port == tries->service.port) &&
            c->first_frame < tries->last_begun && c->last_frame >= tries->last_frame)
            open = c->number;
    }
    return open;
}

/* The server was there, then at least. */
static void tell_others(const struct report_tries *tries, struct report_cause *cause)
{
    char which[32] = "";

    if (tries->other != 0)
        snprintf(which, sizeof(which), ", connection %u", (unsigned)tries->other);
    snprintf(cause->against, sizeof(cause->against),
             "it accepted others since the first of these%s: it may have been restarted, and the "
             "client have given up, or it refuses this client only",
             which);
}

/* How long the client had no connection, as far as it shows. */
static int64_t tried_ns(const struct report_tries *tries)
{
    int64_t until_ns = tries->opened_frame != 0 ? tries->opened_ns : tries->last_ns;

    return MAX(time_less(until_ns, tries->first_ns), 0);
}

/* "none was accepted since" */
static void tell_since(const struct report_tries *tries, char text[96])
{
    const char *of_whom = !tries->others                            ? ""
                          : tries->carrier == RPCRDMA_CARRIER_IWARP ? " of this client's by TCP"
                                                                    : " of this client's";

    if (tries->opened_frame != 0)
        snprintf(text, 96, "it accepted TCP %.1f s after the last of these, in frame %" PRIu64,
                 report_seconds(time_less(tries->opened_ns, tries->last_ns)), tries->opened_frame);
    else
        snprintf(text, 96, "none%s was accepted since", of_whom);
}

static void tell_against(const struct report_tries *tries, uint32_t open,
                         struct report_cause *cause)
{
    if (tries->opened_frame != 0)
        snprintf(cause->against, sizeof(cause->against),
                 "what followed could not be read as RPC-over-RDMA (packets may be cut): it may "
                 "have been restarted, and be in use again");
    else if (open != 0)
        snprintf(cause->against, sizeof(cause->against),
                 "connection %u of the same hosts was in use meanwhile: it may be one too many",
                 (unsigned)open);
    else if (tries->others)
        tell_others(tries, cause);
    else if (tries->attempts == 1)
        snprintf(cause->against, sizeof(cause->against),
                 "it was tried once: the client may take another port, or TCP");
}

/* Another host may have refused them, in the server's name. */
static void tell_elsewhere(const struct report *r, struct report_cause *cause)
{
    const struct report_connection *was = cause->of ? report_before(r, cause->of).was : NULL;

    if (!report_moved(was, cause->of))
        return;
    report_tell_moved(cause, was, cause->of);
    cause->confidence = CONFIDENCE_MEDIUM;
    if (!cause->against[0])
        snprintf(cause->against, sizeof(cause->against),
                 "another host, which has the server's IP address, may have refused them");
}

/* Of several each is told by its hosts. */
static void connection_refused(struct report *r, GList *all, const struct report_tries *tries,
                               bool several)
{
    const uint32_t open = open_beside(all, tries);
    struct report_cause *cause;
    const bool sure =
        tries->attempts > 1 && open == 0 && !tries->others && tries->opened_frame == 0;
    char reason[200], tried[48] = "an attempt", within[64] = "", since[96];
    char server[ADDRESS_SIZE + 8] = "", client[ADDRESS_SIZE + 8] = "", address[ADDRESS_SIZE];

    tell_reason(tries, reason);
    if (several) {
        int n = (int)address_format(&tries->service.server, address);

        snprintf(server, sizeof(server), " %.*s", n, address);
        n = (int)address_format(&tries->service.client, address);
        snprintf(client, sizeof(client), " by %.*s", n, address);
    }
    r->about = tries->own ? tries->own : report_kept(r, tries->first);
    cause =
        report_cause_add(r, CAUSE_CONNECTION_REFUSED, sure ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    r->about = NULL;
    cause->time_ns = tried_ns(tries);
    cause->frame = tries->first_frame;
    cause->count = tries->attempts > 1 && tries->some_before ? 0 : tries->attempts;
    if (tries->attempts > 1 && tries->some_before) {
        snprintf(tried, sizeof(tried), "attempts");
    } else if (tries->attempts > 1) {
        snprintf(tried, sizeof(tried), "%s%" PRIu64 " attempts", tries->late ? "at least " : "",
                 tries->attempts);
        snprintf(within, sizeof(within), " within %.1f s",
                 report_seconds(MAX(time_less(tries->last_ns, tries->first_ns), 0)));
    }
    tell_since(tries, since);
    snprintf(cause->text, sizeof(cause->text),
             "The server%s refused %s%s to connect%s (%s), and %s.", server, tried, client, within,
             reason, since);
    tell_against(tries, open, cause);
    tell_elsewhere(r, cause);
}

/* Of one server's port. */
static bool same_service(const struct report_tries *a, const struct report_tries *b)
{
    return a->service.port == b->service.port &&
           memcmp(&a->service.server, &b->service.server, sizeof(a->service.server)) == 0;
}

/* A server that many clients are refused by is one cause: that of the client that tried most, and
 * how many others there are. attempts 0: it is not known how many. */
static void refused_many(struct report *r, GList *all, const struct report_tries *most,
                         uint64_t clients, uint64_t attempts)
{
    char address[2][ADDRESS_SIZE], told[sizeof(r->causes->text)], tried[64] = "";
    struct report_cause *cause;
    int n[2];

    connection_refused(r, all, most, true);
    cause = &r->causes[r->n_causes - 1];
    n[0] = (int)address_format(&most->service.server, address[0]);
    n[1] = (int)address_format(&most->service.client, address[1]);
    g_strlcpy(told, cause->text, sizeof(told));
    if (attempts > 0)
        snprintf(tried, sizeof(tried), "%" PRIu64 " attempts to connect in all, ", attempts);
    snprintf(cause->text, sizeof(cause->text),
             "The server %.*s refused %s%" PRIu64 " clients, %s%.*s most often. %.600s", n[0],
             address[0], report_attempts_left_out(r) > 0 ? "at least " : "", clients, tried, n[1],
             address[1], told);
    cause->count = attempts;
    if (cause->confidence != CONFIDENCE_HIGH && most->attempts == 1) {
        cause->confidence = CONFIDENCE_HIGH; /* that was the doubt: others tried, too */
        cause->against[0] = '\0';
    }
}

void causes_of_attempts(struct report *r)
{
    GList *tries = report_tries(r), *all = report_connections(r);
    bool several = tries && tries->next;

    while (tries) {
        const struct report_tries *most = tries->data;
        GList *same = NULL, *others = NULL;
        uint64_t clients = 0, attempts = 0;
        bool uncounted = false;

        for (GList *one = tries; one; one = one->next) {
            const struct report_tries *of = one->data;

            if (!same_service(of, tries->data)) {
                others = g_list_prepend(others, one->data);
                continue;
            }
            same = g_list_prepend(same, one->data);
            clients++;
            attempts += of->attempts;
            uncounted |= of->attempts > 1 && of->some_before;
            if (of->attempts > most->attempts)
                most = of;
        }
        same = g_list_reverse(same);
        if (clients > REPORT_FEW)
            refused_many(r, all, most, clients, uncounted ? 0 : attempts);
        for (GList *one = same; one && clients <= REPORT_FEW; one = one->next)
            connection_refused(r, all, one->data, several);
        g_list_free(same);
        g_list_free(tries);
        tries = g_list_reverse(others);
    }
    g_list_free(all);
}

bool report_nothing_listened(const struct rpcrdma_connection *c)
{
    return report_refused(c) && !(c->rejected && c->life.reject_reason == CONSUMER) &&
           !report_stale(c);
}
