/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_state.h"

#include "flow/rpc/check.h"
#include "wire/hot.h"

/* What ends a transaction: a Reply, at once or when the data it speaks of has come; an RDMA error.
 */

static void respond(struct flow_rpcs *rpcs, struct rpc_transaction *t, const struct rpc_response *a)
{
    if (t->has_call && !t->call_emitted)
        rpc_call_deliver(rpcs, t);
    rpc_reply_deliver(rpcs, t, a);
    rpc_finish(rpcs, t);
}

/* An RDMA error, of this frame, answers it. */
static void refuse(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                   const struct rpcrdma_message *msg, uint64_t frame)
{
    enum { OFF_ERROR = 16 };
    const struct rpcrdma_error_desc *desc = rpcrdma_dialect_error(msg->dialect, msg->error.code);

    t->pub.error = true;
    if (msg->present & RPCRDMA_HAS_ERROR)
        rpc_add_finding_at(rpcs, t, OFF_ERROR + (msg->present & RPCRDMA_HAS_FLAGS ? 4 : 0),
                           (struct rpc_finding){.rule = RPCRDMA_RULE_RPC_ERROR,
                                                .frame = frame,
                                                .a = msg->error.code,
                                                .what = desc ? desc->name : "an unknown error"});
    else
        rpc_add_finding(rpcs, t,
                        (struct rpc_finding){.rule = RPCRDMA_RULE_RPC_ERROR_CUT, .frame = frame});
    rpc_finish(rpcs, t);
}

/* The Reply that waited has all, or has waited long enough. */
void rpc_reply_release(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpc_kept_reply *kept = t->reply.kept;
    struct rpc_response a = {.message = &kept->message,
                             .parts = &t->reply.parts,
                             .chunk_map = t->reply.chunk_map,
                             .frame = kept->frame,
                             .time_ns = kept->time_ns};

    rpc_unhold_reply(rpcs, t);
    if (kept->message.kind == RPCRDMA_KIND_ERROR)
        refuse(rpcs, t, &kept->message, kept->frame);
    else
        respond(rpcs, t, &a);
}

/* The Reply that waits has all it waited for. */
void rpc_reply_release_if_ready(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    if (t->reply.waits && t->has_call && !t->open && t->pending == 0 && t->reply.pending == 0 &&
        rpc_reply_passed(t))
        rpc_reply_release(rpcs, t);
}

static bool keep_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                       const struct flow_message *m)
{
    const struct flow_send *send = m->send;
    struct rpc_kept_reply *kept = flow_alloc(&rpcs->context->memory, sizeof(*kept) + send->caplen);

    if (!kept)
        return false;
    kept->caplen = send->caplen;
    memcpy(kept->data, send->data, send->caplen);
    flow_message_decode(m->message->message->dialect, kept->data, send->caplen, send->len,
                        &kept->message);
    kept->frame = send->frame;
    kept->time_ns = send->time_ns;
    t->reply.kept = kept;
    return true;
}

static RPCRDMA_INLINE void note_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                                      const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;

    t->pub.reply_frame = m->send->frame;
    t->pub.reply_time_ns = m->send->time_ns;
    rpc_slot_answered(t);
    rpc_timing_reply(rpcs, t, m);
    if (msg->present & RPCRDMA_HAS_CREDITS) {
        t->pub.has_credits = true;
        t->pub.credits_granted = msg->credits;
    }
}

static struct rpc_transaction *oldest_held(const struct flow_rpcs *rpcs)
{
    struct rpc_transaction *a = TAILQ_FIRST(&rpcs->held[0]), *b = TAILQ_FIRST(&rpcs->held[1]);

    return !a || (b && b->reply.kept->frame < a->reply.kept->frame) ? b : a;
}

/* The transaction of a Reply whose Call has none, or has had its Reply. NULL: there is to be none.
 */
static struct rpc_transaction *begin_with_reply(struct flow_rpcs *rpcs, struct flow_conn *conn,
                                                const struct flow_message *m)
{
    uint32_t xid = m->message->message->xid;
    struct rpc_transaction *t;

    if (!m->call_known && rpc_sendings_answers(conn, 1 - m->sender, xid))
        return NULL; /* what it is of was told */
    t = rpc_begin(rpcs, conn, 1 - m->sender, xid, m->call);
    if (t && m->call_known) {
        struct rpcrdma_rpc call;

        flow_call_rpc(m->call, &call);
        rpc_note_header(t, &call);
    }
    return t;
}

/* It waits for its Call, or for data. */
static void hold_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t, struct rpc_part *part)
{
    part->data = part->data ? t->reply.kept->message.payload.data : NULL;
    rpc_parts_add(rpcs, t, &t->reply.parts, part, true);
    rpc_hold_reply(rpcs, t);
    if (rpcs->n_held > RPC_HELD)
        rpc_reply_release(rpcs, oldest_held(rpcs));
}

RPCRDMA_APART void rpc_reply(struct flow_rpcs *rpcs, struct flow_conn *conn,
                             const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;
    struct rpc_transaction *t = rpc_transaction_of(rpcs, m->call);
    struct rpc_part part;
    struct rpc_response a = {.message = msg, .frame = m->send->frame, .time_ns = m->send->time_ns};
    uint64_t pending;
    bool read_read;

    if (t && t->reply.kept) { /* a second Reply while the first waits */
        rpc_reply_release(rpcs, t);
        t = NULL;
    }
    if (!t)
        t = begin_with_reply(rpcs, conn, m);
    if (!t)
        return;
    rpc_of(conn)->replied_ns[1 - m->sender] = m->send->time_ns;
    if (m->send->has_invalidate)
        rpc_check_invalidate(rpcs, t, m->send);
    note_reply(rpcs, t, m);
    rpc_part_of(&t->reply.parts, m, &part);
    if (m->continues) {
        rpc_parts_add(rpcs, t, &t->reply.parts, &part, true);
        t->reply.open = true;
        return;
    }
    t->reply.open = false;
    t->open = false;
    if (msg->present & RPCRDMA_HAS_READ && msg->read.count > 0)
        t->reply.chunk_map = rpc_chunk_map_open(rpcs, t, m->sender, RPC_REPLY_READ, msg);
    t->reply.pending = rpc_chunk_map_pending(t->reply.chunk_map);
    read_read = t->reply.pending > 0;
    pending = t->pending + rpc_reply_pending(t, msg);
    if ((!t->has_call || pending > 0 || read_read) && keep_reply(rpcs, t, m)) {
        t->reply.read_read = read_read;
        hold_reply(rpcs, t, &part);
        return;
    }
    a.chunk_map = t->reply.chunk_map;
    if (t->reply.parts.first) {
        rpc_parts_add(rpcs, t, &t->reply.parts, &part, true);
        a.parts = &t->reply.parts;
        respond(rpcs, t, &a);
    } else {
        struct rpc_parts parts = t->reply.parts;

        parts.first = parts.last = &part;
        parts.length = part.at + part.len;
        a.parts = &parts;
        respond(rpcs, t, &a);
    }
}

/* It passes before its Call, which may follow. */
static void error_first(struct flow_rpcs *rpcs, struct flow_conn *conn,
                        const struct flow_message *m)
{
    int caller = 1 - m->sender;
    uint32_t xid = m->message->message->xid;
    struct rpc_transaction *t;

    if (m->message->direction != RPCRDMA_DIRECTION_REPLY || !m->call || m->call_known ||
        rpc_sendings_answers(conn, caller, xid))
        return;
    t = rpc_begin(rpcs, conn, caller, xid, m->call);
    if (!t)
        return;
    note_reply(rpcs, t, m);
    if (!keep_reply(rpcs, t, m)) {
        refuse(rpcs, t, m->message->message, m->send->frame);
        return;
    }
    rpc_hold_reply(rpcs, t);
    if (rpcs->n_held > RPC_HELD)
        rpc_reply_release(rpcs, oldest_held(rpcs));
}

/* RDMA_ERROR ends what it answers; it comes from the Responder (RFC 8166 section 4.5). */
void rpc_error(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;
    struct rpc_transaction *t = rpc_transaction_find(rpcs, conn, 1 - m->sender, msg->xid);

    if (!t) {
        error_first(rpcs, conn, m);
        return;
    }
    if (!t->has_call)
        return;
    note_reply(rpcs, t, m);
    refuse(rpcs, t, msg, m->send->frame);
}

/* RDMA_DONE: the Requester has pulled the Reply's read list (RFC 5666 section 3.8). */
void rpc_done(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_message *m)
{
    struct rpc_transaction *t =
        rpc_transaction_find(rpcs, conn, m->sender, m->message->message->xid);

    if (t && t->reply.waits)
        rpc_reply_release(rpcs, t);
}

void rpc_check_held(struct flow_rpcs *rpcs, int64_t now)
{
    struct rpc_transaction *t = TAILQ_FIRST(&rpcs->held[0]);

    if (t &&
        (now - t->reply.kept->time_ns > RPC_HOLD_NS || now < t->reply.kept->time_ns - RPC_HOLD_NS))
        rpc_reply_release(rpcs, t);
}
