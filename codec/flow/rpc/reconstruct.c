/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/check.h"
#include "flow/rpc/reconstruct_chunks.h"

#include "upper/compound.h"
#include "upper/names.h"

/*
 * A whole RPC message from its base (what the Sends carried, or a Position-Zero Read chunk, a Call
 * chunk or a reply chunk) and the chunks that were taken out of it. A read chunk says its position
 * in the unreduced message (RFC 8166 section 3.4.4); where a write chunk belongs the upper-layer
 * binding says.
 */

bool reconstruct_reserve(struct flow_rpcs *rpcs, size_t n)
{
    struct flow_memory *memory = &rpcs->context->memory;

    if (n <= rpcs->lists_size)
        return true;
    n = n < 16 ? 16 : n;
    flow_release(memory, rpcs->lengths, rpcs->lists_size * sizeof(*rpcs->lengths));
    flow_release(memory, rpcs->gaps, rpcs->lists_size * sizeof(*rpcs->gaps));
    flow_release(memory, rpcs->places, rpcs->lists_size * sizeof(*rpcs->places));
    flow_release(memory, rpcs->unplaced_chunks, rpcs->lists_size * sizeof(*rpcs->unplaced_chunks));
    rpcs->lists_size = n;
    rpcs->lengths = flow_alloc(memory, n * sizeof(*rpcs->lengths));
    rpcs->gaps = flow_alloc(memory, n * sizeof(*rpcs->gaps));
    rpcs->places = flow_alloc(memory, n * sizeof(*rpcs->places));
    rpcs->unplaced_chunks = flow_alloc(memory, n * sizeof(*rpcs->unplaced_chunks));
    if (rpcs->lengths && rpcs->gaps && rpcs->places && rpcs->unplaced_chunks)
        return true;
    /* release by the size that was asked for: those that are NULL cost nothing */
    flow_release(memory, rpcs->lengths, n * sizeof(*rpcs->lengths));
    flow_release(memory, rpcs->gaps, n * sizeof(*rpcs->gaps));
    flow_release(memory, rpcs->places, n * sizeof(*rpcs->places));
    flow_release(memory, rpcs->unplaced_chunks, n * sizeof(*rpcs->unplaced_chunks));
    rpcs->lengths = NULL;
    rpcs->gaps = NULL;
    rpcs->places = NULL;
    rpcs->unplaced_chunks = NULL;
    rpcs->lists_size = 0;
    return false;
}

static struct rpcrdma_reduction reduction(struct flow_rpcs *rpcs, const struct rpc_chunk_map *reads)
{
    struct rpcrdma_reduction r = {.gaps = rpcs->gaps};

    for (uint32_t i = 0; reads && i < reads->n_reads; i++)
        rpcs->gaps[r.n_gaps++] = (struct rpcrdma_gap){
            .position = reads->reads[i].position, .length = rpc_clipped(reads->reads[i].length)};
    return r;
}

static bool is_reverse(const struct rpc_transaction *t)
{
    return flow_conn_public_const(t->conn)->role[t->pub.caller_end] == RPCRDMA_ROLE_SERVER;
}

bool reconstruct_pads_inline(const struct rpc_chunk_map *reads, uint64_t base_length)
{
    if (base_length % 4 == 0)
        return false;
    for (uint32_t i = 0; reads && i < reads->n_reads; i++)
        if (reads->reads[i].length % 4 != 0)
            return true;
    return false;
}

static void emit_stream(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                        enum rpcrdma_rpc_direction direction, const struct rpcrdma_rpc *rpc,
                        const struct rpcrdma_reduction *reduced, const uint8_t *data, size_t caplen,
                        size_t len)
{
    const struct rpcrdma_flow_sink *sink = &rpcs->context->sink;

    if (!sink->payload_stream || !data || rpcs->context->memory.failed)
        return;
    sink->payload_stream(sink->context,
                         &(struct rpcrdma_payload_stream){
                             .connection = flow_conn_public_const(t->conn),
                             .direction = direction,
                             .reverse = is_reverse(t),
                             .xid = t->pub.xid,
                             .time_ns = direction == RPCRDMA_DIRECTION_CALL ? t->pub.call_time_ns
                                                                            : t->pub.reply_time_ns,
                             .rpc = rpc,
                             .call = direction == RPCRDMA_DIRECTION_CALL ? rpc
                                     : t->pub.has_program                ? &t->rpc
                                                                         : NULL,
                             .data = data,
                             .caplen = caplen,
                             .len = len,
                             .reduction = reduced,
                             .tag = &t->pub.tag,
                         });
}

/* The RPC header of these bytes: nearly always those of the message in hand, whose header was
 * decoded before. */
static const struct rpcrdma_rpc *header(const struct flow_rpcs *rpcs, const uint8_t *data,
                                        size_t caplen, size_t len, struct rpcrdma_rpc *own)
{
    const struct rpcrdma_flow_message *m = rpcs->in_hand;

    if (m && m->rpc && m->message->payload.data == data && m->message->payload.caplen == caplen &&
        m->message->payload.len == len)
        return m->rpc;
    rpcrdma_rpc_decode(data, caplen, len, own);
    return own;
}

void rpc_call_names(struct flow_rpcs *rpcs, struct rpc_transaction *t, const uint8_t *data,
                    size_t caplen, size_t len)
{
    struct rpcrdma_transaction *pub = &t->pub;
    struct rpcrdma_reduction reduced;
    struct rpcrdma_compound it;
    struct rpcrdma_operation op;
    struct rpcrdma_rpc own;
    const struct rpcrdma_rpc *rpc;
    bool callback;

    if (!data || pub->compound ||
        !reconstruct_reserve(rpcs, t->chunk_map ? t->chunk_map->n_reads : 0))
        return;
    rpc = header(rpcs, data, caplen, len, &own);
    rpc_note_header(t, rpc);
    reduced = reduction(rpcs, t->chunk_map);
    reduced.pad_inline = reconstruct_pads_inline(t->chunk_map, len);
    if (!t->stream_emitted) {
        t->stream_emitted = true;
        emit_stream(rpcs, t, RPCRDMA_DIRECTION_CALL, rpc, &reduced, data, caplen, len);
    }
    if (!rpcrdma_compound_begin(&it, rpc, rpc, is_reverse(t), data, caplen, len, &reduced, NULL)) {
        rpcrdma_ddp_call(rpc, data, caplen, len, &reduced, &t->ddp);
        t->ddp.slot_known = rpc->status == RPCRDMA_MALFORMED ||
                            (rpc->present & RPCRDMA_RPC_HAS_PROGRAM &&
                             !rpcrdma_compound_is(rpc, is_reverse(t), &callback));
        return;
    }
    pub->compound = true;
    pub->callback = it.callback;
    while (rpcrdma_compound_next(&it, &op)) {
        if (pub->n_operations == RPCRDMA_OPERATIONS) {
            pub->operations_cut = true;
            return;
        }
        pub->operations[pub->n_operations++] = op.number;
        rpcrdma_ddp_operation(&it, &op, &t->ddp);
    }
    rpcrdma_ddp_compound(&it, &t->ddp);
    pub->operations_cut = !it.has_count || pub->n_operations < it.declared;
}

void reconstruct_describe(const struct reconstruct *m, enum rpcrdma_rpc_direction direction,
                          struct rpcrdma_rpc_message *out)
{
    const struct rpc_transaction *t = m->t;
    const struct rpcrdma_connection *pub = flow_conn_public_const(t->conn);

    out->connection = pub;
    out->direction = direction;
    out->sender_end =
        direction == RPCRDMA_DIRECTION_CALL ? t->pub.caller_end : 1 - t->pub.caller_end;
    out->src = pub->end[out->sender_end];
    out->dst = pub->end[1 - out->sender_end];
    out->direction_known = pub->role[t->pub.caller_end] != RPCRDMA_ROLE_UNKNOWN;
    out->reverse = is_reverse(t);
    out->xid = t->pub.xid;
    out->call = t->pub.has_program ? &t->rpc : NULL;
    out->iovec = m->rpcs->whole.at;
    out->unplaced_chunks = m->rpcs->unplaced_chunks;
    out->n_unplaced_chunks = m->n_unplaced_chunks;
}

static void emit(struct reconstruct *m, enum rpcrdma_rpc_direction direction,
                 struct rpcrdma_rpc_message *out)
{
    struct flow_rpcs *rpcs = m->rpcs;
    const struct rpc_transaction *t = m->t;

    if (!rpcs->context->sink.rpc || rpcs->context->memory.failed)
        return;
    reconstruct_describe(m, direction, out);
    if (t->findings && t->findings->count > m->first_finding) {
        out->findings = t->findings->at + m->first_finding;
        out->n_findings = t->findings->count - m->first_finding;
    }
    if (rpcs->in_hand && rpcs->in_hand->frame == out->send_frame &&
        rpcs->in_hand->message->xid == out->xid && rpcs->in_hand->direction == direction)
        rpcs->in_hand_emitted = true;
    rpcs->context->sink.rpc(rpcs->context->sink.context, out);
}

/* RDMA_MSG with a Position-Zero Read chunk (RFC 5666 does not say which comes first): the chunk's
 * place is at position 0, unless what is inline starts the RPC message. */
static bool inline_first(const struct rpc_transaction *t)
{
    const struct rpc_part *p = t->parts.first;

    return p && p->data && p->caplen >= 8 && rpcrdma_get_be32(p->data) == t->pub.xid &&
           rpcrdma_get_be32(p->data + 4) == RPCRDMA_RPC_CALL;
}

static void call_base(struct reconstruct *m)
{
    struct flow_rpcs *rpcs = m->rpcs;
    struct rpc_transaction *t = m->t;
    bool parts_first = true;

    rpc_iovec_reset(&rpcs->base);
    if (t->parts.lost && !(t->chunk_map && t->chunk_map->has_base)) {
        reconstruct_finding(m, RPCRDMA_RULE_RPC_PART_LOST, 0, 0, 0);
        m->fault = true;
    }
    if (t->chunk_map && t->chunk_map->has_base && t->parts.length > 0) {
        reconstruct_finding_at(m, RPCRDMA_RULE_RPC_MSG_PZRC, t->chunk_map->base.off,
                               t->parts.length, t->chunk_map->base.length, 0);
        parts_first = inline_first(t);
    }
    if (parts_first)
        rpc_iovec_parts(rpcs, &rpcs->base, &t->parts);
    if (t->chunk_map && t->chunk_map->has_base)
        rpc_iovec_chunk(rpcs, &rpcs->base, t->chunk_map, &t->chunk_map->base);
    if (!parts_first)
        rpc_iovec_parts(rpcs, &rpcs->base, &t->parts);
}

/* Takes out of the base what RDMA_MSGP put in to align the bulk. Returns the base as one run again.
 */
static const uint8_t *unalign(struct reconstruct *m, const uint8_t *data, size_t *caplen,
                              uint32_t align, uint32_t header)
{
    struct flow_rpcs *rpcs = m->rpcs;
    size_t length = (size_t)rpcs->base.length;
    struct rpc_iovec aligned;
    struct rpc_reader reader;
    struct rpcrdma_bulk bulk;
    struct rpcrdma_rpc rpc;

    if (!data)
        return data;
    rpcrdma_rpc_decode(data, *caplen, length, &rpc);
    switch (rpcrdma_binding_bulk(&rpc, m->message ? &m->t->rpc : &rpc, is_reverse(m->t), data,
                                 *caplen, length, align, header, &bulk)) {
    case RPCRDMA_ALIGNED_NOT:
        return data;
    case RPCRDMA_ALIGNED_UNKNOWN:
        reconstruct_finding(m, RPCRDMA_RULE_RPC_ALIGNED_UNKNOWN, align, 0, 0);
        m->fault = true;
        return data;
    case RPCRDMA_ALIGNED:
        break;
    }
    reconstruct_finding(m, RPCRDMA_RULE_RPC_ALIGNED, bulk.offset, bulk.pad, 0);
    aligned = rpcs->base;
    rpcs->base = rpcs->spare;
    rpcs->spare = aligned;
    rpc_iovec_reset(&rpcs->base);
    reader = rpc_reader_begin(&rpcs->spare);
    rpc_reader_move(rpcs, &reader, &rpcs->base, bulk.offset);
    rpc_iovec_reset(&rpcs->whole); /* the alignment goes where nobody looks */
    rpc_reader_move(rpcs, &reader, &rpcs->whole, bulk.pad);
    rpc_reader_move(rpcs, &reader, &rpcs->base, reader.left);
    return rpc_flatten(rpcs, &rpcs->base, caplen);
}

/* The one part that the message is, captured whole, where nothing is to be put together and nobody
 * asks for its runs; else NULL. */
static const struct rpc_part *plain(const struct flow_rpcs *rpcs, const struct rpc_parts *parts)
{
    const struct rpc_part *p = parts->first;

    return !rpcs->context->sink.rpc && p && p == parts->last && p->data && p->caplen > 0 &&
                   p->caplen == p->len && p->at == 0 && !parts->lost
               ? p
               : NULL;
}

static void plain_call(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                       const struct rpc_part *part)
{
    t->call_emitted = true;
    rpc_call_names(rpcs, t, part->data, part->caplen, part->len);
    rpc_check_call(rpcs, t);
    t->call_complete = !t->no_length && !t->malformed && !t->open;
    t->pub.call_length = t->no_length ? 0 : part->len;
    if (t->ddp.has_slot)
        rpc_session_call(rpcs, t);
}

static void any_call(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct reconstruct m = {.rpcs = rpcs,
                            .t = t,
                            .what = "Call",
                            .reads = t->chunk_map,
                            .base_unknown = t->no_length,
                            .first_finding = t->findings ? t->findings->count : 0};
    const uint8_t *data;
    size_t caplen;
    struct reconstruct_holes holes;
    struct rpcrdma_rpc_message out;

    t->call_emitted = true;
    call_base(&m);
    m.pad_inline = reconstruct_pads_inline(t->chunk_map, rpcs->base.length);
    if (m.pad_inline)
        reconstruct_finding(&m, RPCRDMA_RULE_RPC_PAD_INLINE, 0, 0, 0);
    data = rpc_flatten(rpcs, &rpcs->base, &caplen);
    if (t->msgp)
        data = unalign(&m, data, &caplen, t->align, t->header_length);
    rpc_call_names(rpcs, t, data, caplen, (size_t)rpcs->base.length);
    rpc_check_call(rpcs, t);
    reconstruct_compose(&m);
    holes = reconstruct_report_holes(&m, rpcs->whole.count);
    t->call_complete = !holes.lost && !m.fault && !t->no_length && !t->malformed && !t->open &&
                       rpcs->whole.length > 0;
    t->pub.call_length = t->no_length ? 0 : rpcs->whole.length;
    if (t->ddp.has_slot)
        rpc_session_call(rpcs, t);
    t->pub.read_chunk_length = rpc_chunk_map_read(t->chunk_map);
    out = (struct rpcrdma_rpc_message){
        .frame = t->last_frame,
        .complete_ns = t->last_ns,
        .send_frame = t->pub.call_frame,
        .time_ns = t->pub.call_time_ns,
        .rpc = t->pub.has_program ? &t->rpc : NULL,
        .length = rpcs->whole.length,
        .complete = t->call_complete,
        .whole = t->call_complete && !holes.any,
        .n_iovec = rpcs->whole.count,
    };
    emit(&m, RPCRDMA_DIRECTION_CALL, &out);
    /* reported: its bytes are not needed any more */
    for (uint32_t i = 0; t->chunk_map && i < t->chunk_map->n_regions; i++)
        if (t->chunk_map->regions[i].use == RPC_CALL_READ)
            flow_region_clear(&rpcs->regions, &t->chunk_map->regions[i]);
}

void rpc_call_deliver(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpc_part *part = t->chunk_map || t->msgp ? NULL : plain(rpcs, &t->parts);

    if (part)
        plain_call(rpcs, t, part);
    else
        any_call(rpcs, t);
}

static bool in_reply_chunk(const struct rpcrdma_message *message)
{
    return message->kind == RPCRDMA_KIND_NOMSG || message->kind == RPCRDMA_KIND_REPLY_EXTERNAL;
}

static void reply_base(struct reconstruct *m, const struct rpc_response *answer)
{
    const struct rpcrdma_message *message = answer->message;
    const struct rpc_chunk *chunk = reconstruct_offered_reply(m->t);
    uint64_t returned = message->reply_present ? rpcrdma_chunk_length(&message->reply) : 0;
    struct flow_rpcs *rpcs = m->rpcs;

    rpc_iovec_reset(&rpcs->base);
    m->t->pub.reply_chunk_length = returned;
    if (answer->parts->lost) {
        reconstruct_finding(m, RPCRDMA_RULE_RPC_PART_LOST, 0, 0, 0);
        m->fault = true;
    }
    if (message->reply_present)
        reconstruct_check_returned(m, chunk, &message->reply);
    if (answer->parts->length > 0 || !in_reply_chunk(message)) {
        rpc_iovec_parts(rpcs, &rpcs->base, answer->parts);
        if (returned > 0)
            reconstruct_finding_at(m, RPCRDMA_RULE_RPC_TWO_BODIES, message->reply.off, returned, 0,
                                   0);
        return;
    }
    if (message->reply_present)
        reconstruct_add_returned(m, &rpcs->base, chunk, &message->reply, returned);
    /* Read-Read: a long Reply may lie in a Position-Zero Read chunk of its own */
    if (m->reads && m->reads->has_base)
        rpc_iovec_chunk(rpcs, &rpcs->base, m->reads, &m->reads->base);
}

/* RDMA wrote to one of the Write chunks from this one on. */
static bool written_since(const struct rpc_chunk_map *map, uint32_t first)
{
    for (uint32_t i = first; map && i < map->n_writes; i++)
        for (uint32_t k = 0; k < map->writes[i].count; k++)
            if (map->regions[map->writes[i].first + k].seen > 0)
                return true;
    return false;
}

void reconstruct_returned_writes(struct reconstruct *m)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&m->message->write);
    uint32_t n_offered = m->t->chunk_map ? m->t->chunk_map->n_writes : 0;
    struct rpcrdma_chunk wire;

    while (m->n_writes < m->rpcs->lists_size && rpcrdma_write_next(&it, &wire)) {
        uint64_t length = rpcrdma_chunk_length(&wire);

        reconstruct_check_returned(m, reconstruct_offered_write(m->t, m->n_writes), &wire);
        m->t->pub.write_chunk_length += length;
        m->rpcs->places[m->n_writes] = (struct rpcrdma_insertion){0};
        m->rpcs->lengths[m->n_writes++] = rpc_clipped(length);
    }
    if (m->t->has_call && !m->t->no_length && m->n_writes != n_offered)
        reconstruct_finding_at(m,
                               written_since(m->t->chunk_map, m->n_writes)
                                   ? RPCRDMA_RULE_RPC_WRITE_LIST_USED
                                   : RPCRDMA_RULE_RPC_WRITE_LIST,
                               m->message->write.off, n_offered, m->n_writes, 0);
}

enum rpcrdma_binding_verdict reconstruct_place(struct reconstruct *m, const uint8_t *data,
                                               size_t caplen, size_t len,
                                               const struct rpcrdma_rpc *rpc)
{
    struct rpcrdma_reduction reduced = reduction(m->rpcs, m->reads);
    enum rpcrdma_binding_verdict verdict;

    reduced.chunks = m->rpcs->lengths;
    reduced.n_chunks = m->n_writes;
    verdict = rpcrdma_binding_place(rpc, m->t->pub.has_program ? &m->t->rpc : NULL,
                                    is_reverse(m->t), data, caplen, len, &reduced, m->rpcs->places);
    m->pad_inline = reduced.pad_inline;
    for (uint32_t i = 0; i < m->n_writes; i++)
        if (m->rpcs->places[i].placed && m->rpcs->places[i].pad_inline) {
            reconstruct_finding(m, RPCRDMA_RULE_RPC_PAD_INLINE, 0, 0, 0);
            break;
        }
    if (verdict == RPCRDMA_BINDING_MISFIT && m->pad_inline)
        m->fault = true;
    return verdict;
}

static void plain_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                        const struct rpcrdma_message *message, const struct rpc_part *part)
{
    struct reconstruct m = {.rpcs = rpcs,
                            .t = t,
                            .what = "Reply",
                            .message = message,
                            .base_unknown = !(message->present & RPCRDMA_HAS_HEADER_LENGTH),
                            .first_finding = t->findings ? t->findings->count : 0};
    const struct rpcrdma_reduction reduced = {.gaps = rpcs->gaps, .chunks = rpcs->lengths};
    struct rpcrdma_rpc own;
    const struct rpcrdma_rpc *rpc = header(rpcs, part->data, part->caplen, part->len, &own);

    t->pub.reply_chunk_length = 0;
    reconstruct_returned_writes(&m);
    rpc_check_reply(&m, rpc, RPCRDMA_BINDING_UNKNOWN, part->data, part->caplen, part->len);
    if (rpc->present & RPCRDMA_RPC_HAS_XID)
        emit_stream(rpcs, t, RPCRDMA_DIRECTION_REPLY, rpc, &reduced, part->data, part->caplen,
                    part->len);
    t->reply_complete = !m.fault && message->status == RPCRDMA_OK;
    t->pub.reply_length = message->present & RPCRDMA_HAS_HEADER_LENGTH ? part->len : 0;
    if (t->ddp.has_slot)
        rpc_session_reply_size(rpcs, t);
}

static void any_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                      const struct rpc_response *answer)
{
    const struct rpcrdma_message *message = answer->message;
    struct reconstruct m = {.rpcs = rpcs,
                            .t = t,
                            .what = "Reply",
                            .message = message,
                            .reads = answer->chunk_map,
                            .base_unknown = !(message->present & RPCRDMA_HAS_HEADER_LENGTH),
                            .first_finding = t->findings ? t->findings->count : 0};
    size_t n = message->write.count + (answer->chunk_map ? answer->chunk_map->n_reads : 0);
    const char *why = "its place is not known";
    enum rpcrdma_binding_verdict verdict = RPCRDMA_BINDING_UNKNOWN;
    struct rpcrdma_rpc rpc = {0};
    struct rpcrdma_rpc_message out;
    struct reconstruct_holes holes;
    const uint8_t *data;
    size_t caplen, n_iovec;
    uint64_t length;

    reply_base(&m, answer);
    data = rpc_flatten(rpcs, &rpcs->base, &caplen);
    if (message->kind == RPCRDMA_KIND_MSGP)
        data = unalign(&m, data, &caplen, message->align, message->header_length);
    if (data)
        rpc = *header(rpcs, data, caplen, (size_t)rpcs->base.length, &rpc);
    if (reconstruct_reserve(rpcs, n < RPC_SEGMENTS ? n : RPC_SEGMENTS)) {
        reconstruct_returned_writes(&m);
        if (m.n_writes > 0 || (m.reads && m.reads->n_reads > 0)) {
            verdict = reconstruct_place(&m, data, caplen, (size_t)rpcs->base.length, &rpc);
            why = rpcrdma_binding_verdict_text(verdict);
        }
        rpc_check_reply(&m, &rpc, verdict, data, caplen, (size_t)rpcs->base.length);
    } else {
        t->dropped = true;
    }
    if (rpcs->context->sink.payload_stream) {
        struct rpcrdma_reduction reduced = {.gaps = rpcs->gaps,
                                            .chunks = rpcs->lengths,
                                            .n_chunks = m.n_writes,
                                            .pad_inline = m.pad_inline};

        if (m.reads && rpcs->gaps)
            reduced.n_gaps = m.reads->n_reads;
        if (rpc.present & RPCRDMA_RPC_HAS_XID)
            emit_stream(rpcs, t, RPCRDMA_DIRECTION_REPLY, &rpc, &reduced, data, caplen,
                        (size_t)rpcs->base.length);
    }
    reconstruct_compose(&m);
    n_iovec = rpcs->whole.count;
    length = rpcs->whole.length;
    holes = reconstruct_report_holes(&m, n_iovec);
    if (m.n_writes > 0)
        reconstruct_add_unplaced(&m, why);
    for (size_t i = 0; i < m.n_unplaced_chunks; i++)
        length += rpcs->unplaced_chunks[i].length + (-rpcs->unplaced_chunks[i].length & 3);
    for (size_t i = n_iovec; i < rpcs->whole.count; i++)
        holes.lost = holes.lost || rpcs->whole.at[i].kind == RPCRDMA_IOVEC_LOST;
    t->reply_complete = !holes.lost && !m.fault && message->status == RPCRDMA_OK && length > 0;
    t->pub.reply_length = message->present & RPCRDMA_HAS_HEADER_LENGTH ? length : 0;
    if (t->ddp.has_slot)
        rpc_session_reply_size(rpcs, t);
    rpc.cred.data = rpc.verf.data = NULL;
    out = (struct rpcrdma_rpc_message){
        .frame = answer->frame,
        .complete_ns = answer->time_ns,
        .send_frame = answer->frame,
        .time_ns = answer->time_ns,
        .rpc = rpc.present & RPCRDMA_RPC_HAS_XID ? &rpc : NULL,
        .length = length,
        .complete = t->reply_complete,
        .whole = t->reply_complete && !holes.any && m.n_unplaced_chunks == 0 && !rpcs->whole.failed,
        .n_iovec = n_iovec,
    };
    emit(&m, RPCRDMA_DIRECTION_REPLY, &out);
}

void rpc_reply_deliver(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                       const struct rpc_response *answer)
{
    const struct rpcrdma_message *message = answer->message;
    const struct rpc_part *part = answer->chunk_map || message->write.count > 0 ||
                                          message->reply_present ||
                                          message->kind == RPCRDMA_KIND_MSGP
                                      ? NULL
                                      : plain(rpcs, answer->parts);

    if (part)
        plain_reply(rpcs, t, message, part);
    else
        any_reply(rpcs, t, answer);
}
