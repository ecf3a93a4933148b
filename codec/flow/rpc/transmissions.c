/* SPDX-License-Identifier: BSD-2-Clause */
/* Which transmission of a message findings are about, and what was never delivered. */
#include "flow/delivery/delivery.h"
#include "flow/rpc/rpc_state.h"

/* Which transmission of the Reply is in this frame; 0: not known. */
static uint32_t of_reply(const struct rpc_transaction *t, uint64_t frame)
{
    return frame == t->pub.reply_frame ? 1 : t->pub.reply.transmissions;
}

/* Of the Call: the first on this connection, another Send of it, the last. */
static uint32_t of_call(const struct rpc_transaction *t, uint64_t frame)
{
    const struct rpcrdma_transaction *pub = &t->pub;

    if (frame == pub->call_frame)
        return t->sent_before + 1;
    if (frame == t->sent_frame)
        return t->sent_before + t->sent_earlier + 1;
    return frame == pub->call.last_frame
               ? t->sent_before + t->sent_earlier + pub->call.transmissions
               : 0;
}

/* Which transmission of the Call or the Reply each finding is about, where its frame shows. */
static void note_transmissions(struct rpc_transaction *t)
{
    const struct rpcrdma_transaction *pub = &t->pub;

    for (size_t i = 0; i < t->findings->count; i++) {
        struct rpcrdma_finding *f = &t->findings->at[i];
        bool reply = f->frame == pub->reply_frame || f->frame == pub->reply.last_frame;
        const struct rpcrdma_delivery *d = reply ? &pub->reply : &pub->call;

        if (f->frame == 0 || d->transmissions == 0)
            continue;
        f->transmission = reply ? of_reply(t, f->frame) : of_call(t, f->frame);
        if (f->transmission > 0)
            f->transmissions = reply ? d->transmissions : pub->transmissions;
    }
}

void rpc_timing_findings(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpcrdma_transaction *pub = &t->pub;
    const struct rpcrdma_delivery *call = &pub->call, *reply = &pub->reply;
    bool tcp = flow_conn_public_const(t->conn)->carrier == RPCRDMA_CARRIER_IWARP;

    if (reply->state == RPCRDMA_NOT_DELIVERED)
        rpc_add_finding(rpcs, t,
                        (struct rpc_finding){.rule = tcp ? RPCRDMA_RULE_REPLY_UNDELIVERED_TCP
                                                         : RPCRDMA_RULE_REPLY_UNDELIVERED,
                                             .frame = reply->last_frame,
                                             .a = reply->transmissions});
    if (!t->has_call || pub->reply_frame != 0)
        return;
    if (call->state == RPCRDMA_DELIVERED)
        rpc_add_finding(rpcs, t,
                        (struct rpc_finding){.rule = RPCRDMA_RULE_CALL_HELD,
                                             .frame = pub->call_frame,
                                             .a = call->frame});
    else if (call->state == RPCRDMA_NOT_DELIVERED)
        rpc_add_finding(rpcs, t,
                        (struct rpc_finding){.rule = tcp ? RPCRDMA_RULE_CALL_UNDELIVERED_TCP
                                                         : RPCRDMA_RULE_CALL_UNDELIVERED,
                                             .frame = call->last_frame,
                                             .a = call->transmissions});
}

void rpc_timing_transmissions(struct rpc_transaction *t)
{
    if (t->findings)
        note_transmissions(t);
}

void flow_rpc_transmissions(const struct flow_rpcs *rpcs, const struct flow_conn *conn,
                            const struct flow_message *m, struct rpcrdma_finding *findings,
                            size_t n)
{
    const struct flow_delivery *d = rpc_delivery_towards(conn, 1 - m->sender);
    bool psn = flow_conn_public_const(conn)->carrier != RPCRDMA_CARRIER_IWARP;
    const struct flow_send *send = m->send;
    const struct rpc_transaction *t = m->call ? rpc_transaction_of(rpcs, m->call) : NULL;
    struct rpcrdma_delivery now;
    uint32_t which = 1, of;

    if (!d ||
        !flow_delivery_find(d, psn, psn ? send->first_seq : send->stream_first,
                            psn ? send->last_seq : send->stream_end - 1, &now) ||
        now.transmissions == 0)
        return;
    of = now.transmissions;
    if (t && m->message->direction == RPCRDMA_DIRECTION_CALL) {
        which = of_call(t, send->frame);
        of = rpc_sendings_total(rpcs, t, now.transmissions);
    }
    for (size_t i = 0; which > 0 && i < n; i++)
        if (findings[i].frame == 0 || findings[i].frame == send->frame) {
            findings[i].transmission = which;
            findings[i].transmissions = of;
        }
}
