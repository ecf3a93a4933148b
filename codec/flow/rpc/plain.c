/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_state.h"

#include "wire/hot.h"
#include "wire/plain.h"

/* Calls and Replies that are all in one Send, without chunks, as most are: what rpc_call.c and
 * rpc_reply.c do with them. Neither has parts, nor waits for data. */

enum { HEADER = 28 }; /* of version 1's RDMA_MSG with empty lists */

static RPCRDMA_INLINE void call(struct flow_rpcs *rpcs, struct flow_conn *conn,
                                const struct flow_plain *m, struct rpc_part *part)
{
    struct rpc_transaction *t = rpc_call_begin(rpcs, conn, m->sender, m->xid, m->call, m->send);

    if (!t)
        return;
    rpc_sendings_note(rpcs, t, m->remembered, m->sent_before);
    rpc_timing_place(rpcs, t, &t->call_place, m->sender, m->send, false);
    rpcrdma_rpc_plain(&t->rpc, false, part->data, part->caplen, part->len);
    t->pub.has_program = true;
    t->pub.program = t->rpc.program;
    t->pub.version = t->rpc.version;
    t->pub.procedure = t->rpc.procedure;
    t->last_frame = m->send->frame;
    t->last_ns = m->send->time_ns;
    t->header_length = HEADER;
    t->parts.first = t->parts.last = part;
    t->parts.length = part->len;
    rpc_call_plain(rpcs, t, &t->rpc, part);
    t->parts.first = t->parts.last = NULL;
    t->rpc.cred.data = t->rpc.verf.data = NULL;
}

static RPCRDMA_INLINE void reply(struct flow_rpcs *rpcs, struct flow_conn *conn,
                                 const struct flow_plain *m, const struct rpc_part *part)
{
    struct rpc_transaction *t = rpc_transaction_of(rpcs, m->call);
    const struct flow_send *send = m->send;

    rpc_of(conn)->replied_ns[1 - m->sender] = send->time_ns;
    t->pub.reply_frame = send->frame;
    t->pub.reply_time_ns = send->time_ns;
    rpc_slot_answered(t);
    rpc_timing_served(t);
    rpc_timing_place(rpcs, t, &t->reply_place, m->sender, send, false);
    t->pub.has_credits = true;
    t->pub.credits_granted = m->credits;
    rpc_reply_plain(rpcs, t, send, part);
    rpc_finish_plain(rpcs, t);
}

RPCRDMA_HOT void flow_rpc_plain(struct flow_rpcs *rpcs, struct flow_conn *conn,
                                const struct flow_plain *m)
{
    struct rpc_part part;

    part.next = NULL;
    part.size = 0;
    part.at = 0;
    part.caplen = part.len = m->send->len - HEADER;
    part.data = m->send->data + HEADER;
    if (!TAILQ_EMPTY(&rpcs->held[0]))
        rpc_check_held(rpcs, m->send->time_ns);
    if (m->is_call)
        call(rpcs, conn, m, &part);
    else
        reply(rpcs, conn, m, &part);
}
