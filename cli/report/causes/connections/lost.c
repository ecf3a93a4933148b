/* SPDX-License-Identifier: BSD-2-Clause */
/* Nothing took the place of a connection: an end stopped answering, or attempts to connect got no
 * answer at all. */
#include "report/causes/connections/life.h"
#include "report/causes/connections/restarted.h"
#include "report/hosts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plural.h"
#include "common/times.h"
#include "out/connection.h"

/* The capture ended before its sender would have given up. */
static bool under_way(const struct report *r, const struct report_connection *c)
{
    const struct rpcrdma_silence *silence = c->pub.life.silence;

    return c->pub.life.ended == RPCRDMA_ENDED_NOT &&
           MAX(silence[0].in_vain, silence[1].in_vain) < REPORT_RETRIES &&
           time_less(report_now_ns(r), c->pub.last_time_ns) < SECOND;
}

const struct report_connection *
report_resent_on(const struct report *r, const struct report_connection *c, int64_t least_ns)
{
    GHashTableIter each = report_each(r);
    const struct report_connection *other;

    while ((other = report_next(&each)))
        if (other->trouble->resent > 0 && other->trouble->resent_from == c->pub.number &&
            other->trouble->resent_after_ns >= least_ns)
            break;
    return other;
}

/* What was under way on it was seen on another one: `connection_failed` names it. */
static bool went_on_elsewhere(const struct report *r, const struct report_connection *c)
{
    return report_resent_on(r, c, SECOND) != NULL;
}

/* Its set-up is under way, or the capture ended meanwhile. */
static bool being_set_up(const struct rpcrdma_connection *c)
{
    return c->life.requests > 0 && c->life.established_frame == 0 && c->messages == 0;
}

static bool was_in_vain(const struct report *r, const struct report_connection *c)
{
    return c && (report_attempt_in_vain(r, c) || (c->pub.life.next == 0 && being_set_up(&c->pub)));
}

/* Another connection took its place, which attempts that nothing answered, or that were refused,
 * did not. */
static bool was_replaced(const struct report *r, const struct report_connection *c)
{
    uint32_t next = c->pub.life.next;
    const struct report_connection *one = report_numbered(r, next);

    while (was_in_vain(r, one) && next < one->pub.life.next) {
        next = one->pub.life.next;
        one = report_numbered(r, next);
    }
    return next != 0 && !was_in_vain(r, one);
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

/* Attempts, the last of which is connection c: nothing answered them as long as there was a
 * capture. */
static void tell_attempts(const struct report *r, const struct report_connection *c,
                          const struct report_tried *tried, const char *others,
                          struct report_cause *cause)
{
    int64_t since_ns = tried->first->pub.first_time_ns, last_ns = c->pub.last_time_ns;
    int64_t until_ns = MAX(report_now_ns(r), last_ns);
    const uint32_t again = c->pub.life.requests - 1;
    char told[200], within[48] = "", later[64] = "", repeated[48] = "";

    cause->frame = tried->first->pub.first_frame;
    cause->time_ns = MAX(time_less(until_ns, since_ns), 0);
    report_cause_lasted(cause, REPORT_FAILED_ATTEMPTS, since_ns, until_ns);
    report_tell_attempts(tried, tried->first->pub.number, told, sizeof(told));
    if (last_ns > since_ns)
        snprintf(within, sizeof(within), " within %.1f s",
                 report_seconds(time_less(last_ns, since_ns)));
    if (time_less(until_ns, last_ns) >= SECOND)
        snprintf(later, sizeof(later), "%s in the %.1f s until the capture ended",
                 within[0] ? ", nor" : "", report_seconds(time_less(until_ns, last_ns)));
    if (again > 0)
        snprintf(repeated, sizeof(repeated), "; the last was repeated %u time%s", (unsigned)again,
                 plural(again));
    snprintf(cause->text, sizeof(cause->text), "%s%s%s%s.%s", told, within, later, repeated,
             others);
    snprintf(cause->against, sizeof(cause->against), "%s",
             tried->heard ? "the answers may take another way than the one that was captured"
                          : "the client may have had them, and not have taken them");
}

/* What waits for an answer waits as long as there is a capture, if nothing ended the connection:
 * its sender's timer has become long, or its host does not know where to send it any more. */
static int64_t failed_until(const struct report *r, const struct report_connection *c)
{
    int64_t last_ns = c->pub.last_time_ns;

    return c->pub.life.ended == RPCRDMA_ENDED_NOT && report_unanswered(c) > 0
               ? MAX(report_now_ns(r), last_ns)
               : last_ns;
}

/* An end stopped answering: `silent` tells which. */
static void tell_lost(const struct report_connection *c, int64_t until_ns, const char *silent,
                      const char *others, struct report_cause *cause)
{
    const struct report_unanswered *own = c->trouble->unanswered;
    uint64_t explained = own[REPORT_FORWARD].explained + own[REPORT_REVERSE].explained;
    uint64_t without = cause->rpcs - MIN(explained, cause->rpcs);
    int64_t later_ns = time_less(until_ns, c->pub.last_time_ns);
    char calls[64] = "", later[80] = "";

    cause->rpcs = without;
    cause->frame = c->pub.last_frame;
    report_cause_lasted(cause, REPORT_FAILED_FOR_GOOD, time_less(until_ns, cause->time_ns),
                        until_ns);
    if (later_ns >= SECOND)
        snprintf(later, sizeof(later), " Nothing passed on it in the last %.1f s of the capture.",
                 report_seconds(later_ns));
    if (without > 0)
        snprintf(calls, sizeof(calls), " %" PRIu64 " Call%s had no Reply%s.", without,
                 plural(without),
                 own[REPORT_FORWARD].gone + own[REPORT_REVERSE].gone > 0 ? " that arrived" : "");
    snprintf(cause->text, sizeof(cause->text), "Connection %u failed.%s%s%s%s%s",
             (unsigned)c->pub.number, silent,
             c->pub.life.ended == RPCRDMA_ENDED_NOT ? " Nothing closed it." : "", later, calls,
             others);
    snprintf(cause->against, sizeof(cause->against),
             "its answers may have been lost, or not captured");
}

/* The client still had no connection. */
static void lasts_until(struct report_cause *cause, int64_t until_ns)
{
    if (until_ns <= cause->until_ns)
        return;
    cause->time_ns = time_plus(cause->time_ns, time_less(until_ns, cause->until_ns));
    cause->until_ns = until_ns;
}

/* What was refused since: the latest attempts, if nothing answered these, are told by themselves.
 */
static void tell_in_vain(const struct report *r, const struct report_connection *c,
                         struct report_cause *cause)
{
    const struct report_connection *first = report_numbered(r, c->pub.life.next), *one = first;
    bool moved = first && report_moved(c, first);
    size_t at = strlen(cause->text);
    int64_t refused_ns = 0, since_ns = 0; /* the latest; and the first that none followed */
    unsigned refused = 0;

    while (was_in_vain(r, one)) {
        if (report_refused(&one->pub)) {
            refused++;
            refused_ns = one->pub.last_time_ns;
            since_ns = 0;
        } else if (since_ns == 0) {
            since_ns = one->pub.first_time_ns;
        }
        one = one->pub.number < one->pub.life.next ? report_numbered(r, one->pub.life.next) : NULL;
    }
    if (refused > 0)
        lasts_until(cause, since_ns != 0 ? since_ns : refused_ns);
    if (refused > 0)
        snprintf(cause->text + at, sizeof(cause->text) - at,
                 " Then %u attempt%s to connect %s refused%s.", refused, plural(refused),
                 refused == 1 ? "was" : "were", moved ? ", by another host most likely" : "");
    if (moved)
        report_tell_moved(cause, c, first);
}

/* A REQ that was sent once: the server answered a later one of the same hosts. */
static bool answered_since(const struct report *r, const struct report_connection *c)
{
    const struct report_connection *other = report_of_hosts(r, c);
    bool answered = false;

    for (; !answered && other; other = report_of_hosts_next(other))
        answered = other->pub.first_frame > c->pub.first_frame &&
                   (other->pub.life.established_frame != 0 || other->pub.messages > 0 ||
                    report_refused(&other->pub));
    return answered;
}

/* Acks have no PSNs of their own: a capture that lacks much of what either end sent lacks them,
 * too. */
static bool lacks_answers(const struct report_connection *c)
{
    return report_lacks_packets(&c->path[0]) || report_lacks_packets(&c->path[1]);
}

void causes_of_lost(struct report *r, const struct report_connection *c)
{
    char silent[REPORT_SILENCE_ROOM], others[REPORT_BESIDE_ROOM] = "";
    struct report_tried tried;
    struct report_cause *cause;
    struct report_beside by;
    int64_t since_ns, until_ns;

    /* of attempts the last one tells: only what is before them goes through them */
    if ((c->pub.life.next != 0 && report_attempt_unanswered(r, c)) || was_replaced(r, c))
        return;
    if (connection_awaits_answer(&c->pub) && answered_since(r, c))
        return;
    tried = report_look_attempts(r, c);
    since_ns = tried.n > 0 ? tried.first->pub.first_time_ns : silent_since(c);
    until_ns = failed_until(r, c);
    report_tell_silence(r, c, 0, silent, sizeof(silent));
    if (tried.n == 0 &&
        (!silent[0] || under_way(r, c) || went_on_elsewhere(r, c) || report_end_told(c)))
        return;
    by = report_look_beside(r, c, tried.n > 0 ? NULL : c, since_ns, c->pub.last_time_ns,
                            others); /* it looks at all */
    if (by.same + by.others > 0)
        report_tell_silence(r, c, by.same + by.others, silent, sizeof(silent));
    cause = report_cause_add(r, CAUSE_CONNECTION_FAILED,
                             tried.n == 0 && lacks_answers(c) ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM);
    cause->rpcs = report_unanswered(c);
    cause->time_ns = MAX(time_less(until_ns, since_ns), 0);
    if (tried.n > 0)
        tell_attempts(r, c, &tried, others, cause);
    else
        tell_lost(c, until_ns, silent, others, cause);
    if (tried.n == 0)
        tell_in_vain(r, c, cause);
}
