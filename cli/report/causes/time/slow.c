/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about RPCs that an end was slow to answer. */
#include "report/causes/time/slow_sums.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"

/* For half of that time and more data of RDMA stood still, or Acks, or answers to Reads did: the
 * end may have, too. That time is told of as theirs, and no cost of this cause. */
static bool doubt_what_stood_still(const struct report_slow *slow,
                                   const struct report_periods *still, struct report_cause *cause)
{
    int64_t all_ns = report_periods_ns(&slow->periods);
    int64_t shared_ns = report_periods_shared(&slow->periods, still);

    if (shared_ns < all_ns / 2)
        return false;
    cause->confidence = CONFIDENCE_MEDIUM;
    cause->time_ns = time_less(all_ns, MIN(shared_ns, all_ns));
    snprintf(cause->against, sizeof(cause->against),
             "data, Acks, or answers to RDMA Reads stood still at the same time: the host that "
             "captured may have, or the way (PAUSE frames)");
    return true;
}

/* Few, of no more than a sender goes on to send again (seven times, some seconds apart), and in all
 * of them the Reply may have been lost before it came here, and passed when it was sent again. That
 * one holds up another is possible; that it holds up many is not likely: each is sent, and would be
 * lost, too. */
static bool may_be_lost(const struct report *r, const struct report_slow *slow)
{
    enum { FEW = 2, SHARE = 20 };
    const int64_t longest_ns = 30 * SECOND;

    bool few = slow->rpcs <= FEW;

    return slow->alone + (few ? slow->behind : 0) == slow->rpcs &&
           (few || slow->rpcs * SHARE <= report_slow_of_rpcs(r, slow)) &&
           slow->ns / (int64_t)slow->rpcs < longest_ns;
}

/* When half of these Calls and more arrived is not known. */
static bool mostly_unacked(const struct report_slow *slow)
{
    return slow->unacked * 2 >= slow->rpcs;
}

/* What did not pass meanwhile. */
static const char *no_rdma(const struct report_slow *slow)
{
    return slow->unmoved > 0 ? "without RDMA that the capture shows" : "without RDMA";
}

/* What else it may have been. False: nothing. `stood_still`: that is told already. */
static bool doubt_end(const struct report *r, const struct report_slow *slow, bool stood_still,
                      struct report_cause *cause)
{
    uint64_t frame;
    char *text = cause->against;
    const size_t size = sizeof(cause->against);

    if (slow->again > 0)
        snprintf(text, size,
                 "%" PRIu64 " of these Calls %s sent again on the same connection: the first may "
                 "have been dropped, and the second answered at once",
                 slow->again, slow->again == 1 ? "was" : "were");
    else if (stood_still)
        return true;
    else if (report_gaps(r, &frame) > 0)
        snprintf(text, size,
                 "the capture lacks packets: RDMA, or what was sent again, may be among them");
    else if (slow->unmoved > 0)
        snprintf(text, size,
                 "of the data of %" PRIu64 " of these RPCs RDMA is not in the capture, or was cut: "
                 "it may have moved, or stood still, meanwhile",
                 slow->unmoved);
    else if (slow->queued * 2 >= slow->rpcs)
        snprintf(text, size,
                 "meanwhile data of RPCs that had been asked for before moved on the same "
                 "connection: %" PRIu64 " of these may have waited for that, and for a way or a "
                 "client that moves it slowly",
                 slow->queued);
    else if (may_be_lost(r, slow))
        snprintf(text, size,
                 "meanwhile no other Reply passed: %s may have been lost before the place of "
                 "capture, and passed when %s sent again",
                 slow->rpcs == 1 ? "this one" : "these", slow->rpcs == 1 ? "it was" : "they were");
    else if (mostly_unacked(slow))
        snprintf(text, size, "no Ack of %s captured: the way there may have taken that long",
                 slow->rpcs == 1 ? "the Call was" : "most of these Calls was");
    else if (r->slow_cut > 0)
        snprintf(text, size,
                 "which part of %" PRIu64 " other RPC%s took long is not known, for headers were "
                 "cut: the client may have been slow to answer RDMA Reads, or data stood still",
                 r->slow_cut, plural(r->slow_cut));
    else
        return false;
    return true;
}

static void slow_end(struct report *r, enum report_cause_id id, const struct report_slow *slow,
                     const struct report_periods *still, bool nothing_lost)
{
    bool server = id == CAUSE_SERVER;
    struct report_cause *cause;
    char who[ADDRESS_SIZE + 2], time[REPORT_IN_ALL];
    bool stood_still;

    if (slow->rpcs == 0)
        return;
    cause = report_slow_cause(r, slow, server, CONFIDENCE_HIGH, who);
    stood_still = doubt_what_stood_still(slow, still, cause);
    if (doubt_end(r, slow, stood_still, cause))
        cause->confidence = CONFIDENCE_MEDIUM;
    snprintf(cause->text, sizeof(cause->text),
             "The %s%s was slow%s: %" PRIu64 " %s%s of %.3g s or more took %s between the "
             "%s and the Reply, %s%s.",
             server ? "server" : "client", who, server ? "" : " to answer the server", slow->rpcs,
             server ? "RPC" : "callback", plural(slow->rpcs), report_seconds(r->slow_ns),
             report_slow_in_all(slow, time), mostly_unacked(slow) ? "Call" : "Call's arrival",
             no_rdma(slow),
             nothing_lost && !may_be_lost(r, slow) ? " and without anything being lost" : "");
    if (server)
        report_tell_kernel(r, slow, cause);
}

/* The server sent nothing in its pauses, as its IP IDs show: no Reply was lost before it came here.
 * Half of what these RPCs took is a pause that was looked at, on average. */
static bool sent_nothing(const struct report *r, const struct report_connection *c,
                         const struct report_slow *slow)
{
    const int64_t least_ns = 2 * SECOND;

    return r->slow_ns >= SECOND && slow->rpcs > 0 && slow->ns / least_ns >= (int64_t)slow->rpcs &&
           c->path[1 - report_server_end(&c->pub)].pauses_counted;
}

/* What is known of the server's pauses leaves no doubt: it sent nothing meanwhile; that took as
 * long by its own clock. */
static void look_at_pauses(const struct report *r, const struct report_connection *c,
                           struct report_slow *slow)
{
    slow->nothing_sent = sent_nothing(r, c, slow);
    if (slow->nothing_sent)
        slow->alone = slow->behind = 0;
    if (c->path[1 - report_server_end(&c->pub)].pauses_timed) {
        slow->idle_ns = 0;
        slow->several_idle = false;
    }
}

/* What nothing else explains, of an end of a connection. */
static struct report_slow own_of(const struct report *r, const struct report_connection *c,
                                 bool server)
{
    struct report_slow own = {0};

    if (!c->disturbed)
        own = c->trouble->slow_own[server];
    if (server)
        look_at_pauses(r, c, &own);
    return own;
}

/* RoCE and InfiniBand: what is lost before the place of capture is late there by itself, and what
 * is sent behind it passes at once. So it explains as many RPCs as packets are missing, and those
 * whose Replies nothing passed before: here there are many more. */
static bool too_many_for_losses(const struct report_connection *c, const struct report_slow *slow)
{
    enum { LEAST = 5 };
    const struct rpcrdma_path *path = &c->path[1 - report_server_end(&c->pub)];
    uint64_t explained = slow->alone + slow->behind + path->lost - path->lost_behind;

    return c->pub.carrier != RPCRDMA_CARRIER_IWARP && slow->rpcs >= 2 * explained &&
           slow->rpcs - explained >= LEAST;
}

/* Only a few packets were lost at a time, as the gaps show: no response of many packets was lost as
 * a whole. */
static bool lost_singly(const struct report_connection *c)
{
    enum { LEAST = 4 };
    const struct rpcrdma_path *path = &c->path[1 - report_server_end(&c->pub)];

    return path->asked_gaps >= LEAST && path->asked_gaps >= 2 * path->timeouts &&
           2 * path->longest_gap < REPORT_TRAIN;
}

/* Of RPCs that what was lost had no part in. */
static struct report_slow server_slow_apart(const struct report *r,
                                            const struct report_connection *c, bool server)
{
    struct report_slow own = {0};

    (void)server;
    if (!c->disturbed)
        return own;
    for (int i = 0; i < 3; i++)
        report_slow_add(&own, &c->trouble->slow_apart[i]);
    if (c->trouble->slow_server.rpcs > 0 &&
        (sent_nothing(r, c, &c->trouble->slow_server) ||
         !report_losses_explain(c, &c->trouble->slow_server, 1 - report_server_end(&c->pub)) ||
         too_many_for_losses(c, &c->trouble->slow_server)))
        report_slow_add(&own, &c->trouble->slow_server);
    if (c->trouble->slow_trains.rpcs > own.rpcs && lost_singly(c))
        own = c->trouble->slow_trains;
    look_at_pauses(r, c, &own);
    return own;
}

/* Where there is another cause. */
static void slow_server_too(struct report *r, const struct report_slow_sum *sum,
                            const struct report_periods *still)
{
    const struct report_slow *slow = &sum->all;
    uint64_t frame;
    bool lost = sum->resent || report_gaps(r, &frame) > 0;
    bool stood_still, doubted;
    struct report_cause *cause;
    char who[ADDRESS_SIZE + 2], time[REPORT_IN_ALL];

    if (slow->rpcs == 0)
        return;
    cause = report_slow_cause(r, slow, true, CONFIDENCE_HIGH, who);
    snprintf(cause->text, sizeof(cause->text),
             "The server%s was slow: %s%" PRIu64 " RPC%s of %.3g s or more, of which nothing was "
             "sent again, took %s between the %s and the Reply, %s.",
             who, report_at_least(r), slow->rpcs, plural(slow->rpcs), report_seconds(r->slow_ns),
             report_slow_in_all(slow, time), mostly_unacked(slow) ? "Call" : "Call's arrival",
             no_rdma(slow));
    report_tell_kernel(r, slow, cause);
    stood_still = doubt_what_stood_still(slow, still, cause);
    doubted = stood_still || lost;
    if (!stood_still && lost && !may_be_lost(r, slow))
        snprintf(
            cause->against, sizeof(cause->against),
            "packets were lost, or are not in the capture: some of this may come from what was "
            "lost before it came here");
    else
        doubted |= doubt_end(r, slow, stood_still, cause);
    if (doubted)
        cause->confidence = CONFIDENCE_MEDIUM;
}

/* A way that is that long explains it, too: `delay` tells of it. */
static bool way_explains(const struct report *r, const struct report_connection *c)
{
    const struct report_slow *reads = &c->trouble->slow_reads;
    bool explains = false;

    for (unsigned i = 0; i < r->n_causes; i++) {
        const struct report_cause *one = &r->causes[i];

        explains |= one->id == CAUSE_DELAY && one->rpcs > 0 && one->of == c &&
                    2 * (double)one->time_ns / (double)one->rpcs * (double)reads->reads >=
                        (double)reads->ns;
    }
    return explains;
}

static struct report_slow reads_of(const struct report *r, const struct report_connection *c,
                                   bool server)
{
    (void)server;
    return c->trouble->slow_reads.rpcs == 0 || way_explains(r, c) ? (struct report_slow){0}
                                                                  : c->trouble->slow_reads;
}

static struct report_slow undisturbed_reads_of(const struct report *r,
                                               const struct report_connection *c, bool server)
{
    return c->disturbed ? (struct report_slow){0} : reads_of(r, c, server);
}

static void slow_reads(struct report *r, const struct report_slow *slow)
{
    struct report_cause *cause;
    char who[ADDRESS_SIZE + 2], time[REPORT_IN_ALL];

    cause = report_slow_cause(r, slow, false, CONFIDENCE_MEDIUM, who);
    snprintf(cause->text, sizeof(cause->text),
             "The client%s was slow to answer the server's RDMA Reads: %" PRIu64
             " RPC%s of %.3g s or "
             "more waited %s between a Read request and its first response, with "
             "nothing moving.",
             who, slow->rpcs, plural(slow->rpcs), report_seconds(r->slow_ns),
             report_slow_in_all(slow, time));
    snprintf(cause->against, sizeof(cause->against),
             "the way to the client may be long, or PAUSE frames may have stopped it: capture at "
             "the client, too");
}

static struct report_slow own_or_apart_of(const struct report *r, const struct report_connection *c,
                                          bool server)
{
    struct report_slow all = own_of(r, c, server), apart = server_slow_apart(r, c, server);

    report_slow_add(&all, &apart);
    return all;
}

/* Where what was lost makes a server look slow, too, only what that had no part in counts: and is
 * told with others', or by itself, if there is no more. */
static void slow_server(struct report *r, const struct rpcrdma_address *host,
                        const struct report_periods *still, bool nothing_lost)
{
    struct report_slow own = report_slow_sum(r, own_of, true, host).all;
    const struct report_slow_sum apart = report_slow_sum(r, server_slow_apart, true, host);

    if (own.rpcs == 0) {
        slow_server_too(r, &apart, still);
        return;
    }
    report_slow_add(&own, &apart.all);
    slow_end(r, CAUSE_SERVER, &own, still, nothing_lost);
}

void causes_of_slow_ends(struct report *r)
{
    struct report_periods still = {0};
    const struct report_flaws flaws = report_flaws(r);
    bool nothing_lost = r->n_causes == 0 && flaws.known && flaws.retransmitted + flaws.lost == 0;
    struct report_slow_sums servers, clients;
    struct report_slow reads;

    report_mark_disturbed(r);
    causes_of_pauses(r, &still);
    reads = report_slow_sum(r, reads_of, false, NULL).all;
    report_periods_add(&still, &reads.periods);
    servers = report_slow_sums(r, own_or_apart_of, true);
    for (unsigned i = 0; i < servers.n; i++)
        slow_server(r, servers.of[i].host, &still, nothing_lost);
    clients = report_slow_sums(r, own_of, false);
    for (unsigned i = 0; i < clients.n; i++)
        slow_end(r, CAUSE_CLIENT, &clients.of[i].all, &still, nothing_lost);
    clients = report_slow_sums(r, undisturbed_reads_of, false);
    for (unsigned i = 0; i < clients.n; i++)
        slow_reads(r, &clients.of[i].all);
    report_mark_disturbed(r); /* by one of these, too */
    if (!r->slow_told)
        causes_of_often_slow(r);
}
