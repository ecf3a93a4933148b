/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about an end that stood still, or the way, while nothing was sent
 * again. */
#include "report/causes/time/slow_sums.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"

/* Likewise of an end that stood still, or the way: no server was slow in these periods for sure. */
static struct report_cause *add_stalled(struct report *r, const struct report_slow *slow,
                                        bool server, struct report_periods *still,
                                        char who[ADDRESS_SIZE + 2])
{
    struct report_cause *cause = report_slow_cause(r, slow, server, CONFIDENCE_MEDIUM, who);

    cause->id = CAUSE_STALLED;
    report_periods_add(still, &slow->periods);
    return cause;
}

/* Nothing was sent again to it meanwhile (of TCP, which shows that later: ever): it, or the way,
 * stood still. */
static struct report_slow late_acks_of(const struct report *r, const struct report_connection *c,
                                       bool server)
{
    const struct report_slow *late = &c->trouble->late[server];
    int end = server ? report_server_end(&c->pub) : 1 - report_server_end(&c->pub);
    const struct rpcrdma_path *path = &c->path[end];

    (void)r;
    if (late->rpcs > 0 && path->acknowledged &&
        (path->retransmitted == 0 || c->pub.carrier != RPCRDMA_CARRIER_IWARP) &&
        path->uncaptured * 4 <= path->packets &&
        late->ns / 2 / (int64_t)late->rpcs >= report_ack_time(c, server, 50))
        return *late;
    return (struct report_slow){0};
}

static void late_acks(struct report *r, const struct report_slow *slow, bool server,
                      struct report_periods *still)
{
    struct report_cause *cause;
    char who[ADDRESS_SIZE + 2], time[REPORT_IN_ALL];

    cause = add_stalled(r, slow, server, still, who);
    snprintf(cause->text, sizeof(cause->text),
             "An end stood still, or the way: the %s%s was slow to acknowledge %s. %s%" PRIu64
             " RPC%s of %.3g s or more waited %s for that, with nothing sent again.",
             server ? "server" : "client", who, server ? "Calls" : "Replies", report_at_least(r),
             slow->rpcs, plural(slow->rpcs), report_seconds(MAX(r->slow_ns, SECOND)),
             report_slow_in_all(slow, time));
    if (slow->ns / (int64_t)slow->rpcs >= REPORT_RESEND_NS)
        snprintf(cause->against, sizeof(cause->against),
                 "the %s, whose timer should have ended long before, may be what stood still, or "
                 "the host that captured; or the way did (PAUSE frames)",
                 server ? "client" : "server");
    else
        snprintf(cause->against, sizeof(cause->against),
                 "the way to it may have stood still (PAUSE frames), or the host that captured");
}

/* For half of that time and more data moves slowly there, as another cause tells. */
static bool tells_of(const struct report_cause *cause, const struct report_connection *c,
                     const struct report_periods *when)
{
    return cause->id == CAUSE_TRANSFER && cause->of == c &&
           report_periods_shared(when, &cause->when) >= report_periods_ns(when) / 2;
}

/* Or TCP goes there and back several times for it, as slow_transfer has it. */
static bool told_of_transfer(const struct report *r, const struct report_connection *c)
{
    bool told = c->pub.carrier == RPCRDMA_CARRIER_IWARP &&
                report_ack_time(c, false, 25) >= REPORT_LONG_ACK_NS;

    for (unsigned i = 0; i < r->n_causes; i++)
        told |= tells_of(&r->causes[i], c, &c->trouble->paused.periods);
    return told;
}

static struct report_slow paused_of(const struct report *r, const struct report_connection *c,
                                    bool server)
{
    const struct report_slow *own = &c->trouble->paused;

    (void)server;
    for (int end = 0; end < 2; end++) /* it is told as lost */
        if (own->rpcs > 0 && c->path[end].restart_ns > own->ns / 2)
            return (struct report_slow){0};
    if (own->rpcs > 0 && !told_of_transfer(r, c) && !report_losses_explain(c, own, 0) &&
        !report_losses_explain(c, own, 1))
        return *own;
    return (struct report_slow){0};
}

/* TCP: the end that had no room for most of that time; NULL: none, or several connections. */
static const char *without_room(const struct report *r, const struct report_slow *slow)
{
    const struct report_connection *c =
        slow->connection ? report_numbered(r, slow->connection) : NULL;

    for (int end = 0; c && end < 2; end++)
        if (c->has_path[end] &&
            c->path[end].zero_window_ns >= report_periods_ns(&slow->periods) / 2)
            return end == report_server_end(&c->pub) ? "server" : "client";
    return NULL;
}

/* Data stood still, or trickled, and nothing was sent again for it: which end, or whether the way
 * did, only a window of TCP's shows. */
static void paused(struct report *r, const struct report_slow *slow, struct report_periods *still)
{
    const char *end = without_room(r, slow);
    struct report_cause *cause;
    char who[ADDRESS_SIZE + 2], time[REPORT_IN_ALL];

    cause = add_stalled(r, slow, true, still, who);
    if (end)
        cause->confidence = CONFIDENCE_HIGH;
    snprintf(cause->text, sizeof(cause->text),
             "%s%s%s while data moved: %s%" PRIu64
             " RPC%s of %.3g s or more took %s from the first to the last packet of their "
             "RDMA, at less than 1 MB/s, with nothing sent again. %s",
             end ? "The " : "An end, or the way,", end ? end : " stood still, or was slow,",
             end ? " had no room (TCP's window was 0)" : "", report_at_least(r), slow->rpcs,
             plural(slow->rpcs), report_seconds(MAX(r->slow_ns, SECOND)),
             report_slow_in_all(slow, time),
             end ? "It did not take what had come." : "Which end it was does not show.");
    if (!end)
        snprintf(cause->against, sizeof(cause->against),
                 "the host that captured may have stood still; PAUSE frames may have stopped the "
                 "way");
}

static struct report_slow sending_of(const struct report *r, const struct report_connection *c,
                                     bool server)
{
    const struct report_slow *own = &c->trouble->sending[server];
    int server_end = report_server_end(&c->pub);

    (void)r;
    if (own->rpcs > 0 && !report_losses_explain(c, own, server ? 1 - server_end : server_end))
        return *own;
    return (struct report_slow){0};
}

/* An end paused between the packets of its messages, and nothing was sent again for them. */
static void paused_sending(struct report *r, const struct report_slow *slow, bool server,
                           struct report_periods *still)
{
    struct report_cause *cause;
    char who[ADDRESS_SIZE + 2], time[REPORT_IN_ALL];

    cause = add_stalled(r, slow, server, still, who);
    snprintf(
        cause->text, sizeof(cause->text),
        "An end stood still, or the way: the %s%s paused within its %s. %s%" PRIu64
        " RPC%s of %.3g s or more waited %s from the first to the last packet of such a message, "
        "with nothing sent again.",
        server ? "server" : "client", who, server ? "Replies" : "Calls", report_at_least(r),
        slow->rpcs, plural(slow->rpcs), report_seconds(MAX(r->slow_ns, SECOND)),
        report_slow_in_all(slow, time));
    snprintf(cause->against, sizeof(cause->against),
             "the way may have stood still (PAUSE frames), or the host that captured%s",
             cause->of && cause->of->pub.carrier == RPCRDMA_CARRIER_IWARP
                 ? "; or the other end had no room (TCP's window)"
                 : "");
}

void causes_of_pauses(struct report *r, struct report_periods *still)
{
    struct report_slow_sums sums;

    for (int server = 1; server >= 0; server--) {
        sums = report_slow_sums(r, late_acks_of, server);
        for (unsigned i = 0; i < sums.n; i++)
            late_acks(r, &sums.of[i].all, server, still);
        sums = report_slow_sums(r, sending_of, server);
        for (unsigned i = 0; i < sums.n; i++)
            paused_sending(r, &sums.of[i].all, server, still);
    }
    sums = report_slow_sums(r, paused_of, true);
    for (unsigned i = 0; i < sums.n; i++)
        paused(r, &sums.of[i].all, still);
}
