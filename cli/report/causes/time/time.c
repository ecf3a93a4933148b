/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about time that nothing lost explains: how long the way to an end and
 * back is, and how fast data moves. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"

enum { LEAST_ACKS = 20, MANY_ACKS = 50 };

static bool is_tcp(const struct report_connection *c)
{
    return c->pub.carrier == RPCRDMA_CARRIER_IWARP;
}

/* Else later packets show that a Reply had arrived, which the client sent when it had something to
 * send. */
static bool acks_captured(const struct report_connection *c)
{
    int client = 1 - report_server_end(&c->pub);
    const struct rpcrdma_path *path = &c->path[client];

    return c->has_path[client] && path->acknowledged && path->uncaptured * 4 <= path->packets;
}

static uint64_t n_acks(const struct report_connection *c, bool server)
{
    return (server ? c->acks.count : c->client_answers.count) + c->brief_acks[server].count;
}

int64_t report_ack_time(const struct report_connection *c, bool server, unsigned percent)
{
    const struct report_acks *brief = &c->brief_acks[server];

    if (n_acks(c, server) < LEAST_ACKS || (!server && !is_tcp(c) && !acks_captured(c)))
        return 0;
    if (brief->count == 0)
        return latency_percentile(server ? &c->acks : &c->client_answers, percent);
    return (brief->count - brief->very_slow) * UINT64_C(100) < brief->count * (uint64_t)percent
               ? REPORT_LONG_ACK_NS
           : (brief->count - brief->slow) * UINT64_C(100) < brief->count * (uint64_t)percent
               ? REPORT_SLOW_ACK_NS
               : 0;
}

static void delayed_by(struct report *r, const struct report_connection *c, bool server,
                       uint64_t acks, int64_t quick, const char *how)
{
    struct report_cause *cause = report_cause_add(r, CAUSE_DELAY, CONFIDENCE_MEDIUM);

    cause->of_server = server;
    cause->rpcs = acks;
    cause->time_ns = time_whole((double)acks * (double)quick);
    snprintf(cause->text, sizeof(cause->text),
             "Connection %u is delayed%s: %s, and every %s takes that long more.",
             (unsigned)c->pub.number, server ? "" : " on the client's side of the capture", how,
             server ? "answer" : "RPC");
    snprintf(cause->against, sizeof(cause->against),
             "a host that is slow to acknowledge looks the same; capture at the other end, too");
}

static bool lasted(const struct report_slow_run *run, unsigned acks)
{
    return run->acks >= acks && time_less(run->until_ns, run->since_ns) >= REPORT_A_WHILE_NS;
}

static bool became_long(const struct report_connection *c, bool server)
{
    return lasted(&c->slow_acks[server][REPORT_RUN_LONG], LEAST_ACKS);
}

static void delayed_for_a_while(struct report *r, const struct report_connection *c, bool server,
                                const char *of)
{
    const struct report_slow_run *runs = c->slow_acks[server];
    bool slower = became_long(c, server);
    const struct report_slow_run *slow = &runs[slower ? REPORT_RUN_LONG : REPORT_RUN_SLOW];
    struct report_cause *cause;

    /* TCP delays acknowledgements by up to that */
    if (!slower && ((is_tcp(c) && !server) || !lasted(slow, MANY_ACKS)))
        return;
    cause = report_cause_add(r, CAUSE_DELAY, CONFIDENCE_MEDIUM);
    cause->of_server = server;
    cause->rpcs = slow->acks;
    cause->time_ns = slow->ns;
    snprintf(cause->text, sizeof(cause->text),
             "Connection %u was delayed%s from %.3f s into the capture on, for %.1f s: each of "
             "%" PRIu64 " %s took %d ms and more then (mean %.1f ms), and every %s takes that long "
             "more.",
             (unsigned)c->pub.number, server ? "" : " on the client's side of the capture",
             report_seconds(time_less(slow->since_ns, r->pipeline->clock.start_ns)),
             report_seconds(time_less(slow->until_ns, slow->since_ns)), slow->acks, of,
             slower ? 20 : 5, report_ms(slow->ns / (int64_t)slow->acks), server ? "answer" : "RPC");
    snprintf(cause->against, sizeof(cause->against),
             "a host that is slow to acknowledge looks the same; capture at the other end, too");
}

/* "median 1.2 ms"; not of an end whose Acks were only counted. */
static const char *median(const struct report_connection *c, bool server, char text[32])
{
    if (c->brief_acks[server].count > 0)
        return "at least";
    snprintf(text, 32, "median %.1f ms", report_ms(report_ack_time(c, server, 50)));
    return text;
}

/* The way to an end and back of the quickest messages, which no load explains; or of most, where
 * none does: it may have become long while it was captured. */
static void delayed(struct report *r, const struct report_connection *c)
{
    for (int server = 1; server >= 0; server--) {
        uint64_t n = n_acks(c, server);
        int64_t quick = report_ack_time(c, server, 5), most = report_ack_time(c, server, 25);
        /* so far apart are the clocks of what is sent and of what answers it */
        int64_t apart = r->pipeline->early_ns;
        const char *of = server && is_tcp(c) ? "Acks of Calls and of data"
                         : server            ? "Acks of Calls"
                         : is_tcp(c)         ? "responses to Read requests"
                                             : "Acks of Replies";
        char how[120], text[32];

        if (apart > 0 && quick < apart + REPORT_SLOW_ACK_NS)
            continue;
        if (quick >= (is_tcp(c) && !server ? REPORT_LONG_ACK_NS : REPORT_SLOW_ACK_NS)) {
            snprintf(how, sizeof(how), "even the quickest %s take %.1f ms (%s)", of,
                     report_ms(quick), median(c, server, text));
            delayed_by(r, c, server, n, quick, how);
        } else if (most >= REPORT_LONG_ACK_NS) {
            snprintf(how, sizeof(how), "three in four %s take %.1f ms and more (%s)", of,
                     report_ms(most), median(c, server, text));
            delayed_by(r, c, server, n - n / 4, most, how);
        } else if (server || is_tcp(c) || acks_captured(c)) {
            delayed_for_a_while(r, c, server, of);
        }
    }
}

/* " from 20.500 s into the capture on, for 20.3 s", where it is not of all that was captured. */
static void tell_while(const struct report *r, const struct report_limited *limited, char text[160])
{
    const struct report_moved *longest = &limited->longest;
    int64_t start_ns = r->pipeline->clock.start_ns;
    int at = 0;

    if (limited->times > 1)
        at = snprintf(text, 160, ", %" PRIu64 " times until %.1f s into the capture, the longest",
                      limited->times, report_seconds(time_less(limited->all.latest_ns, start_ns)));
    snprintf(text + at, 160 - (size_t)at, " from %.3f s into the capture on, for %.1f s",
             report_seconds(time_less(longest->since_ns, start_ns)),
             report_seconds(report_moved_ns(longest)));
}

static struct report_periods whole(const struct report_moved *moved)
{
    struct report_periods when = {0};

    report_period_add(
        &when, &(struct report_period){moved->since_ns, moved->latest_ns, report_moved_ns(moved)});
    return when;
}

/* Of one packet in fifty and more TCP takes some for lost, and sends less. */
static bool out_of_order(const struct report_connection *c, bool to_server)
{
    enum { SHARE = 50 };
    int server = report_server_end(&c->pub), end = to_server ? server : 1 - server;
    const struct rpcrdma_path *path = &c->path[end];

    return is_tcp(c) && c->has_path[end] && path->reordered > 0 &&
           path->reordered * SHARE >= path->packets;
}

/* Not by a pause of a few: most by themselves, or all for a while. On a long way TCP goes there and
 * back several times for it. */
static void slow_transfer(struct report *r, const struct report_connection *c, bool to_server)
{
    const struct report_limited *limited = &c->limited[to_server];
    const struct report_moved *moved = &c->moved[to_server];
    bool all = report_moves_slowly(moved) && moved->slow * 4 >= moved->rpcs * 3;
    struct report_cause *cause;
    char when[160] = "";

    if (is_tcp(c) &&
        (report_ack_time(c, false, 25) >= REPORT_LONG_ACK_NS || (!all && became_long(c, false))))
        return;
    if (!all && limited->times == 0)
        return;
    if (!all) {
        moved = &limited->all;
        tell_while(r, limited, when);
    }
    cause = report_cause_add(r, CAUSE_TRANSFER, CONFIDENCE_MEDIUM);
    cause->of_server = to_server;
    cause->rpcs = moved->rpcs;
    cause->time_ns = moved->ns;
    cause->when = all ? whole(moved) : limited->when;
    cause->count = all ? 1 : limited->times;
    cause->frame = moved->frame;
    snprintf(
        cause->text, sizeof(cause->text),
        "Data towards the %s move%s at %.3g MB/s on connection %u%s: %.3f s for %.3g MB of %" PRIu64
        " RPC%s%s, from the first to the last packet of each, without any that was lost.",
        to_server ? "server" : "client", all ? "s" : "d",
        (double)moved->bytes / report_seconds(moved->ns) / 1e6, (unsigned)c->pub.number, when,
        report_seconds(moved->ns), (double)moved->bytes / 1e6, moved->rpcs, plural(moved->rpcs),
        all ? "" : " one after the other");
    snprintf(cause->against, sizeof(cause->against),
             "the line may %s limited, or the %s %s slow to send%s", all ? "be" : "have been",
             to_server ? "client" : "server", all ? "be" : "have been",
             out_of_order(c, to_server)
                 ? "; packets that came out of order (reordered) make TCP slow, too"
                 : "");
}

void causes_of_time(struct report *r, const struct report_connection *c)
{
    delayed(r, c);
    for (int to_server = 1; to_server >= 0; to_server--)
        slow_transfer(r, c, to_server);
}
