/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about an end that stood still: what its timers made the other end send
 * again had all arrived. */
#include "report/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "times.h"

#define SECOND INT64_C(1000000000)

/* Where packets are lost or come out of order, that is why they are late. */
static bool stood_still(const struct rpcrdma_path *path)
{
    return path->late_longest_ns >= SECOND &&
           (path->lost + path->reordered) * 1000 <= path->packets;
}

int report_gave_up(const struct report_connection *c)
{
    int found = -1;

    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_silence *silence = &c->pub.life.silence[end];
        const struct rpcrdma_path *path = &c->path[1 - end];
        int64_t ns = time_less(silence->since_ns, silence->heard_ns);

        if (silence->transmissions > 0 && silence->heard_ns > 0 && ns >= SECOND &&
            c->has_path[1 - end] && stood_still(path) && path->late_longest_ns > ns)
            found = end;
    }
    return found;
}

void causes_of_stalls(struct report *r, const struct report_connection *c)
{
    int server = report_server_end(&c->pub);
    bool known = c->pub.role[server] != RPCRDMA_ROLE_UNKNOWN;

    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_path *path = &c->path[end];
        struct report_cause *cause;

        if (!c->has_path[end] || !stood_still(path))
            continue;
        cause = report_cause_add(r, CAUSE_STALLED, CONFIDENCE_MEDIUM);
        cause->time_ns = path->late_longest_ns;
        cause->frame = path->late_frame;
        if (path->late_in_burst) {
            snprintf(
                cause->text, sizeof(cause->text),
                "The way from the %s to the place of capture, or the host that captured, stood "
                "still for %.1f s on connection %u: what was sent again meanwhile, first in "
                "frame %" PRIu64 ", came all at once, and was answered, each transmission of "
                "it: none of that was lost.",
                !known          ? "sender"
                : end == server ? "client"
                                : "server",
                report_seconds(cause->time_ns), (unsigned)c->pub.number, path->late_frame);
            continue;
        }
        snprintf(cause->text, sizeof(cause->text),
                 "The %s, or the way to it, stood still for %.1f s on connection %u: what was sent "
                 "to it then, first in frame %" PRIu64 ", was all answered afterwards, each "
                 "transmission of it: none of that was lost.",
                 !known          ? "receiver"
                 : end == server ? "server"
                                 : "client",
                 report_seconds(cause->time_ns), (unsigned)c->pub.number, path->late_frame);
        snprintf(cause->against, sizeof(cause->against),
                 "a switch that holds packets back (PAUSE) looks the same");
    }
}
