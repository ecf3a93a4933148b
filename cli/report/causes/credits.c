/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about what the ends agreed on: few credits, and a small inline
 * threshold. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "plural.h"

/* More than may be: Calls count as in flight that were answered, and their Replies not captured. */
static bool too_many(const struct rpcrdma_credit_result *credit)
{
    return credit->missed > 0 && credit->violations == 0 && credit->limit.known &&
           credit->in_flight.max > credit->limit.max;
}

/* A tenth of the waits and more ended, if not before, with a Call that was sent: Acks of Replies
 * are missing, and what is known of the time at the limit is how long it was at least. */
static bool acks_miss(const struct rpcrdma_credit_result *credit)
{
    enum { SHARE = 10 };

    return credit->unacked > 0 && credit->unacked * SHARE >= credit->stalls.count;
}

int64_t report_server_slow_ns(const struct report_connection *c)
{
    return MAX(report_periods_ns(&c->trouble->slow_own[true].periods),
               report_periods_ns(&c->trouble->slow_often.periods));
}

void causes_of_credits(struct report *r, const struct report_connection *c)
{
    enum { FEW = 32 };
    const struct rpcrdma_credit_result *credit = &c->credits;
    const struct rpcrdma_credit_stalls *stalls = &credit->stalls;
    const bool least = acks_miss(credit);
    uint64_t at_limit_ns = credit->at_limit_ns - MIN(stalls->hung_ns, credit->at_limit_ns);
    uint64_t busy_ns = credit->busy_ns - MIN(stalls->hung_ns, credit->busy_ns);
    bool few = credit->limit.known && credit->limit.last <= FEW;
    int64_t slow_ns = time_less(report_server_slow_ns(c), (int64_t)stalls->hung_ns);
    bool slow = slow_ns > 0 && (uint64_t)slow_ns >= at_limit_ns / 2;
    uint64_t longer = least ? credit->least_longer : stalls->longer - stalls->hung;
    char hung[80] = "";
    struct report_cause *cause;
    double share;

    if (least)
        at_limit_ns = MIN(credit->least_ns, at_limit_ns);
    share = busy_ns > 0 ? (double)at_limit_ns / (double)busy_ns : 0;
    if (!c->has_credits || credit->bound_by == RPCRDMA_BOUND_NEITHER || longer == 0 ||
        (share < 0.1 && (!few || longer < 2)) || too_many(credit))
        return;
    cause = report_cause_add(r, CAUSE_CREDITS,
                             share < 0.1 ? CONFIDENCE_LOW
                             : credit->settled && credit->missed == 0 && !least && !slow
                                 ? CONFIDENCE_HIGH
                                 : CONFIDENCE_MEDIUM);
    cause->of_server = credit->bound_by != RPCRDMA_BOUND_REQUESTED;
    cause->time_ns = (int64_t)at_limit_ns;
    cause->frame =
        stalls->kept ? stalls->longest[MIN(stalls->hung, stalls->kept - 1)].from_frame : 0;
    if (stalls->hung > 0)
        snprintf(hung, sizeof(hung), ", without %" PRIu64 " wait%s of a second or more",
                 stalls->hung, plural(stalls->hung));
    snprintf(
        cause->text, sizeof(cause->text),
        "Connection %u ran out of credits: at its limit of %u for %s%.1f %% of the time in use%s, "
        "%" PRIu64 " time%s over 1 ms; the %s.",
        (unsigned)c->pub.number, (unsigned)credit->limit.last, least ? "at least " : "",
        100 * share, hung, longer, plural(longer),
        credit->bound_by == RPCRDMA_BOUND_REQUESTED ? "client asks for no more"
                                                    : "server grants no more");
    if (least)
        snprintf(cause->against, sizeof(cause->against),
                 "Acks of Replies were not captured: %" PRIu64 " Call%s sent at the limit before "
                 "any; for how long it was below its limit is not known",
                 credit->unacked, credit->unacked == 1 ? " was" : "s were");
    else if (share < 0.1)
        snprintf(cause->against, sizeof(cause->against),
                 "it was below its limit for %.1f %% of the time in use", 100 * (1 - share));
    else if (credit->missed > 0)
        snprintf(cause->against, sizeof(cause->against),
                 "%" PRIu64 " Repl%s not captured: fewer Calls may have been in flight",
                 credit->missed, credit->missed == 1 ? "y was" : "ies were");
    else if (slow)
        snprintf(cause->against, sizeof(cause->against),
                 "RPCs waited for the server for %.1f s: with more credits more of them may wait",
                 report_seconds(slow_ns));
}

void causes_of_threshold(struct report *r, const struct report_connection *c)
{
    enum { SMALL = 1024, SHARE = 5 }; /* percent of the messages */
    uint32_t least = MIN(c->pub.threshold_call, c->pub.threshold_reply);
    struct report_cause *cause;

    if (c->messages == 0 || least > SMALL ||
        c->trouble->small_in_chunks * 100 < c->messages * SHARE ||
        rpcrdma_threshold_assumed(&c->pub, 0) || rpcrdma_threshold_assumed(&c->pub, 1))
        return;
    cause = report_cause_add(r, CAUSE_THRESHOLD, CONFIDENCE_MEDIUM);
    cause->rpcs = c->trouble->small_in_chunks;
    snprintf(cause->text, sizeof(cause->text),
             "The inline threshold of connection %u is %u bytes: %" PRIu64 " of its %" PRIu64
             " messages took RDMA that 4096 would have sent inline.",
             (unsigned)c->pub.number, (unsigned)least, c->trouble->small_in_chunks, c->messages);
}
