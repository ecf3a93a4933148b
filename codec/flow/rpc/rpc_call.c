/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/check.h"

#include "flow/delivery/delivery.h"
#include "wire/hot.h"

/* Calls: a transaction begins, and what its header offers is opened. */

/* It is outstanding: no Reply to it has come, nor a part of one. */
static bool outstanding(const struct rpc_transaction *t)
{
    return t->has_call && t->pub.reply_frame == 0 && !t->reply.kept;
}

/* A Call whose Reply may be what was not captured is not reported as outstanding. */
static void add_outstanding(struct flow_rpcs *rpcs, struct rpc_transaction *t, uint64_t frame,
                            uint64_t first)
{
    if (!flow_conn_lacks(t->conn, 1 - t->pub.caller_end))
        rpc_add_finding(
            rpcs, t,
            (struct rpc_finding){
                .rule = RPCRDMA_RULE_XID_OUTSTANDING, .frame = frame, .a = t->pub.xid, .b = first});
}

struct rpc_transaction *rpc_call_begin(struct flow_rpcs *rpcs, struct flow_conn *conn, int caller,
                                       uint32_t xid, struct flow_call *call,
                                       const struct flow_send *send)
{
    struct rpc_transaction *t = rpc_begin(rpcs, conn, caller, xid, call);

    if (!t)
        return NULL;
    t->has_call = true;
    rpc_slot_expect(t);
    t->pub.call_frame = send->frame;
    t->pub.call_time_ns = send->time_ns;
    return t;
}

/* The transaction that the Call belongs to, NULL without memory. */
static struct rpc_transaction *call_begin(struct flow_rpcs *rpcs, struct flow_conn *conn,
                                          const struct flow_message *m)
{
    uint32_t xid = m->message->message->xid;
    struct rpc_transaction *t = rpc_transaction_of(rpcs, m->call);
    uint64_t first = 0;

    if (t && t->open && !rpc_part_starts(m))
        return t;
    if (t && !t->has_call && t->reply.waits && m->call_use == FLOW_CALL_ANSWERED) {
        t->has_call = true;
        rpc_slot_expect(t);
        t->pub.call_frame = m->send->frame;
        t->pub.call_time_ns = m->send->time_ns;
        rpc_sendings_note(rpcs, t, m->remembered, m->sent_before);
        return t;
    }
    if (t && m->call_use == FLOW_CALL_RETRANSMITTED && outstanding(t)) {
        /* the same transaction, from its first sending on */
        t->pub.retransmitted = true;
        rpc_sendings_here(t, m->send->frame);
        rpc_add_finding(rpcs, t,
                        (struct rpc_finding){.rule = RPCRDMA_RULE_RPC_AGAIN,
                                             .frame = m->send->frame,
                                             .a = flow_conn_public_const(conn)->number,
                                             .b = t->pub.call_frame});
        add_outstanding(rpcs, t, m->send->frame, t->pub.call_frame);
        rpc_parts_free(rpcs, &t->parts);
        rpc_forget_reads(t);
        rpc_chunk_map_free(rpcs, t->chunk_map);
        t->chunk_map = NULL;
        t->pending = 0;
        t->asked = 0;
        return t;
    }
    if (t && outstanding(t))
        first = t->pub.call_frame;
    if (t)
        rpc_cut_short(rpcs, t);
    t = rpc_call_begin(rpcs, conn, m->sender, xid, m->call, m->send);
    if (!t)
        return NULL;
    if (first > 0)
        add_outstanding(rpcs, t, m->send->frame, first);
    rpc_sendings_note(rpcs, t, m->remembered, m->sent_before);
    return t;
}

void rpc_note_header(struct rpc_transaction *t, const struct rpcrdma_rpc *rpc)
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

/* Data to handles that nobody had offered passed less than a capture's disorder ago; or a few
 * packets ago, and after the Call by its time. */
static bool data_was_early(const struct rpc_transaction *t)
{
    const struct rpc_conn *c = rpc_of(t->conn);

    if (!c || c->unknown_packets == 0)
        return false;
    return c->unknown_ns >= t->pub.call_time_ns
               ? t->pub.call_frame <= c->unknown_frame + FLOW_ACK_EARLY
               : t->pub.call_time_ns - c->unknown_ns <= FLOW_REORDER_NS;
}

static void call_accept(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                        const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;
    struct rpc_part part;
    bool base;

    rpc_part_of(&t->parts, m, &part);
    rpc_note_header(t, m->message->rpc);
    t->open = m->continues;
    t->last_frame = m->send->frame;
    t->last_ns = m->send->time_ns;
    if (!rpc_part_starts(m)) {
        t->pub.call_frame = m->send->frame;
        t->pub.call_time_ns = m->send->time_ns;
    }
    t->malformed = msg->status == RPCRDMA_MALFORMED;
    t->ddp.slot_known |= t->malformed; /* nobody takes it */
    t->no_length = !(msg->present & RPCRDMA_HAS_HEADER_LENGTH);
    if (t->no_length)
        rpc_cut_note(t, m->sender, m);
    t->no_reads =
        msg->version == 1 && (msg->present & RPCRDMA_HAS_WRITE) != 0 && msg->read.count == 0;
    /* RFC 8166 section 4.5; draft-ietf-nfsv4-rpcrdma-version-two-07 section 7 */
    t->too_short = m->send->len < (msg->version == 2 ? 20 : 28);
    t->msgp = msg->kind == RPCRDMA_KIND_MSGP;
    t->align = msg->align;
    t->header_length = msg->header_length;
    if (!t->chunk_map) {
        t->early = data_was_early(t);
        t->chunk_map = rpc_chunk_map_open(rpcs, t, m->sender, RPC_CALL_READ, msg);
        if (t->reply.kept) /* it came before its Call: what it returns is known */
            t->reply.kept->awaited.begun = false;
    }
    t->pub.segments = t->chunk_map ? t->chunk_map->n_regions : 0;
    if (t->call_emitted)
        return;
    t->pending = rpc_chunk_map_pending(t->chunk_map);
    base = t->chunk_map && t->chunk_map->has_base;
    if (t->open || t->pending > 0) {
        /* names come from the first bytes: now, while they are here */
        if (!base && part.at == 0 && !t->open)
            rpc_call_names(rpcs, t, part.data, part.caplen, part.len);
        rpc_parts_add(rpcs, t, &t->parts, &part,
                      rpcs->keep_data || base || t->open || t->parts.first);
        rpc_slot_call(rpcs, t);
        return;
    }
    if (t->parts.first) {
        rpc_parts_add(rpcs, t, &t->parts, &part, true);
        rpc_call_deliver(rpcs, t);
        return;
    }
    /* all there: given from where it lies */
    part.next = NULL;
    t->parts.first = t->parts.last = &part;
    t->parts.length = part.at + part.len;
    rpc_call_deliver(rpcs, t);
    t->parts.first = t->parts.last = NULL;
}

RPCRDMA_APART void rpc_call(struct flow_rpcs *rpcs, struct flow_conn *conn,
                            const struct flow_message *m)
{
    struct rpc_transaction *t = call_begin(rpcs, conn, m);

    if (!t)
        return;
    rpc_timing_call(rpcs, t, m);
    call_accept(rpcs, t, m);
    rpc_reply_release_if_ready(rpcs, t);
}
