/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection took the place of another one a second or more later, and no Call was seen on both.
 */
#include "report/causes/connections/life.h"
#include "report/causes/connections/restarted.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"

/* Nothing says that it was lost: it was in use when this one was set up; or its client closed it,
 * or what closed it is not in the capture and this one is of another mount; and of what was
 * outstanding then the capture lacks the Replies. */
static bool was_in_order(const struct report *r, const struct report_connection *was,
                         const struct report_connection *c)
{
    const struct report_unanswered *own = was->trouble->unanswered;
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
           (own[REPORT_FORWARD].explained + own[REPORT_REVERSE].explained >=
                report_unanswered(was) ||
            report_may_lack_replies(r, was));
}

/* Its set-up was not captured, nor anything that ended the other one: its Calls are all that tells.
 */
static bool told_by_calls(const struct report_connection *was, const struct report_connection *c)
{
    return was && was->pub.life.ended == RPCRDMA_ENDED_NOT && c->pub.life.requests == 0;
}

/* That the server was restarted meanwhile, as answers on this connection show. */
static struct report_restart stale_answers(const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;

    return (struct report_restart){.stale = c->trouble->stale,
                                   .frame = c->trouble->stale_frame,
                                   .since_ns = life->down_since_ns,
                                   .until_ns = time_plus(life->down_since_ns, life->down_ns)};
}

/* The server was restarted, and that is the cause: neither the end of the one connection nor the
 * set-up of the other was captured. */
static bool restarted_between(struct report *r, const struct report_connection *was,
                              const struct report_connection *c,
                              const struct report_restart *restart)
{
    const struct rpcrdma_life *life = &c->pub.life;
    struct report_cause *cause;
    char told[200];

    if (!told_by_calls(was, c) || restart->stale == 0)
        return false;
    snprintf(told, sizeof(told),
             " After %.1f s the client went on with connection %u in place of connection %u.",
             report_seconds(life->down_ns), (unsigned)c->pub.number, (unsigned)was->pub.number);
    cause = report_server_restarted(r, restart, life->down_ns, told);
    if (!cause)
        return false;
    cause->time_ns = life->down_ns;
    return true;
}

/* Another rule tells why the connection before was left, or nothing is wrong with it. */
static bool told_otherwise(struct report *r, const struct report_connection *c,
                           const struct report_tried *tried, const struct report_restart *restart)
{
    const struct report_connection *was = tried->before;

    if (report_one_way(c) || (was && report_one_way(was))) {
        causes_of_left_half(r, c);
        return true;
    }
    /* the client closed it, with what was on the path acknowledged: `unanswered` */
    if (was && tried->n == 0 && (report_server_held(was) || was_in_order(r, was, c)))
        return true;
    if (was && tried->n == 0 && report_end_told(was)) {
        if (restart->stale > 0)
            report_server_restarted(r, restart, c->pub.life.down_ns, "");
        return true;
    }
    return restarted_between(r, was, c, restart);
}

/* The server ended it, with nothing under way, and took the next one at once. */
static bool ended_in_order(const struct report_connection *was, const struct report_connection *c,
                           const struct report_tried *tried)
{
    const struct rpcrdma_life *life = &was->pub.life;

    return tried->n == 0 && c->pub.life.requests == 1 && c->pub.life.established_frame != 0 &&
           time_less(c->pub.life.established_ns, c->pub.first_time_ns) < SECOND &&
           life->ended != RPCRDMA_ENDED_NOT && life->ended_frame != 0 && life->denied_frame == 0 &&
           life->ended_by == report_server_end(&was->pub) &&
           life->silence[0].transmissions + life->silence[1].transmissions == 0 &&
           report_unanswered(was) == 0;
}

/* Why it was left: "" where it is not known how it ended, or others tell. */
static const char *reason(const struct report_connection *was, const struct report_connection *c,
                          const struct report_tried *tried, const char *others)
{
    if (!was || told_by_calls(was, c))
        return "";
    if (ended_in_order(was, c, tried))
        return " The server had ended the first, with nothing under way, and accepted the next one "
               "at once: the path was not down.";
    if (tried->elsewhere)
        return " Meanwhile connections were refused, by another host most likely.";
    if (others[0])
        return "";
    if (tried->n == 0 && report_forgotten(was, c))
        return report_forgotten_text;
    if (was->pub.carrier == RPCRDMA_CARRIER_IWARP && was->pub.life.ended == RPCRDMA_ENDED_NOT &&
        report_unanswered(was) == 0)
        return " The path was down: a cable, a switch, or the peer; or a firewall or a NAT on the "
               "way had forgotten the first.";
    if (was->pub.life.ended == RPCRDMA_ENDED_NOT && report_has_held(was))
        return " The server did not answer, or the path was down then: a cable, a switch, or the "
               "peer.";
    return " The path was down: a cable, a switch, or the peer.";
}

/* Connection `left` was there before; `others`: what is known of others. */
static void tell_left(const struct report *r, const struct report_connection *c,
                      const struct report_tried *tried, uint32_t left,
                      const struct report_beside *by, const char *others,
                      struct report_cause *cause)
{
    const struct report_connection *was = tried->before;
    bool by_calls = told_by_calls(was, c);
    char silent[REPORT_SILENCE_ROOM], attempts[80] = "";

    report_tell_silence(r, was, by->same + by->others, silent, sizeof(silent));
    if (tried->n > 0)
        snprintf(attempts, sizeof(attempts), " Before, %" PRIu64 " attempt%s got no answer%s.",
                 tried->n, plural(tried->n), tried->heard ? "" : " that arrived");
    cause->names = was ? 0 : left;
    snprintf(cause->text, sizeof(cause->text),
             "Connection %u failed: after %.1f s of silence %s connection %u in its "
             "place.%s%s%s%s",
             (unsigned)left, report_seconds(c->pub.life.down_ns),
             by_calls                  ? "the client went on with"
             : report_refused(&c->pub) ? "the server refused"
                                       : "the client opened",
             (unsigned)c->pub.number, reason(was, c, tried, others), attempts, silent, others);
}

/* No connection was there before: attempts alone. */
static void tell_late_set_up(const struct report_connection *c, const struct report_tried *tried,
                             const char *others, struct report_cause *cause)
{
    const struct report_connection *first = tried->first ? tried->first : c;
    char told[200];

    report_tell_attempts(tried, first->pub.number, told, sizeof(told));
    snprintf(cause->text, sizeof(cause->text), "%s, and after %.1f s connection %u was accepted.%s",
             told, report_seconds(c->pub.life.down_ns), (unsigned)c->pub.number, others);
}

static void add_left(struct report *r, const struct report_connection *c,
                     const struct report_tried *tried)
{
    const struct rpcrdma_life *life = &c->pub.life;
    int64_t until_ns = time_plus(life->down_since_ns, life->down_ns);
    /* which was, even if it is not kept */
    uint32_t left = tried->elsewhere ? tried->before->pub.number
                    : tried->first   ? tried->first->pub.life.previous
                                     : life->previous;
    char others[REPORT_BESIDE_ROOM] = "";
    struct report_beside by =
        report_look_beside(r, c, report_numbered(r, left), life->down_since_ns, until_ns, others);
    struct report_cause *cause = report_cause_add(r, CAUSE_CONNECTION_FAILED, CONFIDENCE_MEDIUM);

    cause->time_ns = life->down_ns;
    cause->frame = c->pub.first_frame;
    report_cause_lasted(cause,
                        left == 0     ? REPORT_FAILED_ATTEMPTS
                        : by.same > 0 ? REPORT_FAILED_ALONE
                                      : REPORT_FAILED_PATH,
                        life->down_since_ns, until_ns);
    if (left != 0)
        tell_left(r, c, tried, left, &by, others, cause);
    else
        tell_late_set_up(c, tried, others, cause);
    if (tried->elsewhere)
        report_tell_moved(cause, tried->before, tried->elsewhere);
    snprintf(cause->against, sizeof(cause->against),
             told_by_calls(tried->before, c)
                 ? "no Call was seen on both; neither the end of the one nor the set-up of the "
                   "other was captured: an end may have closed it"
             : tried->before && ended_in_order(tried->before, c, tried)
                 ? "the client may have had nothing to ask for meanwhile"
             : c->trouble->resent > 0
                 ? "no Call that had waited was seen on both"
                 : "no Call was seen on both; what was sent meanwhile was not captured");
}

/* The one before was never set up: `causes_of_slow_set_up` tells of it. */
static bool before_failed(const struct report *r, const struct report_connection *c)
{
    const struct report_connection *was = report_numbered(r, c->pub.life.previous);

    return was && report_mpa_unanswered(was);
}

/* `causes_of_life` tells of it, if anybody waited. Where the first got no answer at the end, and
 * none of the Calls that waited for that was seen on the other one yet, it was left. */
static bool seen_on_both(const struct report *r, const struct report_connection *c)
{
    const struct report_connection *was = report_numbered(r, c->pub.life.previous);
    const struct rpcrdma_silence *silence = was ? was->pub.life.silence : NULL;

    return c->trouble->resent > 0 &&
           (c->trouble->resent_after_ns >= SECOND || !was ||
            silence[report_server_end(&was->pub)].transmissions < REPORT_RETRIES);
}

void causes_of_left(struct report *r, const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;
    const struct report_restart restart = stale_answers(c);
    struct report_before before;
    struct report_tried tried;

    if (seen_on_both(r, c) || !life->has_down || life->down_ns < SECOND || before_failed(r, c) ||
        report_server_was_down(r, c))
        return;
    tried = report_look_attempts(r, report_numbered(r, life->previous));
    before = report_before(r, c);
    if (before.elsewhere) {
        tried.elsewhere = before.elsewhere;
        tried.before = before.was;
    }
    if (told_otherwise(r, c, &tried, &restart) ||
        (tried.n == 0 && tried.before && causes_of_stopped_client(r, tried.before, c)))
        return;
    add_left(r, c, &tried);
    if (restart.stale > 0)
        report_server_restarted(r, &restart, life->down_ns, "");
}
