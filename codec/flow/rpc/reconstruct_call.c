/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/check.h"
#include "flow/rpc/reconstruct_chunks.h"

#include "upper/compound.h"

/* A Call: what it is made of, and what its bytes say. */

/* There is room for its Read chunks. */
static void read_names(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                       const struct rpcrdma_rpc_stream *call)
{
    struct rpcrdma_transaction *pub = &t->pub;
    struct rpcrdma_reduction reduced = reconstruct_reduction(rpcs, t->chunk_map);
    struct rpcrdma_compound it;
    struct rpcrdma_operation op;
    bool callback, compound;

    reduced.pad_inline =
        t->chunk_map &&
        reconstruct_pads_inline(rpcs, t, t->chunk_map,
                                &(struct reconstruct_base){call->data, call->caplen, call->len});
    t->pads_inline = reduced.pad_inline;
    if (!t->stream_emitted && !rpcs->context->sink.replies_only) {
        t->stream_emitted = true;
        reconstruct_emit_stream(rpcs, t, RPCRDMA_DIRECTION_CALL, call, &reduced);
    }
    compound = rpcrdma_compound_is(call->rpc, call->reverse, &callback);
    if (!compound || !rpcrdma_compound_begin(&it, call, &reduced, NULL)) {
        rpcrdma_ddp_call(call, &reduced, &t->ddp);
        t->ddp.slot_known = call->rpc->status == RPCRDMA_MALFORMED ||
                            (call->rpc->present & RPCRDMA_RPC_HAS_PROGRAM && !compound);
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

void rpc_call_names(struct flow_rpcs *rpcs, struct rpc_transaction *t, const uint8_t *data,
                    size_t caplen, size_t len)
{
    const struct rpcrdma_rpc *rpc;
    struct rpcrdma_rpc_stream call;
    struct rpcrdma_rpc own;

    if (!data || t->pub.compound ||
        (t->chunk_map && !reconstruct_reserve(rpcs, t->chunk_map->n_reads)))
        return;
    rpc = reconstruct_header(rpcs, data, caplen, len, &own);
    rpc_note_header(t, rpc);
    call = reconstruct_call_stream(t, rpc, data, caplen, len);
    read_names(rpcs, t, &call);
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

/* After its names. */
static void finish_plain(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                         const struct rpc_part *part)
{
    t->call_emitted = true;
    rpc_check_call(rpcs, t);
    t->call_complete = !t->no_length && !t->malformed && !t->open;
    t->pub.call_length = t->no_length ? 0 : part->len;
    if (t->ddp.has_slot)
        rpc_session_call(rpcs, t);
}

void rpc_call_plain(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                    const struct rpcrdma_rpc *rpc, const struct rpc_part *part)
{
    const struct rpcrdma_rpc_stream call =
        reconstruct_call_stream(t, rpc, part->data, part->caplen, part->len);

    read_names(rpcs, t, &call);
    finish_plain(rpcs, t, part);
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
    data = rpc_flatten(rpcs, &rpcs->base, &caplen);
    m.pad_inline =
        t->pads_inline || reconstruct_pads_inline(
                              rpcs, t, t->chunk_map,
                              &(struct reconstruct_base){data, caplen, (size_t)rpcs->base.length});
    if (m.pad_inline)
        reconstruct_finding(&m, RPCRDMA_RULE_RPC_PAD_INLINE, 0, 0, 0);
    if (t->msgp)
        data = reconstruct_unalign(&m, data, &caplen, t->align, t->header_length);
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
        .whole = t->call_complete && !holes.any &&
                 !(t->parts.other && !(t->chunk_map && t->chunk_map->has_base)),
        .n_iovec = rpcs->whole.count,
    };
    reconstruct_emit(&m, RPCRDMA_DIRECTION_CALL, &out);
    /* reported: its bytes are not needed any more */
    for (uint32_t i = 0; t->chunk_map && i < t->chunk_map->n_regions; i++)
        if (t->chunk_map->regions[i].use == RPC_CALL_READ)
            flow_region_clear(&rpcs->regions, &t->chunk_map->regions[i]);
}

void rpc_call_deliver(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpc_part *part =
        t->chunk_map || t->msgp ? NULL : reconstruct_plain(rpcs, &t->parts);

    if (!part) {
        any_call(rpcs, t);
        return;
    }
    rpc_call_names(rpcs, t, part->data, part->caplen, part->len);
    finish_plain(rpcs, t, part);
}
