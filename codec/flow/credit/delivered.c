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
/* A packet that is there twice so soon was sent once. */
#define SOON_NS INT64_C(1000000)

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
void credit_conn_heard(struct credit_conn *cc, int end, const struct rpcrdma_op *op)
{
    cc->side[end].heard |= op->kind == RPCRDMA_OP_NAK ||
                           (op->kind == RPCRDMA_OP_ACK && !(op->flags & RPCRDMA_OP_ACK_OR_NAK));
}

/* Its Ack stands before it, as where a capture has the two directions from two ports. */
static bool acked_before(const struct credit_sender *sent, rpcrdma_stream_position place)
{
    return sent->acked && flow_delivery_ack_early(sent->acked_psn, (uint32_t)place);
}

bool credit_conn_reply_passed(struct credit_conn *cc, int requester, struct rpcrdma_credit_at at,
                              const struct rpcrdma_credit_reply *reply)
{
    struct credit_side *side = &cc->side[requester];
    struct rpcrdma_credit_account *account = side->account;

    if (!acknowledged(cc, requester) || !rpcrdma_credit_call_in_flight(reply->call))
        return false;
    if (acked_before(&cc->sender[1 - requester], reply->place)) {
        account->pending_violations.count = 0; /* what it allowed may stand before it, too */
        return false;
    }
    if (side->unheard || account->replies_passed.count >= UNHEARD_MOST)
        side->unheard = !heard(cc, requester);
    if (side->unheard) {
        rpcrdma_credit_account_unheard(account, at);
        return false;
    }
    rpcrdma_credit_account_passed(account, at, reply);
    return true;
}

void credit_conn_reached(struct credit_conn *cc, int requester, struct rpcrdma_credit_at at,
                         rpcrdma_stream_position place)
{
    struct rpcrdma_credit_account *account = cc->side[requester].account;

    while (account && account->replies_passed.count > 0 &&
           rpcrdma_credit_replies_oldest(&account->replies_passed)->place < place)
        rpcrdma_credit_account_delivered(account, at);
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
