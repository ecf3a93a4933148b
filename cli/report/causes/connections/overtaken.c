/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP sends again for many minutes what did not arrive: a Call comes through on a connection that
 * the client has given up, after it was answered on another one. */
#include "report/causes/connections/life.h"
#include "report/hosts.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/times.h"

static bool overtakes(const struct report_connection *other, const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life, *next = &other->pub.life;

    return other != c && next->has_xid && next->first_xid == life->last_xid &&
           other->answers.first_ns != 0 && other->pub.first_time_ns < life->last_call_ns &&
           time_less(other->pub.first_time_ns, c->answers.last_ns) >= SECOND;
}

const struct report_connection *report_overtaken(const struct report *r,
                                                 const struct report_connection *c)
{
    const struct report_connection *other;

    if (c->trouble->unanswered[REPORT_FORWARD].calls == 0 || !c->pub.life.has_xid ||
        c->answers.last_ns == 0)
        return NULL;
    other = report_of_hosts(r, c);
    while (other && !overtakes(other, c))
        other = report_of_hosts_next(other);
    return other;
}

void causes_of_overtaken(struct report *r, const struct report_connection *c)
{
    const struct report_connection *next = report_overtaken(r, c);
    struct report_cause *cause;

    if (!next)
        return;
    cause = report_cause_add(r, CAUSE_CONNECTION_FAILED, CONFIDENCE_HIGH);
    cause->rpcs = c->trouble->unanswered[REPORT_FORWARD].calls;
    cause->frame = next->pub.first_frame;
    cause->time_ns = time_less(next->pub.first_time_ns, c->answers.last_ns);
    report_cause_lasted(cause, REPORT_FAILED_PATH, c->answers.last_ns, next->pub.first_time_ns);
    snprintf(
        cause->text, sizeof(cause->text),
        "Connection %u failed: %.1f s after the last answer on it the client opened connection "
        "%u, which had its Call answered. On connection %u that Call came here only %.1f s "
        "later (frame %" PRIu64 "), when nobody waited for it any more. The path or the peer "
        "was down: a cable, a switch, or the host.",
        (unsigned)c->pub.number, report_seconds(cause->time_ns), (unsigned)next->pub.number,
        (unsigned)c->pub.number,
        report_seconds(time_less(c->pub.life.last_call_ns, next->pub.first_time_ns)),
        c->trouble->unanswered[REPORT_FORWARD].frame);
}
