/* SPDX-License-Identifier: BSD-2-Clause */
/* The report's first sentences. */
#include "report/show/show.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"

/* Senders slow down for that, with nothing lost. */
static void tell_congestion(const struct report_flaws *flaws, char text[80])
{
    text[0] = '\0';
    if (flaws->marked > 0)
        snprintf(text, 80, ", switches marked %" PRIu64 " packet%s (ECN: congestion)",
                 flaws->marked, plural(flaws->marked));
    else if (flaws->cnps > 0)
        snprintf(text, 80, ", %" PRIu64 " CNP%s asked to send less (congestion)", flaws->cnps,
                 plural(flaws->cnps));
}

/* What a healthy capture has of each, "" where there is nothing to say of it. */
static void tell_flaws(const struct report *r, char loss[80], char congestion[80],
                       char credits[160])
{
    const struct report_flaws flaws = report_flaws(r);
    int at;

    loss[0] = congestion[0] = credits[0] = '\0';
    if (!flaws.known)
        return;
    tell_congestion(&flaws, congestion);
    if (flaws.retransmitted > 0)
        snprintf(loss, 80, "; %" PRIu64 " packet%s retransmitted", flaws.retransmitted,
                 flaws.retransmitted == 1 ? " was" : "s were");
    else if (flaws.lost > 0)
        snprintf(loss, 80, "; %" PRIu64 " packet%s lost", flaws.lost,
                 flaws.lost == 1 ? " was" : "s were");
    else
        snprintf(loss, 80, "; %s",
                 r->pipeline->capture_lost > 0 ? "no loss was seen but by the capture itself"
                                               : "nothing was lost");
    if (flaws.at_limit > 0)
        at = snprintf(credits, 160, ", a limit of credits was reached %" PRIu64 " time%s",
                      flaws.at_limit, plural(flaws.at_limit));
    else
        at = snprintf(credits, 160, ", nobody waited for credits");
    if (flaws.slots_full > 0)
        snprintf(credits + at, 160 - (size_t)at,
                 ", all slots of an NFSv4.1 session were in use %" PRIu64 " time%s",
                 flaws.slots_full, plural(flaws.slots_full));
}

bool report_open_end(const struct report *r)
{
    return r->under_way_silent && !r->pipeline->end_known;
}

void report_under_way(const struct report *r, char text[REPORT_UNDER_WAY])
{
    uint64_t n = r->under_way;

    text[0] = '\0';
    if (n > 0 && r->pipeline->end_known)
        snprintf(text, REPORT_UNDER_WAY, "%" PRIu64 " Call%s under way when the capture ended.", n,
                 n == 1 ? " was" : "s were");
    else if (n > 0)
        snprintf(text, REPORT_UNDER_WAY,
                 "%" PRIu64 " Call%s under way when the last packet passed: how long %s waited "
                 "after that is not known.",
                 n, n == 1 ? " was" : "s were", n == 1 ? "it" : "they");
}

/* Who waits for such a lock asks again: nothing is at fault, and an application stands still. */
static void tell_locks(const struct report *r, char text[160])
{
    const struct report_error *denied = g_hash_table_lookup(r->errors, "NFS4ERR_DENIED");

    text[0] = '\0';
    if (denied)
        snprintf(text, 160,
                 " %" PRIu64 " RPC%s asked for a lock that another owner has (NFS4ERR_DENIED), "
                 "first answered in frame %" PRIu64 ".",
                 denied->count, plural(denied->count), denied->frame);
}

static void healthy(const struct report *r, char *text, size_t size)
{
    char loss[80], congestion[80], credits[160], beside[REPORT_BESIDE], locks[160],
        no_call[48] = "";

    if (r->no_call > 0)
        snprintf(no_call, sizeof(no_call), ", %" PRIu64 " Repl%s without Call", r->no_call,
                 plural_y(r->no_call));
    tell_flaws(r, loss, congestion, credits);
    report_beside(r, beside);
    tell_locks(r, locks);
    snprintf(text, size,
             "Healthy%s: %" PRIu64 " RPC%s in %.1f s, %" PRIu64 " answered%s%s%s%s.%s%s%s",
             r->pipeline->unread > 0 ? " as far as it could be read"
             : report_doubt(r, 0)    ? " as far as its times can be trusted"
             : report_open_end(r)    ? " up to its last packet"
             : r->nfs_uncaptured > 0 ? " as far as NFS statuses were captured"
             : r->nfs_encrypted > 0  ? " as far as NFS statuses are not encrypted"
                                     : "",
             r->rpcs, plural(r->rpcs), report_seconds(report_span_ns(r)), r->answered, no_call,
             loss, congestion, credits, beside[0] ? " " : "", beside, locks);
}

void report_headline(const struct report *r, char *text, size_t size)
{
    if (r->undecided && report_times_wrong(r))
        snprintf(text, size,
                 "Undecided: the clocks of the two directions differ by %.3f ms or more (%" PRIu64
                 " RPC%s).",
                 (double)r->pipeline->apart.ns / 1e6, r->rpcs, plural(r->rpcs));
    else if (r->pipeline->messages == 0 && r->undecided)
        snprintf(text, size, "%s",
                 r->pipeline->unread > 0 ? "No RPC-over-RDMA is in what could be read."
                                         : "No RPC-over-RDMA was captured.");
    else if (r->undecided && r->pipeline->memory_limit > 0)
        snprintf(text, size,
                 "Undecided: --max-memory (%zu MiB) was too little for this capture (%" PRIu64
                 " RPC%s, %" PRIu64 " with Call and Reply are known).",
                 options_max_memory(r->pipeline->options) >> 20, r->rpcs, plural(r->rpcs),
                 r->answered);
    else if (r->undecided && r->n_causes == 0 && report_not_looked_at(r) > 0)
        snprintf(
            text, size,
            "Undecided: nothing was found on %u connections, and there are %u more, which were "
            "not looked at: --max-memory, or more than %d with something to report (%" PRIu64
            " RPC%s, %" PRIu64 " with Call and Reply).",
            report_looked_at(r), report_not_looked_at(r), REPORT_CONNECTIONS_MOST, r->rpcs,
            plural(r->rpcs), r->answered);
    else if (r->undecided && r->n_causes == 0 && r->slow_of_all > 0)
        snprintf(text, size,
                 "Undecided: %" PRIu64 " of %" PRIu64 " RPC%s took %.3g s or more, %.3f s at most, "
                 "and %s.",
                 r->slow_of_all, r->rpcs, plural(r->rpcs),
                 report_seconds(MAX(r->slow_ns, 1000000000)), report_seconds(r->slow_of_all_ns),
                 r->slow_cut > 0
                     ? "where that time went is not known: headers that would show it were cut"
                     : "nothing that was captured explains it: neither the ways nor the server "
                       "took that long");
    else if (r->undecided)
        snprintf(text, size,
                 "Undecided: too little was %s to say how RPCs fare (%" PRIu64 " RPC%s, %" PRIu64
                 " with Call and Reply).",
                 r->pipeline->unread > 0 ? "captured, or could be read," : "captured", r->rpcs,
                 plural(r->rpcs), r->answered);
    else if (r->n_causes == 0)
        healthy(r, text, size);
    else
        snprintf(text, size, "%s", r->causes[0].text);
}

double report_spent_ns(const struct report *r)
{
    const struct rpcrdma_phases *sum = &r->spent;

    return (double)sum->call_ns + (double)sum->server_ns + (double)sum->data_ns +
           (double)sum->reply_ns;
}

enum { SHARE_CALL, SHARE_SERVER, SHARE_DATA, SHARE_REPLY, N_SHARES };

/* What an RPC waited for at a server whose adapter was silent, or that had no RTU yet, is in what
 * was spent stalled, too. */
static int64_t server_ns(const struct rpcrdma_phases *phases)
{
    return phases->server_ns - phases->server_waiting_ns;
}

static int64_t share(const struct rpcrdma_phases *phases, int which)
{
    const int64_t all[N_SHARES] = {phases->call_ns, server_ns(phases), phases->data_ns,
                                   phases->reply_ns};

    return all[which];
}

/* Of most Calls no Ack was captured: how long they were on their way is in the server's share. */
static bool ways_unknown(const struct report *r)
{
    return r->n_spent_call * 2 < r->n_spent;
}

/* Of several clients the one that has nearly all of that: the others may wait behind it. */
static void of_client(const struct report *r, int which, char *text, size_t size)
{
    const GPtrArray *clients = r->clients->groups;
    const struct group *most = NULL;
    int64_t all = 0;

    for (guint i = 0; i < clients->len; i++) {
        const struct group *g = g_ptr_array_index(clients, i);

        all = time_plus(all, share(&g->phases, which));
        if (!most || share(&g->phases, which) > share(&most->phases, which))
            most = g;
    }
    if (clients->len > 1 && all > 0 && share(&most->phases, which) / 3 >= all / 4 &&
        group_is_named(r->clients, most))
        snprintf(text, size, " One of %u clients has %.0f %% of it: %s.", (unsigned)clients->len,
                 100 * (double)share(&most->phases, which) / (double)all, most->name);
}

/* Who took most of the time, and for what: what an engineer asks next. */
static void largest(const struct report *r, char *text, size_t size)
{
    static const char *const whose[] = {"the way of the Calls", "the server's", "RDMA's",
                                        "the way of the Replies"};
    const struct report_flaws flaws = report_flaws(r);
    const struct group *most = NULL;
    bool kept = flaws.retransmitted + flaws.lost + flaws.marked + flaws.cnps + flaws.at_limit > 0 ||
                !flaws.known;
    char above_all[REPORT_TIME] = "", client[ADDRESS_SIZE + 64] = "";
    double each_ms;
    int which = 0;

    for (int i = 1; i < N_SHARES; i++)
        if (share(&r->spent, i) > share(&r->spent, which))
            which = i;
    for (guint i = 0; i < r->operations->groups->len; i++) {
        const struct group *g = g_ptr_array_index(r->operations->groups, i);

        kept = kept || g->unanswered > 0;
        if (g->n_phases > 0 && !g->reverse &&
            (!most || share(&g->phases, which) > share(&most->phases, which)))
            most = g;
    }
    if (!most)
        return;
    if (r->spent.server_waiting_ns > share(&r->spent, which)) {
        snprintf(text, size, " The largest share passed %s.",
                 r->spent_set_up_ns > r->spent.server_waiting_ns / 2
                     ? "before the server knew that connections were set up"
                     : "while nothing came from the server, though something was sent to it again");
        return;
    }
    each_ms = (double)share(&most->phases, which) / 1e6 / (double)most->n_phases;
    if (group_is_named(r->operations, most))
        snprintf(above_all, sizeof(above_all), ", above all in %s: %.*f ms each of %" PRIu64,
                 most->name, each_ms < 10 ? 3 : 1, each_ms, most->n_phases);
    of_client(r, which, client, sizeof(client));
    snprintf(text, size, " The largest share is %s%s.%s%s",
             which == SHARE_SERVER && ways_unknown(r) ? "that of the server and the Calls' way"
                                                      : whose[which],
             above_all, client,
             which == SHARE_SERVER && r->n_causes == 0 && !r->undecided && !kept && !ways_unknown(r)
                 ? " Neither the network nor credits kept them waiting."
                 : "");
}

/* How many it concerned, and what was in order. */
static int concerned(const struct report *r, char *text, size_t size)
{
    uint64_t with_credits = r->let_go.with_credits, stalls = r->let_go.stalls;
    uint64_t of;
    GHashTableIter each = report_each(r);
    const struct report_connection *c;
    bool all_known;
    int at;

    if (r->slow == 0)
        return 0;
    all_known = r->latency.count >= r->answered;
    of = all_known ? r->rpcs : r->latency.count;
    at = snprintf(text, size,
                  "%" PRIu64 " of %" PRIu64 " RPC%s%s took %.3g s or more, half of %s less than "
                  "%.3f ms. ",
                  r->slow, of, plural(of), all_known ? "" : " whose latency is known",
                  report_seconds(r->slow_ns), all_known ? "all" : "these",
                  (double)latency_percentile(&r->latency, 50) / 1e6);
    while ((c = report_next(&each))) {
        with_credits += c->has_credits && c->credits.settled;
        stalls += c->credits.stalls.count;
    }
    if (with_credits > 0 && with_credits == r->n_connections && stalls == 0)
        at += snprintf(text + at, size - (size_t)at, "Credits were never short. ");
    return at;
}

/* "Calls were on their way for 1 %, the server took 97 %, RDMA 1 %, and ..." */
static int shares(const struct report *r, double all, char *text, size_t size)
{
    const struct rpcrdma_phases *sum = &r->spent;
    double call = 100 * (double)sum->call_ns / all, server = 100 * (double)server_ns(sum) / all;
    int at;

    if (!sum->has_call)
        at = snprintf(text, size,
                      "the server and the Calls' way took %.0f %% (no Ack of a Call was captured)",
                      server);
    else if (ways_unknown(r))
        at =
            snprintf(text, size,
                     "Calls were on their way for %.0f %% (of %" PRIu64 ": no Ack of the others "
                     "was captured, and the server's share has their way), the server took %.0f %%",
                     call, r->n_spent_call, server);
    else
        at = snprintf(text, size, "Calls were on their way for %.0f %%, the server took %.0f %%",
                      call, server);
    at += snprintf(text + at, size - (size_t)at, ", RDMA %.0f %%, ",
                   100 * (double)sum->data_ns / all);
    return at + (sum->has_reply ? snprintf(text + at, size - (size_t)at,
                                           "and Replies were on their way for %.0f %%",
                                           100 * (double)sum->reply_ns / all)
                                : snprintf(text + at, size - (size_t)at,
                                           "and how long Replies were on their way is not known"));
}

void report_time(const struct report *r, char text[REPORT_TIME])
{
    double all = report_spent_ns(r);
    int at;

    text[0] = '\0';
    if ((all <= 0 && r->n_cut + r->n_apart == 0) || report_times_wrong(r))
        return;
    at = concerned(r, text, REPORT_TIME);
    if (r->n_cut > 0)
        at += snprintf(text + at, REPORT_TIME - (size_t)at,
                       "Where the time of %" PRIu64 " RPC%s went is not known: headers that show "
                       "what RDMA is %s were cut (capture with a larger snap length). ",
                       r->n_cut, plural(r->n_cut), r->n_cut == 1 ? "its" : "theirs");
    if (r->n_apart > 0)
        at += snprintf(text + at, REPORT_TIME - (size_t)at,
                       "Where the time of %" PRIu64 " RPC%s went is not known: the clocks of the "
                       "two directions differ by too much for that. ",
                       r->n_apart, plural(r->n_apart));
    if (all <= 0)
        return;
    at += snprintf(text + at, REPORT_TIME - (size_t)at,
                   "Of the %.3f s that %" PRIu64 "%s RPC%s took, ", all / 1e9, r->n_spent,
                   r->n_cut + r->n_apart > 0 ? " other" : "", plural(r->n_spent));
    at += shares(r, all, text + at, REPORT_TIME - (size_t)at);
    at += snprintf(text + at, REPORT_TIME - (size_t)at, "; %.0f %% of all was spent stalled.",
                   100 * (double)r->spent_stalled_ns / all);
    if ((r->n_cut + r->n_apart) * 10 <= r->n_spent)
        largest(r, text + at, REPORT_TIME - (size_t)at);
}
