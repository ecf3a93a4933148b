/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/causes/time/slow_sums.h"

#include <stdio.h>
#include <string.h>

#include "common/times.h"

/* There are others that it might be. */
static bool one_of_several(const struct report *r, const struct rpcrdma_address *end, bool server)
{
    GHashTableIter each = report_each(r);
    const struct report_connection *c;
    bool found = false;

    while (!found && (c = report_next(&each)))
        found = c->messages > 0 && memcmp(report_host(&c->pub, server), end, sizeof(*end)) != 0;
    return found;
}

struct report_cause *report_slow_cause(struct report *r, const struct report_slow *slow,
                                       bool server, enum report_confidence confidence,
                                       char who[ADDRESS_SIZE + 2])
{
    struct report_cause *cause =
        report_cause_add(r, server ? CAUSE_SERVER : CAUSE_CLIENT, confidence);

    cause->of = slow->connection ? report_numbered(r, slow->connection) : NULL;
    cause->rpcs = slow->rpcs;
    cause->time_ns = report_periods_ns(&slow->periods);
    cause->when = slow->periods;
    cause->in_idle = !slow->several_idle && slow->idle_ns > slow->ns / 2;
    cause->frame = slow->frame;
    who[0] = '\0';
    if (slow->several_ends) {
        snprintf(who, ADDRESS_SIZE + 2, " (several of them)");
    } else if (one_of_several(r, &slow->end, server)) {
        who[0] = ' ';
        who[1 + address_or_name(&slow->end, who + 1)] = '\0';
    }
    return cause;
}

uint64_t report_slow_of_rpcs(const struct report *r, const struct report_slow *slow)
{
    for (unsigned i = 0; i < r->n_servers && !slow->several_ends; i++)
        if (memcmp(&r->servers[i].address, &slow->end, sizeof(slow->end)) == 0)
            return r->servers[i].rpcs;
    return r->rpcs;
}

const char *report_slow_in_all(const struct report_slow *slow, char text[REPORT_IN_ALL])
{
    int64_t once = report_periods_ns(&slow->periods);
    int n = snprintf(text, REPORT_IN_ALL, "%.3f s in all", report_seconds(slow->ns));

    if (time_less(slow->ns, once) >= SECOND / 1000)
        snprintf(text + n, REPORT_IN_ALL - (size_t)n, " (%.3f s where what overlaps counts once)",
                 report_seconds(once));
    return text;
}

/* More was sent again than what had arrived when a timer ended. */
static bool sent_again_for_loss(const struct rpcrdma_path *path)
{
    bool late = path->timeouts > 0 && path->timeouts == path->late_timeouts &&
                path->naks[RPCRDMA_NAK_PSN_SEQUENCE] == 0 && path->asked_again == 0;

    return path->retransmitted > 0 && !late;
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

    for (int end = 0; end < 2; end++) { /* what was sent again, and Read requests that were */
        const struct rpcrdma_path *path = &c->path[end];

        if (tcp && end != towards)
            continue;
        longest = MAX(longest, path->asked_longest_ns);
        if (sent_again_for_loss(path))
            longest = MAX(longest, path->longest_wait_ns);
    }
    return time_times(longest, tcp ? DOUBLED : AGAIN);
}

bool report_losses_explain(const struct report_connection *c, const struct report_slow *slow,
                           int towards)
{
    const struct rpcrdma_path *path = &c->path[towards];

    return path->lost > path->lost_behind ||
           slow->ns / (int64_t)slow->rpcs < longest_loss(c, towards);
}

static void add(struct report_slow_sum *sum, const struct report_connection *c,
                const struct report_slow *own)
{
    report_slow_add(&sum->all, own);
    sum->resent |= own->rpcs > 0 && !own->nothing_sent &&
                   (sent_again_for_loss(&c->path[0]) || sent_again_for_loss(&c->path[1]));
}

/* The host's, or a new one. NULL: there are too many. */
static struct report_slow_sum *sum_of(struct report_slow_sums *sums,
                                      const struct rpcrdma_address *host)
{
    for (unsigned i = 0; i < sums->n; i++)
        if (memcmp(sums->of[i].host, host, sizeof(*host)) == 0)
            return &sums->of[i];
    if (sums->n == REPORT_FEW)
        return NULL;
    sums->of[sums->n] = (struct report_slow_sum){.host = host};
    return &sums->of[sums->n++];
}

static bool is_of(const struct report_connection *c, bool server,
                  const struct rpcrdma_address *host)
{
    return !host || memcmp(report_host(&c->pub, server), host, sizeof(*host)) == 0;
}

struct report_slow_sum report_slow_sum(const struct report *r, report_slow_of *of, bool server,
                                       const struct rpcrdma_address *host)
{
    struct report_slow_sum sum = {.host = host};
    GList *all = report_connections(r);

    for (GList *one = all; one; one = one->next) {
        struct report_slow own = {0};

        if (is_of(one->data, server, host))
            own = of(r, one->data, server);
        add(&sum, one->data, &own);
    }
    g_list_free(all);
    return sum;
}

struct report_slow_sums report_slow_sums(const struct report *r, report_slow_of *of, bool server)
{
    struct report_slow_sums sums = {0};
    GList *all = report_connections(r);
    bool many = false;

    for (GList *one = all; one && !many; one = one->next) {
        const struct report_connection *c = one->data;
        const struct report_slow own = of(r, c, server);
        struct report_slow_sum *sum =
            own.rpcs > 0 ? sum_of(&sums, report_host(&c->pub, server)) : NULL;

        many = own.rpcs > 0 && !sum;
        if (sum)
            add(sum, c, &own);
    }
    g_list_free(all);
    if (many)
        sums = (struct report_slow_sums){.n = 1, .of = {report_slow_sum(r, of, server, NULL)}};
    return sums;
}
