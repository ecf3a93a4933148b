/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/check.h"
#include "flow/rpc/reconstruct_chunks.h"

/* A Reply: what it is made of, and where the chunks that it returns belong. */

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
    if (m->t->has_call && !m->t->no_length && !m->base_unknown && m->n_writes != n_offered)
        reconstruct_finding_at(m,
                               written_since(m->t->chunk_map, m->n_writes)
                                   ? RPCRDMA_RULE_RPC_WRITE_LIST_USED
                                   : RPCRDMA_RULE_RPC_WRITE_LIST,
                               m->message->write.off, n_offered, m->n_writes, 0);
}

enum rpcrdma_binding_verdict reconstruct_place(struct reconstruct *m,
                                               const struct rpcrdma_rpc_stream *reply)
{
    struct rpcrdma_reduction reduced = reconstruct_reduction(m->rpcs, m->reads);
    enum rpcrdma_binding_verdict verdict;

    reduced.chunks = m->rpcs->lengths;
    reduced.n_chunks = m->n_writes;
    verdict = rpcrdma_binding_place(reply, &reduced, m->rpcs->places);
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

/* Whether nothing is wrong with what a Reply without chunks leaves of those that its Call offered,
 * or says. */
static bool check_plain(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                        const struct rpcrdma_message *message,
                        const struct rpcrdma_rpc_stream *reply)
{
    struct reconstruct m = {.rpcs = rpcs,
                            .t = t,
                            .what = "Reply",
                            .message = message,
                            .base_unknown = !(message->present & RPCRDMA_HAS_HEADER_LENGTH),
                            .first_finding = t->findings ? t->findings->count : 0};

    reconstruct_returned_writes(&m);
    rpc_check_reply(&m, reply, RPCRDMA_BINDING_UNKNOWN);
    return !m.fault;
}

static struct rpcrdma_rpc_stream plain_stream(const struct rpc_transaction *t,
                                              const struct rpcrdma_rpc *rpc,
                                              const struct rpc_part *part)
{
    return reconstruct_reply_stream(t, rpc, part->data, part->caplen, part->len);
}

static void give_plain(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                       const struct rpcrdma_rpc_stream *reply)
{
    const struct rpcrdma_reduction reduced = {.gaps = rpcs->gaps, .chunks = rpcs->lengths};

    reconstruct_emit_stream(rpcs, t, RPCRDMA_DIRECTION_REPLY, reply, &reduced);
}

/* RFC 8166 section 3.4.6: a Reply returns what was written, each segment with its length. */
static bool returns_nothing(const struct rpcrdma_message *message)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&message->write);
    struct rpcrdma_chunk wire;
    uint64_t length = message->reply_present ? rpcrdma_chunk_length(&message->reply) : 0;

    while (length == 0 && rpcrdma_write_next(&it, &wire))
        length += rpcrdma_chunk_length(&wire);
    return length == 0;
}

static void note_cut(struct rpc_transaction *t, const struct rpcrdma_message *message)
{
    t->no_writes = t->no_reads && rpc_offers_cut(t) &&
                   (message->present & RPCRDMA_HAS_HEADER_LENGTH) != 0 && returns_nothing(message);
    t->reply_cut =
        !(message->present & RPCRDMA_HAS_HEADER_LENGTH) && message->status != RPCRDMA_MALFORMED;
}

static void plain_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                        const struct rpcrdma_message *message, const struct rpc_part *part)
{
    struct rpcrdma_rpc own;
    const struct rpcrdma_rpc *rpc =
        reconstruct_header(rpcs, part->data, part->caplen, part->len, &own);
    const struct rpcrdma_rpc_stream reply = plain_stream(t, rpc, part);
    bool good = true;

    t->pub.reply_chunk_length = 0;
    note_cut(t, message);
    if (t->chunk_map || t->pending > 0 || t->pub.compound)
        good = check_plain(rpcs, t, message, &reply);
    if (rpc->present & RPCRDMA_RPC_HAS_XID)
        give_plain(rpcs, t, &reply);
    t->reply_complete = good && message->status == RPCRDMA_OK;
    t->pub.reply_length = message->present & RPCRDMA_HAS_HEADER_LENGTH ? part->len : 0;
    if (t->ddp.has_slot)
        rpc_session_reply_size(rpcs, t);
}

/* Its Call's operations say what its results have to be. */
RPCRDMA_RARE static bool check_compound(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                                        const struct flow_send *send,
                                        const struct rpcrdma_rpc_stream *reply)
{
    struct rpcrdma_message message;

    flow_message_decode(rpcrdma_dialect(RPCRDMA_V1), send->data, send->caplen, send->len, &message);
    return check_plain(rpcs, t, &message, reply);
}

void rpc_reply_plain(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                     const struct flow_send *send, const struct rpc_part *part)
{
    struct rpcrdma_rpc rpc;

    t->reply_complete = true;
    if (t->pub.compound || rpcs->context->sink.payload_stream) {
        struct rpcrdma_rpc_stream reply;

        rpcrdma_rpc_decode(part->data, part->caplen, part->len, &rpc);
        reply = plain_stream(t, &rpc, part);
        if (t->pub.compound)
            t->reply_complete = check_compound(rpcs, t, send, &reply);
        give_plain(rpcs, t, &reply);
    }
    t->pub.reply_length = part->len;
    if (t->ddp.has_slot)
        rpc_session_reply_size(rpcs, t);
}

/* The Payload stream, where the sink wants it. */
static void give_stream(const struct reconstruct *m, const struct rpcrdma_rpc_stream *reply)
{
    struct flow_rpcs *rpcs = m->rpcs;
    struct rpcrdma_reduction reduced = {.gaps = rpcs->gaps,
                                        .chunks = rpcs->lengths,
                                        .n_chunks = m->n_writes,
                                        .pad_inline = m->pad_inline};

    if (!rpcs->context->sink.payload_stream || !(reply->rpc->present & RPCRDMA_RPC_HAS_XID))
        return;
    if (m->reads && rpcs->gaps)
        reduced.n_gaps = m->reads->n_reads;
    reconstruct_emit_stream(rpcs, m->t, RPCRDMA_DIRECTION_REPLY, reply, &reduced);
}

/* Bytes of write chunks whose place is not known, with their padding. */
static uint64_t unplaced_length(const struct reconstruct *m)
{
    uint64_t length = 0;

    for (size_t i = 0; i < m->n_unplaced_chunks; i++) {
        uint32_t bytes = m->rpcs->unplaced_chunks[i].length;

        length += bytes + (-bytes & 3);
    }
    return length;
}

/* Where the Writes and Reads go that it returned; *why: what says that some have no place. */
static void place_chunks(struct reconstruct *m, const struct rpcrdma_rpc_stream *reply,
                         const char **why)
{
    struct flow_rpcs *rpcs = m->rpcs;
    size_t n = m->message->write.count + (m->reads ? m->reads->n_reads : 0);
    enum rpcrdma_binding_verdict verdict = RPCRDMA_BINDING_UNKNOWN;

    if (!reconstruct_reserve(rpcs, n < RPC_SEGMENTS ? n : RPC_SEGMENTS)) {
        m->t->dropped = true;
        return;
    }
    reconstruct_returned_writes(m);
    if (m->n_writes > 0 || (m->reads && m->reads->n_reads > 0)) {
        verdict = reconstruct_place(m, reply);
        *why = rpcrdma_binding_verdict_text(verdict);
    }
    rpc_check_reply(m, reply, verdict);
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
    const char *why = "its place is not known";
    struct rpcrdma_rpc rpc = {0};
    struct rpcrdma_rpc_stream stream;
    struct rpcrdma_rpc_message out;
    struct reconstruct_holes holes;
    const uint8_t *data;
    size_t caplen, n_iovec;
    uint64_t length;

    note_cut(t, message);
    reply_base(&m, answer);
    data = rpc_flatten(rpcs, &rpcs->base, &caplen);
    if (message->kind == RPCRDMA_KIND_MSGP)
        data = reconstruct_unalign(&m, data, &caplen, message->align, message->header_length);
    if (data)
        rpc = *reconstruct_header(rpcs, data, caplen, (size_t)rpcs->base.length, &rpc);
    stream = reconstruct_reply_stream(t, &rpc, data, caplen, (size_t)rpcs->base.length);
    place_chunks(&m, &stream, &why);
    give_stream(&m, &stream);
    reconstruct_compose(&m);
    n_iovec = rpcs->whole.count;
    length = rpcs->whole.length;
    holes = reconstruct_report_holes(&m, n_iovec);
    if (m.n_writes > 0)
        reconstruct_add_unplaced(&m, why);
    length += unplaced_length(&m);
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
        .whole = t->reply_complete && !holes.any && m.n_unplaced_chunks == 0 &&
                 !rpcs->whole.failed && !answer->parts->other,
        .n_iovec = n_iovec,
    };
    reconstruct_emit(&m, RPCRDMA_DIRECTION_REPLY, &out);
}

void rpc_reply_deliver(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                       const struct rpc_response *answer)
{
    const struct rpcrdma_message *message = answer->message;
    const struct rpc_part *part = answer->chunk_map || message->write.count > 0 ||
                                          message->reply_present ||
                                          message->kind == RPCRDMA_KIND_MSGP
                                      ? NULL
                                      : reconstruct_plain(rpcs, answer->parts);

    if (part)
        plain_reply(rpcs, t, message, part);
    else
        any_reply(rpcs, t, answer);
}
