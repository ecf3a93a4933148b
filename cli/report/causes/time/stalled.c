/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about an end that stood still: what its timers made the other end
 * send again had all arrived, or nothing came from it. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/times.h"

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

bool report_stood_silent(const struct report_connection *c, int end)
{
    const struct rpcrdma_path *path = &c->path[end];

    return c->has_path[end] && !stood_still(path) && path->silent_unasked_ns >= REPORT_RESEND_NS &&
           !c->large_lost[end];
}

/* Its IP IDs show that it sent packets meanwhile, which were lost. */
static bool sent_in_vain(const struct report_connection *c, int end)
{
    const struct rpcrdma_path *from = &c->path[1 - end];

    return c->has_path[1 - end] && from->restart_missing > 0 &&
           from->restart_ns >= c->path[end].silent_ns / 10 * 9;
}

/* It was silent on the whole for so long that timers should have made the other end send again what
 * it had not answered, and they did not: no rule of what was lost has that time. */
static void silent(struct report *r, const struct report_connection *c, int end)
{
    const struct rpcrdma_path *path = &c->path[end];
    bool known = c->pub.role[end] != RPCRDMA_ROLE_UNKNOWN;
    bool server = end == report_server_end(&c->pub);
    const char *who = !known ? "receiver" : server ? "server" : "client";
    struct report_cause *cause;

    if (!report_stood_silent(c, end) || sent_in_vain(c, end))
        return;
    cause = report_cause_add(r, CAUSE_STALLED, CONFIDENCE_MEDIUM);
    cause->of_server = known && server;
    cause->time_ns = path->silent_ns;
    cause->frame = path->silent_frame;
    snprintf(cause->text, sizeof(cause->text),
             "The %s, or the way to it or back, stood still for %.1f s on connection %u: nothing "
             "came from it, though what was sent to it, first in frame %" PRIu64 ", was sent "
             "again. %s acknowledges that by itself, however long NFS takes.",
             who, report_seconds(cause->time_ns), (unsigned)c->pub.number, path->silent_frame,
             c->pub.carrier == RPCRDMA_CARRIER_IWARP ? "TCP" : "An adapter");
    snprintf(cause->against, sizeof(cause->against),
             "for the last %.1f s of it nothing was sent again: the %s, whose timer should have "
             "ended, may be what stood still, or the host that captured",
             report_seconds(path->silent_unasked_ns),
             !known   ? "sender"
             : server ? "client"
                      : "server");
}

enum { TIMES_ROOM = 80 };

/* How long it stood still, and how often. */
static void tell_times(const struct rpcrdma_path *path, char text[TIMES_ROOM])
{
    if (path->late_times > 1)
        snprintf(text, TIMES_ROOM, "%u times, for %.1f s in all and %.1f s at most,",
                 (unsigned)path->late_times, report_seconds(path->late_all_ns),
                 report_seconds(path->late_longest_ns));
    else
        snprintf(text, TIMES_ROOM, "for %.1f s", report_seconds(path->late_all_ns));
}

/* An adapter acknowledges at once. Where it did not again and again, and was asked nothing anew, it
 * or the way stood still each time. Of longer times another rule tells. */
static void stutters(struct report *r, const struct report_connection *c, bool server)
{
    enum { LEAST = 5 };
    const struct report_stutter *stutter = &c->trouble->stutter[server];
    int end = server ? report_server_end(&c->pub) : 1 - report_server_end(&c->pub);
    const struct rpcrdma_path *path = &c->path[end];
    struct report_cause *cause;

    if (stutter->times < LEAST || stutter->ns < 2 * SECOND || c->trouble->late[server].rpcs > 0 ||
        !c->has_path[end] || !path->acknowledged || path->retransmitted > 0 ||
        path->uncaptured * 4 > path->packets ||
        report_ack_time(c, server, 50) >= REPORT_OFTEN_NS / 10)
        return;
    cause = report_cause_add(r, CAUSE_STALLED, CONFIDENCE_MEDIUM);
    cause->of_server = server;
    cause->time_ns = stutter->ns;
    cause->count = stutter->times;
    cause->frame = stutter->frame;
    snprintf(cause->text, sizeof(cause->text),
             "The %s, or the way to it or back, stood still again and again on connection %u: %u "
             "times %s was acknowledged %.3g s or more later, %.1f s in all and %.1f s at most, "
             "with nothing sent again. An adapter acknowledges at once. A switch or an adapter "
             "that sends PAUSE frames (PFC) does that; their counters show it.",
             server ? "server" : "client", (unsigned)c->pub.number, (unsigned)stutter->times,
             server ? "a Call" : "a Reply", report_seconds(REPORT_OFTEN_NS),
             report_seconds(stutter->ns), report_seconds(stutter->longest_ns));
    snprintf(cause->against, sizeof(cause->against),
             "soft RoCE stands still when its host does; or the host that captured stood still");
}

void causes_of_stalls(struct report *r, const struct report_connection *c)
{
    int server = report_server_end(&c->pub);
    bool known = c->pub.role[server] != RPCRDMA_ROLE_UNKNOWN;

    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_path *path = &c->path[end];
        struct report_cause *cause;
        char times[TIMES_ROOM];

        if (!c->has_path[end] || !stood_still(path)) {
            silent(r, c, end);
            continue;
        }
        cause = report_cause_add(r, CAUSE_STALLED, CONFIDENCE_MEDIUM);
        cause->of_server = known && end == server;
        cause->time_ns = path->late_all_ns;
        cause->count = path->late_times;
        tell_times(path, times);
        cause->frame = path->late_frame;
        if (path->late_in_burst) {
            snprintf(
                cause->text, sizeof(cause->text),
                "The way from the %s to the place of capture, or the host that captured, stood "
                "still %s on connection %u: what was sent again meanwhile, first in "
                "frame %" PRIu64 ", came all at once%s",
                !known          ? "sender"
                : end == server ? "client"
                                : "server",
                times, (unsigned)c->pub.number, path->late_frame,
                c->pub.carrier == RPCRDMA_CARRIER_IWARP
                    ? ", as no timer sends it."
                    : ", and was answered, each transmission of it: none of that was lost.");
            continue;
        }
        snprintf(cause->text, sizeof(cause->text),
                 "The %s, or the way to it, stood still %s on connection %u: what was sent "
                 "to it then, first in frame %" PRIu64 ", was all answered afterwards, each "
                 "transmission of it: none of that was lost.",
                 !known          ? "receiver"
                 : end == server ? "server"
                                 : "client",
                 times, (unsigned)c->pub.number, path->late_frame);
        snprintf(cause->against, sizeof(cause->against),
                 "a switch that holds packets back (PAUSE) looks the same");
    }
    for (int end = 0; end < 2 && known; end++)
        stutters(r, c, end == server);
}
