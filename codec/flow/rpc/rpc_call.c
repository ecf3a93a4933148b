/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_stage.h"

/* Calls: a transaction begins, and what its header offers is opened. */

static bool same_call(const struct track_rpc *t, const struct rpcrdma_flow_message *m)
{
    if (!t->pub.has_program || !m->rpc || !(m->rpc->present & RPCRDMA_RPC_HAS_PROGRAM))
        return true;
    return t->pub.program == m->rpc->program && t->pub.version == m->rpc->version &&
           t->pub.procedure == m->rpc->procedure;
}

/* The transaction that the Call belongs to, NULL without memory. */
static struct track_rpc *call_begin(struct track *track, struct flow_conn *conn,
                                    const struct flow_message *m)
{
    uint32_t xid = m->message->message->xid, connection;
    struct track_rpc *t = track_find(track, conn, m->sender, xid);
    uint64_t frame;

    if (t && t->open && !track_part_starts(m))
        return t;
    if (t && !t->has_call && t->reply.waits && m->send->frame <= t->reply.frame) {
        /* the Reply was taken out of the capture before its Call was */
        t->has_call = true;
        t->pub.call_frame = m->send->frame;
        t->pub.call_time_ns = m->send->time_ns;
        return t;
    }
    if (t && t->has_call && t->pub.reply_frame == 0 && !t->reply.ready &&
        same_call(t, m->message)) {
        /* sent again while it is outstanding: the same transaction, from its first sending on */
        t->pub.retransmitted = true;
        track_add_finding(track, t, RPCRDMA_RULE_RPC_AGAIN, m->send->frame, NULL, conn->pub.number,
                          t->pub.call_frame, 0);
        track_parts_free(track, &t->parts);
        track_forget_reads(track, t);
        track_chunk_map_free(track, t->chunk_map);
        t->chunk_map = NULL;
        t->pending = 0;
        return t;
    }
    if (t)
        track_cut_short(track, t);
    t = track_begin(track, conn, m->sender, xid);
    if (!t)
        return NULL;
    t->has_call = true;
    t->pub.call_frame = m->send->frame;
    t->pub.call_time_ns = m->send->time_ns;
    if (track_retransmit_seen(track, t, &frame, &connection)) {
        t->pub.retransmitted = true;
        track_add_finding(track, t, RPCRDMA_RULE_RPC_AGAIN, m->send->frame, NULL, connection, frame,
                          0);
    }
    track_retransmit_note(track, t);
    return t;
}

void track_take_rpc(struct track_rpc *t, const struct rpcrdma_rpc *rpc)
{
    if (!rpc || !(rpc->present & RPCRDMA_RPC_HAS_PROGRAM) || t->pub.has_program)
        return;
    t->rpc = *rpc;
    t->rpc.cred.data = t->rpc.verf.data = NULL;
    t->pub.has_program = true;
    t->pub.program = rpc->program;
    t->pub.version = rpc->version;
    t->pub.procedure = rpc->procedure;
}

static void call_take(struct track *track, struct track_rpc *t, const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;
    struct track_part part = track_part_of(&t->parts, m);
    bool base;

    track_take_rpc(t, m->message->rpc);
    t->open = m->continues;
    t->last_frame = m->send->frame;
    t->last_ns = m->send->time_ns;
    if (!track_part_starts(m)) {
        t->pub.call_frame = m->send->frame;
        t->pub.call_time_ns = m->send->time_ns;
    }
    t->malformed = msg->status == RPCRDMA_MALFORMED;
    t->no_length = !(msg->present & RPCRDMA_HAS_HEADER_LENGTH);
    t->msgp = msg->kind == RPCRDMA_KIND_MSGP;
    t->align = msg->align;
    t->header_length = msg->header_length;
    if (!t->chunk_map)
        t->chunk_map = track_chunk_map_open(track, t, m->sender, TRACK_CALL_READ, msg);
    t->pub.segments = t->chunk_map ? t->chunk_map->n_regions : 0;
    if (t->call_given)
        return;
    t->pending = track_chunk_map_pending(t->chunk_map);
    base = t->chunk_map && t->chunk_map->has_base;
    if (t->open || t->pending > 0) {
        /* names come from the first bytes: now, while they are here */
        if (!base && part.at == 0 && !t->open)
            track_call_names(track, t, part.data, part.caplen, part.len);
        track_parts_add(track, t, &t->parts, &part, track->keep_data || base || t->open);
        return;
    }
    if (t->parts.first) {
        track_parts_add(track, t, &t->parts, &part, true);
        track_call_give(track, t);
        return;
    }
    /* all there: given from where it lies */
    part.next = NULL;
    t->parts.first = t->parts.last = &part;
    t->parts.length = part.at + part.len;
    track_call_give(track, t);
    t->parts.first = t->parts.last = NULL;
}

void track_call(struct track *track, struct flow_conn *conn, const struct flow_message *m)
{
    struct track_rpc *t = call_begin(track, conn, m);

    if (!t)
        return;
    call_take(track, t, m);
    track_answer_if_ready(track, t);
}
