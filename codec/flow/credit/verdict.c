/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>

#include "base/text.h"
#include "each.h"
#include "flow/credit.h"

static void add_time(struct rpcrdma_text *line, uint64_t ns)
{
    /* three digits: from 999.5 on it would be "1e+03" of the smaller unit */
    if (ns < 1000)
        rpcrdma_text_format(line, "%" PRIu64 " ns", ns);
    else if (ns < 999500)
        rpcrdma_text_format(line, "%.3g us", (double)ns / 1e3);
    else if (ns < 999500000)
        rpcrdma_text_format(line, "%.3g ms", (double)ns / 1e6);
    else
        rpcrdma_text_format(line, "%.1f s", (double)ns / 1e9);
}

static void add_share(struct rpcrdma_text *line, uint64_t part, uint64_t whole)
{
    double percent = whole ? 100 * (double)part / (double)whole : 0;

    if (percent < 0.1)
        rpcrdma_text_format(line, "under 0.1 %%");
    else
        rpcrdma_text_format(line, percent < 10 ? "%.1f %%" : "%.0f %%", percent);
}

static void add_range(struct rpcrdma_text *line, const struct rpcrdma_credit_range *range)
{
    if (range->min == range->max)
        rpcrdma_text_format(line, "%" PRIu32, range->last);
    else
        rpcrdma_text_format(line, "%" PRIu32 " (%" PRIu32 " to %" PRIu32 ")", range->last,
                            range->min, range->max);
}

static void add_calls_terms(struct rpcrdma_text *line, const struct rpcrdma_credit_result *result,
                            const char *requester, const char *responder)
{
    if (result->requested.known) {
        rpcrdma_text_format(line, "%s asks for ", requester);
        add_range(line, &result->requested);
    } else {
        rpcrdma_text_format(line, "no Call of the %s was seen", requester);
    }
    if (result->granted.known) {
        rpcrdma_text_format(line, ", %s grants ", responder);
        add_range(line, &result->granted);
    } else {
        rpcrdma_text_format(line, ", no grant of the %s was seen", responder);
    }
}

static void add_count_terms(struct rpcrdma_text *line, const struct rpcrdma_credit_result *result,
                            const char *sender, const char *peer)
{
    static const char *const how[] = {
        [RPCRDMA_READING_SENT] = "counting from the messages it has sent",
        [RPCRDMA_READING_RECEIVED] = "counting from the messages it has received",
    };
    RPCRDMA_EACH(how, RPCRDMA_READING_COUNT);
    const struct rpcrdma_credit_advertised *is =
        result->reading == RPCRDMA_READING_SENT ? &result->sent : &result->received;

    rpcrdma_text_format(line, "%s sends %" PRIu64 " message%s", sender, result->messages,
                        result->messages == 1 ? "" : "s");
    if (!is->known) {
        rpcrdma_text_format(line,
                            result->limit.known ? ", how many more the %s takes is not known"
                                                : ", no credits of the %s were seen",
                            peer);
    } else if (result->reading != RPCRDMA_READING_UNDECIDED) {
        rpcrdma_text_format(line, ", %s takes %" PRId64, peer, is->last);
        if (is->min != is->max)
            rpcrdma_text_format(line, " (%" PRId64 " to %" PRId64 ")", is->min, is->max);
        rpcrdma_text_format(line, " ahead, %s", how[result->reading]);
    } else {
        rpcrdma_text_format(line, ", %s takes %" PRId64, peer, is->last);
        if (result->sent.known && result->sent.last != is->last)
            rpcrdma_text_format(line, " or %" PRId64, result->sent.last);
        rpcrdma_text_format(line, " ahead, by either reading of its credits");
    }
}

/* So many were not in flight at once: their Replies were not captured, and they count until the
 * end. Else it would be a violation. */
static bool replies_lack(const struct rpcrdma_credit_result *result)
{
    return result->in_flight.known && !result->counting && result->limit.known &&
           result->violations == 0 && result->unanswered > (uint64_t)result->limit.max &&
           result->in_flight.max > (uint64_t)result->limit.max;
}

static void add_limit(struct rpcrdma_text *line, const struct rpcrdma_credit_result *result)
{
    const struct rpcrdma_credit_stalls *stalls = &result->stalls;

    if (!result->in_flight.known) {
        rpcrdma_text_format(line,
                            "; only one direction was captured, so what is in flight is not known");
        return;
    }
    if (replies_lack(result)) {
        rpcrdma_text_format(line, "; Replies were not captured, as Calls beyond the limit show: "
                                  "what is in flight is not known");
        return;
    }
    if (stalls->count == 0) {
        if (result->limit.known && (!result->counting || result->remaining_known))
            rpcrdma_text_format(line, ", never at the limit");
        rpcrdma_text_format(line, "; at most %" PRIu64 " in flight", result->in_flight.max);
        return;
    }
    rpcrdma_text_format(line, ", at the limit ");
    add_share(line, result->at_limit_ns, result->measured_ns);
    rpcrdma_text_format(line, " of the time");
    if (result->busy_ns < result->measured_ns / 10 * 9 && result->busy_ns > 0) {
        rpcrdma_text_format(line, " (");
        add_share(line, result->at_limit_ns, result->busy_ns);
        rpcrdma_text_format(line, " of the busy time)");
    }
    if (!result->counting && result->bound_by != RPCRDMA_BOUND_NEITHER)
        rpcrdma_text_format(line, ", bound by the %s",
                            result->bound_by == RPCRDMA_BOUND_REQUESTED ? "request" : "grant");
    if (stalls->longer > 0)
        rpcrdma_text_format(line, "; %" PRIu64 " stall%s over 1 ms", stalls->longer,
                            stalls->longer == 1 ? "" : "s");
    else
        rpcrdma_text_format(line, "; %" PRIu64 " stall%s, none over 1 ms", stalls->count,
                            stalls->count == 1 ? "" : "s");
    rpcrdma_text_format(line, ", longest ");
    add_time(line, stalls->longest[0].duration_ns);
}

size_t rpcrdma_credit_verdict(const struct rpcrdma_credit_result *result, const char *requester,
                              const char *responder, char *buf, size_t size)
{
    struct rpcrdma_text line = {buf, size, 0};

    if (size > 0)
        buf[0] = '\0';
    if (result->counting)
        add_count_terms(&line, result, requester, responder);
    else
        add_calls_terms(&line, result, requester, responder);
    add_limit(&line, result);
    if (result->violations > 0)
        rpcrdma_text_format(&line, "; %" PRIu64 " violation%s", result->violations,
                            result->violations == 1 ? "" : "s");
    if (result->rnr_naks > 0)
        rpcrdma_text_format(&line, "; %" PRIu64 " RNR Nak%s", result->rnr_naks,
                            result->rnr_naks == 1 ? "" : "s");
    if (result->in_flight.known && !result->counting && result->unsettled_ns > 0 &&
        !replies_lack(result)) {
        if (result->settled) {
            rpcrdma_text_format(&line, "; in flight is %s for ",
                                result->missed > 0 ? "not known exactly" : "a lower bound");
            add_time(&line, result->unsettled_ns);
        } else if (result->replies > 0 || result->unanswered == 0) {
            rpcrdma_text_format(
                &line, "; in flight is a lower bound: the capture began with the connection open");
        }
    }
    if (result->clock)
        rpcrdma_text_format(&line, "; the capture's clock went backwards");
    if (result->memory)
        rpcrdma_text_format(&line, "; too much in flight to follow exactly");
    return line.at;
}

const char *rpcrdma_credit_bound_name(enum rpcrdma_credit_bound bound)
{
    static const char *const names[] = {
        [RPCRDMA_BOUND_NEITHER] = "neither",
        [RPCRDMA_BOUND_REQUESTED] = "requested",
        [RPCRDMA_BOUND_GRANTED] = "granted",
    };
    RPCRDMA_EACH(names, RPCRDMA_BOUND_COUNT);

    return names[bound];
}

const char *rpcrdma_credit_cause_name(enum rpcrdma_credit_cause cause)
{
    static const char *const names[] = {
        [RPCRDMA_ENDED_BY_REPLY] = "reply",     [RPCRDMA_ENDED_BY_GRANT] = "grant",
        [RPCRDMA_ENDED_BY_REQUEST] = "request", [RPCRDMA_ENDED_BY_DISCONNECT] = "disconnect",
        [RPCRDMA_ENDED_BY_CAPTURE] = "capture",
    };
    RPCRDMA_EACH(names, RPCRDMA_ENDED_BY_COUNT);

    return names[cause];
}

const char *rpcrdma_credit_reading_name(enum rpcrdma_credit_reading reading)
{
    static const char *const names[] = {
        [RPCRDMA_READING_UNDECIDED] = "undecided",
        [RPCRDMA_READING_SENT] = "sent",
        [RPCRDMA_READING_RECEIVED] = "received",
    };
    RPCRDMA_EACH(names, RPCRDMA_READING_COUNT);

    return names[reading];
}
