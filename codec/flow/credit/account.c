/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/account_private.h"

#include <string.h>

#include "finding.h"
#include "wire/hot.h"

static void report(struct rpcrdma_credit_account *account, enum rpcrdma_rule_id rule,
                   uint64_t frame, uint64_t a, uint64_t b, uint64_t c)
{
    const struct rpcrdma_finding finding = {
        .rule = rule, .frame = frame, .offset = -1, .arg = {a, b, c}};

    if (account->sink.finding)
        account->sink.finding(account->sink.context, &finding);
}

void rpcrdma_credit_account_init(struct rpcrdma_credit_account *account, struct flow_memory *memory,
                                 const struct rpcrdma_credit_sink *sink)
{
    memset(account, 0, sizeof(*account));
    TAILQ_INIT(&account->set.all);
    account->sink = *sink;
    rpcrdma_credit_gauge_init(&account->gauge, memory);
    rpcrdma_credit_grants_begin(&account->grants, RPCRDMA_CREDIT_NO_LIMIT);
}

void rpcrdma_credit_account_free(struct rpcrdma_credit_account *account)
{
    struct flow_memory *memory = account_memory(account);

    rpcrdma_pending_violations_free(&account->pending_violations, memory);
    rpcrdma_credit_gauge_free(&account->gauge);
    account_leave_all(account);
    rpcrdma_credit_replies_free(&account->replies_passed, memory);
    rpcrdma_credit_grants_free(&account->grants, memory);
    flow_release(memory, account->rare, sizeof(*account->rare));
}

/* Time passes, and with it a grant may come to bind whose acknowledgement cannot be seen. */
RPCRDMA_RARE static void bind_grants(struct rpcrdma_credit_account *account,
                                     rpcrdma_stream_position place)
{
    struct rpcrdma_credit_grant after;
    uint64_t before;

    while (rpcrdma_credit_grants_acked(&account->grants, place, account->gauge.elapsed_ns, &before,
                                       &after))
        if (before != RPCRDMA_CREDIT_NO_LIMIT && after.value < before &&
            account_in_flight(account) > after.value)
            report(account, RPCRDMA_RULE_CREDIT_SHRINK, after.frame, before, after.value,
                   account_in_flight(account));
}

static RPCRDMA_INLINE void begin(struct rpcrdma_credit_account *account,
                                 struct rpcrdma_credit_at at)
{
    uint64_t before = account->gauge.elapsed_ns;

    /* What was held back comes now (bytes behind a hole in TCP): what waits for its proof may have
     * been allowed by what is still to come. */
    if (account->gauge.running && at.time_ns < account->gauge.last_ns)
        account->pending_violations.count = 0;
    rpcrdma_credit_gauge_advance(&account->gauge, at);
    if (!account->settled || (account->rare && account->rare->doubt > 0))
        account_count(account, RPCRDMA_CREDIT_UNSETTLED_NS, account->gauge.elapsed_ns - before);
    if (rpcrdma_credit_grants_pending(&account->grants))
        bind_grants(account, 0);
}

RPCRDMA_RARE static void give_point(const struct rpcrdma_credit_account *account, uint32_t limit,
                                    enum rpcrdma_credit_cause cause)
{
    const struct rpcrdma_credit_point point = {
        .time_ns = account->gauge.last_ns,
        .frame = account->gauge.frame,
        .closed = cause == RPCRDMA_ENDED_BY_DISCONNECT,
        .has_requested = account->has_requested,
        .has_granted = account->has_granted,
        .has_limit = account->has_requested && account->has_granted,
        .requested = account->requested_now,
        .granted = account->granted_now,
        .limit = limit,
        .bound = (enum rpcrdma_credit_bound)account->gauge.bound,
        .in_flight = account_in_flight(account),
    };

    account->sink.point(account->sink.context, &point);
}

/* What is in flight, or its limit, may have changed. */
static RPCRDMA_INLINE void changed(struct rpcrdma_credit_account *account,
                                   enum rpcrdma_credit_cause cause)
{
    enum rpcrdma_credit_bound bound = RPCRDMA_BOUND_NEITHER;
    uint32_t limit = account->granted_now;

    /* The one Call before the first grant is no limit that could be raised, and no stall. */
    if (account->has_requested && account->has_granted) {
        if (account->requested_now <= account->granted_now)
            limit = account->requested_now;
        rpcrdma_credit_range_add(&account->limit, limit);
        if (account_in_flight(account) >= limit)
            bound = account->requested_now <= account->granted_now ? RPCRDMA_BOUND_REQUESTED
                                                                   : RPCRDMA_BOUND_GRANTED;
    }
    if (bound != RPCRDMA_BOUND_NEITHER || account->at_limit)
        account_at_limit(account,
                         bound != RPCRDMA_BOUND_NEITHER && account_without_reply(account) >= limit);
    rpcrdma_credit_gauge_set(&account->gauge, account_in_flight(account), bound, cause);
    if (account->sink.point)
        give_point(account, limit, cause);
}

void rpcrdma_credit_account_opened(struct rpcrdma_credit_account *account,
                                   struct rpcrdma_credit_at at)
{
    if (account_in_flight(account) > 0)
        rpcrdma_credit_account_lost(account, at);
    account->opened = true;
    account->has_requested = account->has_granted = false;
    account->requested_now = account->granted_now = 0;
    rpcrdma_credit_grants_begin(&account->grants, 1);
    account->settled = true;
}

void rpcrdma_credit_account_heard(struct rpcrdma_credit_account *account, bool from_requester)
{
    if (from_requester)
        account->from_requester = true;
    else
        account->from_responder = true;
}

static void judge_call(struct rpcrdma_credit_account *account, uint32_t xid)
{
    uint64_t ceiling = rpcrdma_credit_grants_ceiling(&account->grants);
    uint64_t left = account_without_reply(account), unheard = account_rare(account)->unheard;

    left -= unheard < left ? unheard : left;
    if (left <= ceiling || (account->late && !account->has_granted))
        return;
    if (!rpcrdma_pending_violations_add(
            &account->pending_violations, account_memory(account),
            &(struct rpcrdma_finding){.rule = account->has_granted ? RPCRDMA_RULE_CREDIT_OVERRUN
                                                                   : RPCRDMA_RULE_CREDIT_FIRST_CALL,
                                      .frame = account->gauge.frame,
                                      .offset = -1,
                                      .arg = {account_in_flight(account), ceiling, xid}}))
        account->memory = true;
}

static inline void narrow(struct rpcrdma_credit_account *account)
{
    if (!account->settled)
        account_narrow(account);
}

/* A new Call under this XID: what the account knows by it is over. */
static void end_before(struct rpcrdma_credit_account *account, struct rpcrdma_credit_at at,
                       struct rpcrdma_credit_call *call)
{
    while (call->state == RPCRDMA_CREDIT_CALL_REPLIED)
        rpcrdma_credit_account_delivered(account, at); /* else the XID would not be free */
    if (call->state == RPCRDMA_CREDIT_CALL_IN_FLIGHT) {
        account_count(account, RPCRDMA_CREDIT_UNANSWERED, 1);
        account_forget(account, call, RPCRDMA_CREDIT_CALL_NONE);
    }
    call->state = RPCRDMA_CREDIT_CALL_NONE;
}

void rpcrdma_credit_account_call(struct rpcrdma_credit_account *account,
                                 struct rpcrdma_credit_at at, struct rpcrdma_credit_call *call,
                                 enum rpcrdma_credit_call_use use, uint32_t xid, uint32_t requested)
{
    uint32_t most;

    begin(account, at);
    while (account->replies_passed.count > 0 &&
           account_in_flight(account) >= rpcrdma_credit_grants_ceiling(&account->grants)) {
        rpcrdma_credit_account_delivered(account, at); /* else this Call could not be sent */
        account_unacked(account);
    }
    if (call && use == RPCRDMA_CREDIT_CALL_NEW)
        end_before(account, at, call);
    account->from_requester = true;
    account->has_requested = true;
    account->requested_now = requested ? requested : 1;
    rpcrdma_credit_range_add(&account->requested, requested);

    if (rpcrdma_credit_call_in_flight(call)) {
        account_count(account, RPCRDMA_CREDIT_RETRANSMITTED, 1);
    } else if (account_gave_up(call)) {
        account_count(account, RPCRDMA_CREDIT_RETRANSMITTED, 1);
        account_restore(account, call);
        account_add_call(account, call);
    } else if (use == RPCRDMA_CREDIT_CALL_ANSWERED) {
        account_answered_before(account, call);
    } else {
        account->calls++;
        account_add_call(account, call);
        if (account_in_flight(account) > account->requested_now && /* as asked for */
            account_without_reply(account) <= account->requested_now)
            account_unacked(account);
        judge_call(account, xid);
        narrow(account);
    }
    account_age(account);
    most = account_most_now(account);
    if (most > account->most)
        account->most = most;
    changed(account, RPCRDMA_ENDED_BY_REQUEST);
}

RPCRDMA_APART static void other_grant(struct rpcrdma_credit_account *account, uint32_t granted,
                                      rpcrdma_stream_position place)
{
    if (granted == 0) {
        account_count(account, RPCRDMA_CREDIT_VIOLATIONS, 1);
        report(account, RPCRDMA_RULE_CREDIT_ZERO, account->gauge.frame, 0, 0, 0);
    }
    if (!rpcrdma_credit_grants_add(
            &account->grants, account_memory(account),
            &(struct rpcrdma_credit_grant){.value = granted ? granted : 1,
                                           .place = place,
                                           .elapsed_ns = account->gauge.elapsed_ns,
                                           .frame = account->gauge.frame}))
        account->memory = true;
}

/* What the Requester may count on from now on, and must from when it knows. */
static RPCRDMA_INLINE void grant(struct rpcrdma_credit_account *account, uint32_t granted,
                                 rpcrdma_stream_position place)
{
    if (!rpcrdma_credit_grants_is(&account->grants, granted))
        other_grant(account, granted, place);
}

static void confirm_violations(struct rpcrdma_credit_account *account)
{
    if (account->pending_violations.count > 0)
        account_count(
            account, RPCRDMA_CREDIT_VIOLATIONS,
            rpcrdma_pending_violations_confirm(&account->pending_violations, &account->sink));
}

/* A Reply passes. */
static RPCRDMA_INLINE void pass(struct rpcrdma_credit_account *account, struct rpcrdma_credit_at at,
                                uint32_t granted, rpcrdma_stream_position place)
{
    begin(account, at);
    if (!account->from_responder)
        account_first_reply(account);
    account->from_responder = true;
    confirm_violations(account);
    grant(account, granted, place);
}

/* The Requester has it. */
static RPCRDMA_INLINE void receive(struct rpcrdma_credit_account *account,
                                   struct rpcrdma_credit_call *call, uint32_t granted)
{
    uint64_t old_limit = account->limit.known ? account->limit.last : RPCRDMA_CREDIT_NO_LIMIT;

    account_complete(account, call);
    rpcrdma_credit_range_add(&account->granted, granted);
    account->has_granted = true;
    account->granted_now = granted ? granted : 1;
    narrow(account);
    account_age(account);
    changed(account, account_in_flight(account) < old_limit ? RPCRDMA_ENDED_BY_REPLY
                                                            : RPCRDMA_ENDED_BY_GRANT);
}

/* There is no room for what passed: it counts as received. */
RPCRDMA_RARE static void receive_at_once(struct rpcrdma_credit_account *account,
                                         struct rpcrdma_credit_call *call, uint32_t granted)
{
    account->memory = true;
    receive(account, call, granted);
}

void rpcrdma_credit_account_reply(struct rpcrdma_credit_account *account,
                                  struct rpcrdma_credit_at at, struct rpcrdma_credit_call *call,
                                  uint32_t granted, rpcrdma_stream_position place)
{
    pass(account, at, granted, place);
    receive(account, call, granted);
}

void rpcrdma_credit_account_passed(struct rpcrdma_credit_account *account,
                                   struct rpcrdma_credit_at at,
                                   const struct rpcrdma_credit_reply *reply)
{
    struct rpcrdma_credit_reply passed = *reply;

    if (passed.call && passed.call->state != RPCRDMA_CREDIT_CALL_IN_FLIGHT)
        passed.call = NULL; /* a second Reply */
    pass(account, at, reply->granted, reply->place);
    if (!rpcrdma_credit_replies_add(&account->replies_passed, account_memory(account), &passed)) {
        receive_at_once(account, passed.call, reply->granted);
        return;
    }
    if (passed.call)
        passed.call->state = RPCRDMA_CREDIT_CALL_REPLIED;
    account->followed = true;
    if (account->at_limit && account_without_reply(account) < account->limit.last)
        account_at_limit(account, false);
    if (account->sink.point)
        changed(account, RPCRDMA_ENDED_BY_REPLY);
}

void rpcrdma_credit_account_delivered(struct rpcrdma_credit_account *account,
                                      struct rpcrdma_credit_at at)
{
    struct rpcrdma_credit_reply reply = *rpcrdma_credit_replies_oldest(&account->replies_passed);

    rpcrdma_credit_replies_remove_oldest(&account->replies_passed);
    if (reply.call)
        reply.call->state = RPCRDMA_CREDIT_CALL_IN_FLIGHT;
    begin(account, at);
    receive(account, reply.call, reply.granted);
}

void rpcrdma_credit_account_unheard(struct rpcrdma_credit_account *account,
                                    struct rpcrdma_credit_at at)
{
    bool waited = account->replies_passed.count > 0;

    while (account->replies_passed.count > 0)
        rpcrdma_credit_account_delivered(account, at);
    if (waited && account->most >= account_in_flight(account))
        histogram_cap(&account->gauge.histogram, account->most);
    account->followed = false;
}

void rpcrdma_credit_account_acked(struct rpcrdma_credit_account *account,
                                  struct rpcrdma_credit_at at, rpcrdma_stream_position place)
{
    if (!rpcrdma_credit_grants_pending(&account->grants))
        return;
    rpcrdma_credit_gauge_advance(&account->gauge, at);
    bind_grants(account, place);
}

void rpcrdma_credit_account_rnr(struct rpcrdma_credit_account *account, struct rpcrdma_credit_at at,
                                uint32_t xid, uint64_t message_frame, bool again)
{
    begin(account, at);
    account_count(account, RPCRDMA_CREDIT_RNR_NAKS, 1);
    if (again)
        return;
    report(account, message_frame ? RPCRDMA_RULE_CREDIT_RNR : RPCRDMA_RULE_CREDIT_RNR_UNKNOWN,
           at.frame, xid, message_frame, account_in_flight(account));
}

static uint64_t add_up_to(uint64_t a, uint64_t b, uint64_t most)
{
    return b > most - a ? most : a + b;
}

void rpcrdma_credit_account_gap(struct rpcrdma_credit_account *account, bool from_requester,
                                uint64_t packets)
{
    struct rpcrdma_credit_rare *rare;

    account->gaps = true;
    rare = account->gauge.started ? account_make_rare(account) : NULL;
    if (!rare)
        return;
    if (from_requester) {
        rare->unknown_max =
            add_up_to(account->settled ? 0 : rare->unknown_max, packets, RPCRDMA_CREDIT_NO_LIMIT);
        account->settled = false;
        rare->earlier_ns = account->gauge.elapsed_ns;
        narrow(account);
        return;
    }
    account->pending_violations.count = 0; /* a Reply among them may have allowed it */
    rpcrdma_credit_grants_begin(&account->grants, RPCRDMA_CREDIT_NO_LIMIT);
    rare->doubt_serial = account->serial;
    rare->doubtful = account->set.count;
    rare->doubt = add_up_to(rare->doubt, packets, rare->doubtful);
    changed(account, RPCRDMA_ENDED_BY_REPLY);
}

void rpcrdma_credit_account_lost(struct rpcrdma_credit_account *account,
                                 struct rpcrdma_credit_at at)
{
    begin(account, at);
    confirm_violations(account);
    if (account->gauge.bound != RPCRDMA_BOUND_NEITHER)
        report(account, RPCRDMA_RULE_CREDIT_LOST, at.frame, account_in_flight(account),
               account->limit.last, 0);
    account_count(account, RPCRDMA_CREDIT_UNANSWERED, account_in_flight(account));
    account_count(account, RPCRDMA_CREDIT_UNDELIVERED, account_replied(account));
    rpcrdma_credit_replies_clear(&account->replies_passed);
    account_leave_all(account);
    if (account->rare) {
        account->rare->counts[RPCRDMA_CREDIT_MISSED] += account->rare->doubt;
        account->rare->untracked = account->rare->doubtful = account->rare->doubt = 0;
        account->rare->unheard = 0;
    }
    account->has_requested = account->has_granted = false;
    account->opened = false;
    rpcrdma_credit_grants_begin(&account->grants, RPCRDMA_CREDIT_NO_LIMIT);
    account->settled = true; /* what was unknown is gone, too */
    changed(account, RPCRDMA_ENDED_BY_DISCONNECT);
    rpcrdma_credit_gauge_stop(&account->gauge, RPCRDMA_ENDED_BY_DISCONNECT);
}

void rpcrdma_credit_account_time(struct rpcrdma_credit_account *account, int64_t now_ns)
{
    if (account->gauge.running && now_ns > account->gauge.last_ns)
        begin(account, (struct rpcrdma_credit_at){now_ns, account->gauge.frame});
}

void rpcrdma_credit_account_end(struct rpcrdma_credit_account *account, struct rpcrdma_credit_at at)
{
    if (account->gauge.running)
        begin(account, at);
    confirm_violations(account);
}
