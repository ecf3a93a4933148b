/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "flow/credit.h"

struct line {
    char *buf;
    size_t size, at;
};

static void put(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct line *line, const char *format, ...)
{
    size_t left = line->at < line->size ? line->size - line->at : 0;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(left ? line->buf + line->at : NULL, left, format, args);
    va_end(args);
    if (n > 0)
        line->at += (size_t)n;
}

static void put_time(struct line *line, uint64_t ns)
{
    /* three digits: from 999.5 on it would be "1e+03" of the smaller unit */
    if (ns < 1000)
        put(line, "%" PRIu64 " ns", ns);
    else if (ns < 999500)
        put(line, "%.3g us", (double)ns / 1e3);
    else if (ns < 999500000)
        put(line, "%.3g ms", (double)ns / 1e6);
    else
        put(line, "%.1f s", (double)ns / 1e9);
}

static void put_share(struct line *line, uint64_t part, uint64_t whole)
{
    double percent = whole ? 100 * (double)part / (double)whole : 0;

    if (percent < 0.1)
        put(line, "under 0.1 %%");
    else
        put(line, percent < 10 ? "%.1f %%" : "%.0f %%", percent);
}

static void put_range(struct line *line, const struct rpcrdma_credit_range *range)
{
    if (range->min == range->max)
        put(line, "%" PRIu32, range->last);
    else
        put(line, "%" PRIu32 " (%" PRIu32 " to %" PRIu32 ")", range->last, range->min, range->max);
}

static void put_calls_terms(struct line *line, const struct rpcrdma_credit_result *result,
                            const char *requester, const char *responder)
{
    if (result->requested.known) {
        put(line, "%s asks for ", requester);
        put_range(line, &result->requested);
    } else {
        put(line, "no Call of the %s was seen", requester);
    }
    if (result->granted.known) {
        put(line, ", %s grants ", responder);
        put_range(line, &result->granted);
    } else {
        put(line, ", no grant of the %s was seen", responder);
    }
}

static void put_count_terms(struct line *line, const struct rpcrdma_credit_result *result,
                            const char *sender, const char *peer)
{
    static const char *const how[] = {
        [RPCRDMA_READING_SENT] = "counting from the messages it has sent",
        [RPCRDMA_READING_RECEIVED] = "counting from the messages it has received",
    };
    const struct rpcrdma_credit_advertised *is =
        result->reading == RPCRDMA_READING_SENT ? &result->sent : &result->received;

    put(line, "%s sends %" PRIu64 " message%s", sender, result->messages,
        result->messages == 1 ? "" : "s");
    if (!is->known) {
        put(line,
            result->limit.known ? ", how many more the %s takes is not known"
                                : ", no credits of the %s were seen",
            peer);
    } else if (result->reading != RPCRDMA_READING_UNDECIDED) {
        put(line, ", %s takes %" PRId64, peer, is->last);
        if (is->min != is->max)
            put(line, " (%" PRId64 " to %" PRId64 ")", is->min, is->max);
        put(line, " ahead, %s", how[result->reading]);
    } else {
        put(line, ", %s takes %" PRId64, peer, is->last);
        if (result->sent.known && result->sent.last != is->last)
            put(line, " or %" PRId64, result->sent.last);
        put(line, " ahead, by either reading of its credits");
    }
}

static void put_limit(struct line *line, const struct rpcrdma_credit_result *result)
{
    const struct rpcrdma_credit_stalls *stalls = &result->stalls;

    if (!result->in_flight.known) {
        put(line, "; only one direction was captured, so what is in flight is not known");
        return;
    }
    if (stalls->count == 0) {
        if (result->limit.known && (!result->counting || result->remaining_known))
            put(line, ", never at the limit");
        put(line, "; at most %" PRIu64 " in flight", result->in_flight.max);
        return;
    }
    put(line, ", at the limit ");
    put_share(line, result->at_limit_ns, result->measured_ns);
    put(line, " of the time");
    if (result->busy_ns < result->measured_ns / 10 * 9 && result->busy_ns > 0) {
        put(line, " (");
        put_share(line, result->at_limit_ns, result->busy_ns);
        put(line, " of the busy time)");
    }
    if (!result->counting && result->bound_by != RPCRDMA_BOUND_NEITHER)
        put(line, ", bound by the %s",
            result->bound_by == RPCRDMA_BOUND_REQUESTED ? "request" : "grant");
    if (stalls->longer > 0)
        put(line, "; %" PRIu64 " stall%s over 1 ms", stalls->longer,
            stalls->longer == 1 ? "" : "s");
    else
        put(line, "; %" PRIu64 " stall%s, none over 1 ms", stalls->count,
            stalls->count == 1 ? "" : "s");
    put(line, ", longest ");
    put_time(line, stalls->longest[0].duration_ns);
}

size_t rpcrdma_credit_verdict(const struct rpcrdma_credit_result *result, const char *requester,
                              const char *responder, char *buf, size_t size)
{
    struct line line = {buf, size, 0};

    if (size > 0)
        buf[0] = '\0';
    if (result->counting)
        put_count_terms(&line, result, requester, responder);
    else
        put_calls_terms(&line, result, requester, responder);
    put_limit(&line, result);
    if (result->violations > 0)
        put(&line, "; %" PRIu64 " violation%s", result->violations,
            result->violations == 1 ? "" : "s");
    if (result->rnr_naks > 0)
        put(&line, "; %" PRIu64 " RNR NAK%s", result->rnr_naks, result->rnr_naks == 1 ? "" : "s");
    if (result->in_flight.known && !result->counting && result->unsettled_ns > 0) {
        if (result->settled) {
            put(&line, "; in flight is a lower bound for ");
            put_time(&line, result->unsettled_ns);
        } else {
            put(&line, "; in flight is a lower bound: the capture began with the connection open");
        }
    }
    if (result->clock)
        put(&line, "; the capture's clock went backwards");
    if (result->memory)
        put(&line, "; too much in flight to follow exactly");
    return line.at;
}

const char *rpcrdma_credit_bound_name(enum rpcrdma_credit_bound bound)
{
    static const char *const names[] = {
        [RPCRDMA_BOUND_NEITHER] = "neither",
        [RPCRDMA_BOUND_REQUESTED] = "requested",
        [RPCRDMA_BOUND_GRANTED] = "granted",
    };

    return names[bound];
}

const char *rpcrdma_credit_cause_name(enum rpcrdma_credit_cause cause)
{
    static const char *const names[] = {
        [RPCRDMA_ENDED_BY_REPLY] = "reply",     [RPCRDMA_ENDED_BY_GRANT] = "grant",
        [RPCRDMA_ENDED_BY_REQUEST] = "request", [RPCRDMA_ENDED_BY_DISCONNECT] = "disconnect",
        [RPCRDMA_ENDED_BY_CAPTURE] = "capture",
    };

    return names[cause];
}

const char *rpcrdma_credit_reading_name(enum rpcrdma_credit_reading reading)
{
    static const char *const names[] = {
        [RPCRDMA_READING_UNDECIDED] = "undecided",
        [RPCRDMA_READING_SENT] = "sent",
        [RPCRDMA_READING_RECEIVED] = "received",
    };

    return names[reading];
}
