/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/account.h"

#include <string.h>

#include "finding.h"
#include "wire/hot.h"

/* A Call that has waited so long at the first Reply may have been answered unseen. */
#define UNHEARD_NS UINT64_C(100000000)
/* "Far longer than any answer takes": this and ten times the longest seen, after so many Replies.
 */
#define SETTLE_NS UINT64_C(1000000000)
#define SETTLE_REPLIES 16
/* A Call whose Reply may have been missed is passed by so many others only because it was. */
#define MISSED_REPLIES 256
/* A Call that waits this long while so many others were answered gets no Reply. */
#define ABANDON_NS UINT64_C(60000000000)
#define ABANDON_REPLIES 1024

static void report(struct rpcrdma_credit_account *account, enum rpcrdma_rule_id rule,
                   uint64_t frame, uint64_t a, uint64_t b, uint64_t c)
{
    const struct rpcrdma_finding finding = {
        .rule = rule, .frame = frame, .offset = -1, .arg = {a, b, c}};

    if (account->sink.finding)
        account->sink.finding(account->sink.context, &finding);
}

static struct flow_memory *memory_of(const struct rpcrdma_credit_account *account)
{
    return account->gauge.histogram.memory;
}

/* To read: as it is where there was nothing of it. */
static const struct rpcrdma_credit_rare *rare_of(const struct rpcrdma_credit_account *account)
{
    static const struct rpcrdma_credit_rare none = {.unknown_max = RPCRDMA_CREDIT_NO_LIMIT};

    return account->rare ? account->rare : &none;
}

/* To change. NULL: no memory, which ends the run. */
RPCRDMA_RARE static struct rpcrdma_credit_rare *make_rare(struct rpcrdma_credit_account *account)
{
    if (!account->rare) {
        account->rare = flow_alloc_always(memory_of(account), sizeof(*account->rare));
        if (account->rare)
            account->rare->unknown_max = RPCRDMA_CREDIT_NO_LIMIT;
    }
    return account->rare;
}

RPCRDMA_RARE static void count(struct rpcrdma_credit_account *account,
                               enum rpcrdma_credit_counted what, uint64_t n)
{
    struct rpcrdma_credit_rare *rare = n > 0 ? make_rare(account) : NULL;

    if (rare)
        rare->counts[what] += n;
}

/* There is no place for a Call that is in flight. */
RPCRDMA_RARE static void add_untracked(struct rpcrdma_credit_account *account)
{
    struct rpcrdma_credit_rare *rare = make_rare(account);

    if (rare)
        rare->untracked++;
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

static void leave(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call,
                  enum rpcrdma_credit_call_state state)
{
    if (call->state == RPCRDMA_CREDIT_CALL_REPLIED)
        rpcrdma_credit_replies_unlink(&account->replies_passed, call->reply);
    rpcrdma_credit_calls_remove(&account->set, call);
    call->state = (uint8_t)state;
    if (account->sink.left)
        account->sink.left(account->sink.context, call);
}

static void leave_all(struct rpcrdma_credit_account *account)
{
    while (TAILQ_FIRST(&account->set.all))
        leave(account, TAILQ_FIRST(&account->set.all), RPCRDMA_CREDIT_CALL_NONE);
}

void rpcrdma_credit_account_free(struct rpcrdma_credit_account *account)
{
    struct flow_memory *memory = memory_of(account);

    rpcrdma_pending_violations_free(&account->pending_violations, memory);
    rpcrdma_credit_gauge_free(&account->gauge);
    leave_all(account);
    rpcrdma_credit_replies_free(&account->replies_passed, memory);
    rpcrdma_credit_grants_free(&account->grants, memory);
    flow_release(memory, account->rare, sizeof(*account->rare));
}

static uint64_t in_flight(const struct rpcrdma_credit_account *account)
{
    uint64_t calls = account->set.count;

    return account->rare ? calls + account->rare->untracked - account->rare->doubt : calls;
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
            in_flight(account) > after.value)
            report(account, RPCRDMA_RULE_CREDIT_SHRINK, after.frame, before, after.value,
                   in_flight(account));
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
        count(account, RPCRDMA_CREDIT_UNSETTLED_NS, account->gauge.elapsed_ns - before);
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
        .in_flight = in_flight(account),
    };

    account->sink.point(account->sink.context, &point);
}

/* What is in flight, or its limit, may have changed. */
static void changed(struct rpcrdma_credit_account *account, enum rpcrdma_credit_cause cause)
{
    enum rpcrdma_credit_bound bound = RPCRDMA_BOUND_NEITHER;
    uint32_t limit = account->granted_now;

    /* The one Call before the first grant is no limit that could be raised, and no stall. */
    if (account->has_requested && account->has_granted) {
        if (account->requested_now <= account->granted_now)
            limit = account->requested_now;
        rpcrdma_credit_range_add(&account->limit, limit);
        if (in_flight(account) >= limit)
            bound = account->requested_now <= account->granted_now ? RPCRDMA_BOUND_REQUESTED
                                                                   : RPCRDMA_BOUND_GRANTED;
    }
    rpcrdma_credit_gauge_set(&account->gauge, in_flight(account), bound, cause);
    if (account->sink.point)
        give_point(account, limit, cause);
}

/* The Requester stays within its grant, so no more can be in flight than fit into it. */
RPCRDMA_RARE static void narrow_unsettled(struct rpcrdma_credit_account *account)
{
    uint64_t ceiling = rpcrdma_credit_grants_ceiling(&account->grants), room;
    struct rpcrdma_credit_rare *rare = make_rare(account);

    if (!rare)
        return;
    if (ceiling != RPCRDMA_CREDIT_NO_LIMIT) {
        room = ceiling > in_flight(account) ? ceiling - in_flight(account) : 0;
        if (room < rare->unknown_max)
            rare->unknown_max = room;
    }
    if (rare->unknown_max == 0 ||
        (account->answered >= SETTLE_REPLIES &&
         account->gauge.elapsed_ns - rare->earlier_ns > SETTLE_NS + 10 * account->longest_ns))
        account->settled = true;
}

static inline void narrow(struct rpcrdma_credit_account *account)
{
    if (!account->settled)
        narrow_unsettled(account);
}

static void forget(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call,
                   enum rpcrdma_credit_call_state state)
{
    struct rpcrdma_credit_rare *rare = account->rare;

    if (rare) {
        if (call->serial <= rare->unheard_serial && rare->unheard > 0)
            rare->unheard--;
        if (call->serial <= rare->doubt_serial && rare->doubtful > 0)
            rare->doubtful--;
        if (rare->doubt > rare->doubtful)
            rare->doubt = rare->doubtful;
    }
    leave(account, call, state);
}

/* Whether this Call may be one of those that were answered unseen. */
static bool is_doubted(const struct rpcrdma_credit_account *account,
                       const struct rpcrdma_credit_call *call)
{
    const struct rpcrdma_credit_rare *rare = account->rare;

    return rare && rare->doubt > 0 && call->serial <= rare->doubt_serial;
}

/* Its Reply was lost to the capture. */
static void was_missed(struct rpcrdma_credit_account *account)
{
    account->rare->counts[RPCRDMA_CREDIT_MISSED]++;
    account->rare->doubt--;
}

/* Calls whose Reply the capture lost, and Calls that get none, leave by evidence: see the top. */
static void age(struct rpcrdma_credit_account *account)
{
    struct rpcrdma_credit_call *call = TAILQ_FIRST(&account->set.all);
    uint64_t waited, passed;

    if (!call || call->state == RPCRDMA_CREDIT_CALL_REPLIED)
        return; /* that one waits to be delivered */
    waited = account->gauge.elapsed_ns - call->sent_ns;
    passed = account->answered - call->answered;
    if (is_doubted(account, call) &&
        (passed >= MISSED_REPLIES || waited > SETTLE_NS + 10 * account->longest_ns)) {
        was_missed(account);
        forget(account, call, RPCRDMA_CREDIT_CALL_MISSED);
    } else if (waited > ABANDON_NS && passed >= ABANDON_REPLIES) {
        count(account, RPCRDMA_CREDIT_UNANSWERED, 1);
        forget(account, call, RPCRDMA_CREDIT_CALL_UNANSWERED);
    }
}

void rpcrdma_credit_account_give_up(struct rpcrdma_credit_account *account,
                                    struct rpcrdma_credit_call *call)
{
    if (!rpcrdma_credit_call_in_flight(call))
        return;
    account->memory = true;
    if (is_doubted(account, call))
        was_missed(account);
    else
        add_untracked(account);
    forget(account, call, RPCRDMA_CREDIT_CALL_NONE);
}

/* It was given up too early: it comes back. */
static void restore(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call)
{
    struct rpcrdma_credit_rare *rare = account->rare; /* it was counted there */

    if (rare) {
        uint64_t *counted = call->state == RPCRDMA_CREDIT_CALL_MISSED
                                ? &rare->counts[RPCRDMA_CREDIT_MISSED]
                                : &rare->counts[RPCRDMA_CREDIT_UNANSWERED];

        if (*counted > 0) /* not since a report began anew */
            --*counted;
    }
    call->state = RPCRDMA_CREDIT_CALL_NONE;
}

static bool given_up(const struct rpcrdma_credit_call *call)
{
    return call && (call->state == RPCRDMA_CREDIT_CALL_UNANSWERED ||
                    call->state == RPCRDMA_CREDIT_CALL_MISSED);
}

void rpcrdma_credit_account_opened(struct rpcrdma_credit_account *account,
                                   struct rpcrdma_credit_at at)
{
    if (in_flight(account) > 0)
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

/* At the first Reply that was captured: to Calls that have waited for long, Replies may have passed
 * before the capture had any of them. */
static void first_reply(struct rpcrdma_credit_account *account)
{
    const struct rpcrdma_credit_call *oldest = TAILQ_FIRST(&account->set.all);
    struct rpcrdma_credit_rare *rare;

    if (!oldest || account->gauge.elapsed_ns - oldest->sent_ns <= UNHEARD_NS)
        return;
    rare = make_rare(account);
    if (!rare)
        return;
    rare->unheard = account->set.count;
    rare->unheard_serial = account->serial;
}

/* This Call's Reply was captured before it, and counted: it has its Call. */
static void was_answered(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call)
{
    struct rpcrdma_credit_rare *rare = account->rare;
    uint64_t *counted =
        !call || !rare                               ? NULL
        : call->state == RPCRDMA_CREDIT_CALL_EARLIER ? &rare->counts[RPCRDMA_CREDIT_EARLIER]
        : call->state == RPCRDMA_CREDIT_CALL_STRAY   ? &rare->counts[RPCRDMA_CREDIT_STRAY]
                                                     : NULL;

    account->calls++;
    account->replies++;
    if (counted && *counted > 0) /* not since a report began anew */
        --*counted;
    if (call)
        call->state = RPCRDMA_CREDIT_CALL_NONE;
}

/* Of what is in flight: a Reply passed, and is not known to have been delivered. The Requester may
 * have it. */
static uint64_t replied(const struct rpcrdma_credit_account *account)
{
    uint64_t passed = account->replies_passed.count, all = in_flight(account);

    return passed < all ? passed : all;
}

static void judge_call(struct rpcrdma_credit_account *account, uint32_t xid)
{
    uint64_t ceiling = rpcrdma_credit_grants_ceiling(&account->grants);
    uint64_t left = in_flight(account) - replied(account), unheard = rare_of(account)->unheard;

    left -= unheard < left ? unheard : left;
    if (left <= ceiling)
        return;
    if (!rpcrdma_pending_violations_add(
            &account->pending_violations, memory_of(account),
            &(struct rpcrdma_finding){.rule = account->has_granted ? RPCRDMA_RULE_CREDIT_OVERRUN
                                                                   : RPCRDMA_RULE_CREDIT_FIRST_CALL,
                                      .frame = account->gauge.frame,
                                      .offset = -1,
                                      .arg = {in_flight(account), ceiling, xid}}))
        account->memory = true;
}

static void add_call(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call)
{
    if (!call) {
        add_untracked(account);
        account->memory = true;
        return;
    }
    call->state = RPCRDMA_CREDIT_CALL_IN_FLIGHT;
    call->serial = ++account->serial;
    call->sent_ns = account->gauge.elapsed_ns;
    call->answered = account->answered;
    rpcrdma_credit_calls_add(&account->set, call);
}

/* A new Call under this XID: what the account knows by it is over. */
static void end_before(struct rpcrdma_credit_account *account, struct rpcrdma_credit_at at,
                       struct rpcrdma_credit_call *call)
{
    while (call->state == RPCRDMA_CREDIT_CALL_REPLIED)
        rpcrdma_credit_account_delivered(account, at); /* else the XID would not be free */
    if (call->state == RPCRDMA_CREDIT_CALL_IN_FLIGHT) {
        count(account, RPCRDMA_CREDIT_UNANSWERED, 1);
        forget(account, call, RPCRDMA_CREDIT_CALL_NONE);
    }
    call->state = RPCRDMA_CREDIT_CALL_NONE;
}

void rpcrdma_credit_account_call(struct rpcrdma_credit_account *account,
                                 struct rpcrdma_credit_at at, struct rpcrdma_credit_call *call,
                                 enum rpcrdma_credit_call_use use, uint32_t xid, uint32_t requested)
{
    begin(account, at);
    while (account->replies_passed.count > 0 &&
           in_flight(account) >= rpcrdma_credit_grants_ceiling(&account->grants))
        rpcrdma_credit_account_delivered(account, at); /* else this Call could not be sent */
    if (call && use == RPCRDMA_CREDIT_CALL_NEW)
        end_before(account, at, call);
    account->from_requester = true;
    account->has_requested = true;
    account->requested_now = requested ? requested : 1;
    rpcrdma_credit_range_add(&account->requested, requested);

    if (rpcrdma_credit_call_in_flight(call)) {
        count(account, RPCRDMA_CREDIT_RETRANSMITTED, 1);
    } else if (given_up(call)) {
        count(account, RPCRDMA_CREDIT_RETRANSMITTED, 1);
        restore(account, call);
        add_call(account, call);
    } else if (use == RPCRDMA_CREDIT_CALL_ANSWERED) {
        was_answered(account, call);
    } else {
        account->calls++;
        add_call(account, call);
        judge_call(account, xid);
        narrow(account);
    }
    age(account);
    changed(account, RPCRDMA_ENDED_BY_REQUEST);
}

/* What the Requester may count on from now on, and must from when it knows. */
static void grant(struct rpcrdma_credit_account *account, uint32_t granted,
                  rpcrdma_stream_position place)
{
    if (granted == 0) {
        count(account, RPCRDMA_CREDIT_VIOLATIONS, 1);
        report(account, RPCRDMA_RULE_CREDIT_ZERO, account->gauge.frame, 0, 0, 0);
    }
    if (!rpcrdma_credit_grants_add(
            &account->grants, memory_of(account),
            &(struct rpcrdma_credit_grant){.value = granted ? granted : 1,
                                           .place = place,
                                           .elapsed_ns = account->gauge.elapsed_ns,
                                           .frame = account->gauge.frame}))
        account->memory = true;
}

/* What may still have a Call behind it: how it was counted. */
static void counted_as(struct rpcrdma_credit_call *call, enum rpcrdma_credit_call_state state)
{
    if (call)
        call->state = (uint8_t)state;
}

/* A Reply to a Call from before the capture. */
RPCRDMA_RARE static void is_earlier(struct rpcrdma_credit_account *account)
{
    struct rpcrdma_credit_rare *rare = make_rare(account);

    if (!rare)
        return;
    rare->counts[RPCRDMA_CREDIT_EARLIER]++;
    rare->earlier_ns = account->gauge.elapsed_ns;
    if (rare->unknown_max != RPCRDMA_CREDIT_NO_LIMIT && rare->unknown_max > 0)
        rare->unknown_max--;
}

/* Takes the Call this answers out of what is in flight. */
static void complete(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call)
{
    uint64_t ns;

    if (rpcrdma_credit_call_in_flight(call)) {
        ns = account->gauge.elapsed_ns - call->sent_ns;
        if (ns > account->longest_ns)
            account->longest_ns = ns;
        account->replies++;
        account->answered++;
        forget(account, call, RPCRDMA_CREDIT_CALL_NONE);
    } else if (given_up(call)) {
        account->replies++;
        restore(account, call);
    } else if (rare_of(account)->untracked > 0) {
        account->rare->untracked--;
        account->replies++;
    } else if (!account->settled) {
        is_earlier(account);
        counted_as(call, RPCRDMA_CREDIT_CALL_EARLIER);
    } else {
        count(account, RPCRDMA_CREDIT_STRAY, 1);
        counted_as(call, RPCRDMA_CREDIT_CALL_STRAY);
    }
}

static void confirm_violations(struct rpcrdma_credit_account *account)
{
    if (account->pending_violations.count > 0)
        count(account, RPCRDMA_CREDIT_VIOLATIONS,
              rpcrdma_pending_violations_confirm(&account->pending_violations, &account->sink));
}

/* A Reply passes. */
static void pass(struct rpcrdma_credit_account *account, struct rpcrdma_credit_at at,
                 uint32_t granted, rpcrdma_stream_position place)
{
    begin(account, at);
    if (!account->from_responder)
        first_reply(account);
    account->from_responder = true;
    confirm_violations(account);
    grant(account, granted, place);
}

/* The Requester has it. */
static void receive(struct rpcrdma_credit_account *account, struct rpcrdma_credit_call *call,
                    uint32_t granted)
{
    uint64_t old_limit = account->limit.known ? account->limit.last : RPCRDMA_CREDIT_NO_LIMIT;

    complete(account, call);
    rpcrdma_credit_range_add(&account->granted, granted);
    account->has_granted = true;
    account->granted_now = granted ? granted : 1;
    narrow(account);
    age(account);
    changed(account,
            in_flight(account) < old_limit ? RPCRDMA_ENDED_BY_REPLY : RPCRDMA_ENDED_BY_GRANT);
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
    if (!rpcrdma_credit_replies_add(&account->replies_passed, memory_of(account), &passed)) {
        account->memory = true;
        receive(account, passed.call, reply->granted);
        return;
    }
    if (passed.call)
        passed.call->state = RPCRDMA_CREDIT_CALL_REPLIED;
    account->followed = true;
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
    count(account, RPCRDMA_CREDIT_RNR_NAKS, 1);
    if (again)
        return;
    report(account, message_frame ? RPCRDMA_RULE_CREDIT_RNR : RPCRDMA_RULE_CREDIT_RNR_UNKNOWN,
           at.frame, xid, message_frame, in_flight(account));
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
    rare = account->gauge.started ? make_rare(account) : NULL;
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
        report(account, RPCRDMA_RULE_CREDIT_LOST, at.frame, in_flight(account), account->limit.last,
               0);
    count(account, RPCRDMA_CREDIT_UNANSWERED, in_flight(account));
    count(account, RPCRDMA_CREDIT_UNDELIVERED, replied(account));
    rpcrdma_credit_replies_clear(&account->replies_passed);
    leave_all(account);
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

void rpcrdma_credit_account_end(struct rpcrdma_credit_account *account, struct rpcrdma_credit_at at)
{
    if (account->gauge.running)
        begin(account, at);
    confirm_violations(account);
}

void rpcrdma_credit_account_result(const struct rpcrdma_credit_account *account,
                                   struct rpcrdma_credit_result *out)
{
    const struct rpcrdma_credit_rare *rare = rare_of(account);

    memset(out, 0, sizeof(*out));
    out->memory = account->memory;
    rpcrdma_credit_gauge_result(&account->gauge, out);
    out->calls = account->calls;
    out->replies = account->replies;
    out->unanswered = rare->counts[RPCRDMA_CREDIT_UNANSWERED] + in_flight(account);
    out->undelivered = rare->counts[RPCRDMA_CREDIT_UNDELIVERED];
    out->followed = account->followed;
    out->retransmitted = rare->counts[RPCRDMA_CREDIT_RETRANSMITTED];
    out->earlier = rare->counts[RPCRDMA_CREDIT_EARLIER];
    out->stray = rare->counts[RPCRDMA_CREDIT_STRAY];
    out->missed = rare->counts[RPCRDMA_CREDIT_MISSED] + rare->doubt;
    out->requested = account->requested;
    out->granted = account->granted;
    out->limit = account->limit;
    out->in_flight.known = account->from_requester && account->from_responder;
    out->violations = rare->counts[RPCRDMA_CREDIT_VIOLATIONS] + account->pending_violations.count;
    out->rnr_naks = rare->counts[RPCRDMA_CREDIT_RNR_NAKS];
    out->settled = account->settled && rare->doubt == 0;
    out->unsettled_ns = rare->counts[RPCRDMA_CREDIT_UNSETTLED_NS];
    out->gaps = account->gaps;
}

static void keep_last(struct rpcrdma_credit_range *range)
{
    range->min = range->max = range->last;
    range->changes = 0;
}

void rpcrdma_credit_account_restart(struct rpcrdma_credit_account *account)
{
    struct rpcrdma_credit_rare *rare = account->rare;

    rpcrdma_credit_gauge_restart(&account->gauge);
    account->calls = account->replies = 0;
    if (rare)
        memset(rare->counts, 0, sizeof(rare->counts));
    keep_last(&account->requested);
    keep_last(&account->granted);
    keep_last(&account->limit);
}
