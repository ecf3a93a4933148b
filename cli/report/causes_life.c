/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about connections that failed. */
#include "report/causes_restarted.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "out/connection.h"
#include "plural.h"
#include "times.h"

#define SECOND INT64_C(1000000000)
#define STUCK_NS (SECOND / 100)     /* longer than any adapter takes to answer a Nak */
#define IDLE_LONG_NS (290 * SECOND) /* and one that comes back at once was not idle before that */

/* ": who" did not answer at the end of this connection, and since when; "": nobody is known to.
 * beside: on others it did */
static void who_was_silent(const struct report *r, const struct report_connection *c, guint beside,
                           char *text, size_t size)
{
    int gave_up = c ? report_gave_up(c) : -1;

    text[0] = '\0';
    if (gave_up >= 0) {
        bool server = gave_up == report_server_end(&c->pub);

        snprintf(
            text, size,
            " The %s had given it up, as the %s stood still: it sent nothing any more from "
            "%.3f s into the capture on.",
            server ? "server" : "client", server ? "client" : "server",
            report_seconds(c->pub.life.silence[gave_up].heard_ns - r->pipeline->clock.start_ns));
        return;
    }
    for (int end = 0; c && end < 2 && !text[0]; end++) {
        const struct rpcrdma_silence *silence = &c->pub.life.silence[end];
        int64_t ns, heard = silence->heard_ns - r->pipeline->clock.start_ns;
        bool silent = connection_silent(&c->pub, end, &ns) && silence->heard_ns > 0;

        if (silent && silence->heard_ns - silence->since_ns >= SECOND)
            snprintf(text, size,
                     " The %s did not answer%s what was sent %u times from %.3f s into the capture "
                     "on, though it was heard at %.3f s.",
                     end == report_server_end(&c->pub) ? "server" : "client",
                     beside > 0 ? " on it" : "", (unsigned)silence->transmissions,
                     report_seconds(silence->since_ns - r->pipeline->clock.start_ns),
                     report_seconds(heard));
        else if (silent)
            snprintf(
                text, size,
                " The %s stopped answering%s: it was heard last %.3f s into the capture, and one "
                "packet was sent to it %u times.",
                end == report_server_end(&c->pub) ? "server" : "client", beside > 0 ? " on it" : "",
                report_seconds(heard), (unsigned)silence->transmissions);
    }
}

/* What the server asked for with a Nak the client did not send again, and went on all the same for
 * so long: a Nak is answered at once, or, where it was lost, when a timer ends. 0: not so. */
static int64_t client_stuck_ns(const struct report_connection *from)
{
    int server = from ? report_server_end(&from->pub) : 0;
    const struct rpcrdma_silence *silence = from ? from->pub.life.silence : NULL;
    int64_t ns = silence && silence[server].asked
                     ? silence[1 - server].heard_ns - silence[server].since_ns
                     : 0;
    bool known = from && from->pub.role[server] != RPCRDMA_ROLE_UNKNOWN;

    return known && ns >= MAX(STUCK_NS, 2 * report_ack_time(from, false, 50)) ? ns : 0;
}

bool report_one_way(const struct report_connection *c)
{
    bool to_first = c->has_path[0] && c->path[0].packets > 0;
    bool to_second = c->has_path[1] && c->path[1].packets > 0;

    /* a segment of TCP names the ports of both ends: that pairs what was not captured, too */
    return (c->pub.paired_by != RPCRDMA_PAIRED_CM || c->pub.carrier == RPCRDMA_CARRIER_IWARP) &&
           !(to_first && to_second);
}

/* All of the client's Calls that were not answered had been acknowledged. */
static bool has_held(const struct report_connection *c)
{
    const struct report_unanswered *own = &c->trouble.unanswered[REPORT_FORWARD];
    const struct rpcrdma_silence *silence = c->pub.life.silence;

    return own->held > 0 && own->held >= own->calls &&
           silence[0].transmissions + silence[1].transmissions == 0;
}

static bool closed_on_held(const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;

    return has_held(c) && life->ended != RPCRDMA_ENDED_NOT &&
           life->ended_by != report_server_end(&c->pub);
}

/* What is older than Calls that were answered says nothing of how the connection ended. */
bool report_server_held(const struct report_connection *c)
{
    const struct report_unanswered *own = &c->trouble.unanswered[REPORT_FORWARD];

    return !report_end_told(c) && closed_on_held(c) && own->last_held > 0 &&
           own->last_held >= own->last_calls && own->held > own->explained;
}

static bool server_held(struct report *r, const struct report_connection *c)
{
    const struct report_connection *from = report_numbered(r, c->trouble.resent_from);
    const struct report_unanswered *own = from ? &from->trouble.unanswered[REPORT_FORWARD] : NULL;
    struct report_cause *cause;
    uint64_t held;

    if (!from || !closed_on_held(from))
        return false;
    /* those that were sent again had no answer, whatever the capture lacks */
    held = MIN(own->held, c->trouble.resent);
    cause = report_cause_add(r, CAUSE_UNANSWERED, CONFIDENCE_HIGH);
    cause->rpcs = held;
    cause->time_ns = c->trouble.resent_after_ns;
    cause->frame = own->frame;
    snprintf(cause->text, sizeof(cause->text),
             "%" PRIu64 " Call%s on connection %u reached the server's host, which acknowledged "
             "%s, and got no Reply: the client closed the connection and sent %s again on "
             "connection %u, %.1f s after the first sending. The server is at fault, not the path.",
             held, plural(held), (unsigned)from->pub.number, held == 1 ? "it" : "them",
             held == 1 ? "it" : "them", (unsigned)c->pub.number,
             report_seconds(c->trouble.resent_after_ns));
    return true;
}

/* Why the server may have had the Calls that were sent again, and not have answered them. NULL:
 * nothing says so. */
static const char *maybe_held(const struct report *r, const struct report_connection *c)
{
    const struct report_connection *from = report_numbered(r, c->trouble.resent_from);
    int server = from ? report_server_end(&from->pub) : 0;

    if (report_one_way(c) || (from && report_one_way(from)))
        return "one direction only was captured: the server may not have answered";
    if (from && from->pub.life.ended == RPCRDMA_ENDED_NOT && has_held(from))
        return "the server's host acknowledged them: the server may not have answered";
    if (from && from->pub.life.ended == RPCRDMA_ENDED_NOT && from->has_path[server] &&
        from->path[server].retransmitted == 0 && c->trouble.resent_after_ns >= REPORT_RESEND_NS)
        return "nothing was retransmitted on it before: the capture lacks packets, and the server "
               "may "
               "have had them, and not have answered";
    return NULL;
}

bool report_refused(const struct rpcrdma_connection *c)
{
    return c->rejected || (c->life.ended == RPCRDMA_ENDED_RESET && c->life.ended_by >= 0 &&
                           c->life.ended_by == report_server_end(c) &&
                           c->life.established_frame == 0 && c->messages == 0);
}

/* Both ends sent something within the last second of it. */
static bool heard_to_the_end(const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;
    int64_t late = life->ended_ns - SECOND;

    return life->ended != RPCRDMA_ENDED_NOT && life->silence[0].heard_ns > late &&
           life->silence[1].heard_ns > late;
}

/* Its client stood still: that is why the server does not know it any more. */
static void lease_ran_out(struct report_cause *cause, const struct report_restart *restart)
{
    size_t at = strlen(cause->text);

    snprintf(
        cause->text + at, sizeof(cause->text) - at,
        " The client's lease ran out meanwhile, as %" PRIu64 " answer%s of the server's say%s, "
        "first in frame %" PRIu64 ".",
        restart->stale, plural(restart->stale), restart->stale == 1 ? "s" : "", restart->frame);
}

/* Connections whose Calls were answered meanwhile. */
struct beside {
    guint same, others; /* of the same hosts; else of other clients */
};

static struct beside look_beside(const struct report *r, const struct report_connection *c,
                                 int64_t since_ns, int64_t until_ns, char text[REPORT_BESIDE_ROOM])
{
    struct beside by = {.same = report_answered_beside(r, c, since_ns, until_ns)};

    if (by.same > 0)
        report_tell_beside(by.same, text);
    else
        by.others = report_answered_others(r, c, since_ns, until_ns);
    if (by.others > 0)
        report_tell_others(by.others, text);
    return by;
}

/* Another one took its place a second or more later: connection_left tells of that. */
static bool left_for_long(const struct report *r, const struct rpcrdma_life *life)
{
    const struct report_connection *next = life->next ? report_numbered(r, life->next) : NULL;

    return next && next->pub.life.has_down && next->pub.life.down_ns >= SECOND;
}

/* Of the client's packets alone, a connection whose set-up and Calls are not known to be one: that
 * the server closed it is told of the set-up. */
static bool half_was_closed(const struct report *r, const struct report_connection *c,
                            const struct report_connection *from)
{
    const struct report_trouble *trouble = &c->trouble;
    GHashTableIter each;
    bool found = false;
    gpointer one;

    if (!from || !report_one_way(from) || !report_one_way(c))
        return false;
    g_hash_table_iter_init(&each, r->connections);
    while (!found && g_hash_table_iter_next(&each, NULL, &one)) {
        const struct report_connection *half = one;
        const struct rpcrdma_life *life = &half->pub.life;

        found = (half->pub.messages == 0 || half == from) && left_for_long(r, life) &&
                report_closed_by_server(&half->pub) &&
                time_plus(life->ended_ns, SECOND) >= trouble->resent_since_ns &&
                life->ended_ns < trouble->resent_until_ns && report_same_hosts(half, c);
    }
    return found;
}

static void connection_failed(struct report *r, const struct report_connection *c)
{
    const struct report_connection *from = report_numbered(r, c->trouble.resent_from);
    int64_t stuck_ns = client_stuck_ns(from);
    const struct report_restart restart = report_restart(r, c);
    bool refused = restart.refused, given_up = from && report_gave_up(from) >= 0;
    struct report_cause *cause;
    const char *maybe;
    char silent[200], others[REPORT_BESIDE_ROOM] = "";
    struct beside by =
        refused || stuck_ns > 0 || (from && heard_to_the_end(from))
            ? (struct beside){0}
            : look_beside(r, c, c->trouble.resent_since_ns, c->trouble.resent_until_ns, others);
    guint beside = by.same;

    if (from && report_end_told(from)) { /* that tells why */
        if (refused || restart.stale > 0)
            report_server_restarted(r, &restart, c->trouble.resent_after_ns, "");
        return;
    }
    if (server_held(r, c))
        return;
    if (from && report_closed_by_server(&from->pub) && report_server_was_down(r, c)) {
        r->causes[r->n_causes - 1].rpcs = c->trouble.resent;
        return;
    }
    if (half_was_closed(r, c, from) || (stuck_ns == 0 && report_restart_shown(r, c, &restart)))
        return;
    if (stuck_ns > 0)
        snprintf(silent, sizeof(silent),
                 " The server asked with a Nak for what it had not got, and the client did not "
                 "send all of that again, though it was heard for %.3g s more: its adapter %s at "
                 "fault, not the path.",
                 report_seconds(stuck_ns), stuck_ns >= SECOND ? "is" : "may be");
    else
        who_was_silent(r, from, beside + by.others, silent, sizeof(silent));
    maybe = refused ? NULL
            : stuck_ns > 0 && stuck_ns < SECOND
                ? "the Nak may have been lost, or all that it sent again"
                : maybe_held(r, c);
    cause = report_cause_add(r, CAUSE_CONNECTION_FAILED,
                             maybe || beside > 0 ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH);
    cause->names = from ? 0 : c->trouble.resent_from;
    cause->rpcs = c->trouble.resent;
    cause->time_ns = c->trouble.resent_after_ns > 0 ? c->trouble.resent_after_ns : 0;
    cause->frame = c->trouble.resent_frame;
    report_cause_lasted(cause,
                        refused                          ? REPORT_FAILED_REFUSED
                        : stuck_ns > 0                   ? REPORT_FAILED_ADAPTER
                        : from && heard_to_the_end(from) ? REPORT_FAILED_CLOSED
                        : beside > 0                     ? REPORT_FAILED_ALONE
                                                         : REPORT_FAILED_PATH,
                        c->trouble.resent_since_ns, c->trouble.resent_until_ns);
    snprintf(cause->text, sizeof(cause->text),
             "Connection %u failed: %" PRIu64
             " Call%s of it %s retransmitted on connection %u, %.1f s after "
             "the first sending.%s%s%s",
             (unsigned)c->trouble.resent_from, c->trouble.resent, plural(c->trouble.resent),
             c->trouble.resent == 1 ? "was" : "were", (unsigned)c->pub.number,
             report_seconds(cause->time_ns),
             refused ? " Meanwhile connections were refused: nothing listened at the server."
             : stuck_ns > 0 || !from || others[0] || given_up
                 ? "" /* it is not known, or told by others */
             : heard_to_the_end(from)
                 ? " Packets of both ends passed until it was closed: the path was not down."
                 : " The path or the peer was down: a cable, a switch, or the host.",
             silent, others);
    if (maybe)
        snprintf(cause->against, sizeof(cause->against), "%s", maybe);
    if (given_up && restart.stale > 0 && !refused)
        lease_ran_out(cause, &restart);
    else if (refused || restart.stale > 0)
        report_server_restarted(r, &restart, cause->time_ns, "");
}

/* What became of attempts to connect. Not `heard`: the server answered, and the client asked again.
 */
static void tell_attempts(char *text, size_t size, uint64_t attempts,
                          const struct report_connection *first, bool heard)
{
    snprintf(text, size,
             heard
                 ? "The server did not answer: %" PRIu64 " attempt%s to connect, from connection "
                   "%u on, got no answer"
                 : "The server's answers did not reach the client: it accepted %" PRIu64
                   " attempt%s to connect, from connection %u on, and the same request came again",
             attempts, plural(attempts), (unsigned)first->pub.number);
}

/* Nothing says that it was lost: it was in use when this one was set up; or its client closed it,
 * or what closed it is not in the capture and this one is of another mount; and of what was
 * outstanding then the capture lacks the Replies. */
static bool was_in_order(const struct report_connection *was, const struct report_connection *c)
{
    const struct report_unanswered *own = was->trouble.unanswered;
    const struct rpcrdma_life *life = &was->pub.life;
    bool closed =
        (life->ended == RPCRDMA_ENDED_DISCONNECTED || life->ended == RPCRDMA_ENDED_CLOSED) &&
        life->ended_by >= 0 && life->ended_by != report_server_end(&was->pub) &&
        c->pub.life.down_since_ns >= life->ended_ns;
    bool left = life->ended == RPCRDMA_ENDED_NOT &&
                life->silence[0].transmissions + life->silence[1].transmissions == 0 &&
                life->has_xid && c->pub.life.has_xid &&
                !rpcrdma_xids_go_on(life->last_xid, c->pub.life.first_xid);

    if (life->has_xid && life->last_call_ns > c->pub.first_time_ns)
        return true;
    return (closed || left) && report_unanswered(was) > 0 &&
           own[REPORT_FORWARD].explained + own[REPORT_REVERSE].explained >= report_unanswered(was);
}

/* Its set-up was not captured, nor anything that ended the other one: its Calls are all that tells.
 */
static bool told_by_calls(const struct report_connection *was, const struct report_connection *c)
{
    return was && was->pub.life.ended == RPCRDMA_ENDED_NOT && c->pub.life.requests == 0;
}

/* It takes the place of another one, and no Call was seen on both. */
static void connection_left(struct report *r, const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;
    const struct report_connection *was, *first = NULL;
    uint32_t left;
    bool by_calls;
    char silent[160], tried[80] = "", told[200], others[REPORT_BESIDE_ROOM] = "";
    struct beside by;
    guint beside;
    const struct report_restart restart = {.stale = c->trouble.stale,
                                           .frame = c->trouble.stale_frame,
                                           .since_ns = life->down_since_ns,
                                           .until_ns =
                                               time_plus(life->down_since_ns, life->down_ns)};
    struct report_cause *cause;
    uint64_t attempts = 0;
    bool heard = true;

    if (c->trouble.resent > 0 || !life->has_down || life->down_ns < SECOND ||
        report_server_was_down(r, c))
        return;
    was = report_numbered(r, life->previous);
    for (; was && connection_unanswered(&was->pub);
         was = report_numbered(r, was->pub.life.previous)) {
        attempts += 1 + was->attempts_between;
        first = was;
        heard = heard && was->pub.life.unheard == 0 && !was->unheard_between;
    }
    left = first ? first->pub.life.previous : life->previous; /* was, even if it is not kept */
    if (report_one_way(c) || (was && report_one_way(was)))
        return;
    if (was && attempts == 0 && report_server_held(was))
        return; /* the client closed it, with what was on the path acknowledged: `unanswered` */
    if (was && attempts == 0 && was_in_order(was, c))
        return;
    if (was && attempts == 0 && report_end_told(was)) {
        if (restart.stale > 0)
            report_server_restarted(r, &restart, life->down_ns, "");
        return;
    }
    by_calls = told_by_calls(was, c);
    if (by_calls && restart.stale > 0) {
        snprintf(told, sizeof(told),
                 " After %.1f s the client went on with connection %u in place of "
                 "connection %u.",
                 report_seconds(life->down_ns), (unsigned)c->pub.number, (unsigned)was->pub.number);
        cause = report_server_restarted(r, &restart, life->down_ns, told);
        if (cause) {
            cause->time_ns = life->down_ns;
            return;
        }
    }
    by = look_beside(r, c, life->down_since_ns, time_plus(life->down_since_ns, life->down_ns),
                     others);
    beside = by.same;
    who_was_silent(r, was, beside + by.others, silent, sizeof(silent));
    if (attempts > 0)
        snprintf(tried, sizeof(tried), " Before, %" PRIu64 " attempt%s got no answer%s.", attempts,
                 plural(attempts), heard ? "" : " that arrived");
    cause = report_cause_add(r, CAUSE_CONNECTION_FAILED, CONFIDENCE_MEDIUM);
    cause->time_ns = life->down_ns;
    cause->frame = c->pub.first_frame;
    report_cause_lasted(cause,
                        left == 0    ? REPORT_FAILED_ATTEMPTS
                        : beside > 0 ? REPORT_FAILED_ALONE
                                     : REPORT_FAILED_PATH,
                        life->down_since_ns, time_plus(life->down_since_ns, life->down_ns));
    if (left != 0) {
        cause->names = was ? 0 : left;
        snprintf(cause->text, sizeof(cause->text),
                 "Connection %u failed: after %.1f s of silence %s connection %u in its "
                 "place.%s%s%s%s",
                 (unsigned)left, report_seconds(life->down_ns),
                 by_calls                  ? "the client went on with"
                 : report_refused(&c->pub) ? "the server refused"
                                           : "the client opened",
                 (unsigned)c->pub.number,
                 was && !by_calls && !others[0]
                     ? " The path was down: a cable, a switch, or the peer."
                     : "", /* it is not known how it ended */
                 tried, silent, others);
    } else {
        tell_attempts(told, sizeof(told), attempts, first ? first : c, heard);
        snprintf(cause->text, sizeof(cause->text),
                 "%s, and after %.1f s connection %u was accepted.%s", told,
                 report_seconds(life->down_ns), (unsigned)c->pub.number, others);
    }
    snprintf(cause->against, sizeof(cause->against),
             by_calls
                 ? "no Call was seen on both; neither the end of the one nor the set-up of the "
                   "other was captured: an end may have closed it"
                 : "no Call was seen on both; what was sent meanwhile was not captured");
    if (restart.stale > 0)
        report_server_restarted(r, &restart, life->down_ns, "");
}

/* The capture ended before its sender would have given up. */
static bool under_way(const struct report *r, const struct report_connection *c)
{
    const struct rpcrdma_silence *silence = c->pub.life.silence;

    return c->pub.life.ended == RPCRDMA_ENDED_NOT &&
           MAX(silence[0].transmissions, silence[1].transmissions) < REPORT_RETRIES &&
           time_less(report_now_ns(r), c->pub.last_time_ns) < SECOND;
}

/* What was under way on it was seen on another one: `connection_failed` names it. */
static bool went_on_elsewhere(const struct report *r, const struct report_connection *c)
{
    GHashTableIter each;
    bool found = false;
    gpointer one;

    g_hash_table_iter_init(&each, r->connections);
    while (!found && g_hash_table_iter_next(&each, NULL, &one)) {
        const struct report_connection *other = one;

        found = other->trouble.resent > 0 && other->trouble.resent_from == c->pub.number &&
                other->trouble.resent_after_ns >= SECOND;
    }
    return found;
}

/* What was never answered was sent first then. */
static int64_t silent_since(const struct report_connection *c)
{
    int64_t since_ns = c->pub.first_time_ns;

    for (int end = 0; end < 2; end++)
        if (c->pub.life.silence[end].transmissions > 0)
            since_ns = c->pub.life.silence[end].since_ns;
    return since_ns;
}

/* Nothing took its place: an end fell silent, or attempts got no answer at all. */
static void connection_lost(struct report *r, const struct report_connection *c)
{
    const struct report_connection *was = c, *first = c;
    const struct report_unanswered *own = c->trouble.unanswered;
    struct report_cause *cause;
    uint64_t attempts = 0, without;
    char silent[160], told[200], others[REPORT_BESIDE_ROOM] = "", calls[64] = "";
    bool heard = true;
    int64_t since_ns;
    struct beside by;

    if (c->pub.life.next != 0)
        return;
    for (; was && connection_unanswered(&was->pub);
         was = report_numbered(r, was->pub.life.previous)) {
        attempts += 1 + was->attempts_between;
        first = was;
        heard = heard && was->pub.life.unheard == 0 && !was->unheard_between;
    }
    since_ns = attempts > 0 ? first->pub.first_time_ns : silent_since(c);
    who_was_silent(r, c, 0, silent, sizeof(silent));
    if (attempts == 0 &&
        (!silent[0] || under_way(r, c) || went_on_elsewhere(r, c) || report_end_told(c)))
        return;
    by = look_beside(r, c, since_ns, c->pub.last_time_ns, others); /* it looks at all */
    if (by.same + by.others > 0)
        who_was_silent(r, c, by.same + by.others, silent, sizeof(silent));
    cause = report_cause_add(r, CAUSE_CONNECTION_FAILED, CONFIDENCE_MEDIUM);
    cause->rpcs = report_unanswered(c);
    cause->time_ns = MAX(c->pub.last_time_ns - since_ns, 0);
    cause->frame = first->pub.first_frame;
    if (attempts > 0) {
        report_cause_lasted(cause, REPORT_FAILED_ATTEMPTS, first->pub.first_time_ns,
                            c->pub.last_time_ns);
        tell_attempts(told, sizeof(told), attempts, first, heard);
        snprintf(cause->text, sizeof(cause->text),
                 "%s within %.1f s; the last was repeated %u times.%s", told,
                 report_seconds(cause->time_ns), (unsigned)c->pub.life.requests - 1, others);
        snprintf(cause->against, sizeof(cause->against), "%s",
                 heard ? "the answers may take another way than the one that was captured"
                       : "the client may have had them, and not have taken them");
        return;
    }
    cause->frame = c->pub.last_frame;
    report_cause_lasted(cause, REPORT_FAILED_FOR_GOOD,
                        time_less(c->pub.last_time_ns, cause->time_ns), c->pub.last_time_ns);
    without = cause->rpcs -
              MIN(own[REPORT_FORWARD].explained + own[REPORT_REVERSE].explained, cause->rpcs);
    if (without > 0)
        snprintf(calls, sizeof(calls), " %" PRIu64 " Call%s had no Reply%s.", without,
                 plural(without),
                 own[REPORT_FORWARD].gone + own[REPORT_REVERSE].gone > 0 ? " that arrived" : "");
    snprintf(cause->text, sizeof(cause->text), "Connection %u failed.%s%s%s%s",
             (unsigned)c->pub.number, silent,
             c->pub.life.ended == RPCRDMA_ENDED_NOT ? " Nothing closed it." : "", calls, others);
    snprintf(cause->against, sizeof(cause->against),
             "its answers may have been lost, or not captured");
}

/* The client closed a connection after silence, and opened another one for the same mount at once:
 * what it had sent meanwhile, or the answers, did not come through. */
static void client_gave_up(struct report *r, const struct report_connection *c)
{
    const struct report_connection *was = report_left_by_client(r, c);
    const struct rpcrdma_life *ended;
    struct report_cause *cause;
    int64_t silent;

    if (!was || report_one_way(was) || report_one_way(c))
        return;
    ended = &was->pub.life;
    silent = ended->ended_ns -
             MAX(MAX(ended->silence[0].heard_ns, ended->silence[1].heard_ns), ended->last_call_ns);
    if (c->pub.first_time_ns - ended->ended_ns >= SECOND || silent < SECOND ||
        silent > IDLE_LONG_NS || MAX(ended->silence[0].heard_ns, ended->silence[1].heard_ns) == 0)
        return;
    cause = report_cause_add(r, CAUSE_CONNECTION_FAILED, CONFIDENCE_MEDIUM);
    cause->time_ns = silent;
    report_cause_lasted(cause, REPORT_FAILED_PATH, ended->ended_ns - silent, ended->ended_ns);
    cause->frame = c->pub.first_frame;
    snprintf(cause->text, sizeof(cause->text),
             "Connection %u failed: after %.1f s of silence the client closed it and opened "
             "connection %u in its place at once. What was sent meanwhile did not come to the "
             "place of capture.",
             (unsigned)was->pub.number, report_seconds(silent), (unsigned)c->pub.number);
    snprintf(cause->against, sizeof(cause->against),
             "no Call was seen on both: the client may have been told to reconnect");
}

void causes_of_life(struct report *r, const struct report_connection *c)
{
    if (c->trouble.resent > 0 && c->trouble.resent_after_ns >= SECOND) /* else nobody noticed */
        connection_failed(r, c);
    connection_left(r, c);
    connection_lost(r, c);
    client_gave_up(r, c);
    causes_of_lost_state(r, c);
    causes_of_client_restart(r, c);
}
