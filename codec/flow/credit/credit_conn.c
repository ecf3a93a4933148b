/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/credit_conn.h"
#include "flow/credit/rnr.h"

#include "wire/hot.h"

static const struct credit_conn *conn_of(const struct credit_side *side)
{
    const char *first = (const char *)(side - side->end);

    return (const void *)(first - offsetof(struct credit_conn, side));
}

static void on_finding(void *context, const struct rpcrdma_finding *finding)
{
    const struct credit_conn *cc = conn_of(context);

    if (cc->credits->held_only)
        return;
    flow_report(cc->credits->context, flow_conn_public_const(cc->conn), finding);
}

static void on_point(void *context, const struct rpcrdma_credit_point *point)
{
    const struct credit_side *side = context;
    const struct credit_conn *cc = conn_of(side);
    const struct rpcrdma_flow_sink *sink = &cc->credits->context->sink;

    if (sink->credit_point) /* not while everything is thrown away */
        sink->credit_point(sink->context, flow_conn_public_const(cc->conn), side->end, point);
}

static void on_left(void *context, struct rpcrdma_credit_call *call)
{
    struct flow_messages *messages = conn_of(context)->credits->messages;

    flow_call_leave(messages, flow_call_of_slot(messages, call, FLOW_CALL_CREDIT),
                    FLOW_CALL_CREDIT);
}

struct rpcrdma_credit_call *credit_conn_call(const struct flow_credits *credits,
                                             struct flow_call *call)
{
    return call && !credits->held_only ? flow_call_slot(credits->messages, call, FLOW_CALL_CREDIT)
                                       : NULL;
}

static struct rpcrdma_credit_sink sink_of(struct credit_side *side)
{
    const struct flow_credits *credits = conn_of(side)->credits;
    struct rpcrdma_credit_sink sink = {on_finding, NULL, side, on_left};

    if (credits->context->sink.credit_point && !credits->held_only)
        sink.point = on_point;
    return sink;
}

/* All was captured from the set-up to the first message that counts: what was sent before it, or
 * granted, is known. */
static bool from_the_beginning(const struct credit_conn *cc)
{
    if (!flow_conn_set_up_seen(cc->conn))
        return false;
    if (cc->side[0].account || cc->side[1].account)
        return true; /* which was told what is missing */
    for (int end = 0; end < 2; end++) {
        const struct flow_direction *towards = flow_conn_direction(cc->conn, end);

        if (towards && towards->lost > 0)
            return false;
    }
    return !cc->missed;
}

RPCRDMA_RARE struct rpcrdma_credit_account *credit_conn_open(struct credit_conn *cc, int requester,
                                                             struct rpcrdma_credit_at at)
{
    struct flow_memory *memory = &cc->credits->context->memory;
    struct credit_side *side = &cc->side[requester];
    struct rpcrdma_credit_sink sink;
    bool opened;

    opened = from_the_beginning(cc);
    sink = sink_of(side);
    side->account = flow_alloc(memory, sizeof(*side->account));
    if (!side->account)
        return NULL;
    rpcrdma_credit_account_init(side->account, memory, &sink);
    side->account->late = !flow_conn_begins(cc->conn, requester);
    if (opened)
        rpcrdma_credit_account_opened(side->account, at);
    return side->account;
}

struct rpcrdma_credit_count *credit_conn_count(struct credit_conn *cc, int sender,
                                               struct rpcrdma_credit_at at)
{
    struct flow_memory *memory = &cc->credits->context->memory;
    struct credit_side *side = &cc->side[sender];
    struct rpcrdma_credit_sink sink;

    if (side->count)
        return side->count;
    sink = sink_of(side);
    side->count = flow_alloc(memory, sizeof(*side->count));
    if (!side->count)
        return NULL;
    rpcrdma_credit_count_init(side->count, memory, &sink);
    /* Counters of an end that spoke version 1 first did not start with the connection. */
    if (from_the_beginning(cc) && !cc->late && !cc->side[0].account && !cc->side[1].account)
        rpcrdma_credit_count_opened(side->count, at);
    return side->count;
}

struct credit_conn *credit_conn_of(const struct flow_conn *conn)
{
    return *flow_conn_slot((struct flow_conn *)conn, FLOW_SLOT_CREDIT);
}

bool flow_credit_ready(struct flow_credits *credits, struct flow_conn *conn)
{
    struct flow_memory *memory = &credits->context->memory;

    if (credits->held_only || credit_conn_of(conn))
        return true;
    if (flow_memory_fits(memory,
                         sizeof(struct credit_conn) + 2 * sizeof(struct rpcrdma_credit_account)))
        return credit_conn_get(credits, conn) != NULL;
    memory->refused++;
    return false;
}

struct credit_conn *credit_conn_get(struct flow_credits *credits, struct flow_conn *conn)
{
    struct credit_conn *cc = credit_conn_of(conn);

    if (cc)
        return cc;
    cc = flow_alloc(&credits->context->memory, sizeof(*cc));
    if (!cc)
        return NULL;
    *flow_conn_slot(conn, FLOW_SLOT_CREDIT) = cc;
    cc->credits = credits;
    cc->conn = conn;
    cc->side[1].end = 1;
    LIST_INSERT_HEAD(&credits->all, cc, all);
    return cc;
}

/* Nothing of the other end was captured behind them, or something that it sent was not: what would
 * have allowed them may be missing. */
static void doubt(struct rpcrdma_pending_violations *pending, const struct flow_conn *conn,
                  int other)
{
    if (pending->count > 0 &&
        (!pending->finding || pending->finding[0].frame >= flow_conn_heard_frame(conn, other) ||
         flow_conn_lacks(conn, other)))
        pending->count = 0;
}

void credit_conn_doubt(struct credit_conn *cc)
{
    for (int i = 0; i < 2; i++) {
        if (cc->side[i].account)
            doubt(&cc->side[i].account->pending_violations, cc->conn, 1 - i);
        if (cc->side[i].count)
            doubt(&cc->side[i].count->pending_violations, cc->conn, 1 - i);
    }
}

void credit_conn_lose(struct credit_conn *cc, struct rpcrdma_credit_at at)
{
    if (cc->lost)
        return;
    credit_conn_doubt(cc);
    cc->lost = true;
    for (int i = 0; i < 2; i++) {
        if (cc->side[i].account)
            rpcrdma_credit_account_lost(cc->side[i].account, at);
        if (cc->side[i].count)
            rpcrdma_credit_count_lost(cc->side[i].count, at);
    }
}

void credit_conn_left(const struct flow_credits *credits, struct flow_call *call,
                      struct rpcrdma_credit_at at)
{
    struct flow_conn *conn = flow_call_conn(call);
    struct credit_conn *cc = credit_conn_of(conn);

    if (cc && !flow_conn_public_const(conn)->closed &&
        rpcrdma_credit_call_in_flight(credit_conn_call(credits, call)))
        credit_conn_lose(cc, at);
}

void credit_conn_time(struct credit_conn *cc, int64_t now_ns)
{
    if (cc->lost || flow_conn_public_const(cc->conn)->closed)
        return;
    for (int i = 0; i < 2; i++) {
        struct credit_side *side = &cc->side[i];

        if (side->account && side->account->gauge.running &&
            now_ns > side->account->gauge.last_ns) {
            credit_conn_delivered(
                cc, i, (struct rpcrdma_credit_at){now_ns, side->account->gauge.frame});
            rpcrdma_credit_account_time(side->account, now_ns);
        }
        if (side->count)
            rpcrdma_credit_count_time(side->count, now_ns);
    }
}

struct rpcrdma_credit_at credit_conn_end(const struct credit_conn *cc,
                                         const struct rpcrdma_credit_gauge *gauge,
                                         struct rpcrdma_credit_at end)
{
    const struct flow_context *context = cc->credits->context;
    int64_t passed_ns = context->passed_ns;

    if (!context->passes)
        return end;
    if (passed_ns > gauge->last_ns)
        passed_ns = gauge->last_ns; /* the clock was set back since */
    if (end.time_ns < passed_ns)
        end.time_ns = passed_ns;
    return end;
}

/* Results by end; only those that the connection's rules make. */
static size_t results(struct credit_conn *cc, struct rpcrdma_credit_result out[2])
{
    size_t n = 0;

    for (int i = 0; i < 2; i++) {
        struct credit_side *side = &cc->side[i];

        for (int from = 0; from < 2; from++) {
            bool heard = flow_conn_heard_from(cc->conn, from);

            if (heard && side->account)
                rpcrdma_credit_account_heard(side->account, from == i);
            if (heard && side->count)
                rpcrdma_credit_count_heard(side->count, from == i);
        }
        if (cc->counting ? !side->count : !side->account)
            continue;
        if (cc->counting)
            rpcrdma_credit_count_result(side->count, &out[n]);
        else
            rpcrdma_credit_account_result(side->account, &out[n]);
        out[n++].end = i;
    }
    return n;
}

void credit_conn_report(struct credit_conn *cc)
{
    const struct rpcrdma_flow_sink *sink = &cc->credits->context->sink;
    struct rpcrdma_credit_result out[2];
    size_t n;

    if (!sink->credits || cc->credits->held_only)
        return;
    n = results(cc, out);
    if (n > 0)
        sink->credits(sink->context, flow_conn_public_const(cc->conn), out, n);
}

void credit_conn_free(struct credit_conn *cc)
{
    struct flow_credits *credits = cc->credits;
    struct flow_memory *memory = &credits->context->memory;

    for (int i = 0; i < 2; i++) {
        struct credit_side *side = &cc->side[i];

        if (side->account)
            rpcrdma_credit_account_free(side->account);
        if (side->count)
            rpcrdma_credit_count_free(side->count);
        flow_release(memory, side->account, sizeof(*side->account));
        flow_release(memory, side->count, sizeof(*side->count));
        credit_rnr_free(memory, &cc->sender[i]);
    }
    LIST_REMOVE(cc, all);
    flow_release(memory, cc, sizeof(*cc));
}
