/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about what the capture lacks, or was left out of the report. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"

static size_t mib(const struct report *r)
{
    return options_max_memory(r->pipeline->options) >> 20;
}

static void left_out(struct report *r)
{
    struct report_cause *cause = report_cause_add(r, CAUSE_MEMORY, CONFIDENCE_HIGH);
    uint64_t n = r->pipeline->memory_limit;

    cause->frame = r->rule_frame[RPCRDMA_RULE_MEMORY_LIMIT];
    snprintf(cause->text, sizeof(cause->text),
             "This report is incomplete: --max-memory (%zu MiB) was reached %" PRIu64
             " time%s, and connections ended early, or data was left out.",
             mib(r), n, plural(n));
    snprintf(cause->against, sizeof(cause->against),
             "run report again with --max-memory %zu; what else is said here may come from that",
             8 * mib(r));
}

/* No connection with RPCs was captured in both directions. */
static bool all_one_way(const struct report *r)
{
    GHashTableIter each = report_each(r);
    const struct report_connection *c;
    bool one_way = r->let_go.rpcs == 0; /* those were not */

    while (one_way && (c = report_next(&each)))
        one_way = c->rpcs == 0 || report_one_way(c);
    return one_way;
}

/* Gaps of what was lost on the network before the place of capture: the capture lacks nothing of
 * it. */
static uint64_t lost_before(const struct report *r, bool tcp)
{
    GHashTableIter each = report_each(r);
    const struct report_connection *c;
    uint64_t gaps = 0;

    while ((c = report_next(&each)))
        for (int end = 0; end < 2 && tcp == (c->pub.carrier == RPCRDMA_CARRIER_IWARP); end++)
            gaps += c->has_path[end] ? c->path[end].lost_before_gaps : 0;
    return gaps;
}

uint64_t report_gaps(const struct report *r, uint64_t *frame)
{
    static const enum rpcrdma_rule_id rules[] = {RPCRDMA_RULE_PACKETS_LOST, RPCRDMA_RULE_TCP_LOST,
                                                 RPCRDMA_RULE_BYTES_LOST};
    uint64_t tcp, reads = r->pipeline->doubts->len > 0 ? 0 : r->reads_uncaptured;

    *frame = reads > 0 ? r->reads_uncaptured_frame : 0;
    for (size_t i = 0; i < G_N_ELEMENTS(rules); i++)
        if (r->rules[rules[i]] > 0 && (*frame == 0 || r->rule_frame[rules[i]] < *frame))
            *frame = r->rule_frame[rules[i]];
    /* of TCP one gap is told as both, but for what is before the first frame of MPA, and what was
     * captured and cut before it says what it is */
    tcp = MAX(r->rules[RPCRDMA_RULE_TCP_LOST], r->rules[RPCRDMA_RULE_BYTES_LOST]);
    return r->rules[RPCRDMA_RULE_PACKETS_LOST] -
           MIN(lost_before(r, false), r->rules[RPCRDMA_RULE_PACKETS_LOST]) + tcp -
           MIN(lost_before(r, true), tcp) + reads;
}

struct lacking {
    uint64_t gaps;            /* in what was sent */
    uint64_t calls;           /* whose Reply may be in what the capture lacks; */
    uint64_t unseen, unheard; /* of these, behind all of it; and before all that answers */
    bool one_way;
};

static void explained(const struct report *r, struct lacking *lacks)
{
    GHashTableIter each = report_each(r);
    const struct report_connection *c;

    while ((c = report_next(&each))) {
        const struct report_unanswered *own = c->trouble->unanswered;
        uint64_t of = own[REPORT_FORWARD].explained + own[REPORT_REVERSE].explained;

        if (of == 0 || report_sent_again(r, c) || report_one_way(c))
            continue;
        lacks->calls += of;
        lacks->unseen += own[REPORT_FORWARD].unseen + own[REPORT_REVERSE].unseen;
        lacks->unheard += own[REPORT_FORWARD].unheard + own[REPORT_REVERSE].unheard;
    }
}

/* Most Replies without Call answer what was sent when the capture had begun. */
static bool calls_lack(const struct report *r)
{
    return r->no_call_since * 2 > r->no_call;
}

/* Of both directions nothing is missing since: what Replies answer was sent before it began. */
static bool began_late(const struct report *r, const struct lacking *lacks)
{
    return lacks->gaps + lacks->calls + r->one_way == 0 && !lacks->one_way && r->no_call > 0 &&
           !calls_lack(r);
}

/* What is said of Calls without Reply; "": there are none such. */
enum { ABOUT_CALLS_ROOM = 160 };
struct about_calls {
    char without[ABOUT_CALLS_ROOM]; /* their Reply may be in what is missing; */
    char before[ABOUT_CALLS_ROOM];  /* they were sent before anything that the other end sends; */
    char behind[ABOUT_CALLS_ROOM];  /* behind all that it sends */
};

static void tell_calls(const struct lacking *lacks, uint64_t calls, struct about_calls *about)
{
    *about = (struct about_calls){0};
    if (calls > 0)
        snprintf(about->without, sizeof(about->without),
                 " What is missing may have answered %" PRIu64
                 " Call%s without Reply: %s no sign that the server was at fault.",
                 calls, plural(calls), calls == 1 ? "it is" : "they are");
    if (lacks->unheard > 0)
        snprintf(about->before, sizeof(about->before),
                 " %" PRIu64 " Call%s sent before anything that the other end sends was captured: "
                 "whether %s answered is not known.",
                 lacks->unheard, lacks->unheard == 1 ? " was" : "s were",
                 lacks->unheard == 1 ? "it was" : "they were");
    if (lacks->unseen == 1)
        snprintf(about->behind, sizeof(about->behind),
                 " Whether the last Call of a connection whose Acks are missing was answered could "
                 "not be seen.");
    else if (lacks->unseen > 1)
        snprintf(about->behind, sizeof(about->behind),
                 " Whether the last %" PRIu64 " Calls of connections whose Acks are missing "
                 "were answered could not be seen.",
                 lacks->unseen);
}

/* Behind all that was captured there is no gap: the client's Acks tell of what was sent there. */
static void tell_missing(uint64_t gaps, uint64_t cut, uint64_t calls, char *text, size_t size)
{
    if (gaps > 0 || calls == 0)
        snprintf(text, size, "%" PRIu64 " gap%s in what was sent", gaps, plural(gaps));
    else if (cut > 0)
        snprintf(text, size, "%" PRIu64 " message%s cut short", cut, plural(cut));
    else
        snprintf(text, size, "%" PRIu64 " message%s that Acks tell of %s missing", calls,
                 plural(calls), calls == 1 ? "is" : "are");
}

static void tell_what_lacks(struct report_cause *cause, const struct report *r,
                            const struct lacking *lacks)
{
    uint64_t calls = lacks->calls - lacks->unseen - lacks->unheard;
    uint64_t cut = lacks->gaps == 0 && calls > 0 ? r->rules[RPCRDMA_RULE_TRUNCATED] : 0;
    bool all_there = lacks->gaps + calls == 0 && !lacks->one_way;
    struct about_calls about;
    char missing[64];

    tell_calls(lacks, calls, &about);
    if (all_there && r->no_call == 0)
        snprintf(cause->text, sizeof(cause->text), "The capture is incomplete: %s.%s%s",
                 lacks->unseen > 0 ? "Acks are missing" : "one direction begins later",
                 about.before, about.behind);
    else if (began_late(r, lacks))
        snprintf(cause->text, sizeof(cause->text),
                 "The capture is incomplete: it began when %" PRIu64
                 " Call%s had been sent, as as many Replies without Call show.",
                 r->no_call, plural(r->no_call));
    else if (all_there && calls_lack(r))
        snprintf(cause->text, sizeof(cause->text),
                 "The capture is incomplete: %" PRIu64 " Repl%s without Call, from %.3f s into the "
                 "capture on: what the client sent is missing.%s",
                 r->no_call, plural_y(r->no_call),
                 report_seconds(r->no_call_since_ns - r->pipeline->clock.start_ns), about.behind);
    else {
        tell_missing(lacks->gaps, cut, calls, missing, sizeof(missing));
        snprintf(cause->text, sizeof(cause->text),
                 "The capture is incomplete: %s%s, %" PRIu64 " Repl%s without Call.%s%s%s",
                 lacks->one_way ? "one direction only; " : "", missing, r->no_call,
                 plural_y(r->no_call), about.without, about.before, about.behind);
    }
    snprintf(cause->against, sizeof(cause->against), "%s",
             lacks->one_way || (calls_lack(r) && lacks->gaps + calls == 0)
                 ? "capture both directions, at one port or at the host"
             : began_late(r, lacks) ? "what came before is not known; nothing is missing since"
             : lacks->gaps == 0 && lacks->unheard > 0
                 ? "begin to capture both directions at the same time"
             : cut > 0 ? "capture with a larger snap length (-s), or with rpcrdma capture --slice"
                       : "capture with rpcrdma capture --slice, or a larger buffer (-B)");
}

/* Where there was never a connection, that is what is wrong. */
static bool never_connected(const struct report *r)
{
    bool found = false;

    for (unsigned i = 0; i < r->n_causes && r->pipeline->messages == 0; i++)
        found = found || r->causes[i].id == CAUSE_CONNECTION_REFUSED ||
                r->causes[i].id == CAUSE_CONNECTION_FAILED;
    return found;
}

static bool nothing_both_ways(const struct report *r)
{
    return r->rpcs > 0 && r->answered == 0 && (r->one_way > 0 || all_one_way(r));
}

static void incomplete(struct report *r, bool one_way)
{
    struct report_cause *cause;
    struct lacking lacks = {0};
    uint64_t frame;

    lacks.gaps = report_gaps(r, &frame);
    explained(r, &lacks);

    r->undecided = (r->rpcs == 0 && !never_connected(r)) || one_way || r->no_call * 2 > r->rpcs ||
                   (r->n_causes == 0 && report_not_looked_at(r) + r->slow_of_all > 0);
    if (r->pipeline->memory_limit > 0) {
        left_out(r);
        one_way = false; /* that, and Replies without Call, may come from it */
        if (lacks.gaps + lacks.calls == 0)
            return;
    }
    if (lacks.gaps + lacks.calls == 0 && !one_way && r->no_call * 10 <= r->rpcs)
        return;
    cause = report_cause_add(r, CAUSE_INCOMPLETE, CONFIDENCE_HIGH);
    cause->frame = lacks.gaps == 0 && lacks.calls > lacks.unseen + lacks.unheard
                       ? r->rule_frame[RPCRDMA_RULE_TRUNCATED]
                       : frame;
    lacks.one_way = one_way;
    tell_what_lacks(cause, r, &lacks);
}

void causes_of_incomplete(struct report *r)
{
    bool one_way = nothing_both_ways(r);

    incomplete(r, one_way);
    causes_of_one_way(r, one_way);
}
