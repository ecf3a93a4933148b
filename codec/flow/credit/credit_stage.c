/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/fetch.h"
#include "flow/credit/credit_conn.h"
#include "flow/credit/rnr.h"
#include "wire/hot.h"

/*
 * Events of connections -> credit accounts. A message's dialect says which account it belongs to:
 * that of its direction of RPC, or those of both senders.
 */

static RPCRDMA_INLINE void check_threshold(struct credit_conn *cc, int sender,
                                           const struct flow_send *send)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(cc->conn);
    int end = 1 - sender;
    const struct rpcrdma_properties *receiver = &pub->properties[end];

    if (!rpcrdma_threshold_assumed(pub, end) && receiver->receive_size > 0 &&
        send->len > receiver->receive_size)
        flow_report(cc->credits->context, pub,
                    &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_INLINE_THRESHOLD,
                                              .frame = send->frame,
                                              .offset = -1,
                                              .arg = {send->len, receiver->receive_size}});
}

/* A message of several packets takes its credit when the first is sent; where the last one was
 * lost, that is long before it is whole. What was counted meanwhile stays as it is. */
RPCRDMA_RARE static int64_t begun_ns(const struct rpcrdma_credit_gauge *gauge,
                                     const struct flow_send *send)
{
    if (gauge->running && send->first_time_ns < gauge->last_ns)
        return gauge->last_ns < send->time_ns ? gauge->last_ns : send->time_ns;
    return send->first_time_ns;
}

static inline struct rpcrdma_credit_at begun(const struct rpcrdma_credit_gauge *gauge,
                                             const struct flow_send *send)
{
    return (struct rpcrdma_credit_at){
        send->first_frame == send->frame ? send->time_ns : begun_ns(gauge, send), send->frame};
}

static void by_count(struct credit_conn *cc, const struct flow_message *message,
                     struct rpcrdma_credit_at at)
{
    const struct rpcrdma_message *msg = message->message->message;
    struct rpcrdma_credit_count *mine = credit_conn_count(cc, message->sender, at);
    struct rpcrdma_credit_count *its = credit_conn_count(cc, 1 - message->sender, at);

    if (mine)
        rpcrdma_credit_count_sent(mine, begun(&mine->gauge, message->send),
                                  msg->kind == RPCRDMA_KIND_GRANT);
    if (its)
        rpcrdma_credit_count_received(its, at, msg->credits, cc->sender[message->sender].place);
}

/* A message whose direction is not known may be a Call of its sender or a Reply to the other end.
 */
static void by_neither(struct credit_conn *cc, int sender, uint64_t packets)
{
    struct rpcrdma_credit_account *mine = cc->side[sender].account;
    struct rpcrdma_credit_account *its = cc->side[1 - sender].account;

    if (mine)
        rpcrdma_credit_account_gap(mine, true, packets);
    if (its)
        rpcrdma_credit_account_gap(its, false, packets);
}

/* So many packets of this end were not captured, or not so far as to know of what they are. */
RPCRDMA_RARE static void missing(struct credit_conn *cc, int sender, uint64_t packets)
{
    cc->missed = true;
    by_neither(cc, sender, packets);
    for (int i = 0; i < 2; i++)
        if (cc->side[i].count)
            rpcrdma_credit_count_gap(cc->side[i].count);
}

/* A Reply, or an RDMA_ERROR in the place of one. */
static RPCRDMA_INLINE void by_reply(struct credit_conn *cc, int requester,
                                    const struct flow_send *send, struct flow_call *call,
                                    uint32_t granted, struct rpcrdma_credit_at at)
{
    const struct rpcrdma_credit_reply reply = {
        .call = credit_conn_call(cc->credits, call),
        .granted = granted,
        .place = cc->sender[1 - requester].place,
        .stream_last = send->stream_end - 1,
        .time_ns = send->time_ns,
    };

    if (!credit_conn_reply_passed(cc, requester, at, &reply))
        rpcrdma_credit_account_reply(cc->side[requester].account, at, reply.call, granted,
                                     reply.place);
}

static enum rpcrdma_credit_call_use use_of(enum flow_call_use use)
{
    switch (use) {
    case FLOW_CALL_RETRANSMITTED:
        return RPCRDMA_CREDIT_CALL_RETRANSMITTED;
    case FLOW_CALL_ANSWERED:
        return RPCRDMA_CREDIT_CALL_ANSWERED;
    default:
        return RPCRDMA_CREDIT_CALL_NEW;
    }
}

/* A Call that passes. */
struct calling {
    const struct flow_send *send;
    struct flow_call *call; /* its entry */
    enum flow_call_use use;
    uint32_t xid, requested; /* credits */
};

static RPCRDMA_INLINE void by_call(struct credit_conn *cc, int requester,
                                   const struct calling *calling, struct rpcrdma_credit_at at)
{
    struct rpcrdma_credit_account *account = credit_conn_account(cc, requester, at);
    struct rpcrdma_credit_call *call = credit_conn_call(cc->credits, calling->call);

    if (!account)
        return;
    rpcrdma_credit_account_call(account, begun(&account->gauge, calling->send), call,
                                use_of(calling->use), calling->xid, calling->requested);
    if (rpcrdma_credit_call_in_flight(call))
        flow_call_hold(calling->call, FLOW_CALL_CREDIT);
}

/* Returns the Requester of the RPC the message belongs to, or -1. */
static int by_calls(struct credit_conn *cc, const struct flow_message *message,
                    struct rpcrdma_credit_at at)
{
    const struct rpcrdma_message *msg = message->message->message;
    int sender = message->sender, peer = 1 - sender;
    struct rpcrdma_credit_account *account;
    const struct rpcrdma_credit_call *call;

    if (msg->kind == RPCRDMA_KIND_ERROR) {
        account = cc->side[peer].account;
        /* no grant unless it answers a Call (RFC 8167 section 4.1), which may pass behind it */
        call = credit_conn_call(cc->credits, message->call);
        if (!account || (!rpcrdma_credit_call_is_open(call) &&
                         (message->message->direction != RPCRDMA_DIRECTION_REPLY ||
                          !message->call || message->call_known)))
            return -1;
        by_reply(cc, peer, message->send, message->call, msg->credits, at);
        return peer;
    }
    if (!(msg->present & RPCRDMA_HAS_TYPE)) { /* cut before it */
        cc->missed = true;
        by_neither(cc, sender, 1);
        return -1;
    }
    if (msg->kind != RPCRDMA_KIND_MSG && msg->kind != RPCRDMA_KIND_NOMSG &&
        msg->kind != RPCRDMA_KIND_MSGP)
        return -1; /* carries no RPC message: its credits have no direction (RFC 8167 4.1) */
    if (message->message->part > 1)
        return message->message->direction == RPCRDMA_DIRECTION_CALL ? sender : peer;
    switch (message->message->direction) {
    case RPCRDMA_DIRECTION_CALL:
        if (message->sent_before && message->sent_before->call)
            credit_conn_left(cc->credits, message->sent_before->call, at);
        by_call(cc, sender,
                &(struct calling){message->send, message->call, message->call_use, msg->xid,
                                  msg->credits},
                at);
        return sender;
    case RPCRDMA_DIRECTION_REPLY:
        account = credit_conn_account(cc, peer, at);
        if (account)
            by_reply(cc, peer, message->send, message->call, msg->credits, at);
        return peer;
    default:
        by_neither(cc, sender, 1);
        return -1;
    }
}

/* NULL: its credits hold nothing up that could be seen. */
static struct credit_conn *held_conn(struct flow_credits *credits, struct flow_conn *conn,
                                     const struct flow_message *message)
{
    struct credit_conn *cc;

    if (!(message->message->message->present & RPCRDMA_HAS_CREDITS) ||
        !message->message->message->dialect->counting_credits)
        return NULL;
    cc = credit_conn_of(conn);
    if (!cc) {
        cc = credit_conn_get(credits, conn);
        if (cc)
            cc->late = flow_conn_public_const(conn)->messages > 1;
    }
    return cc;
}

bool flow_credit_held(struct flow_conn *conn, int sender, struct flow_held *held)
{
    const struct credit_conn *cc = credit_conn_of(conn);
    const struct rpcrdma_credit_count *count = cc ? cc->side[sender].count : NULL;

    if (!count || count->held.to_frame == 0)
        return false;
    *held = (struct flow_held){count->held.from_ns, count->held.to_ns, count->held.from_frame,
                               count->held.to_frame};
    return true;
}

/* A Call or a Reply, for all that is known; or too short for either. How long it was is known. */
RPCRDMA_RARE static void cut_before_credits(struct flow_conn *conn,
                                            const struct flow_message *message, bool held_only)
{
    struct credit_conn *cc = credit_conn_of(conn);

    if (!cc || cc->lost || message->message->message->status != RPCRDMA_TRUNCATED)
        return;
    missing(cc, message->sender, 1);
    if (!held_only)
        check_threshold(cc, message->sender, message->send);
}

/* What any message with credits changes before they count. */
static RPCRDMA_INLINE void passes(struct credit_conn *cc, int end, const struct flow_send *send,
                                  struct rpcrdma_credit_at at)
{
    struct credit_sender *sender = &cc->sender[end];

    sender->place = credit_sender_place(sender, cc->conn, send->last_seq);
    for (int i = 0; i < 2; i++)
        if (cc->side[i].account && cc->side[i].account->replies_passed.count > 0)
            credit_conn_delivered(cc, i, at);
}

RPCRDMA_HOT void flow_credit_message(struct flow_credits *credits, struct flow_conn *conn,
                                     const struct flow_message *message)
{
    const struct rpcrdma_message *msg = message->message->message;
    struct rpcrdma_credit_at at = {message->send->time_ns, message->send->frame};
    struct credit_conn *cc =
        credits->held_only ? held_conn(credits, conn, message) : credit_conn_get(credits, conn);
    int requester = -1;

    if (RPCRDMA_SELDOM(!(msg->present & RPCRDMA_HAS_CREDITS))) {
        cut_before_credits(conn, message, credits->held_only);
        return;
    }
    if (!cc || cc->lost)
        return;
    passes(cc, message->sender, message->send, at);
    cc->counting = msg->dialect->counting_credits;
    if (cc->counting)
        by_count(cc, message, at);
    else
        requester = by_calls(cc, message, at);
    if (credits->held_only)
        return;
    credit_rnr_sent(cc, message->sender, message->send, msg->xid, requester);
    check_threshold(cc, message->sender, message->send);
}

RPCRDMA_HOT void flow_credit_plain(struct flow_credits *credits, struct flow_conn *conn,
                                   const struct flow_plain *message)
{
    struct credit_conn *cc = credit_conn_get(credits, conn);
    struct rpcrdma_credit_at at = {message->send->time_ns, message->send->frame};
    int sender = message->sender, requester = message->is_call ? sender : 1 - sender;

    if (!cc || cc->lost)
        return;
    passes(cc, sender, message->send, at);
    cc->counting = false;
    if (message->is_call) {
        if (message->sent_before && message->sent_before->call)
            credit_conn_left(credits, message->sent_before->call, at);
        by_call(cc, sender,
                &(struct calling){message->send, message->call, FLOW_CALL_NEW, message->xid,
                                  message->credits},
                at);
    } else if (credit_conn_account(cc, requester, at)) {
        by_reply(cc, requester, message->send, message->call, message->credits, at);
    }
    credit_rnr_sent(cc, sender, message->send, message->xid, requester);
    check_threshold(cc, sender, message->send);
}

void flow_credit_give_up(struct flow_credits *credits, struct flow_conn *conn,
                         struct flow_call *call)
{
    struct credit_conn *cc = credit_conn_of(conn);
    struct rpcrdma_credit_account *account = cc ? cc->side[flow_call_caller(call)].account : NULL;

    if (account && !credits->held_only)
        rpcrdma_credit_account_give_up(account, credit_conn_call(credits, call));
}

void flow_credit_fetch(const struct flow_conn *conn)
{
    const struct credit_conn *cc = credit_conn_of(conn);

    if (cc)
        flow_fetch(cc, sizeof(*cc));
}

void flow_credit_fetch_accounts(const struct flow_conn *conn)
{
    const struct credit_conn *cc = credit_conn_of(conn);

    for (int i = 0; cc && i < 2; i++) {
        if (cc->side[i].account)
            flow_fetch(cc->side[i].account, sizeof(*cc->side[i].account));
        if (cc->side[i].count)
            flow_fetch(cc->side[i].count, sizeof(*cc->side[i].count));
        if (cc->sender[i].sends && cc->sender[i].sends != &cc->sender[i].one)
            flow_fetch(&cc->sender[i].sends[cc->sender[i].next], sizeof(*cc->sender[i].sends));
    }
}

void flow_credit_fetch_levels(const struct flow_conn *conn)
{
    const struct credit_conn *cc = credit_conn_of(conn);

    for (int i = 0; cc && i < 2; i++) {
        const struct rpcrdma_credit_account *account = cc->side[i].account;

        if (account) {
            flow_fetch_line(account->gauge.histogram.ns);
            flow_fetch_line(account->replies_passed.ring);
        }
    }
}

void flow_credit_delivered(struct flow_credits *credits, struct flow_conn *conn)
{
    struct credit_conn *cc = credit_conn_of(conn);

    if (!cc || cc->lost)
        return;
    for (int i = 0; i < 2; i++)
        credit_conn_delivered(
            cc, i, (struct rpcrdma_credit_at){credits->context->time_ns, credits->context->frame});
}

void flow_credit_gap(struct flow_credits *credits, struct flow_conn *conn, int sender,
                     const struct flow_gap *gap)
{
    struct credit_conn *cc = credit_conn_of(conn);
    uint64_t packets = ((gap->last - gap->first) & 0xffffff) + 1;

    (void)credits;
    if (flow_conn_public_const(conn)->carrier == RPCRDMA_CARRIER_IWARP)
        packets = RPCRDMA_CREDIT_NO_LIMIT; /* the numbers are not of messages */
    if (cc && !cc->lost)
        missing(cc, sender, packets);
}

/* That, or what passed on the connection though it was closed. */
static struct rpcrdma_credit_at at_last(const struct credit_conn *cc, struct rpcrdma_credit_at at)
{
    for (int i = 0; i < 2; i++) {
        const struct credit_side *side = &cc->side[i];
        const struct rpcrdma_credit_gauge *gauge[] = {side->account ? &side->account->gauge : NULL,
                                                      side->count ? &side->count->gauge : NULL};

        for (int k = 0; k < 2; k++)
            if (gauge[k] && gauge[k]->running && gauge[k]->frame > at.frame)
                at = (struct rpcrdma_credit_at){gauge[k]->last_ns, gauge[k]->frame};
    }
    return at;
}

void flow_credit_close(struct flow_credits *credits, struct flow_conn *conn, bool ended)
{
    struct credit_conn *cc = credit_conn_of(conn);
    struct rpcrdma_credit_at end;

    if (!cc)
        return;
    credit_rnr_end(cc);
    if (flow_conn_closed_at(conn, &end.frame, &end.time_ns)) {
        end = at_last(cc, end);
        if (!cc->lost)
            credit_conn_settle(cc, end);
        credit_conn_lose(cc, end);
    } else if (ended) {
        end = (struct rpcrdma_credit_at){credits->context->time_ns, credits->context->frame};
    } else {
        const struct rpcrdma_connection *pub = flow_conn_public_const(conn);

        end = (struct rpcrdma_credit_at){pub->last_time_ns, pub->last_frame};
    }
    credit_conn_doubt(cc);
    if (!cc->lost)
        credit_conn_settle(cc, end);
    for (int i = 0; i < 2; i++) {
        if (cc->side[i].account && !cc->lost)
            rpcrdma_credit_account_end(cc->side[i].account,
                                       credit_conn_end(cc, &cc->side[i].account->gauge, end));
        if (cc->side[i].count && !cc->lost)
            rpcrdma_credit_count_end(cc->side[i].count,
                                     credit_conn_end(cc, &cc->side[i].count->gauge, end));
    }
    credit_conn_report(cc);
    credit_conn_free(cc);
    *flow_conn_slot(conn, FLOW_SLOT_CREDIT) = NULL;
}

struct flow_credits *flow_credits_new(struct flow_context *context, struct flow_messages *messages,
                                      bool held_only)
{
    struct flow_credits *credits = flow_alloc_always(&context->memory, sizeof(*credits));

    if (credits) {
        LIST_INIT(&credits->all);
        credits->context = context;
        credits->messages = messages;
        credits->held_only = held_only;
        if (!held_only)
            flow_calls_reserve(messages, FLOW_CALL_CREDIT, sizeof(struct rpcrdma_credit_call));
    }
    return credits;
}

void flow_credits_free(struct flow_credits *credits)
{
    struct flow_memory *memory;

    if (!credits)
        return;
    memory = &credits->context->memory;
    flow_release(memory, credits, sizeof(*credits));
}

void flow_credits_report(struct flow_credits *credits, bool restart)
{
    struct credit_conn *cc;

    LIST_FOREACH(cc, &credits->all, all)
    {
        if (credits->context->passes)
            credit_conn_time(cc, credits->context->passed_ns);
        credit_conn_report(cc);
        for (int i = 0; restart && i < 2; i++) {
            if (cc->side[i].account)
                rpcrdma_credit_account_restart(cc->side[i].account);
            if (cc->side[i].count)
                rpcrdma_credit_count_restart(cc->side[i].count);
        }
    }
}
