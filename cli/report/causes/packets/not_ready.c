/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about RNR Naks. A host that has no buffers on several connections is
 * one cause, however many they are. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plural.h"
#include "common/times.h"
#include "out/address.h"

/* RDMA Reads take no Receive that was posted: the end that answers them has too much to do. */
static const char *not_ready(uint64_t naks, uint64_t reads)
{
    return naks == reads ? "was not ready for RDMA Reads" : "had no buffer for messages";
}

/* Why it answers Reads so. In the place of its connection came one with smaller packets; else the
 * only reason that Linux' rxe has. */
static void tell_why(const struct report *r, const struct report_connection *c, char text[200])
{
    const struct report_connection *next = report_numbered(r, c->pub.life.next);

    if (next && next->pub.path_mtu > 0 && next->pub.path_mtu < c->pub.path_mtu)
        snprintf(text, 200,
                 " It could not send the responses: the MTU of an interface was lowered, for "
                 "connection %u, which took its place, has a path MTU of %u and not of %u.",
                 (unsigned)next->pub.number, (unsigned)next->pub.path_mtu,
                 (unsigned)c->pub.path_mtu);
    else
        snprintf(text, 200, " Linux' rxe answers so where it cannot send the responses.");
}

bool report_ended_not_ready(const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;

    return ((c->has_path[0] && c->path[0].refused_for_good) ||
            (c->has_path[1] && c->path[1].refused_for_good)) &&
           (life->ended != RPCRDMA_ENDED_NOT || life->next != 0) && report_unanswered(c) > 0;
}

/* What that cost, until its Calls were sent again on another one; and in words. */
static void tell_end(const struct report *r, struct report_cause *cause,
                     const struct report_connection *c)
{
    const struct report_connection *next = report_resent_on(r, c, INT64_MIN);
    const struct report_trouble *trouble = next ? next->trouble : NULL;
    size_t at = strlen(cause->text);
    struct report_period away;

    if (!trouble) {
        snprintf(cause->text + at, sizeof(cause->text) - at, " That ended connection %u.",
                 (unsigned)c->pub.number);
        return;
    }
    away = (struct report_period){trouble->resent_since_ns, trouble->resent_until_ns,
                                  trouble->resent_after_ns};
    report_period_add(&cause->when, &away);
    cause->time_ns = time_plus(cause->time_ns, trouble->resent_after_ns);
    snprintf(cause->text + at, sizeof(cause->text) - at,
             " That ended connection %u: %" PRIu64
             " Call%s of it %s sent again on connection %u, %.1f s after the first sending.",
             (unsigned)c->pub.number, trouble->resent, plural(trouble->resent),
             trouble->resent == 1 ? "was" : "were", (unsigned)next->pub.number,
             report_seconds(trouble->resent_after_ns));
}

void causes_of_not_ready(struct report *r, const struct report_connection *c, int end)
{
    const struct rpcrdma_path *a = &c->path[end];
    struct report_cause *cause;
    char why[200] = "";

    if (a->naks[RPCRDMA_NAK_RNR] == 0)
        return;
    if (a->naks[RPCRDMA_NAK_RNR] == a->not_ready_reads)
        tell_why(r, c, why);
    cause = report_cause_add(r, CAUSE_RECEIVER_NOT_READY, CONFIDENCE_HIGH);
    cause->of_server = end == report_server_end(&c->pub);
    cause->rpcs = c->rpcs;
    cause->time_ns = a->refused_waited_ns;
    cause->frame = a->nak_frame[RPCRDMA_NAK_RNR];
    snprintf(cause->text, sizeof(cause->text),
             "The %s %s: %" PRIu64 " RNR Nak%s on connection %u.%s",
             cause->of_server ? "server" : "client",
             not_ready(a->naks[RPCRDMA_NAK_RNR], a->not_ready_reads), a->naks[RPCRDMA_NAK_RNR],
             plural(a->naks[RPCRDMA_NAK_RNR]), (unsigned)c->pub.number, why);
    if (a->refused_for_good && report_ended_not_ready(c))
        tell_end(r, cause, c);
}

static bool concerns(const struct report_cause *cause)
{
    return cause->id == CAUSE_RECEIVER_NOT_READY;
}

/* By the host that had none. */
static int compare_hosts(const struct report_cause *a, const struct report_cause *b)
{
    if (a->of_server != b->of_server)
        return a->of_server ? 1 : -1;
    return report_compare_hosts(a->of, b->of, a->of_server);
}

static const struct rpcrdma_path *path_of(const struct report_cause *cause)
{
    int server = report_server_end(&cause->of->pub);

    return &cause->of->path[cause->of_server ? server : 1 - server];
}

static void join(const struct report *r, struct report_cause *const *all, guint n)
{
    struct report_cause one = *all[0];
    uint64_t naks = 0, reads = 0;
    char host[ADDRESS_SIZE], away[128] = "";
    int64_t away_ns;

    if (n <= REPORT_FEW)
        return;
    for (guint i = 0; i < n; i++) {
        naks += path_of(all[i])->naks[RPCRDMA_NAK_RNR];
        reads += path_of(all[i])->not_ready_reads;
    }
    report_causes_add_up(&one, all, n);
    one.time_ns = path_of(all[0])->refused_waited_ns;
    for (guint i = 1; i < n; i++) {
        one.time_ns = time_plus(one.time_ns, path_of(all[i])->refused_waited_ns);
        report_periods_add(&one.when, &all[i]->when);
    }
    away_ns = report_periods_ns(&one.when);
    one.time_ns = time_plus(one.time_ns, away_ns);
    if (away_ns > 0)
        snprintf(away, sizeof(away),
                 " That ended connections, and Calls of theirs were sent again on others: it took "
                 "%.1f s in all.",
                 report_seconds(away_ns));
    one.connections = report_causes_connections(all, n);
    host[address_or_name(report_host(&one.of->pub, one.of_server), host)] = '\0';
    snprintf(one.text, sizeof(one.text),
             "The %s %s %s: %" PRIu64
             " RNR Naks on %s%u connections, the first of them connection %u.%s",
             one.of_server ? "server" : "client", host, not_ready(naks, reads), naks,
             report_at_least(r), n, (unsigned)g_array_index(one.connections, uint32_t, 0), away);
    report_causes_replace(all, n, &one);
}

void causes_of_all_not_ready(struct report *r)
{
    static const struct report_join rule = {concerns, compare_hosts, join};

    report_causes_join(r, &rule);
}
