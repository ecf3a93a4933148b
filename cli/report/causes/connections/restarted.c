/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about restarts of the server. */
#include "report/causes/connections/life.h"
#include "report/hosts.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"
#include "out/connection.h"

/* A server may drop the state of a client that is away for longer: 90 s with Linux, 30 with some.
 */
#define LEASE_NS (30 * SECOND)
#define GRACE_NS (90 * SECOND) /* for which a server waits for clients that were there before */

bool report_closed_by_server(const struct rpcrdma_connection *c)
{
    return c->life.ended_by >= 0 && c->role[c->life.ended_by] == RPCRDMA_ROLE_SERVER &&
           (c->life.ended == RPCRDMA_ENDED_DISCONNECTED || c->life.ended == RPCRDMA_ENDED_CLOSED);
}

static void tell_survived(struct report_cause *cause, guint survived)
{
    cause->confidence = CONFIDENCE_MEDIUM;
    snprintf(cause->against, sizeof(cause->against),
             "%u other connection%s to it went on: it may have refused this client only, or one "
             "connection too many",
             survived, plural(survived));
}

/* Requests for this connection that got no answer. Where none was captured, that is not known. */
static uint32_t not_answered(const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;

    return life->established_frame != 0 && life->requests > life->unheard + 1
               ? life->requests - life->unheard - 1
               : 0;
}

/* ", left 3 requests to connect without answer for 19.1 s, and"; or ",": it did not. */
static void tell_not_answered(const struct report_connection *c, char *text, size_t size)
{
    uint32_t n = not_answered(c);

    snprintf(text, size, ",");
    if (n > 0)
        snprintf(text, size, ", left %u request%s to connect without answer for %.1f s, and",
                 (unsigned)n, plural(n),
                 report_seconds(time_less(c->pub.life.established_ns, c->pub.first_time_ns)));
}

/* The client went on with the session that it had: the server has its state, and was not
 * restarted. Another connection that began since may have made that session anew. */
static bool session_goes_on(const struct report *r, const struct report_connection *c,
                            int64_t since_ns)
{
    const struct report_connection *other;
    bool kept = c->session == REPORT_SESSION_KEPT &&
                report_not_looked_at(r) + r->let_go.connections == 0; /* those are not known */

    for (other = kept ? report_of_hosts(r, c) : NULL; kept && other;
         other = report_of_hosts_next(other))
        kept = other->session != REPORT_SESSION_NEW || other->pub.first_time_ns < since_ns ||
               other->pub.first_time_ns > c->pub.last_time_ns;
    return kept;
}

/* Its answers on the next connection show that the server lost its state. */
static void tell_lost_state(struct report_cause *cause, const struct report_connection *was,
                            const struct report_connection *c, guint survived)
{
    const struct report_trouble *trouble = c->trouble;
    char tried[96];

    tell_not_answered(c, tried, sizeof(tried));
    cause->rpcs = trouble->stale;
    snprintf(cause->text, sizeof(cause->text),
             "The server was restarted: it closed connection %u%s after %.1f s accepted connection "
             "%u, and gave %" PRIu64
             " answer%s there that only a server without its former state gives.%s",
             (unsigned)was->pub.number, tried, report_seconds(cause->time_ns),
             (unsigned)c->pub.number, trouble->stale, plural(trouble->stale),
             not_answered(c) > 0 ? "" : " The path was not down.");
    if (cause->time_ns > LEASE_NS) {
        cause->confidence = CONFIDENCE_MEDIUM;
        snprintf(cause->against, sizeof(cause->against),
                 "the client was away for that long: its lease may have run out");
    }
    if (survived > 0)
        tell_survived(cause, survived);
}

/* It refused nothing, as far as the capture shows. */
static void tell_closed(struct report_cause *cause, const struct report_connection *was,
                        const struct report_connection *c, guint survived, bool goes_on)
{
    const char *restarted = "it was restarted, or had done with the client. The path was not down.";
    char tried[96], while_text[96] = "";
    bool silent = not_answered(c) > 0, went_on = goes_on || survived > 0;

    tell_not_answered(c, tried, sizeof(tried));
    if (goes_on)
        snprintf(while_text, sizeof(while_text), ", where the client's session went on");
    else if (survived > 0)
        snprintf(while_text, sizeof(while_text), ", while %u other connection%s to it went on",
                 survived, plural(survived));
    if (silent)
        restarted = went_on ? "it was not restarted, but its adapter was down, or the path."
                            : "it was restarted, or its adapter or the path was down.";
    else if (went_on)
        restarted =
            "it was not restarted, but had done with this connection. The path was not down.";
    snprintf(cause->text, sizeof(cause->text),
             "The server closed connection %u%s %safter %.1f s accepted connection %u%s: %s",
             (unsigned)was->pub.number, tried, silent ? "" : "and ", report_seconds(cause->time_ns),
             (unsigned)c->pub.number, while_text, restarted);
    snprintf(cause->against, sizeof(cause->against), "%s",
             silent    ? "answers to these requests may have taken another way"
             : went_on ? "the client may have had nothing to ask for meanwhile"
                       : "no attempt that it refused was captured");
}

/* It is not known which connection was there before the attempts that it refused. */
static void add_refused(struct report *r, const struct report_connection *c, uint64_t attempts)
{
    struct report_cause *cause = report_cause_add(r, CAUSE_SERVER_RESTARTED, CONFIDENCE_MEDIUM);
    guint survived;

    cause->time_ns = c->pub.life.down_ns;
    report_cause_lasted(cause, REPORT_FAILED_REFUSED, c->pub.life.down_since_ns,
                        time_plus(c->pub.life.down_since_ns, cause->time_ns));
    cause->frame = c->pub.first_frame;
    snprintf(cause->text, sizeof(cause->text),
             "The server was restarted: it refused %" PRIu64
             " attempt%s, as nothing listened there, and after %.1f s accepted connection %u.",
             attempts, plural(attempts), report_seconds(cause->time_ns), (unsigned)c->pub.number);
    survived = report_survived(r, c, c->pub.life.down_since_ns, cause->until_ns);
    if (survived > 0)
        tell_survived(cause, survived);
    else
        snprintf(cause->against, sizeof(cause->against),
                 "it is not known which connection was there before");
}

/* goes_on: it kept the client's session. Then what did not listen is its RDMA port, or its adapter
 * was gone. */
static void tell_refused(struct report_cause *cause, const struct report_connection *was,
                         const struct report_connection *c, uint64_t attempts, guint survived,
                         bool goes_on)
{
    snprintf(cause->text, sizeof(cause->text),
             "The server %s: connection %u was %s, the server refused %" PRIu64
             " attempt%s, as nothing listened there, and after %.1f s accepted connection %u%s.",
             goes_on ? "did not listen for RDMA" : "was restarted", (unsigned)was->pub.number,
             report_closed_by_server(&was->pub) ? "closed by the server" : "closed", attempts,
             plural(attempts), report_seconds(cause->time_ns), (unsigned)c->pub.number,
             goes_on
                 ? ", where the client's session went on: it was not restarted, but its adapter "
                   "or its RDMA port was gone"
                 : "");
    if (goes_on)
        snprintf(cause->against, sizeof(cause->against),
                 "a server that keeps its sessions through a restart looks the same");
    else if (survived > 0)
        tell_survived(cause, survived);
}

/* Of the client's packets alone: an attempt to connect, of which the answer is not known. */
static bool answer_not_captured(const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;

    return report_one_way(c) && c->pub.messages == 0 && life->requests > 0 &&
           life->established_frame == 0 &&
           (life->ended == RPCRDMA_ENDED_NOT || connection_withdrawn(&c->pub));
}

static void tell_not_captured(struct report_cause *cause, const struct report_connection *was,
                              const struct report_connection *c, uint64_t attempts)
{
    snprintf(cause->text, sizeof(cause->text),
             "The server closed connection %u, and after %.1f s connection %u took its place. What "
             "became of %" PRIu64 " attempt%s to connect meanwhile was not captured: the server "
             "was restarted, or its adapter or the path was down.",
             (unsigned)was->pub.number, report_seconds(cause->time_ns), (unsigned)c->pub.number,
             attempts, plural(attempts));
    snprintf(cause->against, sizeof(cause->against), "one direction only was captured");
}

/* How long the client had no connection between these two. */
static int64_t away_ns(const struct report_connection *was, const struct report_connection *c)
{
    int64_t ended_ns = was->pub.life.ended_ns;

    return ended_ns != 0 && c->pub.life.established_ns > ended_ns
               ? c->pub.life.established_ns - ended_ns
               : c->pub.life.down_ns;
}

/* Behind connection `was` the server refused so many attempts, or it had closed that; of others
 * (`unseen`) the answer was not captured. */
static void add_down(struct report *r, const struct report_connection *was,
                     const struct report_connection *c, uint64_t attempts, uint64_t unseen)
{
    const struct rpcrdma_life *ended = &was->pub.life;
    bool lost = c->trouble->stale > 0;
    guint survived = report_survived(r, c, ended->ended_ns, c->pub.first_time_ns);
    bool goes_on = !lost && session_goes_on(r, c, ended->ended_ns);
    bool failed = goes_on || (attempts == 0 && survived > 0 && !lost);
    bool sure = report_closed_by_server(&was->pub) && !goes_on && (attempts > 0 || lost);
    struct report_cause *cause =
        report_cause_add(r, failed ? CAUSE_CONNECTION_FAILED : CAUSE_SERVER_RESTARTED,
                         sure ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);

    cause->time_ns = away_ns(was, c);
    cause->frame = ended->ended_frame != 0 ? ended->ended_frame : c->pub.first_frame;
    report_cause_lasted(cause,
                        attempts > 0 && !goes_on ? REPORT_FAILED_REFUSED : REPORT_FAILED_CLOSED,
                        time_less(c->pub.first_time_ns, cause->time_ns), c->pub.first_time_ns);
    if (attempts > 0)
        tell_refused(cause, was, c, attempts, survived, goes_on);
    else if (lost)
        tell_lost_state(cause, was, c, survived);
    else if (unseen > 0 && !failed)
        tell_not_captured(cause, was, c, unseen);
    else
        tell_closed(cause, was, c, survived, goes_on);
}

/* It closed the connection because the client did not answer: that tells nothing of the server. */
static bool client_was_silent(const struct report_connection *was)
{
    int64_t ns;

    return connection_silent(&was->pub, 1 - report_server_end(&was->pub), &ns);
}

static const struct report_connection *previous(const struct report *r,
                                                const struct report_connection *c)
{
    return report_numbered(r, c->pub.life.previous);
}

struct report_before report_before(const struct report *r, const struct report_connection *c)
{
    struct report_before before = {.was = previous(r, c)};

    while (before.was && (report_refused(&before.was->pub) || answer_not_captured(before.was)))
        before.was = previous(r, before.was);
    for (const struct report_connection *one = previous(r, c); one != before.was;
         one = previous(r, one)) {
        uint64_t n = 1 + one->attempts_between;

        if (report_nothing_listened(&one->pub)) {
            if (report_moved(before.was, one) && report_moved(one, c))
                before.elsewhere = one;
            else
                before.refused += n;
        } else if (!report_refused(&one->pub)) {
            before.unseen += n;
        }
    }
    return before;
}

bool report_server_was_down(struct report *r, const struct report_connection *c)
{
    const struct report_before before = report_before(r, c);
    const struct report_connection *was = before.was;

    if (before.refused == 0 &&
        (!was || !report_closed_by_server(&was->pub) || report_mpa_unanswered(was) ||
         report_end_told(was) || client_was_silent(was)))
        return false;
    if (was)
        add_down(r, was, c, before.refused, before.unseen);
    else
        add_refused(r, c, before.refused);
    return true;
}

/* While the Calls were sent again, or as long after that as a client takes to come back that holds
 * state: later ones know nothing of it. */
static bool began_then(const struct report_connection *other, const struct report_trouble *trouble)
{
    return other->pub.first_time_ns >= trouble->resent_since_ns &&
           time_less(other->pub.first_time_ns, trouble->resent_until_ns) <= GRACE_NS;
}

struct report_restart report_restart(const struct report *r, const struct report_connection *c)
{
    struct report_restart found = {.since_ns = c->trouble->resent_since_ns,
                                   .until_ns = c->trouble->resent_until_ns};
    const struct report_connection *from = report_numbered(r, c->trouble->resent_from), *other;
    GHashTableIter each = report_each(r);

    found.known = from && from->pub.life.has_mac ? from : c; /* its set-up was captured */
    while ((other = report_next(&each))) {
        if (report_compare_hosts(other, c, true) != 0 ||
            (other != c && !began_then(other, c->trouble)))
            continue;
        if (report_nothing_listened(&other->pub) &&
            other->pub.first_time_ns <= c->trouble->resent_until_ns) {
            if (!report_moved(found.known, other))
                found.refused = true;
            else if (!found.moved || other->pub.number < found.moved->pub.number)
                found.moved = other;
        }
        found.stale += other->trouble->stale;
        if (other->trouble->stale > 0 &&
            (found.frame == 0 || other->trouble->stale_frame < found.frame))
            found.frame = other->trouble->stale_frame;
    }
    return found;
}

/* The latest, if it is that the connection before this one failed; NULL: it is not. */
static struct report_cause *failed_here(struct report *r)
{
    struct report_cause *cause = r->n_causes > 0 ? &r->causes[r->n_causes - 1] : NULL;

    return cause && cause->of == r->about && cause->id == CAUSE_CONNECTION_FAILED ? cause : NULL;
}

/* Others went on (`survived`), or the client did not answer for longer than a lease: the server
 * dropped the state of this client alone. False: there is no cause that it could be told with. */
static bool state_dropped(struct report *r, guint survived)
{
    struct report_cause *cause = failed_here(r);
    const struct report_trouble *trouble = r->about->trouble;
    size_t at = cause ? strlen(cause->text) : 0;
    char why[128];

    if (!cause || trouble->stale == 0)
        return false;
    if (survived > 0)
        snprintf(why, sizeof(why),
                 "It was not restarted, as %u other connection%s to it went on; the lease ran out, "
                 "most likely.",
                 survived, plural(survived));
    else
        snprintf(why, sizeof(why),
                 "The lease of the client, which did not answer, ran out, most likely.");
    snprintf(cause->text + at, sizeof(cause->text) - at,
             " Then the server did not know the client's state any more: %" PRIu64
             " answer%s, from frame %" PRIu64 " on. %s",
             trouble->stale, plural(trouble->stale), trouble->stale_frame, why);
    return true;
}

/* It refused connections, and others went on (`survived`), or the client's session did. */
static void refused_alone(struct report *r, guint survived)
{
    struct report_cause *cause = failed_here(r);
    size_t at = cause ? strlen(cause->text) : 0;

    if (!cause)
        return;
    if (survived > 0)
        snprintf(cause->text + at, sizeof(cause->text) - at,
                 " It was not restarted, as %u other connection%s to it went on: it may have "
                 "refused this client only, or one connection too many.",
                 survived, plural(survived));
    else
        snprintf(cause->text + at, sizeof(cause->text) - at,
                 " The client's session went on: the server was not restarted, but its adapter or "
                 "its RDMA port was gone.");
}

/* The client went on with its session since its Calls were sent first. */
static bool keeps_session(const struct report *r, const struct report_restart *restart)
{
    return r->about->trouble->stale == 0 && session_goes_on(r, r->about, restart->since_ns);
}

/* From what was heard of the client last to this connection, if it did not answer the server at the
 * end of the one before. 0: it did, or that is not kept. */
static int64_t unheard_ns(const struct report *r, const struct report_connection *c)
{
    const struct report_connection *was = report_before(r, c).was;
    int client = was ? 1 - report_server_end(&was->pub) : 0;

    return was && client_was_silent(was) && was->pub.life.silence[client].heard_ns > 0
               ? time_less(c->pub.first_time_ns, was->pub.life.silence[client].heard_ns)
               : 0;
}

/* The client was `away_ns` without a connection; `and`: what else is known. */
struct report_cause *report_server_restarted(struct report *r, const struct report_restart *restart,
                                             int64_t away_ns, const char *more)
{
    int64_t back_ns = r->about->pub.first_time_ns;
    int64_t since_ns = MAX(time_less(back_ns, away_ns), restart->since_ns);
    guint survived = report_survived(r, r->about, since_ns, back_ns);
    int64_t silent_ns = MAX(away_ns, unheard_ns(r, r->about));
    bool lease = restart->stale > 0 && !restart->refused && silent_ns > LEASE_NS;
    struct report_cause *cause;

    if (survived > 0 || keeps_session(r, restart)) {
        if (!state_dropped(r, survived) && restart->refused)
            refused_alone(r, survived);
        return NULL;
    }
    if (!restart->refused && unheard_ns(r, r->about) > LEASE_NS && state_dropped(r, 0))
        return NULL;
    cause = report_cause_add(r, CAUSE_SERVER_RESTARTED,
                             restart->stale > 0 && !lease ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    cause->rpcs = restart->stale;
    cause->frame = restart->frame;
    report_cause_lasted(cause, REPORT_FAILED_STALE, restart->since_ns, restart->until_ns);
    if (restart->stale > 0)
        snprintf(cause->text, sizeof(cause->text),
                 "The server was restarted%s: %" PRIu64
                 " answer%s that only a server without its former state gives.%s",
                 restart->refused ? ", and refused connections meanwhile" : "", restart->stale,
                 plural(restart->stale), more);
    else
        snprintf(cause->text, sizeof(cause->text),
                 "The server was restarted: it refused connections meanwhile, as nothing listened "
                 "there.%s",
                 more);
    if (lease)
        snprintf(cause->against, sizeof(cause->against),
                 "the client was away for %.1f s: its lease may have run out, and the server have "
                 "dropped its state for that",
                 report_seconds(silent_ns));
    else if (restart->stale == 0)
        snprintf(cause->against, sizeof(cause->against),
                 "no answer says that it lost its state: what listens for RDMA may have been "
                 "stopped alone");
    return cause;
}

bool report_restart_shown(struct report *r, const struct report_connection *c,
                          const struct report_restart *restart, const char *silence)
{
    const struct report_trouble *trouble = c->trouble;
    struct report_cause *cause;
    char more[160 + REPORT_SILENCE_ROOM];

    if (!restart->refused && (restart->stale == 0 || trouble->resent_after_ns > LEASE_NS))
        return false;
    /* it may have refused this client only, whose path was down before */
    if (report_survived(r, c, trouble->resent_since_ns, c->pub.first_time_ns) > 0)
        return false;
    snprintf(more, sizeof(more),
             " Connection %u failed with it: %" PRIu64
             " Call%s of it came again on connection %u, %.1f s after the first sending.%s",
             (unsigned)trouble->resent_from, trouble->resent, plural(trouble->resent),
             (unsigned)c->pub.number, report_seconds(trouble->resent_after_ns), silence);
    cause = report_server_restarted(r, restart, trouble->resent_after_ns, more);
    if (!cause)
        return false;
    cause->time_ns = trouble->resent_after_ns;
    cause->rpcs = MAX(cause->rpcs, trouble->resent);
    if (cause->frame == 0)
        cause->frame = trouble->resent_frame;
    return true;
}

/* It was closed as idle, which is no failure, but for what its server then answers. */
void causes_of_lost_state(struct report *r, const struct report_connection *c)
{
    const struct report_connection *was = report_numbered(r, c->pub.life.previous);
    const struct report_restart restart = {.stale = c->trouble->stale,
                                           .frame = c->trouble->stale_frame,
                                           .since_ns = was ? was->pub.life.ended_ns : 0,
                                           .until_ns = c->pub.first_time_ns};

    if (was && restart.stale > 0 && c->trouble->resent == 0 && !c->pub.life.has_down &&
        report_closed_by_server(&was->pub))
        report_server_restarted(r, &restart,
                                time_less(c->pub.first_time_ns, was->pub.life.last_call_ns), "");
}
