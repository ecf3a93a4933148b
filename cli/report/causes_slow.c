/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about RPCs that an end was slow to answer. */
#include "report/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "plural.h"

static void slow_end(struct report *r, enum report_cause_id id, const struct report_slow *slow,
                     bool nothing_lost)
{
    bool server = id == CAUSE_SERVER;
    struct report_cause *cause;

    if (slow->rpcs == 0)
        return;
    cause = report_cause_add(r, id, CONFIDENCE_HIGH);
    cause->rpcs = slow->rpcs;
    cause->time_ns = slow->ns;
    cause->frame = slow->frame;
    snprintf(cause->text, sizeof(cause->text),
             "The %s was slow%s: %" PRIu64 " %s%s of %.3g s or more took %.3f s in all between the "
             "Call's arrival and the Reply, without RDMA%s.",
             server ? "server" : "client", server ? "" : " to answer the server", slow->rpcs,
             server ? "RPC" : "callback", plural(slow->rpcs), report_seconds(r->slow_ns),
             report_seconds(slow->ns), nothing_lost ? " and without anything being lost" : "");
}

/* A way that is that long explains it, too: `delay` tells of it. */
static bool way_explains(const struct report *r, const struct report_slow *reads, uint32_t number)
{
    bool explains = false;

    for (unsigned i = 0; i < r->n_causes; i++) {
        const struct report_cause *c = &r->causes[i];

        explains |=
            c->id == CAUSE_DELAY && c->rpcs > 0 && c->of && c->of->pub.number == number &&
            2 * (double)c->time_ns / (double)c->rpcs * (double)reads->reads >= (double)reads->ns;
    }
    return explains;
}

static bool ways_explain(const struct report *r, const struct report_slow *reads)
{
    unsigned i = 0;

    while (i < r->n_slow_reads_of && way_explains(r, reads, r->slow_reads_of[i]))
        i++;
    return i == r->n_slow_reads_of;
}

static void slow_reads(struct report *r)
{
    const struct report_slow *slow = &r->slow_reads;
    struct report_cause *cause;

    if (slow->rpcs == 0 || ways_explain(r, slow))
        return;
    cause = report_cause_add(r, CAUSE_CLIENT, CONFIDENCE_MEDIUM);
    cause->rpcs = slow->rpcs;
    cause->time_ns = slow->ns;
    cause->frame = slow->frame;
    snprintf(cause->text, sizeof(cause->text),
             "The client was slow to answer the server's RDMA Reads: %" PRIu64
             " RPC%s of %.3g s or "
             "more waited %.3f s in all between a Read request and its first response, with "
             "nothing moving.",
             slow->rpcs, plural(slow->rpcs), report_seconds(r->slow_ns), report_seconds(slow->ns));
    snprintf(cause->against, sizeof(cause->against),
             "the way to the client may be long, or PAUSE frames may have stopped it: capture at "
             "the client, too");
}

void causes_of_slow_ends(struct report *r)
{
    const struct report_flaws flaws = report_flaws(r);
    bool only = r->n_causes == 0;
    bool nothing_lost = only && flaws.known && flaws.retransmitted + flaws.lost == 0;

    if (!only && !r->slow_told) /* what was lost makes them look slow, too */
        return;
    slow_end(r, CAUSE_SERVER, &r->slow_server, nothing_lost);
    slow_end(r, CAUSE_CLIENT, &r->slow_client, nothing_lost);
    slow_reads(r);
}
