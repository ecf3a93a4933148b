/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/message_credits.h"

#include <string.h>

#include "finding.h"

/* "Credit limit values MUST be less than 2^31 - 1" (ietf-07 section 4.2.1). */
#define CREDITS_END UINT32_C(0x7fffffff)

static void report(struct rpcrdma_credit_count *count, enum rpcrdma_rule_id rule, uint64_t frame,
                   uint64_t a, uint64_t b, uint64_t c)
{
    const struct rpcrdma_finding finding = {
        .rule = rule, .frame = frame, .offset = -1, .arg = {a, b, c}};

    if (count->sink.finding)
        count->sink.finding(count->sink.context, &finding);
}

void rpcrdma_credit_count_init(struct rpcrdma_credit_count *count, struct flow_memory *memory,
                               const struct rpcrdma_credit_sink *sink)
{
    memset(count, 0, sizeof(*count));
    count->sink = *sink;
    rpcrdma_credit_gauge_init(&count->gauge, memory);
    rpcrdma_credit_grants_begin(&count->grants, RPCRDMA_CREDIT_NO_LIMIT);
}

void rpcrdma_credit_count_free(struct rpcrdma_credit_count *count)
{
    rpcrdma_pending_violations_free(&count->pending_violations, count->gauge.histogram.memory);
    rpcrdma_credit_grants_free(&count->grants, count->gauge.histogram.memory);
    rpcrdma_credit_gauge_free(&count->gauge);
}

static void bind_grants(struct rpcrdma_credit_count *count, rpcrdma_stream_position place)
{
    struct rpcrdma_credit_grant after;
    uint64_t before;

    while (rpcrdma_credit_grants_acked(&count->grants, place, count->gauge.elapsed_ns, &before,
                                       &after))
        if (after.value < before && count->sent > after.value)
            report(count, RPCRDMA_RULE_CREDIT_COUNT_SHRINK, after.frame, before, after.value,
                   count->sent);
}

static void begin(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at)
{
    rpcrdma_credit_gauge_advance(&count->gauge, at);
    bind_grants(count, 0);
}

/* Message numbers and limits stay below 2^63: they are counted one by one. */
static int64_t remaining(const struct rpcrdma_credit_count *count)
{
    return (int64_t)(count->limit_now - count->sent);
}

/*
 * An impossible value rules a reading out. Otherwise the true one shows a steady number: exactly
 * so for messages sent, which no tap can see late; and off by at most what was on its way
 * for messages received, while the other drifts as the two ends' counts part.
 */
static enum rpcrdma_credit_reading reading(const struct rpcrdma_credit_count *count)
{
    const struct rpcrdma_credit_advertised *sent = &count->as_sent.is;
    const struct rpcrdma_credit_advertised *received = &count->as_received.is;
    int64_t sent_spread = sent->max - sent->min, received_spread = received->max - received->min;

    if (sent->misfits > 0 && received->misfits == 0)
        return RPCRDMA_READING_RECEIVED;
    if (received->misfits > 0 && sent->misfits == 0)
        return RPCRDMA_READING_SENT;
    if (sent->changes == 0 && received->changes > 0)
        return RPCRDMA_READING_SENT;
    if (received->changes == 0 && sent->changes > 0)
        return RPCRDMA_READING_RECEIVED;
    if (sent_spread > 2 * received_spread)
        return RPCRDMA_READING_RECEIVED;
    if (received_spread > 2 * sent_spread)
        return RPCRDMA_READING_SENT;
    return RPCRDMA_READING_UNDECIDED;
}

/* `heard`: the point's part about a message of the peer; NULL: it was none. */
static void changed(struct rpcrdma_credit_count *count, enum rpcrdma_credit_cause cause,
                    const struct rpcrdma_credit_point *heard)
{
    enum rpcrdma_credit_bound bound = RPCRDMA_BOUND_NEITHER;
    uint64_t in_flight = count->sent - count->sent_before, window = in_flight;
    bool known = count->opened && count->has_limit;

    if (heard && count->gauge.bound != RPCRDMA_BOUND_NEITHER && known && remaining(count) > 0)
        count->held = rpcrdma_credit_gauge_stall(&count->gauge, cause);
    if (known) {
        int64_t left = remaining(count);

        /* Beyond the limit is a finding, never a negative number of messages. */
        if (left < 0)
            left = 0;
        if (left == 0)
            bound = RPCRDMA_BOUND_GRANTED;
        window += (uint64_t)left;
        if (!count->remaining_known || left < count->remaining_min)
            count->remaining_min = left;
        count->remaining_last = left;
        count->remaining_known = true;
    }
    rpcrdma_credit_gauge_set(&count->gauge, in_flight, bound, cause);
    if (count->sink.point) {
        struct rpcrdma_credit_point point = heard ? *heard : (struct rpcrdma_credit_point){0};

        point.time_ns = count->gauge.last_ns;
        point.frame = count->gauge.frame;
        point.closed = cause == RPCRDMA_ENDED_BY_DISCONNECT;
        point.counting = true;
        point.has_granted = point.has_limit = known;
        point.granted = point.limit = window > UINT32_MAX ? UINT32_MAX : (uint32_t)window;
        point.bound = bound;
        point.in_flight = in_flight;
        point.reading = reading(count);
        count->sink.point(count->sink.context, &point);
    }
}

void rpcrdma_credit_count_opened(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at)
{
    if (count->sent > 0 || count->peer_sent > 0)
        rpcrdma_credit_count_lost(count, at);
    count->opened = count->was_opened = true;
    rpcrdma_credit_grants_begin(&count->grants, 1);
}

void rpcrdma_credit_count_heard(struct rpcrdma_credit_count *count, bool from_sender)
{
    if (from_sender)
        count->from_sender = true;
    else
        count->from_peer = true;
}

void rpcrdma_credit_count_sent(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at,
                               bool grant)
{
    uint64_t ceiling;

    begin(count, at);
    count->from_sender = true;
    count->messages++;
    count->sent++;
    if (!grant)
        count->held.to_frame = 0;
    ceiling = rpcrdma_credit_grants_ceiling(&count->grants);
    if (grant && ceiling != RPCRDMA_CREDIT_NO_LIMIT)
        ceiling++;
    if (count->sent > ceiling) {
        const struct rpcrdma_finding finding = {.rule = count->has_limit
                                                            ? RPCRDMA_RULE_CREDIT_COUNT_OVERRUN
                                                            : RPCRDMA_RULE_CREDIT_COUNT_FIRST,
                                                .frame = at.frame,
                                                .offset = -1,
                                                .arg = {count->sent, ceiling}};

        if (!rpcrdma_pending_violations_add(&count->pending_violations,
                                            count->gauge.histogram.memory, &finding))
            count->memory = true;
    }
    changed(count, RPCRDMA_ENDED_BY_GRANT, NULL);
}

static void advert_add(struct rpcrdma_credit_advert *advert, int64_t value)
{
    struct rpcrdma_credit_advertised *is = &advert->is;

    if (advert->values++ == 0) {
        is->min = is->max = is->last = value;
        return;
    }
    if (value < is->min)
        is->min = value;
    if (value > is->max)
        is->max = value;
    if (value != is->last)
        is->changes++;
    is->last = value;
}

/* Returns whether a reading can mean this value. */
static bool read_as(struct rpcrdma_credit_advert *advert, uint32_t advertised)
{
    if (advertised >= CREDITS_END) {
        advert->is.misfits++;
        return false;
    }
    advert_add(advert, advertised);
    return true;
}

/* Counters that did not start in this capture: only how the two readings move is known. */
static void read_relative(struct rpcrdma_credit_count *count, uint32_t credits)
{
    int64_t data_transfer;

    if (!count->has_start) {
        count->has_start = true;
        count->start_credits = credits;
        count->start_sent = count->sent;
        count->start_peer_sent = count->peer_sent;
    }
    data_transfer = (int32_t)(credits - count->start_credits);
    advert_add(&count->as_sent,
               data_transfer - (int64_t)(count->peer_sent - count->start_peer_sent));
    advert_add(&count->as_received, data_transfer - (int64_t)(count->sent - count->start_sent));
}

static void limit_add(struct rpcrdma_credit_range *limit, uint32_t credits)
{
    if (!limit->known) {
        rpcrdma_credit_range_add(limit, credits);
        return;
    }
    /* The order of counters that wrap. */
    if ((int32_t)(credits - limit->min) < 0)
        limit->min = credits;
    if ((int32_t)(credits - limit->max) > 0)
        limit->max = credits;
    if (credits != limit->last)
        limit->changes++;
    limit->last = credits;
}

static void accept_limit(struct rpcrdma_credit_count *count, uint32_t credits,
                         rpcrdma_stream_position place)
{
    int64_t limit = (int64_t)count->sent + (int32_t)(credits - (uint32_t)count->sent);

    count->has_limit = true;
    count->limit_now = limit > 0 ? (uint64_t)limit : 0;
    if (!rpcrdma_credit_grants_add(
            &count->grants, count->gauge.histogram.memory,
            &(struct rpcrdma_credit_grant){.value = count->limit_now,
                                           .place = place,
                                           .elapsed_ns = count->gauge.elapsed_ns,
                                           .frame = count->gauge.frame}))
        count->memory = true;
}

void rpcrdma_credit_count_received(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at,
                                   uint32_t credits, rpcrdma_stream_position place)
{
    struct rpcrdma_credit_point heard = {0};

    begin(count, at);
    count->from_peer = true;
    count->violations +=
        rpcrdma_pending_violations_confirm(&count->pending_violations, &count->sink);
    if (count->opened) {
        heard.advertised_sent = credits - (uint32_t)count->peer_sent;
        heard.advertised_received = credits - (uint32_t)count->sent;
        heard.has_sent = read_as(&count->as_sent, heard.advertised_sent);
        heard.has_received = read_as(&count->as_received, heard.advertised_received);
        if (heard.has_sent || heard.has_received) {
            limit_add(&count->limit, credits);
            accept_limit(count, credits, place);
        } else {
            count->violations++;
            report(count, RPCRDMA_RULE_CREDIT_COUNT_RANGE, at.frame, credits, count->peer_sent,
                   count->sent);
        }
    } else {
        limit_add(&count->limit, credits);
        if (!count->was_opened)
            read_relative(count, credits);
    }
    count->peer_sent++;
    count->sent_before = count->sent;
    changed(count, RPCRDMA_ENDED_BY_GRANT, &heard);
}

void rpcrdma_credit_count_acked(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at,
                                rpcrdma_stream_position place)
{
    if (!rpcrdma_credit_grants_pending(&count->grants))
        return;
    rpcrdma_credit_gauge_advance(&count->gauge, at);
    bind_grants(count, place);
}

void rpcrdma_credit_count_rnr(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at,
                              uint32_t xid, uint64_t message_frame, bool again)
{
    begin(count, at);
    count->rnr_naks++;
    if (again)
        return;
    report(count, message_frame ? RPCRDMA_RULE_CREDIT_RNR : RPCRDMA_RULE_CREDIT_RNR_UNKNOWN,
           at.frame, xid, message_frame, count->sent - count->sent_before);
}

void rpcrdma_credit_count_gap(struct rpcrdma_credit_count *count)
{
    count->gaps = true;
    count->pending_violations.count =
        0; /* one of the messages that were lost may have allowed it */
    count->opened = count->has_limit = false;
    rpcrdma_credit_grants_begin(&count->grants, RPCRDMA_CREDIT_NO_LIMIT);
    if (count->gauge.started)
        changed(count, RPCRDMA_ENDED_BY_CAPTURE, NULL);
}

void rpcrdma_credit_count_lost(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at)
{
    begin(count, at);
    count->violations +=
        rpcrdma_pending_violations_confirm(&count->pending_violations, &count->sink);
    if (count->gauge.bound != RPCRDMA_BOUND_NEITHER)
        report(count, RPCRDMA_RULE_CREDIT_COUNT_LOST, at.frame, count->sent, count->limit_now, 0);
    count->opened = count->has_limit = false;
    count->sent = count->peer_sent = count->sent_before = 0;
    rpcrdma_credit_grants_begin(&count->grants, RPCRDMA_CREDIT_NO_LIMIT);
    changed(count, RPCRDMA_ENDED_BY_DISCONNECT, NULL);
    rpcrdma_credit_gauge_stop(&count->gauge, RPCRDMA_ENDED_BY_DISCONNECT);
}

void rpcrdma_credit_count_time(struct rpcrdma_credit_count *count, int64_t now_ns)
{
    if (count->gauge.running && now_ns > count->gauge.last_ns)
        begin(count, (struct rpcrdma_credit_at){now_ns, count->gauge.frame});
}

void rpcrdma_credit_count_end(struct rpcrdma_credit_count *count, struct rpcrdma_credit_at at)
{
    if (count->gauge.running)
        begin(count, at);
    count->violations +=
        rpcrdma_pending_violations_confirm(&count->pending_violations, &count->sink);
}

void rpcrdma_credit_count_result(const struct rpcrdma_credit_count *count,
                                 struct rpcrdma_credit_result *out)
{
    memset(out, 0, sizeof(*out));
    rpcrdma_credit_gauge_result(&count->gauge, out);
    out->counting = true;
    out->messages = count->messages;
    out->remaining_known = count->remaining_known;
    out->remaining_min = count->remaining_min;
    out->remaining_last = count->remaining_last;
    out->reading = reading(count);
    out->sent = count->as_sent.is;
    out->received = count->as_received.is;
    out->sent.known = count->as_sent.values > 0 && count->was_opened;
    out->received.known = count->as_received.values > 0 && count->was_opened;
    out->limit = count->limit;
    out->in_flight.known = count->from_sender && count->from_peer;
    out->violations = count->violations + count->pending_violations.count;
    out->rnr_naks = count->rnr_naks;
    out->memory = out->memory || count->memory;
    out->settled = count->opened;
    out->gaps = count->gaps;
}

void rpcrdma_credit_count_restart(struct rpcrdma_credit_count *count)
{
    rpcrdma_credit_gauge_restart(&count->gauge);
    count->messages = count->violations = count->rnr_naks = 0;
    count->limit.min = count->limit.max = count->limit.last;
    count->limit.changes = 0;
    count->remaining_min = count->remaining_last;
}
