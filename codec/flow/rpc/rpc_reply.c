/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_stage.h"

/* What ends a transaction: a Reply, at once or when the data it speaks of has come; an RDMA error.
 */

static void answer(struct track *track, struct track_rpc *t, const struct track_answer *a)
{
    if (t->has_call && !t->call_given)
        track_call_give(track, t);
    track_reply_give(track, t, a);
    track_finish(track, t);
}

/* The Reply that waited has all, or has waited long enough. */
void track_answer_held(struct track *track, struct track_rpc *t)
{
    struct track_answer a = {.message = &t->reply.message,
                             .parts = &t->reply.parts,
                             .chunk_map = t->reply.chunk_map,
                             .frame = t->reply.frame,
                             .time_ns = t->reply.time_ns};

    track_unhold(track, t);
    answer(track, t, &a);
}

/* The Reply that waits has all it waited for. */
void track_answer_if_ready(struct track *track, struct track_rpc *t)
{
    if (t->reply.waits && t->has_call && !t->open && t->pending == 0 &&
        track_chunk_map_pending(t->reply.chunk_map) == 0 &&
        track_reply_pending(t, &t->reply.message) == 0)
        track_answer_held(track, t);
}

static bool keep_reply(struct track *track, struct track_rpc *t, const struct flow_message *m)
{
    struct track_reply *r = &t->reply;
    const struct flow_send *send = m->send;

    r->header = flow_alloc(&track->flow->memory, send->caplen ? send->caplen : 1);
    if (!r->header)
        return false;
    r->header_caplen = send->caplen ? send->caplen : 1;
    memcpy(r->header, send->data, send->caplen);
    rpcrdma_message_decode(m->message->message->dialect, r->header, send->caplen, send->len,
                           &r->message);
    r->frame = send->frame;
    r->time_ns = send->time_ns;
    r->ready = true;
    return true;
}

static void note_reply(struct track_rpc *t, const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;

    t->pub.reply_frame = m->send->frame;
    t->pub.reply_time_ns = m->send->time_ns;
    if (msg->present & RPCRDMA_HAS_CREDITS) {
        t->pub.has_credits = true;
        t->pub.credits_granted = msg->credits;
    }
}

void track_reply(struct track *track, struct flow_conn *conn, const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;
    int caller = 1 - m->sender;
    struct track_rpc *t = track_find(track, conn, caller, msg->xid);
    struct track_part part;
    struct track_answer a = {.message = msg, .frame = m->send->frame, .time_ns = m->send->time_ns};
    uint64_t pending;
    bool read_read;

    if (t && t->reply.ready) { /* a second Reply while the first waits */
        track_answer_held(track, t);
        t = NULL;
    }
    if (!t) {
        t = track_begin(track, conn, caller, msg->xid);
        if (!t)
            return;
        track_take_rpc(t, m->message->call);
    }
    note_reply(t, m);
    part = track_part_of(&t->reply.parts, m);
    if (m->continues) {
        track_parts_add(track, t, &t->reply.parts, &part, true);
        t->reply.open = true;
        return;
    }
    t->reply.open = false;
    track_retransmit_answered(track, t);
    t->open = false;
    if (msg->present & RPCRDMA_HAS_READ && msg->read.count > 0)
        t->reply.chunk_map = track_chunk_map_open(track, t, m->sender, TRACK_REPLY_READ, msg);
    read_read = track_chunk_map_pending(t->reply.chunk_map) > 0;
    pending = t->pending + track_reply_pending(t, msg);
    if ((!t->has_call || pending > 0 || read_read) && keep_reply(track, t, m)) {
        t->reply.read_read = read_read;
        part.data = part.data ? t->reply.message.payload.data : NULL;
        track_parts_add(track, t, &t->reply.parts, &part, true);
        track_hold(track, t);
        if (track->n_held > TRACK_HELD)
            track_answer_held(track, track->held_oldest);
        return;
    }
    a.chunk_map = t->reply.chunk_map;
    if (t->reply.parts.first) {
        track_parts_add(track, t, &t->reply.parts, &part, true);
        a.parts = &t->reply.parts;
        answer(track, t, &a);
    } else {
        struct track_parts parts = t->reply.parts;

        parts.first = parts.last = &part;
        parts.length = part.at + part.len;
        a.parts = &parts;
        answer(track, t, &a);
    }
}

/* RDMA_ERROR ends what it answers; it comes from the Responder (RFC 8166 section 4.5). */
void track_error(struct track *track, struct flow_conn *conn, const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;
    struct track_rpc *t = track_find(track, conn, 1 - m->sender, msg->xid);
    const struct rpcrdma_error_desc *desc;

    if (!t || !t->has_call)
        return;
    desc = rpcrdma_dialect_error(msg->dialect, msg->error.code);
    note_reply(t, m);
    track_retransmit_answered(track, t);
    t->pub.error = true;
    track_add_finding(track, t, RPCRDMA_RULE_RPC_ERROR, m->send->frame,
                      desc ? desc->name : "an error nobody knows", msg->error.code, 0, 0);
    track_finish(track, t);
}

/* RDMA_DONE: the Requester has pulled the Reply's read list (RFC 5666 section 3.8). */
void track_done(struct track *track, struct flow_conn *conn, const struct flow_message *m)
{
    struct track_rpc *t = track_find(track, conn, m->sender, m->message->message->xid);

    if (t && t->reply.waits)
        track_answer_held(track, t);
}

void track_check_held(struct track *track, int64_t now)
{
    struct track_rpc *t = track->held_oldest;

    /* a list pulled by the Requester takes as long as it takes: RDMA_DONE or the end will come */
    while (t && t->reply.read_read)
        t = t->reply.newer;
    if (t && (now - t->reply.time_ns > TRACK_HOLD_NS || now < t->reply.time_ns - TRACK_HOLD_NS))
        track_answer_held(track, t);
}
