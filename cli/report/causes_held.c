/* SPDX-License-Identifier: BSD-2-Clause */
/* Of connections that failed: the server had the Calls, and did not answer. */
#include "report/causes_life.h"

#include <inttypes.h>
#include <stdio.h>

#include "plural.h"

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

bool causes_of_held_calls(struct report *r, const struct report_connection *c)
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

const char *report_maybe_held(const struct report *r, const struct report_connection *c)
{
    const struct report_connection *from = report_numbered(r, c->trouble.resent_from);
    int server = from ? report_server_end(&from->pub) : 0;

    if (report_one_way(c) || (from && report_one_way(from)))
        return "one direction only was captured: the server may not have answered";
    if (from && from->pub.life.ended == RPCRDMA_ENDED_NOT && has_held(from))
        return "the server's host acknowledged them: the server may not have answered";
    if (from && from->has_path[server] && from->path[server].retransmitted == 0 &&
        c->trouble.resent_after_ns >= REPORT_RESEND_NS)
        return "nothing was retransmitted on it before: the capture lacks packets, and the server "
               "may have had them, and not have answered";
    return NULL;
}
