/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about connections that failed. */
#include "report/causes/connections/life.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plural.h"
#include "common/times.h"

#define STUCK_NS (SECOND / 100)     /* longer than any adapter takes to answer a Nak */
#define IDLE_LONG_NS (290 * SECOND) /* and one that comes back at once was not idle before that */

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

    return known && ns >= MAX(STUCK_NS, time_times(report_ack_time(from, false, 50), 2)) ? ns : 0;
}

/* Both ends sent something within the last second of it, and answered. What an end sent long after
 * that, as it answers a FIN that came again, does not tell. */
static bool heard_to_the_end(const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;
    bool heard = life->ended != RPCRDMA_ENDED_NOT;

    for (int end = 0; end < 2; end++)
        heard &= life->silence[end].in_vain < REPORT_RETRIES &&
                 life->silence[end].heard_ns > life->ended_ns - SECOND &&
                 life->silence[end].heard_ns < life->ended_ns + SECOND;
    return heard;
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

/* Of the client's packets alone, a connection whose set-up and Calls are not known to be one: that
 * the server closed it is told of the one that took the place of the set-up. */
static bool half_was_closed(const struct report *r, const struct report_connection *c,
                            const struct report_connection *from)
{
    const struct report_trouble *trouble = c->trouble;
    const struct report_connection *next, *half;
    GHashTableIter each = report_each(r);
    bool found = false;

    if (!from || !report_one_way(from) || !report_one_way(c))
        return false;
    while (!found && (next = report_next(&each))) {
        if (!next->pub.life.has_down || next->pub.life.down_ns < SECOND)
            continue;
        half = report_before(r, next).was;
        found = half && (half->pub.messages == 0 || half == from) &&
                report_closed_by_server(&half->pub) &&
                time_plus(half->pub.life.ended_ns, SECOND) >= trouble->resent_since_ns &&
                half->pub.life.ended_ns < trouble->resent_until_ns && report_same_hosts(half, c);
    }
    return found;
}

/* A connection that failed, and what is known of it. */
struct failure {
    const struct report_connection *from; /* NULL: it is not kept */
    struct report_restart restart;
    struct report_beside by;
    int64_t stuck_ns;                /* see client_stuck_ns */
    bool given_up;                   /* by one of its ends */
    bool claimed;                    /* by another host, meanwhile: see report_claimed */
    bool heard;                      /* to the end: see heard_to_the_end */
    char others[REPORT_BESIDE_ROOM]; /* what is told of others meanwhile; "": nothing */
};

/* Its Calls were sent again on this one. */
static struct failure look_failure(const struct report *r, const struct report_connection *c)
{
    const struct report_connection *from = report_numbered(r, c->trouble->resent_from);
    struct failure f = {.from = from,
                        .restart = report_restart(r, c),
                        .stuck_ns = client_stuck_ns(from),
                        .claimed = report_claimed(r, c, c->trouble->resent_since_ns,
                                                  c->trouble->resent_until_ns) != NULL,
                        .given_up = from && report_gave_up(from) >= 0,
                        .heard = from && heard_to_the_end(from) && !report_waited_for_data(from) &&
                                 from->path[0].restarts + from->path[1].restarts == 0};

    if (!f.restart.refused && f.stuck_ns == 0 && !f.heard)
        f.by = report_look_beside(r, c, from, c->trouble->resent_since_ns,
                                  c->trouble->resent_until_ns, f.others);
    return f;
}

/* The server reset it again and again, and this time nobody had waited for long. */
static bool reset_again(const struct report *r, const struct report_connection *c,
                        const struct report_connection *from)
{
    const struct rpcrdma_life *life = &from->pub.life;
    int64_t since_ns = from->trouble->unanswered[REPORT_FORWARD].since_ns;

    return life->ended == RPCRDMA_ENDED_RESET && life->ended_by == report_server_end(&from->pub) &&
           life->denied_frame == 0 && time_less(life->ended_ns, since_ns) < SECOND &&
           report_in_storm(r, c);
}

static void tell_silence(const struct report *r, const struct failure *f, char *text, size_t size)
{
    if (f->stuck_ns > 0)
        snprintf(text, size,
                 " The server asked with a Nak for what it had not got, and the client did not "
                 "send all of that again, though it was heard for %.3g s more: its adapter %s at "
                 "fault, not the path.",
                 report_seconds(f->stuck_ns), f->stuck_ns >= SECOND ? "is" : "may be");
    else
        report_tell_silence(r, f->from, f->by.same + f->by.others, text, size);
}

/* It was restarted, or it is told why it was not: see report_restart_shown. */
static bool was_restarted(struct report *r, const struct report_connection *c,
                          const struct failure *f)
{
    char silence[REPORT_SILENCE_ROOM];

    if (f->stuck_ns > 0)
        return false;
    if (f->from && f->from->pub.life.denied_frame != 0 && f->restart.stale == 0)
        return false; /* what resets connections may refuse them, too */
    if (f->given_up && c->trouble->stale == 0 && !f->restart.refused)
        return false; /* its client stood still, as others did, for as long as a lease lasts */
    report_tell_silence(r, f->from, 0, silence, sizeof(silence));
    return report_restart_shown(r, c, &f->restart, silence);
}

/* Another rule tells why, and the cause is added. */
static bool told_otherwise(struct report *r, const struct report_connection *c,
                           const struct failure *f)
{
    if (f->from && report_end_told(f->from)) {
        if (f->restart.refused || f->restart.stale > 0)
            report_server_restarted(r, &f->restart, c->trouble->resent_after_ns, "");
        return true;
    }
    if (causes_of_held_calls(r, c))
        return true;
    /* a server that is there again at once each time was not restarted */
    if (f->from && report_closed_by_server(&f->from->pub) && !f->restart.refused &&
        f->restart.stale == 0 && report_in_storm(r, c))
        return true;
    if (f->from && !f->restart.refused && f->restart.stale == 0 && reset_again(r, c, f->from))
        return true;
    if (f->from && report_closed_by_server(&f->from->pub) && report_server_was_down(r, c)) {
        r->causes[r->n_causes - 1].rpcs = c->trouble->resent;
        return true;
    }
    return half_was_closed(r, c, f->from) || was_restarted(r, c, f);
}

static enum report_failure kind_of(const struct failure *f)
{
    return f->restart.refused ? REPORT_FAILED_REFUSED
           : f->stuck_ns > 0  ? REPORT_FAILED_ADAPTER
           : f->heard         ? REPORT_FAILED_CLOSED
           : f->by.same > 0   ? REPORT_FAILED_ALONE
                              : REPORT_FAILED_PATH;
}

/* The way back from an end that did not answer was in order; NULL: or not for that long. */
static const char *one_way_down(const struct report_connection *from)
{
    const int server = report_server_end(&from->pub);
    const struct rpcrdma_silence *silence = from->pub.life.silence;

    for (int end = 0; end < 2; end++)
        if (silence[end].transmissions >= REPORT_RETRIES &&
            time_less(silence[end].heard_ns, silence[end].since_ns) >= SECOND)
            return end == server ? " The way to the server was down, or its adapter took nothing."
                                 : " The way to the client was down, or its adapter took nothing.";
    return NULL;
}

const char report_forgotten_text[] =
    " What was sent on it just before another one was accepted at once got no answer, not even a "
    "RST: the path and the peer were up then. A firewall or a NAT on the way had forgotten that "
    "connection, most likely.";

bool report_forgotten(const struct report_connection *from, const struct report_connection *c)
{
    const struct rpcrdma_life *life = &from->pub.life;
    int server = report_server_end(&from->pub);

    return from->pub.carrier == RPCRDMA_CARRIER_IWARP && life->ended == RPCRDMA_ENDED_CLOSED &&
           life->ended_by == 1 - server && from->pub.last_time_ns <= life->ended_ns &&
           life->silence[server].transmissions >= REPORT_RETRIES && life->next == c->pub.number &&
           c->pub.life.established_frame > 0 &&
           time_less(c->pub.life.established_ns, life->ended_ns) < SECOND &&
           !report_maybe_too_large(from);
}

static const char *reason(const struct failure *f, const struct report_connection *c)
{
    const char *one_way;

    if (f->from && f->from->pub.life.denied_frame != 0)
        return ""; /* report_tell_silence says it */
    if (f->restart.refused)
        return " Meanwhile connections were refused: nothing listened at the server.";
    if (f->restart.moved)
        return " Meanwhile connections were refused, by another host most likely.";
    if (f->stuck_ns == 0 && f->from && !f->others[0] && !f->given_up &&
        report_forgotten(f->from, c))
        return report_forgotten_text;
    if (f->stuck_ns > 0 || !f->from || f->others[0] || f->given_up || f->claimed)
        return ""; /* it is not known, or told by others */
    if (!f->heard && report_ended_by_holder(f->from))
        return " The server's host had acknowledged all that was sent to it, and ended the "
               "connection: the path was not down.";
    if (!f->heard && report_out_of_order(f->from) >= 0)
        return " The path was not down.";
    one_way = f->heard ? NULL : one_way_down(f->from);
    if (one_way)
        return one_way;
    return f->heard ? " Packets of both ends passed until it was closed: the path was not down."
                    : " The path or the peer was down: a cable, a switch, or the host.";
}

/* TCP: the server answered at last, by a RST, and owed large packets, which have its Acks, too. */
static bool reset_in_the_end(const struct report_connection *from)
{
    const struct rpcrdma_life *life = &from->pub.life;
    int server = report_server_end(&from->pub);

    return from->pub.carrier == RPCRDMA_CARRIER_IWARP && life->ended == RPCRDMA_ENDED_RESET &&
           life->ended_by == server && life->silence[server].transmissions >= REPORT_RETRIES &&
           from->trouble->offered >= REPORT_LARGE;
}

/* What speaks against it; NULL: nothing does. */
static const char *doubt(const struct report *r, const struct report_connection *c,
                         const struct failure *f)
{
    const char *maybe;

    if (f->restart.refused || (f->from && f->from->pub.life.denied_frame != 0))
        return NULL;
    if (f->stuck_ns > 0 && f->stuck_ns < SECOND)
        return "the Nak may have been lost, or all that it sent again";
    maybe = report_maybe_held(r, c);
    /* of TCP, large segments have the Acks; of RoCE, packets of their own */
    if (!maybe && f->from && f->from->pub.carrier == RPCRDMA_CARRIER_IWARP &&
        f->from->pub.life.established_frame > 0)
        maybe = report_maybe_too_large(f->from);
    if (!maybe && report_began_stuck(c))
        maybe = "where it was sent again large packets came in vain at first: these alone may "
                "have been lost (an MTU black hole)";
    if (!maybe && f->from && report_large_alone(f->from))
        maybe = "large packets were sent in vain again and again, and the Calls were cut: large "
                "ones alone may be lost (an MTU black hole)";
    if (!maybe && f->from && reset_in_the_end(f->from))
        maybe = "the server answered in the end, by a RST: large packets alone, which it owed, may "
                "have "
                "been lost (an MTU black hole: TCP's Acks are in these)";
    if (!maybe && f->from && f->from->pub.carrier == RPCRDMA_CARRIER_IWARP &&
        f->from->trouble->offered == 0 && f->from->trouble->offers_cut > 0 &&
        !report_forgotten(f->from, c))
        maybe =
            "the Calls were cut: what those without Reply ask for may take large packets, which "
            "alone may be lost (an MTU black hole: TCP's Acks are in these)";
    return maybe;
}

static struct report_cause *add_failed(struct report *r, const struct report_connection *c,
                                       const struct failure *f)
{
    const struct report_trouble *trouble = c->trouble;
    const char *maybe = doubt(r, c, f);
    struct report_cause *cause = report_cause_add(
        r, CAUSE_CONNECTION_FAILED, maybe || f->by.same > 0 ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH);
    char silent[REPORT_SILENCE_ROOM];

    tell_silence(r, f, silent, sizeof(silent));
    cause->names = f->from ? 0 : trouble->resent_from;
    cause->rpcs = trouble->resent;
    cause->time_ns = trouble->resent_after_ns > 0 ? trouble->resent_after_ns : 0;
    cause->frame = trouble->resent_frame;
    report_cause_lasted(cause, kind_of(f), trouble->resent_since_ns, trouble->resent_until_ns);
    snprintf(cause->text, sizeof(cause->text),
             "Connection %u failed: %" PRIu64
             " Call%s of it %s retransmitted on connection %u, %.1f s after "
             "the first sending.%s%s%s",
             (unsigned)trouble->resent_from, trouble->resent, plural(trouble->resent),
             trouble->resent == 1 ? "was" : "were", (unsigned)c->pub.number,
             report_seconds(cause->time_ns), reason(f, c), silent, f->others);
    if (f->restart.moved && !report_moved(f->from, c)) /* else that is told of this one */
        report_tell_moved(cause, f->restart.known, f->restart.moved);
    if (maybe)
        snprintf(cause->against, sizeof(cause->against), "%s", maybe);
    return cause;
}

/* Calls of another connection were sent again on this one. */
static void connection_failed(struct report *r, const struct report_connection *c)
{
    const struct failure f = look_failure(r, c);
    struct report_cause *cause;

    if (told_otherwise(r, c, &f))
        return;
    cause = add_failed(r, c, &f);
    if (f.from && f.from->pub.life.denied_frame != 0 && f.restart.stale == 0)
        return; /* what resets connections may refuse them, too */
    if (f.given_up && f.restart.stale > 0 && !f.restart.refused)
        lease_ran_out(cause, &f.restart);
    else if (f.restart.refused || f.restart.stale > 0)
        report_server_restarted(r, &f.restart, cause->time_ns, "");
}

/* The last Call there was answered, as all were, and is the first on the next connection: the
 * client acknowledged the Reply and did not take it. */
static bool not_taken(const struct report_connection *was, const struct report_connection *c)
{
    return was->pub.life.last_xid == c->pub.life.first_xid && report_unanswered(was) == 0 &&
           was->last_taken;
}

static void tell_not_taken(struct report_cause *cause, const struct report_connection *was,
                           const struct report_connection *c)
{
    cause->confidence = CONFIDENCE_HIGH;
    cause->rpcs = 1;
    report_cause_lasted(cause, REPORT_FAILED_ADAPTER, cause->since_ns, cause->until_ns);
    snprintf(cause->text, sizeof(cause->text),
             "Connection %u failed: its last Call was answered, and the client sent it again on "
             "connection %u, after %.1f s of silence. It had acknowledged the Reply and not taken "
             "it: its adapter did not tell that the Call was sent (its Ack may be lost), or that "
             "the Reply had come.",
             (unsigned)was->pub.number, (unsigned)c->pub.number, report_seconds(cause->time_ns));
}

/* The client closed a connection after silence, and opened another one for the same mount at once:
 * what it had sent meanwhile, or the answers, did not come through. */
static void client_gave_up(struct report *r, const struct report_connection *c)
{
    const struct report_connection *was = report_left_by_client(r, c);
    const struct rpcrdma_life *ended;
    struct report_cause *cause;
    int64_t silent;

    if (!was || report_one_way(was) || report_one_way(c) ||
        report_server_held(was)) /* the path was in order: `unanswered` tells */
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
    if (not_taken(was, c)) {
        tell_not_taken(cause, was, c);
        return;
    }
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
    const unsigned told = r->n_causes;

    if (c->trouble->resent > 0 && c->trouble->resent_after_ns >= SECOND) /* else nobody noticed */
        connection_failed(r, c);
    causes_of_late_set_up(r, c);
    causes_of_overtaken(r, c);
    causes_of_left(r, c);
    causes_of_lost(r, c);
    client_gave_up(r, c);
    causes_of_lost_state(r, c);
    causes_of_client_restart(r, c);
    causes_of_forgotten(r, c);
    if (r->n_causes == told)
        causes_of_slow_set_up(r, c);
    causes_of_moves(r, c, told);
}
