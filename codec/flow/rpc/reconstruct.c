/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/reconstruct_chunks.h"

#include "upper/private.h"

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

struct rpcrdma_reduction reconstruct_reduction(struct flow_rpcs *rpcs,
                                               const struct rpc_chunk_map *reads)
{
    struct rpcrdma_reduction r = {.gaps = rpcs->gaps};

    for (uint32_t i = 0; reads && i < reads->n_reads; i++)
        rpcs->gaps[r.n_gaps++] = (struct rpcrdma_gap){
            .position = reads->reads[i].position, .length = rpc_clipped(reads->reads[i].length)};
    return r;
}

static bool ends_with_arguments(const struct rpcrdma_rpc_stream *call,
                                const struct rpcrdma_reduction *reduced)
{
    struct rpcrdma_compound it;
    struct rpcrdma_operation op;

    if (!rpcrdma_compound_begin(&it, call, reduced, NULL))
        return false;
    while (rpcrdma_compound_next(&it, &op))
        ;
    return rpcrdma_compound_exact(&it);
}

/* Padding of several chunks that adds up to whole words: its length does not tell. Only a COMPOUND
 * has several. */
static bool pads_fit(struct flow_rpcs *rpcs, const struct rpc_transaction *t,
                     const struct rpc_chunk_map *reads, const struct reconstruct_base *base)
{
    struct rpcrdma_reduction reduced;
    struct rpcrdma_rpc_stream call;
    struct rpcrdma_rpc header;

    if (!base->data || !reconstruct_reserve(rpcs, reads->n_reads))
        return false;
    rpcrdma_rpc_decode(base->data, base->caplen, base->len, &header);
    call = reconstruct_call_stream(t, &header, base->data, base->caplen, base->len);
    reduced = reconstruct_reduction(rpcs, reads);
    if (ends_with_arguments(&call, &reduced))
        return false;
    reduced.pad_inline = true;
    return ends_with_arguments(&call, &reduced);
}

bool reconstruct_pads_inline(struct flow_rpcs *rpcs, const struct rpc_transaction *t,
                             const struct rpc_chunk_map *reads, const struct reconstruct_base *base)
{
    uint64_t pads = 0;

    for (uint32_t i = 0; reads && i < reads->n_reads; i++)
        pads += -reads->reads[i].length & 3;
    if (pads == 0 || base->len % 4 != 0)
        return pads > 0;
    return pads % 4 == 0 && pads_fit(rpcs, t, reads, base);
}

void reconstruct_emit_stream(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                             enum rpcrdma_rpc_direction direction,
                             const struct rpcrdma_rpc_stream *stream,
                             const struct rpcrdma_reduction *reduced)
{
    const struct rpcrdma_flow_sink *sink = &rpcs->context->sink;

    if (!sink->payload_stream || !stream->data || rpcs->context->memory.failed)
        return;
    sink->payload_stream(sink->context,
                         &(struct rpcrdma_payload_stream){
                             .connection = flow_conn_public_const(t->conn),
                             .direction = direction,
                             .reverse = stream->reverse,
                             .xid = t->pub.xid,
                             .time_ns = direction == RPCRDMA_DIRECTION_CALL ? t->pub.call_time_ns
                                                                            : t->pub.reply_time_ns,
                             .rpc = stream->rpc,
                             .call = stream->call,
                             .data = stream->data,
                             .caplen = stream->caplen,
                             .len = stream->len,
                             .reduction = reduced,
                             .tag = &t->pub.tag,
                         });
}

const struct rpcrdma_rpc *reconstruct_header(const struct flow_rpcs *rpcs, const uint8_t *data,
                                             size_t caplen, size_t len, struct rpcrdma_rpc *own)
{
    const struct rpcrdma_flow_message *m = rpcs->in_hand;

    if (m && m->rpc && m->message->payload.data == data && m->message->payload.caplen == caplen &&
        m->message->payload.len == len)
        return m->rpc;
    rpcrdma_rpc_decode(data, caplen, len, own);
    return own;
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
    out->reverse = reconstruct_is_reverse(t);
    out->xid = t->pub.xid;
    out->call = t->pub.has_program ? &t->rpc : NULL;
    out->iovec = m->rpcs->whole.at;
    out->unplaced_chunks = m->rpcs->unplaced_chunks;
    out->n_unplaced_chunks = m->n_unplaced_chunks;
}

void reconstruct_emit(struct reconstruct *m, enum rpcrdma_rpc_direction direction,
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

const uint8_t *reconstruct_unalign(struct reconstruct *m, const uint8_t *data, size_t *caplen,
                                   uint32_t align, uint32_t header)
{
    struct flow_rpcs *rpcs = m->rpcs;
    size_t length = (size_t)rpcs->base.length;
    struct rpc_iovec aligned;
    struct rpc_reader reader;
    struct rpcrdma_bulk bulk;
    struct rpcrdma_rpc rpc;
    struct rpcrdma_rpc_stream stream;

    if (!data)
        return data;
    rpcrdma_rpc_decode(data, *caplen, length, &rpc);
    stream = m->message ? reconstruct_reply_stream(m->t, &rpc, data, *caplen, length)
                        : reconstruct_call_stream(m->t, &rpc, data, *caplen, length);
    switch (rpcrdma_binding_bulk(&stream, align, header, &bulk)) {
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

const struct rpc_part *reconstruct_plain(const struct flow_rpcs *rpcs,
                                         const struct rpc_parts *parts)
{
    const struct rpc_part *p = parts->first;

    return !rpcs->context->sink.rpc && p && p == parts->last && p->data && p->caplen > 0 &&
                   p->caplen == p->len && p->at == 0 && !parts->lost
               ? p
               : NULL;
}
