/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about RPCs that an end was slow to answer. */
#include "report/causes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plural.h"
#include "times.h"

#define SECOND INT64_C(1000000000)

/* There are others that it might be. */
static bool one_of_several(const struct report *r, const struct rpcrdma_address *end, bool server)
{
    GHashTableIter each;
    bool found = false;
    gpointer one;

    g_hash_table_iter_init(&each, r->connections);
    while (!found && g_hash_table_iter_next(&each, NULL, &one)) {
        const struct report_connection *c = one;

        found = c->messages > 0 && memcmp(report_host(&c->pub, server), end, sizeof(*end)) != 0;
    }
    return found;
}

/* Adds the cause; *who: " 192.0.2.1", where that says more than which end it is. */
static struct report_cause *add_slow(struct report *r, const struct report_slow *slow, bool server,
                                     enum report_confidence confidence, char who[ADDRESS_SIZE + 2])
{
    struct report_cause *cause =
        report_cause_add(r, server ? CAUSE_SERVER : CAUSE_CLIENT, confidence);

    cause->of = slow->connection ? report_numbered(r, slow->connection) : NULL;
    cause->rpcs = slow->rpcs;
    cause->time_ns = report_periods_ns(&slow->periods);
    cause->when = slow->periods;
    cause->in_silence = !slow->several_silences && slow->silent_ns > slow->ns / 2;
    cause->frame = slow->frame;
    who[0] = '\0';
    if (!slow->several_ends && one_of_several(r, &slow->end, server)) {
        who[0] = ' ';
        who[1 + address_or_name(&slow->end, who + 1)] = '\0';
    }
    return cause;
}

enum { IN_ALL = 96 };

/* "30.002 s in all (2.000 s where what overlaps counts once)" */
static const char *in_all(const struct report_slow *slow, char text[IN_ALL])
{
    int64_t once = report_periods_ns(&slow->periods);
    int n = snprintf(text, IN_ALL, "%.3f s in all", report_seconds(slow->ns));

    if (time_less(slow->ns, once) >= SECOND / 1000)
        snprintf(text + n, IN_ALL - (size_t)n, " (%.3f s where what overlaps counts once)",
                 report_seconds(once));
    return text;
}

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
           (few || slow->rpcs * SHARE <= r->rpcs) && slow->ns / (int64_t)slow->rpcs < longest_ns;
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
                 "which part of %" PRIu64 " other RPC%s took long is not known, for the Call was "
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
    char who[ADDRESS_SIZE + 2], time[IN_ALL];
    bool stood_still;

    if (slow->rpcs == 0)
        return;
    cause = add_slow(r, slow, server, CONFIDENCE_HIGH, who);
    stood_still = doubt_what_stood_still(slow, still, cause);
    if (doubt_end(r, slow, stood_still, cause))
        cause->confidence = CONFIDENCE_MEDIUM;
    snprintf(cause->text, sizeof(cause->text),
             "The %s%s was slow%s: %" PRIu64 " %s%s of %.3g s or more took %s between the "
             "%s and the Reply, %s%s.",
             server ? "server" : "client", who, server ? "" : " to answer the server", slow->rpcs,
             server ? "RPC" : "callback", plural(slow->rpcs), report_seconds(r->slow_ns),
             in_all(slow, time), mostly_unacked(slow) ? "Call" : "Call's arrival", no_rdma(slow),
             nothing_lost && !may_be_lost(r, slow) ? " and without anything being lost" : "");
}

void report_slow_add(struct report_slow *sum, const struct report_slow *one)
{
    if (one->rpcs == 0)
        return;
    if (sum->rpcs == 0 || one->frame < sum->frame)
        sum->frame = one->frame;
    if (sum->rpcs == 0) {
        sum->end = one->end;
        sum->connection = one->connection;
    }
    sum->several_ends |= memcmp(&sum->end, &one->end, sizeof(one->end)) != 0;
    if (sum->connection != one->connection)
        sum->connection = 0;
    sum->rpcs += one->rpcs;
    sum->again += one->again;
    sum->alone += one->alone;
    sum->behind += one->behind;
    sum->unacked += one->unacked;
    sum->unmoved += one->unmoved;
    sum->queued += one->queued;
    sum->ns = time_plus(sum->ns, one->ns);
    report_silences_add(sum, one);
    report_periods_add(&sum->periods, &one->periods);
}

/* How long an RPC may take for losses before the place of capture, as those that were seen tell. A
 * queue pair has one timer for both ends: another loss takes as long again. TCP's timers are each
 * end's own, and double (RFC 6298 section 5.5): 0.2 s becomes 0.6 s. What the other end sent again
 * during the RPC is part of what it was stalled for. */
static int64_t longest_loss(const struct report_connection *c, int towards)
{
    enum { AGAIN = 2, DOUBLED = 1 + 2 };
    const bool tcp = c->pub.carrier == RPCRDMA_CARRIER_IWARP;
    int64_t longest = 0;

    for (int end = 0; end < 2; end++) /* what was sent again, and Read requests that were */
        if (!tcp || end == towards)
            longest =
                MAX(longest, MAX(c->path[end].longest_wait_ns, c->path[end].asked_longest_ns));
    return time_times(longest, tcp ? DOUBLED : AGAIN);
}

/* What is lost before the place of capture looks like a slow server, or like data that stood still:
 * what is missing here of what that end sent, and times that are no longer than those of losses.
 * Not of RPCs long after any. */
static bool losses_explain(const struct report_connection *c, const struct report_slow *slow,
                           int towards)
{
    const struct rpcrdma_path *path = &c->path[towards];

    return path->lost > path->lost_behind ||
           slow->ns / (int64_t)slow->rpcs < longest_loss(c, towards);
}

/* What one connection has of RPCs that an end was slow to answer, and that nothing else explains.
 */
typedef struct report_slow slow_of(const struct report *r, const struct report_connection *c,
                                   bool server);

struct slow_sum {
    struct report_slow all;
    bool resent; /* packets, on one of these connections */
};

static struct slow_sum sum_up(const struct report *r, slow_of *of, bool server)
{
    struct slow_sum sum = {0};
    GList *all = report_connections(r);

    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;
        const struct report_slow own = of(r, c, server);

        report_slow_add(&sum.all, &own);
        sum.resent |= own.rpcs > 0 && c->path[0].retransmitted + c->path[1].retransmitted > 0;
    }
    g_list_free(all);
    return sum;
}

/* What nothing else explains, of an end of a connection. */
static struct report_slow own_of(const struct report *r, const struct report_connection *c,
                                 bool server)
{
    (void)r;
    return c->disturbed ? (struct report_slow){0} : c->trouble.slow_own[server];
}

/* Of RPCs that what was lost had no part in. */
static struct report_slow server_slow_apart(const struct report *r,
                                            const struct report_connection *c, bool server)
{
    struct report_slow own = {0};

    (void)r, (void)server;
    if (!c->disturbed)
        return own;
    for (int i = 0; i < 3; i++)
        report_slow_add(&own, &c->trouble.slow_apart[i]);
    if (c->trouble.slow_server.rpcs > 0 &&
        !losses_explain(c, &c->trouble.slow_server, 1 - report_server_end(&c->pub)))
        report_slow_add(&own, &c->trouble.slow_server);
    return own;
}

/* Where there is another cause. */
static void slow_server_too(struct report *r, const struct slow_sum *sum,
                            const struct report_periods *still)
{
    const struct report_slow *slow = &sum->all;
    uint64_t frame;
    bool lost = sum->resent || report_gaps(r, &frame) > 0;
    bool stood_still, doubted;
    struct report_cause *cause;
    char who[ADDRESS_SIZE + 2], time[IN_ALL];

    if (slow->rpcs == 0)
        return;
    cause = add_slow(r, slow, true, CONFIDENCE_HIGH, who);
    snprintf(cause->text, sizeof(cause->text),
             "The server%s was slow: %s%" PRIu64 " RPC%s of %.3g s or more, of which nothing was "
             "sent again, took %s between the %s and the Reply, %s.",
             who, report_at_least(r), slow->rpcs, plural(slow->rpcs), report_seconds(r->slow_ns),
             in_all(slow, time), mostly_unacked(slow) ? "Call" : "Call's arrival", no_rdma(slow));
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

/* Likewise of an end that stood still, or the way: no server was slow in these periods for sure. */
static struct report_cause *add_stalled(struct report *r, const struct report_slow *slow,
                                        bool server, struct report_periods *still,
                                        char who[ADDRESS_SIZE + 2])
{
    struct report_cause *cause = add_slow(r, slow, server, CONFIDENCE_MEDIUM, who);

    cause->id = CAUSE_STALLED;
    report_periods_add(still, &slow->periods);
    return cause;
}

/* Nothing was sent again to it meanwhile (of TCP, which shows that later: ever): it, or the way,
 * stood still. */
static struct report_slow late_acks_of(const struct report *r, const struct report_connection *c,
                                       bool server)
{
    const struct report_slow *late = &c->trouble.late[server];
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

static void late_acks(struct report *r, bool server, struct report_periods *still)
{
    const struct report_slow slow = sum_up(r, late_acks_of, server).all;
    struct report_cause *cause;
    char who[ADDRESS_SIZE + 2], time[IN_ALL];

    if (slow.rpcs == 0)
        return;
    cause = add_stalled(r, &slow, server, still, who);
    snprintf(cause->text, sizeof(cause->text),
             "An end stood still, or the way: the %s%s was slow to acknowledge %s. %s%" PRIu64
             " RPC%s of %.3g s or more waited %s for that, with nothing sent again.",
             server ? "server" : "client", who, server ? "Calls" : "Replies", report_at_least(r),
             slow.rpcs, plural(slow.rpcs), report_seconds(MAX(r->slow_ns, SECOND)),
             in_all(&slow, time));
    if (slow.ns / (int64_t)slow.rpcs >= REPORT_RESEND_NS)
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
        told |= tells_of(&r->causes[i], c, &c->trouble.paused.periods);
    return told;
}

static struct report_slow paused_of(const struct report *r, const struct report_connection *c,
                                    bool server)
{
    const struct report_slow *own = &c->trouble.paused;

    (void)server;
    for (int end = 0; end < 2; end++) /* it is told as lost */
        if (own->rpcs > 0 && c->path[end].restart_ns > own->ns / 2)
            return (struct report_slow){0};
    if (own->rpcs > 0 && !told_of_transfer(r, c) && !losses_explain(c, own, 0) &&
        !losses_explain(c, own, 1))
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
static void paused(struct report *r, struct report_periods *still)
{
    const struct report_slow slow = sum_up(r, paused_of, true).all;
    const char *end = without_room(r, &slow);
    struct report_cause *cause;
    char who[ADDRESS_SIZE + 2], time[IN_ALL];

    if (slow.rpcs == 0)
        return;
    cause = add_stalled(r, &slow, true, still, who);
    if (end)
        cause->confidence = CONFIDENCE_HIGH;
    snprintf(cause->text, sizeof(cause->text),
             "%s%s%s while data moved: %s%" PRIu64
             " RPC%s of %.3g s or more took %s from the first to the last packet of their "
             "RDMA, at less than 1 MB/s, with nothing sent again. %s",
             end ? "The " : "An end", end ? end : " stood still, or the way,",
             end ? " had no room (TCP's window was 0)" : "", report_at_least(r), slow.rpcs,
             plural(slow.rpcs), report_seconds(MAX(r->slow_ns, SECOND)), in_all(&slow, time),
             end ? "It did not take what had come." : "Which end it was does not show.");
    if (!end)
        snprintf(cause->against, sizeof(cause->against),
                 "the host that captured may have stood still; PAUSE frames may have stopped the "
                 "way");
}

static struct report_slow sending_of(const struct report *r, const struct report_connection *c,
                                     bool server)
{
    const struct report_slow *own = &c->trouble.sending[server];
    int server_end = report_server_end(&c->pub);

    (void)r;
    if (own->rpcs > 0 && !losses_explain(c, own, server ? 1 - server_end : server_end))
        return *own;
    return (struct report_slow){0};
}

/* An end paused between the packets of its messages, and nothing was sent again for them. */
static void paused_sending(struct report *r, bool server, struct report_periods *still)
{
    const struct report_slow slow = sum_up(r, sending_of, server).all;
    struct report_cause *cause;
    char who[ADDRESS_SIZE + 2], time[IN_ALL];

    if (slow.rpcs == 0)
        return;
    cause = add_stalled(r, &slow, server, still, who);
    snprintf(
        cause->text, sizeof(cause->text),
        "An end stood still, or the way: the %s%s paused within its %s. %s%" PRIu64
        " RPC%s of %.3g s or more waited %s from the first to the last packet of such a message, "
        "with nothing sent again.",
        server ? "server" : "client", who, server ? "Replies" : "Calls", report_at_least(r),
        slow.rpcs, plural(slow.rpcs), report_seconds(MAX(r->slow_ns, SECOND)), in_all(&slow, time));
    snprintf(cause->against, sizeof(cause->against),
             "the way may have stood still (PAUSE frames), or the host that captured%s",
             cause->of && cause->of->pub.carrier == RPCRDMA_CARRIER_IWARP
                 ? "; or the other end had no room (TCP's window)"
                 : "");
}

/* A way that is that long explains it, too: `delay` tells of it. */
static bool way_explains(const struct report *r, const struct report_connection *c)
{
    const struct report_slow *reads = &c->trouble.slow_reads;
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
    return c->trouble.slow_reads.rpcs == 0 || way_explains(r, c) ? (struct report_slow){0}
                                                                 : c->trouble.slow_reads;
}

static struct report_slow undisturbed_reads_of(const struct report *r,
                                               const struct report_connection *c, bool server)
{
    return c->disturbed ? (struct report_slow){0} : reads_of(r, c, server);
}

static void slow_reads(struct report *r)
{
    const struct report_slow slow = sum_up(r, undisturbed_reads_of, false).all;
    struct report_cause *cause;
    char who[ADDRESS_SIZE + 2], time[IN_ALL];

    if (slow.rpcs == 0)
        return;
    cause = add_slow(r, &slow, false, CONFIDENCE_MEDIUM, who);
    snprintf(cause->text, sizeof(cause->text),
             "The client%s was slow to answer the server's RDMA Reads: %" PRIu64
             " RPC%s of %.3g s or "
             "more waited %s between a Read request and its first response, with "
             "nothing moving.",
             who, slow.rpcs, plural(slow.rpcs), report_seconds(r->slow_ns), in_all(&slow, time));
    snprintf(cause->against, sizeof(cause->against),
             "the way to the client may be long, or PAUSE frames may have stopped it: capture at "
             "the client, too");
}

static struct report_slow often_of(const struct report *r, const struct report_connection *c,
                                   bool server)
{
    (void)r, (void)server;
    return c->disturbed ? (struct report_slow){0} : c->trouble.slow_often;
}

/* None is slow by itself, but many are for long, and they are what the server did most. */
static void often_slow(struct report *r)
{
    enum { LEAST = 20, SHARE = 10 };
    const struct report_slow slow = sum_up(r, often_of, true).all;
    int64_t once_ns = report_periods_ns(&slow.periods);
    double share = r->spent.server_ns > 0 ? (double)slow.ns / (double)r->spent.server_ns : 0;
    struct report_cause *cause;
    char who[ADDRESS_SIZE + 2], time[IN_ALL];

    if (slow.rpcs < LEAST || slow.rpcs * SHARE < r->n_spent || once_ns < REPORT_A_WHILE_NS ||
        share < 0.75)
        return;
    cause = add_slow(r, &slow, true, CONFIDENCE_MEDIUM, who);
    snprintf(cause->text, sizeof(cause->text),
             "The server%s was slow again and again: %" PRIu64 " of %" PRIu64
             " RPCs took %.3g s or more each, and %s, between the Call's arrival and the Reply, "
             "without RDMA: %.0f %% of what it took for all.",
             who, slow.rpcs, r->n_spent, report_seconds(REPORT_OFTEN_NS), in_all(&slow, time),
             100 * MIN(share, 1));
    snprintf(cause->against, sizeof(cause->against),
             "none spent a second there: its disks may be that slow, or be asked for that much");
}

/* Where what was lost makes servers look slow, too, only what that had no part in counts: and is
 * told with others', or by itself, if there is no more. */
static void slow_servers(struct report *r, const struct report_periods *still, bool nothing_lost)
{
    struct report_slow own = sum_up(r, own_of, true).all;
    const struct slow_sum apart = sum_up(r, server_slow_apart, true);

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
    struct report_slow reads, callbacks;

    report_mark_disturbed(r);
    for (int server = 1; server >= 0; server--) {
        late_acks(r, server, &still);
        paused_sending(r, server, &still);
    }
    paused(r, &still);
    reads = sum_up(r, reads_of, false).all;
    report_periods_add(&still, &reads.periods);
    slow_servers(r, &still, nothing_lost);
    callbacks = sum_up(r, own_of, false).all;
    slow_end(r, CAUSE_CLIENT, &callbacks, &still, nothing_lost);
    slow_reads(r);
    report_mark_disturbed(r); /* by one of these, too */
    if (!r->slow_told)
        often_slow(r);
}
