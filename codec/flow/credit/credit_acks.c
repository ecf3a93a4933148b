/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/credit_conn.h"
#include "flow/credit/rnr.h"
#include "wire/hot.h"

/* What an end acknowledges, or refuses: which Replies it has, and so which credits. */

/* What an Ack changes that is not the acknowledged end's own. */
RPCRDMA_APART static void reached(struct credit_conn *cc, int sender, struct rpcrdma_credit_at at,
                                  rpcrdma_stream_position place)
{
    credit_conn_reached(cc, sender, at, place + 1);
    /* What `sender` acknowledges brought grants for what it sends itself. */
    if (cc->side[sender].account)
        rpcrdma_credit_account_acked(cc->side[sender].account, at, place);
    if (cc->side[sender].count)
        rpcrdma_credit_count_acked(cc->side[sender].count, at, place);
}

/* Whether an Ack of this end may change anything there. */
static RPCRDMA_INLINE bool awaits(const struct credit_side *side)
{
    const struct rpcrdma_credit_account *account = side->account;

    return (account && (account->replies_passed.count > 0 ||
                        rpcrdma_credit_grants_pending(&account->grants))) ||
           (side->count && rpcrdma_credit_grants_pending(&side->count->grants));
}

RPCRDMA_APART static void acked(struct credit_conn *cc, struct flow_conn *conn, int sender,
                                const struct rpcrdma_op *op)
{
    uint32_t psn = rpcrdma_op_acknowledges(op);
    struct credit_sender *sent = &cc->sender[1 - sender];

    credit_conn_heard(cc, sender, op);
    credit_rnr_acked(sent, psn);
    if (!sent->started)
        return;
    if (awaits(&cc->side[sender]))
        reached(cc, sender, (struct rpcrdma_credit_at){op->time_ns, op->frame},
                credit_sender_place(sent, conn, psn));
}

void flow_credit_ack(struct flow_credits *credits, struct flow_conn *conn, int sender,
                     const struct rpcrdma_op *op)
{
    struct credit_conn *cc = credit_conn_of(conn);

    (void)credits;
    if (cc && !cc->lost)
        acked(cc, conn, sender, op);
}

/* As an Ack, but that nobody was heard: of a transfer each packet is one, and few change anything.
 */
RPCRDMA_HOT void flow_credit_response(struct flow_conn *conn, int sender,
                                      const struct rpcrdma_op *op)
{
    struct credit_conn *cc = credit_conn_of(conn);
    struct credit_sender *sent;

    if (!cc || cc->lost)
        return;
    sent = &cc->sender[1 - sender];
    if (!sent->started)
        return;
    credit_rnr_acked(sent, op->seq);
    if (RPCRDMA_SELDOM(awaits(&cc->side[sender])))
        reached(cc, sender, (struct rpcrdma_credit_at){op->time_ns, op->frame},
                credit_sender_place(sent, conn, op->seq));
}

void flow_credit_nak(struct flow_credits *credits, struct flow_conn *conn, int sender,
                     const struct rpcrdma_op *op)
{
    struct credit_conn *cc =
        credits->held_only ? credit_conn_of(conn) : credit_conn_get(credits, conn);
    struct rpcrdma_credit_at at = {op->time_ns, op->frame};
    int hit_end = 1 - sender;
    struct credit_sender *its;

    if (!cc || cc->lost || op->kind != RPCRDMA_OP_NAK)
        return;
    its = &cc->sender[hit_end];
    credit_conn_heard(cc, sender, op);
    if (its->started) /* what is before it arrived */
        credit_conn_reached(cc, sender, at, credit_sender_place(its, conn, op->seq));
    if (op->nak == RPCRDMA_NAK_RNR)
        credit_rnr_nak(cc, hit_end, at, op->seq);
}
