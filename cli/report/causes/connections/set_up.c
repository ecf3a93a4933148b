/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about connections that took long to be set up, as what one end said
 * for that did not reach the other. */
#include "report/causes/connections/life.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"
#include "out/connection.h"

static bool accepted_late(const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;

    return life->accepted_again > 0 &&
           time_less(life->accepted_again_ns, life->established_ns) >= SECOND;
}

bool report_never_set_up(const struct report_connection *c)
{
    return accepted_late(c) && c->answers.first_ns == 0;
}

void causes_of_late_set_up(struct report *r, const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;
    const struct report_unanswered *own = &c->trouble->unanswered[REPORT_FORWARD];
    struct report_cause *cause;
    char without[64] = "";

    if (!accepted_late(c))
        return;
    cause = report_cause_add(r, CAUSE_CONNECTION_FAILED, CONFIDENCE_MEDIUM);
    cause->time_ns = time_less(life->accepted_again_ns, life->established_ns);
    cause->frame = life->established_frame;
    cause->rpcs = own->calls;
    report_cause_lasted(cause, REPORT_FAILED_ATTEMPTS, life->established_ns,
                        life->accepted_again_ns);
    if (own->calls > 0)
        snprintf(without, sizeof(without), " %" PRIu64 " Call%s had no Reply.", own->calls,
                 plural(own->calls));
    snprintf(
        cause->text, sizeof(cause->text),
        "Connection %u was set up late at the server: it sent its REP again %u time%s in %.1f s, "
        "as the client's RTU did not reach it. Until then it takes no Call, though its adapter "
        "acknowledges them.%s",
        (unsigned)c->pub.number, (unsigned)life->accepted_again, plural(life->accepted_again),
        report_seconds(cause->time_ns), without);
    snprintf(cause->against, sizeof(cause->against),
             "the server's connection manager may have had the RTU, and been slow to take it");
}

bool report_mpa_unanswered(const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;
    int client = 1 - report_server_end(&c->pub);

    return c->pub.carrier == RPCRDMA_CARRIER_IWARP && life->requests > 0 &&
           life->established_frame == 0 && c->pub.messages == 0 && !report_refused(&c->pub) &&
           !connection_unanswered(&c->pub) && c->has_path[client] && c->path[client].packets > 0;
}

/* For how long; 0: not so. */
static int64_t mpa_unanswered_ns(const struct report *r, const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;
    int64_t until_ns = life->ended != RPCRDMA_ENDED_NOT ? life->ended_ns : report_now_ns(r);

    return report_mpa_unanswered(c) ? MAX(time_less(until_ns, c->pub.first_time_ns), 0) : 0;
}

/* How often the client's MPA Request came, as nothing acknowledged it; "": once, or twice. */
static void tell_request(const struct report_connection *c, char *text, size_t size)
{
    int server = report_server_end(&c->pub);
    const struct rpcrdma_path *path = &c->path[server];

    text[0] = '\0';
    if (c->has_path[server] && path->retransmitted > 1)
        snprintf(text, size,
                 " The Request was sent %" PRIu64
                 " times: it did not come to the server, or its Acks not to the place of capture.",
                 path->retransmitted + 1);
}

static void mpa_unanswered(struct report *r, const struct report_connection *c, int64_t ns)
{
    const struct rpcrdma_life *life = &c->pub.life;
    const char *until = life->ended == RPCRDMA_ENDED_NOT ? "the capture ended"
                        : life->ended_by == report_server_end(&c->pub)
                            ? "the server closed the connection"
                            : "the client closed the connection";
    struct report_cause *cause = report_cause_add(r, CAUSE_CONNECTION_FAILED, CONFIDENCE_MEDIUM);
    char request[200];

    cause->time_ns = ns;
    cause->frame = c->pub.first_frame;
    tell_request(c, request, sizeof(request));
    report_cause_lasted(cause, REPORT_FAILED_ATTEMPTS, c->pub.first_time_ns,
                        time_plus(c->pub.first_time_ns, ns));
    snprintf(cause->text, sizeof(cause->text),
             "Connection %u was not set up: the server's host accepted TCP, and no Reply to the "
             "client's MPA Request came in %.1f s, until %s.%s",
             (unsigned)c->pub.number, report_seconds(ns), until, request);
    snprintf(cause->against, sizeof(cause->against),
             "the server may have been slow to answer, or its Reply was lost before the place of "
             "capture");
}

/* Of iWARP: the SYN-ACK's time, where the MPA Request was the first packet that is told of. */
static int64_t began_ns(const struct rpcrdma_connection *c)
{
    return c->life.opened_frame != 0 ? MIN(c->first_time_ns, c->life.opened_ns) : c->first_time_ns;
}

/* Which step of the set-up of iWARP took longest, where TCP's opening was captured. */
static void tell_step(const struct rpcrdma_connection *c, struct report_cause *cause, char *how,
                      size_t size)
{
    const struct rpcrdma_life *life = &c->life;
    int64_t syn_ns = time_less(life->opened_ns, began_ns(c));
    int64_t request_ns = time_less(life->asked_ns, life->opened_ns);
    int64_t reply_ns = time_less(life->established_ns, life->asked_ns);

    if (life->opened_frame == 0 || reply_ns >= MAX(syn_ns, request_ns)) {
        g_strlcpy(how, "the server's Reply to the client's MPA Request came no sooner", size);
    } else if (request_ns >= syn_ns) {
        cause->frame = life->opened_frame;
        snprintf(how, size, "the client's MPA Request passed %.1f s after TCP was open",
                 report_seconds(request_ns));
        snprintf(cause->against, sizeof(cause->against),
                 "the client may have been slow to send it, or it was lost before the place of "
                 "capture");
    } else {
        snprintf(how, size, "the server answered the client's SYN after %.1f s",
                 report_seconds(syn_ns));
    }
}

void causes_of_slow_set_up(struct report *r, const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;
    const char *asked = c->pub.carrier == RPCRDMA_CARRIER_IWARP ? "SYN" : "REQ";
    int64_t ns = time_less(life->established_ns, began_ns(&c->pub));
    uint32_t heard = life->requests - life->unheard;
    struct report_cause *cause;
    char answers[120], how[200];

    if (mpa_unanswered_ns(r, c) >= SECOND)
        mpa_unanswered(r, c, mpa_unanswered_ns(r, c));
    if (life->requests < (c->pub.carrier == RPCRDMA_CARRIER_IWARP ? 1 : 2) ||
        life->established_frame == 0 || !c->pub.established || ns < SECOND)
        return;
    cause = report_cause_add(r, CAUSE_CONNECTION_FAILED, CONFIDENCE_MEDIUM);
    cause->time_ns = ns;
    cause->frame = c->pub.first_frame;
    report_cause_lasted(cause, REPORT_FAILED_ATTEMPTS, began_ns(&c->pub), life->established_ns);
    snprintf(cause->against, sizeof(cause->against), "%s",
             life->unheard > 0
                 ? "the client may have had them, and not have taken them"
                 : "the server may have been slow to answer, or its answers were lost "
                   "before the place of capture");
    if (life->unheard > 0)
        snprintf(answers, sizeof(answers),
                 "%u of these behind the server's REP, which did not reach the client",
                 (unsigned)life->unheard);
    else if (heard == 2)
        snprintf(answers, sizeof(answers), "and the first was not answered");
    else
        snprintf(answers, sizeof(answers), "and none of the first %u was answered",
                 (unsigned)heard - 1);
    if (life->requests == 1)
        tell_step(&c->pub, cause, how, sizeof(how));
    else
        snprintf(how, sizeof(how), "the client sent its %s %u times, %s", asked,
                 (unsigned)life->requests, answers);
    snprintf(cause->text, sizeof(cause->text), "Connection %u took %.1f s to be set up: %s.",
             (unsigned)c->pub.number, report_seconds(ns), how);
}
