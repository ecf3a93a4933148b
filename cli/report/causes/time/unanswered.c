/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that no Reply came for, be it that their client gave up, or nobody did. A server that
 * answers several connections no more is one cause, however many they are. */
#include "report/causes/connections/life.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plural.h"
#include "common/times.h"
#include "out/address.h"

static const char not_captured[] = "a Reply may not have been captured";

/* Of its Calls one at least was sent again on another connection, which is told of that one; or may
 * have been, on what took its place and was not looked at. That names the connection a Call was
 * sent on first: it may have been sent on this one in between, as may all of what took its place.
 */
bool report_sent_again(const struct report *r, const struct report_connection *c)
{
    GHashTableIter each = report_each(r);
    const struct report_connection *other;
    bool found = report_not_looked_at(r) > 0 && c->pub.life.next != 0 &&
                 !report_numbered(r, c->pub.life.next);

    while (!found && r->resent > 0 && (other = report_next(&each)))
        found = other->trouble->resent_from == c->pub.number ||
                (c->trouble->resent > 0 && other->trouble->resent_from == c->trouble->resent_from &&
                 other->trouble->resent_frame > c->trouble->resent_frame) ||
                (other->pub.life.previous == c->pub.number && other->trouble->resent > 0 &&
                 other->trouble->resent >= c->trouble->unanswered[REPORT_FORWARD].calls);
    return found;
}

/* The client closed the connection, and asked for what was on it no more. */
static void given_up(struct report *r, const struct report_connection *c)
{
    const struct report_unanswered *own = &c->trouble->unanswered[REPORT_FORWARD];
    const struct rpcrdma_life *life = &c->pub.life;
    uint64_t n = own->held - MIN(own->explained, own->held);
    struct report_cause *cause;
    const char *lacks = report_may_lack_replies(r, c);
    const char *maybe = lacks ? lacks : report_too_large_or_cut(c);
    const char *ended = lacks ? "" : maybe ? "." : "; the path was not down.";
    const struct report_connection *next = report_numbered(r, life->next);
    char first[48] = "";

    if (report_sent_again(r, c))
        return;
    if (!lacks && next && report_attempt_unanswered(r, next))
        ended = ". Or its host or the path was down then: it did not answer the next attempt to "
                "connect.";
    cause = report_cause_add(r, CAUSE_UNANSWERED, lacks ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM);
    cause->given_up = true;
    cause->rpcs = n;
    cause->time_ns = MAX(time_less(life->ended_ns, own->since_ns), 0);
    cause->since_ns = own->since_ns;
    cause->until_ns = life->ended_ns;
    cause->frame = own->frame;
    if (n > 1)
        snprintf(first, sizeof(first), "%.1f s after the first and ",
                 report_seconds(cause->time_ns));
    snprintf(cause->text, sizeof(cause->text),
             "%" PRIu64 " Call%s on connection %u reached the server's host, which acknowledged "
             "%s, and %s no Reply until the client closed the connection, %s%.1f s after the "
             "last.%s%s",
             n, plural(n), (unsigned)c->pub.number, n == 1 ? "it" : "them",
             lacks ? "the capture has" : "got", first,
             report_seconds(MAX(time_less(life->ended_ns, life->last_call_ns), 0)),
             lacks ? ""
                   : " The server was at work or stood still, or the client was told to give up",
             ended);
    snprintf(cause->against, sizeof(cause->against), "%s", maybe ? maybe : not_captured);
}

#define LONG_NS (10 * SECOND) /* that the capture ended is no argument then */

/* The other end moved data for one of these, and was heard last within a second after that, and
 * after the others were sent: it died at work on them. */
static bool died_with(const struct report_connection *c, const struct report_unanswered *own)
{
    int64_t heard_ns = own->caller_end >= 0 ? c->pub.life.silence[1 - own->caller_end].heard_ns : 0;

    return own->at_work && heard_ns != 0 && time_less(heard_ns, own->served_ns) < SECOND;
}

/* The connection failed for good, and `connection-failed` tells of a time with which that of these
 * Calls begins, but for what an end was still at work on, and, by a second, ends. */
static bool told_as_failed(const struct report *r, const struct report_connection *c,
                           const struct report_unanswered *own, int64_t until_ns)
{
    bool told = false;

    for (unsigned i = 0; i < r->n_causes; i++) {
        const struct report_cause *one = &r->causes[i];

        told |= one->id == CAUSE_CONNECTION_FAILED && one->how == REPORT_FAILED_FOR_GOOD &&
                one->of == c && (one->since_ns <= own->since_ns || died_with(c, own)) &&
                time_less(until_ns, one->until_ns) < SECOND;
    }
    return told;
}

/* Nothing ended it, and this one took its place behind all of it: nobody waited any more. NULL:
 * none did, or it is not kept. */
static const struct report_connection *replaced_by(const struct report *r,
                                                   const struct report_connection *c)
{
    const struct report_connection *next = report_numbered(r, c->pub.life.next);

    return next && next->pub.life.has_down && c->pub.last_time_ns <= next->pub.first_time_ns ? next
                                                                                             : NULL;
}

static void never_answered(struct report *r, const struct report_connection *c, int direction)
{
    const struct report_unanswered *own = &c->trouble->unanswered[direction];
    /* what was under way when the capture ended is not late */
    bool open = c->pub.life.ended == RPCRDMA_ENDED_NOT;
    const struct report_connection *next = open ? replaced_by(r, c) : NULL;
    int64_t until_ns = next   ? next->pub.first_time_ns
                       : open ? report_now_ns(r)
                              : c->pub.life.ended_ns;
    uint64_t n = open ? own->late : own->calls - own->gone;
    const char *lacks = report_may_lack_replies(r, c);
    struct report_cause *cause;
    char silent[80] = "", waited[128] = "", had[64] = "", until[48] = "the connection ended";

    n -= MIN(own->explained, n);
    if (n == 0 || report_sent_again(r, c) || report_one_way(c) ||
        told_as_failed(r, c, own, until_ns))
        return;
    cause = report_cause_add(r, CAUSE_UNANSWERED, lacks ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM);
    cause->rpcs = n;
    cause->frame = own->frame;
    cause->time_ns = MAX(time_less(until_ns, own->since_ns), 0);
    if (direction == REPORT_FORWARD) { /* several of a server's are told as one */
        cause->since_ns = own->since_ns;
        cause->until_ns = time_plus(own->since_ns, cause->time_ns);
    }
    if (next)
        snprintf(until, sizeof(until), "connection %u took its place", (unsigned)next->pub.number);
    else if (open)
        snprintf(until, sizeof(until), "the capture ended");
    if (cause->time_ns >= SECOND)
        snprintf(waited, sizeof(waited), ": %.1f s passed%s until %s",
                 report_seconds(cause->time_ns), n == 1 ? "" : " since the first", until);
    if (own->explained == 0 && own->held == own->calls && n == own->calls)
        snprintf(had, sizeof(had), " The %s's host acknowledged %s.",
                 direction == REPORT_REVERSE ? "client" : "server", n == 1 ? "it" : "them");
    if (!c->pub.closed && !next && report_silent_ns(r) >= REPORT_SILENT_NS)
        snprintf(silent, sizeof(silent),
                 ", and nothing was captured any more for the last %.1f s of the capture",
                 report_seconds(report_silent_ns(r)));
    snprintf(cause->text, sizeof(cause->text), "%" PRIu64 " %s%s on connection %u %s%s%s%s.%s", n,
             direction == REPORT_REVERSE ? "callback" : "Call", plural(n), (unsigned)c->pub.number,
             lacks    ? n == 1 ? "has no Reply in the capture" : "have no Reply in the capture"
             : n == 1 ? "was never answered"
                      : "were never answered",
             !lacks && direction == REPORT_REVERSE ? " by the client" : "", waited, silent, had);
    if (own->waited_ns > 0) {
        snprintf(cause->against, sizeof(cause->against),
                 "the capture lacks packets that may have answered %s, but not before %.1f s had "
                 "passed",
                 n == 1 ? "it" : "one of them", report_seconds(own->waited_ns));
        return;
    }
    snprintf(cause->against, sizeof(cause->against), "%s",
             lacks           ? lacks
             : c->pub.closed ? "the connection was closed by its ends: they may have given up"
             : silent[0] || next || cause->time_ns >= LONG_NS
                 ? not_captured
                 : "the capture may have ended before the Reply");
}

void causes_of_calls(struct report *r, const struct report_connection *c)
{
    if (report_end_told(c) || report_never_set_up(c) || /* nobody could answer them, */
        report_overtaken(r, c))                         /* or waited for that */
        return;
    if (report_server_held(c))
        given_up(r, c);
    else
        never_answered(r, c, REPORT_FORWARD);
    never_answered(r, c, REPORT_REVERSE);
}

static bool concerns(const struct report_cause *cause)
{
    return cause->id == CAUSE_UNANSWERED && cause->since_ns != 0;
}

static int compare_servers(const struct report_cause *a, const struct report_cause *b)
{
    if (a->given_up != b->given_up)
        return a->given_up ? 1 : -1;
    return report_compare_hosts(a->of, b->of, true);
}

/* Whether it answered nobody behind the first of them. */
static bool answered_none(const struct report *r, const struct report_cause *first)
{
    GHashTableIter each = report_each(r);
    const struct report_connection *c;
    bool none = report_not_looked_at(r) == 0;

    while (none && (c = report_next(&each)))
        none = report_compare_hosts(c, first->of, true) != 0 || c->answers.first_ns == 0 ||
               c->answers.last_ns <= first->since_ns;
    return none;
}

static void tell_never(const struct report *r, struct report_cause *one, guint n,
                       const struct report_lasted *lasted, const char *server)
{
    char none_text[96] = "";

    if (answered_none(r, one))
        snprintf(none_text, sizeof(none_text), ", and it answered nobody from %.1f s on",
                 report_seconds(time_less(one->since_ns, r->pipeline->clock.start_ns)));
    snprintf(one->text, sizeof(one->text),
             "The server %s never answered %s%" PRIu64
             " Call%s on %s%u connections%s. Up to %.1f s "
             "passed until the capture or the connection ended.",
             server, r->pipeline->memory_limit > 0 ? "at least " : "", one->rpcs, plural(one->rpcs),
             report_at_least(r), n, none_text, report_seconds(lasted->longest_ns));
}

static void tell_given_up(const struct report *r, struct report_cause *one, guint n, guint clients,
                          const struct report_lasted *lasted, const char *server)
{
    snprintf(one->text, sizeof(one->text),
             "%" PRIu64 " Calls on %s%u connections of %u client%s reached the server %s, which "
             "acknowledged them, and got no Reply until their client closed the connection, up to "
             "%.1f s later. The server was at work or stood still, or clients were told to give "
             "up%s.",
             one->rpcs, report_at_least(r), n, clients, plural(clients), server,
             report_seconds(lasted->longest_ns),
             strcmp(one->against, not_captured) == 0 ? "; the path was not down" : "");
}

/* Those of one server, by their beginning. */
static void join(const struct report *r, struct report_cause *const *all, guint n)
{
    const struct report_lasted lasted = report_causes_lasted(all, n);
    struct report_cause one = *all[0];
    char who[ADDRESS_SIZE];

    if (n <= REPORT_FEW)
        return;
    report_causes_add_up(&one, all, n);
    one.connections = report_causes_connections(all, n);
    one.time_ns = lasted.sum_ns;
    who[address_or_name(report_host(&one.of->pub, true), who)] = '\0';
    if (one.given_up)
        tell_given_up(r, &one, n, report_causes_hosts(all, n, false), &lasted, who);
    else
        tell_never(r, &one, n, &lasted, who);
    report_causes_replace(all, n, &one);
}

/* Since when the Calls, or callbacks, have none. */
static int64_t begins_ns(const struct report_cause *cause)
{
    const struct report_unanswered *own = cause->of->trouble->unanswered;

    return own[own[REPORT_REVERSE].frame == cause->frame ? REPORT_REVERSE : REPORT_FORWARD]
        .since_ns;
}

/* It failed, or its client was restarted when nothing had ended it. */
static bool was_lost(const struct report_cause *one, const struct report_connection *c)
{
    return (one->id == CAUSE_CONNECTION_FAILED && one->how == REPORT_FAILED_PATH) ||
           (one->id == CAUSE_CLIENT_RESTARTED && c->pub.life.ended == RPCRDMA_ENDED_NOT);
}

/* The connection that this one took the place of, but for attempts between them that nothing came
 * of. NULL: it is not kept. */
static const struct report_connection *before_attempts(const struct report *r,
                                                       const struct report_connection *c)
{
    do
        c = report_numbered(r, c->pub.life.previous);
    while (c && report_attempt_in_vain(r, c));
    return c;
}

/* Another connection took the place of theirs, behind a silence that has all of their time. */
static bool is_failure_of(const struct report *r, const struct report_cause *one,
                          const struct report_cause *cause)
{
    int64_t since_ns = begins_ns(cause);

    return was_lost(one, cause->of) && one->of && before_attempts(r, one->of) == cause->of &&
           time_less(one->since_ns, since_ns) < SECOND &&
           time_less(time_plus(since_ns, cause->time_ns), one->until_ns) < SECOND;
}

static struct report_cause *failure_of(struct report *r, const struct report_cause *cause)
{
    unsigned i = 0;

    while (i < r->n_causes && !is_failure_of(r, &r->causes[i], cause))
        i++;
    return i < r->n_causes ? &r->causes[i] : NULL;
}

static void tell_with_failure(struct report_cause *cause, struct report_cause *failure)
{
    g_strlcat(failure->text, " ", sizeof(failure->text));
    g_strlcat(failure->text, cause->text, sizeof(failure->text));
    failure->rpcs += cause->rpcs;
    cause->id = N_CAUSES;
}

/* The failure of their connection is why they have no Reply: it is one cause. */
static void with_failures(struct report *r)
{
    for (unsigned i = 0; i < r->n_causes; i++) {
        struct report_cause *cause = &r->causes[i], *failure = NULL;

        if (cause->id == CAUSE_UNANSWERED && cause->of && !cause->given_up && !cause->held)
            failure = failure_of(r, cause);
        if (failure)
            tell_with_failure(cause, failure);
    }
    report_causes_remove(r);
}

void causes_of_unanswered(struct report *r)
{
    static const struct report_join rule = {concerns, compare_servers, join};

    with_failures(r);
    report_causes_join(r, &rule);
}
