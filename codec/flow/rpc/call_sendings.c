/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/delivery.h"
#include "flow/rpc/rpc_state.h"

/* How often a Call was sent: on its connection, and on those before, as far as flow/message knows
 * it again. */

/* So often, as far as it was captured, was the Call sent on its connection; it was once. */
static uint32_t own_of(const struct rpc_transaction *t)
{
    const struct rpc_place *p = &t->call_place;
    const struct flow_delivery *d = p->set ? rpc_delivery_towards(t->conn, 1 - p->sender) : NULL;
    bool psn = flow_conn_public_const(t->conn)->carrier != RPCRDMA_CARRIER_IWARP;
    uint32_t times = d && flow_delivery_disturbed(d)
                         ? flow_delivery_transmissions(d, psn, p->first, p->last)
                         : 0;

    return t->sent_earlier + (times > 0 ? times : 1);
}

static uint32_t own_of_latest(const struct flow_sent *e)
{
    return e->latest && e->latest != &flow_sent_left ? own_of(e->latest) : e->own;
}

static void begin(struct flow_rpcs *rpcs, struct rpc_transaction *t, bool sent_before)
{
    struct flow_sent *e;

    if (t->remembered == 0)
        return;
    e = flow_call_sent_at(rpcs->messages, t->remembered);
    t->sent_key = e->key;
    t->sent_before = e->before = sent_before ? e->before + own_of_latest(e) : 0;
    e->latest = t;
    e->own = 1;
}

void rpc_sendings_note(struct flow_rpcs *rpcs, struct rpc_transaction *t, uint32_t remembered,
                       const struct flow_sent_before *before)
{
    t->remembered = remembered;
    begin(rpcs, t, before != NULL);
    if (!before)
        return;
    t->pub.original_connection = before->first_connection;
    t->pub.original_frame = before->first_frame;
    t->pub.original_time_ns = before->first_time_ns;
    t->pub.previous_connection = before->connection;
    t->pub.retransmitted = true;
    rpc_add_finding(rpcs, t,
                    (struct rpc_finding){.rule = RPCRDMA_RULE_RPC_AGAIN,
                                         .frame = t->pub.call_frame,
                                         .a = before->connection,
                                         .b = before->frame});
}

void rpc_sendings_here(struct rpc_transaction *t, uint64_t frame)
{
    t->sent_earlier = own_of(t);
    t->sent_frame = frame;
}

void rpc_sendings_answered(struct flow_rpcs *rpcs, const struct rpc_transaction *t)
{
    struct rpc_conn *c = rpc_of(t->conn);

    if (t->sent_frame == 0 || !c)
        return;
    if (!c->twice)
        c->twice = flow_alloc(&rpcs->context->memory, RPC_TWICE * sizeof(*c->twice));
    if (!c->twice)
        return;
    c->twice[c->n_twice++ % RPC_TWICE] = (struct rpc_twice){
        .xid = t->pub.xid, .left = t->sent_earlier, .caller = (uint8_t)t->pub.caller_end};
}

bool rpc_sendings_answers(const struct flow_conn *conn, int caller, uint32_t xid)
{
    const struct rpc_conn *c = rpc_of(conn);

    for (uint32_t i = 0; c->twice && i < RPC_TWICE; i++) {
        struct rpc_twice *one = &c->twice[i];

        if (one->left > 0 && one->xid == xid && one->caller == caller) {
            one->left--;
            return true;
        }
    }
    return false;
}

static struct flow_sent *of(const struct flow_rpcs *rpcs, const struct rpc_transaction *t)
{
    return t->remembered > 0 ? flow_call_sent(rpcs->messages, t->remembered, t->sent_key) : NULL;
}

void rpc_sendings_over(struct flow_rpcs *rpcs, const struct rpc_transaction *t)
{
    const struct rpcrdma_delivery *reply = &t->pub.reply;
    struct flow_sent *e = of(rpcs, t);

    if (!e || e->latest != t)
        return;
    e->own = own_of(t);
    e->latest = reply->state != RPCRDMA_DELIVERED && (rpcs->closing || reply->transmissions > 1)
                    ? &flow_sent_left
                    : NULL;
    if (reply->state == RPCRDMA_DELIVERED)
        e->connection = 0; /* the client has its Reply, and sends it no more: another one may */
}

uint32_t rpc_sendings_total(const struct flow_rpcs *rpcs, const struct rpc_transaction *t,
                            uint32_t own)
{
    const struct flow_sent *e = of(rpcs, t);
    uint64_t first = t->pub.original_frame ? t->pub.original_frame : t->pub.call_frame;

    if (own == 0)
        return 0;
    own += t->sent_earlier;
    if (e && e->latest == t && e->before == 0)
        return own; /* mostly; remembered or not */
    if (!e || e->first_frame != first)
        return own;
    return e->before + (e->latest == t ? own : own_of_latest(e));
}
