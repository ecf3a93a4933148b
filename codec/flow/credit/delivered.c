/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/credit_conn.h"
#include "flow/delivery/delivery.h"

/*
 * When a Reply reaches its Requester, as the Requester's acknowledgements show: by PSN, and those
 * of TCP as delivery/ has them, which knows how long they wait.
 */

/* A sender gives up long before (IBTA volume 1 section 9.7.6.1.3: eight times its timeout). */
#define PATIENCE_NS INT64_C(30000000000)
/* So many Replies wait for an end which never acknowledged anything. */
enum { UNHEARD_MOST = 4 };
/* An Ack may take so long, before it is known how long those of this end take. */
#define FAR_NS INT64_C(25000000)
/* A packet that is there twice so soon was sent once; what is acknowledged is so sooner. */
#define SOON_NS INT64_C(1000000)
/* Of InfiniBand's Acks some may not be captured (a filter, sampling): where that are most, the few
 * that were say nothing of when a Reply arrived, and none is waited for. What is for that, and what
 * against; at 0 the trust is gone. */
enum {
    TRUST_FIRST = 2, /* with the first Ack */
    TRUST_ACK = 2,   /* it acknowledges a Reply */
    TRUST_REPLY = 1, /* while it is gone: one more */
    TRUST_CALL = 1,  /* the Requester goes on, and a Reply of long before is not acknowledged */
    TRUST_LIMIT = 8, /* nor could it go on without that Reply's credit */
    TRUST_AGAIN = 8, /* so much, and it is back */
    TRUST_MOST = 64,
};

static bool is_iwarp(const struct credit_conn *cc)
{
    return flow_conn_public_const(cc->conn)->carrier == RPCRDMA_CARRIER_IWARP;
}

static const struct flow_delivery *towards(const struct credit_conn *cc, int end)
{
    const struct flow_direction *dir = flow_conn_direction(cc->conn, end);

    return dir ? dir->delivery : NULL;
}

/* Whether acknowledgements are in the capture. Those of either end show it: the Requester's Calls
 * were captured, and its acknowledgements go the same way. */
static bool acknowledged(const struct credit_conn *cc, int requester)
{
    const struct flow_delivery *replies, *calls;

    if (!is_iwarp(cc))
        return cc->side[0].heard || cc->side[1].heard;
    replies = towards(cc, requester);
    calls = towards(cc, 1 - requester);
    return replies && (flow_delivery_answered(replies) || (calls && flow_delivery_answered(calls)));
}

static bool heard(const struct credit_conn *cc, int requester)
{
    const struct flow_delivery *d;

    if (!is_iwarp(cc))
        return cc->side[requester].heard;
    d = towards(cc, requester);
    return d && flow_delivery_answered(d);
}

/* A response says nothing of Acks that could be waited for, and what may be a Nak is of those that
 * were cut. */
bool credit_conn_heard(struct credit_conn *cc, int end, const struct rpcrdma_op *op)
{
    struct credit_side *side = &cc->side[end];

    if (op->kind != RPCRDMA_OP_NAK &&
        (op->kind != RPCRDMA_OP_ACK || op->flags & RPCRDMA_OP_ACK_OR_NAK))
        return false;
    if (!side->heard) {
        side->trust = TRUST_FIRST;
        side->unheard = false;
    }
    side->heard = true;
    return true;
}

static void stop_waiting(struct rpcrdma_credit_account *account, struct rpcrdma_credit_at at)
{
    while (account->replies_passed.count > 0)
        rpcrdma_credit_account_delivered(account, at);
    account->followed = false;
}

static void trust(struct credit_side *side)
{
    if (side->trust <= TRUST_MOST - TRUST_ACK)
        side->trust += TRUST_ACK;
    if (side->trust >= TRUST_AGAIN)
        side->unheard = false;
}

static void distrust(struct credit_side *side, uint32_t by)
{
    side->trust -= side->trust > by ? by : side->trust;
    if (side->trust == 0)
        side->unheard = true;
}

/* The oldest Reply that waits has done so for much longer than an Ack takes: the Requester may be
 * far away. */
static bool is_late(const struct credit_side *side, int64_t now)
{
    enum { LONGER = 4 };
    const struct rpcrdma_credit_replies *passed = &side->account->replies_passed;
    int64_t usual_ns = side->timed ? side->ack_ns : side->heard ? FAR_NS : 0;
    int64_t waits_ns;

    if (passed->count == 0 ||
        __builtin_sub_overflow(now, rpcrdma_credit_replies_oldest(passed)->time_ns, &waits_ns))
        return false;
    return waits_ns > SOON_NS && waits_ns / LONGER > usual_ns;
}

/* More than it asks for are in flight. */
static bool is_beyond(const struct rpcrdma_credit_account *account)
{
    return account->limit.known && account->gauge.in_flight > account->limit.last;
}

void credit_conn_call_passed(struct credit_conn *cc, int requester, struct rpcrdma_credit_at at,
                             bool had_to_be_delivered)
{
    struct credit_side *side = &cc->side[requester];
    struct rpcrdma_credit_account *account = side->account;

    if (is_iwarp(cc))
        return;
    if (had_to_be_delivered || (account->replies_passed.count > 0 && is_beyond(account)))
        distrust(side, TRUST_LIMIT);
    else if (is_late(side, at.time_ns))
        distrust(side, TRUST_CALL);
    if (side->unheard)
        stop_waiting(account, at);
}

bool credit_conn_reply_passed(struct credit_conn *cc, int requester, struct rpcrdma_credit_at at,
                              const struct rpcrdma_credit_reply *reply)
{
    struct credit_side *side = &cc->side[requester];
    struct rpcrdma_credit_account *account = side->account;

    if (!acknowledged(cc, requester) || !rpcrdma_credit_call_in_flight(reply->call))
        return false;
    if (is_iwarp(cc) || !side->heard) {
        if (side->unheard || account->replies_passed.count >= UNHEARD_MOST)
            side->unheard = !heard(cc, requester);
    } else if (side->unheard) {
        side->passed += side->passed < TRUST_MOST;
        distrust(side, TRUST_REPLY);
    }
    if (side->unheard) {
        stop_waiting(account, at);
        return false;
    }
    rpcrdma_credit_account_passed(account, at, reply);
    return true;
}

void credit_conn_reached(struct credit_conn *cc, int requester, struct rpcrdma_credit_at at,
                         rpcrdma_stream_position place, bool by_ack)
{
    struct credit_side *side = &cc->side[requester];
    struct rpcrdma_credit_account *account = side->account;
    int64_t passed_ns = 0, took_ns;
    bool reached = false;

    while (account && account->replies_passed.count > 0 &&
           rpcrdma_credit_replies_oldest(&account->replies_passed)->place < place) {
        passed_ns = rpcrdma_credit_replies_oldest(&account->replies_passed)->time_ns;
        rpcrdma_credit_account_delivered(account, at);
        reached = true;
    }
    if (!by_ack)
        return;
    /* of the latest: an Ack may be of several */
    if (reached && !__builtin_sub_overflow(at.time_ns, passed_ns, &took_ns)) {
        side->ack_ns = side->timed && side->ack_ns / 2 > took_ns ? side->ack_ns / 2 : took_ns;
        side->timed = true;
    }
    if (side->unheard && side->passed > 0 && place > side->acked) {
        side->passed--;
        reached = true;
    }
    if (place > side->acked)
        side->acked = place;
    if (reached)
        trust(side);
}

/* False: it may still come. */
static bool by_tcp(const struct credit_conn *cc, int requester,
                   const struct rpcrdma_credit_reply *reply, struct rpcrdma_credit_at *at)
{
    const struct flow_delivery *d = towards(cc, requester);
    struct rpcrdma_delivery delivery;

    if (!d || !flow_delivery_find(d, false, reply->stream_last, reply->stream_last, &delivery))
        return true; /* nothing is known of it any more */
    if (delivery.state != RPCRDMA_DELIVERED || delivery.time_ns > at->time_ns)
        return false;
    *at = (struct rpcrdma_credit_at){delivery.time_ns, delivery.frame};
    return true;
}

void credit_conn_delivered(struct credit_conn *cc, int requester, struct rpcrdma_credit_at at)
{
    struct rpcrdma_credit_account *account = cc->side[requester].account;

    while (account && account->replies_passed.count > 0) {
        const struct rpcrdma_credit_reply *reply =
            rpcrdma_credit_replies_oldest(&account->replies_passed);
        struct rpcrdma_credit_at when = at;

        if (at.time_ns - reply->time_ns <= PATIENCE_NS &&
            (!is_iwarp(cc) || !by_tcp(cc, requester, reply, &when)))
            return;
        rpcrdma_credit_account_delivered(account, when);
    }
}

static bool sent_again(const struct credit_conn *cc, int requester,
                       const struct rpcrdma_credit_reply *reply)
{
    const struct flow_direction *dir = flow_conn_direction(cc->conn, requester);
    struct rpcrdma_delivery delivery;

    if (!dir)
        return false;
    if (is_iwarp(cc))
        return dir->delivery &&
               flow_delivery_find(dir->delivery, false, reply->stream_last, reply->stream_last,
                                  &delivery) &&
               delivery.transmissions > 1;
    return dir->repeated &&
           rpcrdma_psn_diff(dir->repeated_seq, (uint32_t)reply->place & 0xffffff) >= 0 &&
           dir->repeated_ns - reply->time_ns > SOON_NS;
}

void credit_conn_settle(struct credit_conn *cc, struct rpcrdma_credit_at at)
{
    for (int i = 0; i < 2; i++) {
        struct rpcrdma_credit_account *account = cc->side[i].account;

        while (account && account->replies_passed.count > 0 &&
               !sent_again(cc, i, rpcrdma_credit_replies_oldest(&account->replies_passed)))
            rpcrdma_credit_account_delivered(account, at);
    }
}
