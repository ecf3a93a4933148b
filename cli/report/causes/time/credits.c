/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about what the ends agreed on: few credits, and a small inline
 * threshold. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"

#define SHARE_MUCH 0.1 /* of the time in use: less at its limit is told with a low confidence */

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

/* Its time at the limit, without waits of a second and more (those hung). */
struct at_limit {
    uint64_t ns;
    uint64_t longer; /* so many of these waits took more than 1 ms */
    double share;    /* of the time in use */
    bool least;      /* all that is how much it was at least */
    int64_t slow_ns; /* what RPCs waited for the server, where it is half of ns and more; else 0 */
};

static struct at_limit at_limit(const struct report_connection *c)
{
    const struct rpcrdma_credit_result *credit = &c->credits;
    const struct rpcrdma_credit_stalls *stalls = &credit->stalls;
    uint64_t busy_ns = credit->busy_ns - MIN(stalls->hung_ns, credit->busy_ns);
    int64_t slow_ns = time_less(report_server_slow_ns(c), (int64_t)stalls->hung_ns);
    struct at_limit at = {.ns = credit->at_limit_ns - MIN(stalls->hung_ns, credit->at_limit_ns),
                          .longer = stalls->longer - stalls->hung,
                          .least = acks_miss(credit)};

    if (slow_ns > 0 && (uint64_t)slow_ns >= at.ns / 2)
        at.slow_ns = slow_ns;
    if (at.least) {
        at.ns = MIN(credit->least_ns, at.ns);
        at.longer = credit->least_longer;
    }
    at.share = busy_ns > 0 ? (double)at.ns / (double)busy_ns : 0;
    return at;
}

static void tell_at_limit(struct report_cause *cause, const struct report_connection *c,
                          const struct at_limit *at)
{
    const struct rpcrdma_credit_result *credit = &c->credits;
    uint64_t hung_times = credit->stalls.hung;
    char hung[80] = "";

    if (hung_times > 0)
        snprintf(hung, sizeof(hung), ", without %" PRIu64 " wait%s of a second or more", hung_times,
                 plural(hung_times));
    snprintf(
        cause->text, sizeof(cause->text),
        "Connection %u ran out of credits: at its limit of %u for %s%.1f %% of the time in use%s, "
        "%" PRIu64 " time%s over 1 ms; the %s.",
        (unsigned)c->pub.number, (unsigned)credit->limit.last, at->least ? "at least " : "",
        100 * at->share, hung, at->longer, plural(at->longer),
        credit->bound_by == RPCRDMA_BOUND_REQUESTED ? "client asks for no more"
                                                    : "server grants no more");
}

static void tell_against(struct report_cause *cause, const struct rpcrdma_credit_result *credit,
                         const struct at_limit *at)
{
    if (at->least)
        snprintf(cause->against, sizeof(cause->against),
                 "Acks of Replies were not captured: %" PRIu64 " Call%s sent at the limit before "
                 "any; for how long it was below its limit is not known",
                 credit->unacked, credit->unacked == 1 ? " was" : "s were");
    else if (at->share < SHARE_MUCH)
        snprintf(cause->against, sizeof(cause->against),
                 "it was below its limit for %.1f %% of the time in use", 100 * (1 - at->share));
    else if (credit->missed > 0)
        snprintf(cause->against, sizeof(cause->against),
                 "%" PRIu64 " Repl%s not captured: fewer Calls may have been in flight",
                 credit->missed, credit->missed == 1 ? "y was" : "ies were");
    else if (at->slow_ns > 0)
        snprintf(cause->against, sizeof(cause->against),
                 "RPCs waited for the server for %.1f s: with more credits more of them may wait",
                 report_seconds(at->slow_ns));
}

void causes_of_credits(struct report *r, const struct report_connection *c)
{
    enum { FEW = 32 };
    const struct rpcrdma_credit_result *credit = &c->credits;
    const struct rpcrdma_credit_stalls *stalls = &credit->stalls;
    const struct at_limit at = at_limit(c);
    const bool few = credit->limit.known && credit->limit.last <= FEW;
    const bool sure = credit->settled && credit->missed == 0 && !at.least && at.slow_ns == 0;
    struct report_cause *cause;

    if (!c->has_credits || credit->bound_by == RPCRDMA_BOUND_NEITHER || at.longer == 0 ||
        (at.share < SHARE_MUCH && (!few || at.longer < 2)) || too_many(credit))
        return;
    cause = report_cause_add(r, CAUSE_CREDITS,
                             at.share < SHARE_MUCH ? CONFIDENCE_LOW
                             : sure                ? CONFIDENCE_HIGH
                                                   : CONFIDENCE_MEDIUM);
    cause->of_server = credit->bound_by != RPCRDMA_BOUND_REQUESTED;
    cause->time_ns = (int64_t)at.ns;
    cause->frame =
        stalls->kept ? stalls->longest[MIN(stalls->hung, stalls->kept - 1)].from_frame : 0;
    tell_at_limit(cause, c, &at);
    tell_against(cause, credit, &at);
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
