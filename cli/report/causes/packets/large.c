/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about packets that are too large for a link on the way (an MTU black
 * hole): a client connects and calls, which takes small packets, and what needs large ones hangs
 * until an end gives the connection up; again and again. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"

enum { TIMES = 3, SURE = 3 }; /* one packet was sent again so often; on so many connections */

static int end_of(const struct report_connection *c, int to_server)
{
    int server = report_server_end(&c->pub);

    return to_server ? server : 1 - server;
}

static uint32_t largest(const struct report_connection *c)
{
    return MAX(c->path[0].largest_payload, c->path[1].largest_payload);
}

/* The same was sent to it again and again, from the same packet on. */
static bool stuck(const struct report_connection *c, int to_server)
{
    int end = end_of(c, to_server);
    const struct rpcrdma_path *path = &c->path[end], *back = &c->path[1 - end];
    uint32_t times = to_server ? MAX(path->stuck, back->stuck) : path->stuck;

    return c->has_path[0] && c->has_path[1] && !report_one_way(c) && times >= TIMES;
}

/* Large ones were sent to it again and again: as requests, or as responses to a request that came
 * again. */
static bool large_stuck(const struct report_connection *c, int to_server)
{
    const struct rpcrdma_path *path = &c->path[end_of(c, to_server)];
    uint32_t large = largest(c);

    return stuck(c, to_server) && large >= REPORT_LARGE &&
           path->retransmitted_bytes / 2 >= path->retransmitted * (uint64_t)(large / 4);
}

/* ... and RPCs that move large packets towards that end were not answered. */
static bool hangs(const struct report_connection *c, int to_server)
{
    return large_stuck(c, to_server) && c->trouble->hung[to_server].bytes >= largest(c);
}

/* They are lost before the place of capture: a Nak asks for them, and only what is behind them
 * comes to it, again and again. Large ones that had arrived do not speak against it: a small one
 * did, and they did not. A capture that lacks many packets may lack these each time. */
static bool lost_before(const struct report_connection *c, int to_server)
{
    const struct rpcrdma_path *path = &c->path[end_of(c, to_server)];

    return stuck(c, to_server) && path->lost_before > 0 && !report_lacks_packets(path) &&
           c->trouble->hung[to_server].bytes >= REPORT_LARGE;
}

/* What its RPCs move is not known: their Calls were cut. */
static bool sizes_cut(const struct report_connection *c, int to_server)
{
    return c->trouble->hung[to_server].rpcs == 0 &&
           (c->rpcs == 0 || c->trouble->unanswered[REPORT_FORWARD].calls > 0);
}

/* A small one behind these arrived, while they did not: that connection alone shows it (TCP). */
static bool passed_by(const struct report_connection *c, int to_server)
{
    return large_stuck(c, to_server) && c->path[end_of(c, to_server)].small_frame > 0 &&
           (hangs(c, to_server) || sizes_cut(c, to_server));
}

/* The same bytes arrived in smaller ones in the end, as where TCP looks for the largest that pass
 * (RFC 4821). */
static bool came_smaller(const struct report_connection *c, int to_server)
{
    return large_stuck(c, to_server) && c->path[end_of(c, to_server)].small_size > 0;
}

bool report_large_alone(const struct report_connection *c)
{
    return c->trouble->moves_cut && (large_stuck(c, 0) || large_stuck(c, 1));
}

bool report_began_stuck(const struct report_connection *c)
{
    return (large_stuck(c, 0) || large_stuck(c, 1)) && c->pub.life.established_frame > 0 &&
           c->answers.first_ns > 0 &&
           time_less(c->answers.first_ns, c->pub.life.established_ns) >= SECOND;
}

/* The one before shows it, and on this one large ones came in vain until the way took them. */
static bool held_behind(const struct report *r, const struct report_connection *c, int to_server)
{
    const struct report_connection *previous = report_numbered(r, c->pub.life.previous);

    return previous && passed_by(previous, to_server) && large_stuck(c, to_server) &&
           c->answers.first_ns > 0;
}

/* ... though small ones arrived on it, and no large one did. */
static bool small_alone(const struct report_connection *c, int to_server)
{
    bool small =
        c->passed[to_server] > 0 || (to_server ? c->trouble->unanswered[REPORT_FORWARD].held > 0
                                               : c->pub.life.established_frame > 0 && c->rpcs > 0);

    return hangs(c, to_server) && small && c->passed[to_server] < largest(c);
}

/* Before it hung large ones may have arrived: the way became another one. */
static bool hung_before(const struct report *r, const struct report_connection *c, int to_server)
{
    const struct report_connection *next = report_numbered(r, c->pub.life.next);

    return hangs(c, to_server) && next && small_alone(next, to_server);
}

/* An RPC without a Reply asks for that towards this end. */
static bool asks(const struct report_connection *c, int to_server)
{
    const struct report_trouble *trouble = c->trouble;
    uint32_t bytes = MAX(trouble->hung[to_server].bytes, to_server ? 0 : trouble->offered);

    return bytes >= REPORT_LARGE && c->has_path[0] && c->has_path[1] && !report_one_way(c);
}

/* ... and nothing large came from the other end, which had been heard when it was set up. */
static bool asks_in_vain(const struct report_connection *c, int to_server)
{
    return asks(c, to_server) && c->pub.life.established_frame > 0 &&
           c->path[end_of(c, to_server)].largest_payload < REPORT_LARGE;
}

/*
 * Of TCP the Acks of an end that has large segments to send are in these. If they are lost before
 * the place of capture, by its own host perhaps, nothing comes from it any more, though what it was
 * sent comes again and again.
 */
static bool vanishes(const struct report_connection *c, int to_server)
{
    const struct rpcrdma_silence *silence = c->pub.life.silence;

    return c->pub.carrier == RPCRDMA_CARRIER_IWARP && asks_in_vain(c, to_server) &&
           silence[end_of(c, !to_server)].transmissions >= REPORT_RETRIES;
}

/* It is so on the next one, or was on the one before: nobody answered, and small packets had
 * arrived on that. */
static bool vanishes_beside(const struct report *r, const struct report_connection *c,
                            int to_server)
{
    const struct report_connection *next = report_numbered(r, c->pub.life.next),
                                   *previous = report_numbered(r, c->pub.life.previous);

    return c->pub.carrier == RPCRDMA_CARRIER_IWARP &&
           ((next && vanishes(next, to_server) && asks(c, to_server)) ||
            (previous && vanishes(previous, to_server) && asks_in_vain(c, to_server)));
}

/* So on this one, until its first Reply came all the same. */
static bool vanished_behind(const struct report *r, const struct report_connection *c,
                            int to_server)
{
    const struct report_connection *previous = report_numbered(r, c->pub.life.previous);
    const struct rpcrdma_path *asked = &c->path[end_of(c, !to_server)];

    return previous && stuck(c, !to_server) && asked->served_timeouts >= TIMES &&
           c->trouble->hung[to_server].rpcs == 0 && c->answers.first_ns > 0 &&
           c->passed[to_server] >= REPORT_LARGE &&
           (vanishes(previous, to_server) || vanishes_beside(r, previous, to_server));
}

static bool one_of_them(const struct report *r, const struct report_connection *c, int to_server)
{
    return small_alone(c, to_server) || passed_by(c, to_server) || hung_before(r, c, to_server) ||
           lost_before(c, to_server) || vanishes(c, to_server) ||
           vanishes_beside(r, c, to_server) || came_smaller(c, to_server) ||
           held_behind(r, c, to_server) || vanished_behind(r, c, to_server);
}

struct black_hole {
    const struct report_connection *first;
    int64_t since_ns, until_ns;
    uint64_t rpcs, frame;
    uint32_t large, times;
    uint64_t lost_before; /* packets of these */
    uint32_t asked;       /* times for what never came; 0: or it came */
    guint sure;           /* connections that show it by themselves, */
    guint passed_by;      /* and of these by a small one that arrived */
    uint32_t smaller;     /* the same bytes arrived in packets of that size; 0: or they did not */
    GArray *connections;
};

/* Until when it is known to have been so. */
static int64_t last_ns(const struct report_connection *c, int to_server)
{
    if (passed_by(c, to_server) || came_smaller(c, to_server))
        return c->path[end_of(c, to_server)].small_ns;
    if (c->trouble->hung[to_server].rpcs == 0 && c->answers.first_ns > 0 &&
        (large_stuck(c, to_server) || stuck(c, !to_server)))
        return c->answers.first_ns;
    return c->pub.life.ended != RPCRDMA_ENDED_NOT ? c->pub.life.ended_ns : c->pub.last_time_ns;
}

/* What hung, or waits for what it offers room for. */
static struct report_hung hung_of(const struct report_connection *c, int to_server)
{
    const struct report_unanswered *own = &c->trouble->unanswered[REPORT_FORWARD];
    const struct rpcrdma_path *path = &c->path[end_of(c, to_server)];
    struct report_hung hung = c->trouble->hung[to_server];

    if (came_smaller(c, to_server) || (hung.rpcs == 0 && passed_by(c, to_server)))
        hung = (struct report_hung){.rpcs = came_smaller(c, to_server) ? 0 : own->calls,
                                    .frame = path->small_frame,
                                    .since_ns = path->small_since_ns};
    else if (hung.rpcs == 0)
        hung = (struct report_hung){
            .rpcs = own->calls, .frame = own->frame, .since_ns = c->trouble->offered_since_ns};
    return hung;
}

static void add(struct black_hole *hole, const struct report_connection *c, int to_server)
{
    const struct report_hung hung = hung_of(c, to_server);

    if (!hole->first || (hung.since_ns > 0 && hung.since_ns < hole->since_ns)) {
        hole->first = c;
        hole->since_ns = hung.since_ns;
        hole->frame = hung.frame;
    }
    hole->until_ns = MAX(hole->until_ns, last_ns(c, to_server));
    hole->rpcs += hung.rpcs;
    hole->sure +=
        c->pub.carrier != RPCRDMA_CARRIER_IWARP || vanishes(c, to_server) || hangs(c, to_server);
    hole->passed_by += passed_by(c, to_server);
    if (came_smaller(c, to_server))
        hole->smaller = c->path[end_of(c, to_server)].small_size;
    if (vanishes(c, to_server))
        hole->asked = MAX(hole->asked, c->pub.life.silence[end_of(c, !to_server)].transmissions);
    if (!vanishes(c, to_server))
        hole->large = MAX(hole->large, largest(c));
    hole->lost_before += c->path[end_of(c, to_server)].lost_before;
    hole->times = MAX(hole->times, MAX(c->path[0].stuck, c->path[1].stuck));
    g_array_append_val(hole->connections, c->pub.number);
}

/* Meanwhile large ones arrived on another connection of these hosts: it is not their size. */
static bool others_passed(const struct report *r, GList *all, const struct black_hole *hole,
                          int to_server)
{
    bool found = false;

    for (GList *one = all; one && !found; one = one->next) {
        const struct report_connection *c = one->data;

        found = report_same_hosts(c, hole->first) && !one_of_them(r, c, to_server) &&
                c->passed[to_server] >= MAX(hole->large, REPORT_LARGE) && c->answers.first_ns > 0 &&
                c->answers.last_ns > hole->since_ns && c->answers.first_ns < hole->until_ns;
    }
    return found;
}

/* What hung, and which way. */
static void tell_hung(const struct black_hole *hole, char *text, size_t size)
{
    char large[40] = "large packets";

    if (hole->large >= REPORT_LARGE)
        snprintf(large, sizeof(large), "packets of %u bytes of payload", (unsigned)hole->large);
    if (hole->asked > 0)
        snprintf(text, size,
                 "large packets to it, none of which came to the place of capture, nor an Ack "
                 "(TCP's are in these), though what they answer was sent %u times",
                 (unsigned)hole->asked);
    else if (hole->smaller > 0)
        snprintf(text, size,
                 "%s to it came in vain, until the same bytes arrived in packets of %u bytes",
                 large, (unsigned)hole->smaller);
    else if (hole->lost_before == 0)
        snprintf(text, size, "%s to it%s, one of which was sent %u times", large,
                 hole->rpcs == 0 ? " came in vain" : "", (unsigned)hole->times + 1);
    else
        snprintf(text, size,
                 "%s to it, %" PRIu64
                 " of which a Nak asked for, and which never came to the place "
                 "of capture, though what is behind them came %u times",
                 large, hole->lost_before, (unsigned)hole->times + 1);
}

static void tell(struct report *r, struct black_hole *hole, int to_server)
{
    const char *end = to_server ? "server" : "client";
    struct report_cause *cause;
    const char *small = hole->passed_by > 0 || hole->smaller > 0
                            ? "small packets behind these arrived, as SACKs say"
                            : "small packets arrived";
    char hung[200];
    guint n = hole->connections->len;
    bool sure = hole->sure >= SURE || hole->smaller > 0;

    r->about = hole->first;
    cause = report_cause_add(r, CAUSE_BLACK_HOLE, sure ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    r->about = NULL;
    cause->connections = g_array_ref(hole->connections);
    cause->rpcs = hole->rpcs;
    cause->count = n;
    cause->time_ns = MAX(time_less(hole->until_ns, hole->since_ns), 0);
    cause->frame = hole->frame;
    tell_hung(hole, hung, sizeof(hung));
    snprintf(cause->text, sizeof(cause->text),
             "Large packets do not arrive at the %s (an MTU black hole): on %u connection%s, %s"
             "connection %u, %s%s, while %s. "
             "Compare the MTU of both hosts' interfaces and of each switch port between them.",
             end, n, plural(n), n > 1 ? "the first of them " : "",
             (unsigned)hole->first->pub.number, hole->rpcs == 0 ? "" : "RPCs hung that move ", hung,
             small);
    if (!sure)
        snprintf(cause->against, sizeof(cause->against), "it was so %s: the way may have %s",
                 n > 2   ? "for sure on few of these"
                 : n > 1 ? "twice"
                         : "once",
                 hole->lost_before > 0 || hole->passed_by > 0 ? "been full"
                                                              : "been down just then");
}

/* No other cause tells of it; of how it ended, where it did not hang, another one may. */
static void mark(const struct report *r, struct report_connection *c, int to_server)
{
    const struct rpcrdma_path *path = &c->path[end_of(c, to_server)];
    bool went_on = (large_stuck(c, to_server) || vanished_behind(r, c, to_server)) &&
                   c->trouble->hung[to_server].rpcs == 0 && path->lost_before == 0 &&
                   (came_smaller(c, to_server) || !passed_by(c, to_server));

    c->large_lost[to_server] |= !went_on;
    c->large_cut |= went_on;
}

/* All that hung towards that end, of the hosts of this one, unless it was told of before. */
static void of_hosts(struct report *r, GList *all, GList *first, int to_server)
{
    struct black_hole hole = {.connections = g_array_new(FALSE, FALSE, sizeof(uint32_t))};

    for (GList *one = all; one; one = one->next) {
        struct report_connection *c = one->data;

        if (report_same_hosts(c, first->data) && one_of_them(r, c, to_server))
            add(&hole, c, to_server);
    }
    if (hole.first &&
        (hole.connections->len > 1 || hole.lost_before + hole.passed_by + hole.smaller > 0) &&
        !others_passed(r, all, &hole, to_server)) {
        for (GList *one = all; one; one = one->next) {
            struct report_connection *c = one->data;

            if (report_same_hosts(c, first->data) && one_of_them(r, c, to_server))
                mark(r, c, to_server);
        }
        tell(r, &hole, to_server);
    }
    g_array_unref(hole.connections);
}

static bool suspect(const struct report_connection *c, int to_server)
{
    return hangs(c, to_server) || lost_before(c, to_server) || vanishes(c, to_server) ||
           came_smaller(c, to_server) || passed_by(c, to_server);
}

static bool looked_at(GList *all, const GList *of, int to_server)
{
    bool found = false;

    for (const GList *one = all; one != of && !found; one = one->next)
        found = suspect(one->data, to_server) && report_same_hosts(one->data, of->data);
    return found;
}

void causes_of_black_holes(struct report *r)
{
    GList *all = report_connections(r);

    for (int to_server = 0; to_server < 2; to_server++)
        for (GList *one = all; one; one = one->next)
            if (suspect(one->data, to_server) && !looked_at(all, one, to_server))
                of_hosts(r, all, one, to_server);
    g_list_free(all);
}
