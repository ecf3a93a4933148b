/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/reconstruct_chunks.h"

/* The RPC message that begins in a Send, before the bytes of its chunks are known: as it will be
 * put together, but for those. */

/* Its payload is the beginning, and all that travels inline. */
static bool begins_rpc(const struct rpcrdma_flow_message *out)
{
    const struct rpcrdma_message *m = out->message;

    if (!out->rpc || out->part > 0 || m->remaining > 0 ||
        (m->present & RPCRDMA_HAS_FLAGS && m->flags & m->dialect->flag_more))
        return false;
    return m->kind != RPCRDMA_KIND_MSGP && m->present & RPCRDMA_HAS_HEADER_LENGTH &&
           m->payload.len > 0 && m->call.count == 0 && !rpcrdma_read_position_zero(&m->read);
}

/* Where the read list says, each chunk padded (RFC 8166 section 3.4.5). */
static bool place_call(struct reconstruct *m, const struct rpcrdma_message *message)
{
    struct rpc_chunk_map *reads = NULL;

    if (message->read.count > 0) {
        reads = rpc_chunk_map_lay_out(m->rpcs, m->t, message);
        if (!reads || reads->n_regions < message->read.count)
            m->fault = true;
    }
    m->t->chunk_map = reads;
    m->reads = reads;
    m->pad_inline = reconstruct_pads_inline(m->rpcs, m->t, reads,
                                            &(struct reconstruct_base){message->payload.data,
                                                                       message->payload.caplen,
                                                                       message->payload.len});
    return !m->fault;
}

/* Where the upper-layer binding says (RFC 8166 section 6); else behind the message. */
static bool place_reply(struct reconstruct *m, const struct rpcrdma_message *message,
                        const struct rpcrdma_rpc *rpc)
{
    uint32_t n = message->write.count;

    m->message = message;
    if (message->read.count > 0 || n > RPC_SEGMENTS || !reconstruct_reserve(m->rpcs, n))
        return false;
    reconstruct_returned_writes(m);
    if (n > 0) {
        const struct rpcrdma_rpc_stream reply = reconstruct_reply_stream(
            m->t, rpc, message->payload.data, message->payload.caplen, message->payload.len);
        enum rpcrdma_binding_verdict verdict = reconstruct_place(m, &reply);

        if (verdict != RPCRDMA_BINDING_FITS && verdict != RPCRDMA_BINDING_TRUNCATED)
            memset(m->rpcs->places, 0, n * sizeof(*m->rpcs->places));
    }
    m->fault = false;
    return true;
}

/* `t`: what the RPC message is a part of, for as long as this takes. */
static bool lay_out(struct reconstruct *m, const struct rpcrdma_flow_message *in,
                    struct rpcrdma_rpc_message *out)
{
    const struct rpcrdma_message *message = in->message;
    struct flow_rpcs *rpcs = m->rpcs;
    struct rpc_part part = {.data = message->payload.data,
                            .caplen = message->payload.caplen,
                            .len = message->payload.len};
    struct rpc_parts parts = {.first = &part, .last = &part, .length = part.len};

    rpc_iovec_reset(&rpcs->base);
    rpc_iovec_parts(rpcs, &rpcs->base, &parts);
    if (!(in->direction == RPCRDMA_DIRECTION_CALL ? place_call(m, message)
                                                  : place_reply(m, message, in->rpc)))
        return false;
    reconstruct_compose(m);
    out->length = rpcs->whole.length;
    out->n_iovec = rpcs->whole.count;
    if (m->n_writes > 0)
        reconstruct_add_unplaced(m, NULL);
    for (size_t i = 0; i < m->n_unplaced_chunks; i++)
        out->length += rpcs->unplaced_chunks[i].length + (-rpcs->unplaced_chunks[i].length & 3);
    if (m->fault || rpcs->base.failed || rpcs->whole.failed)
        return false;
    reconstruct_describe(m, in->direction, out);
    return true;
}

static bool partial(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_message *m,
                    struct rpc_transaction *t, struct rpcrdma_rpc_message *out)
{
    const struct rpcrdma_flow_message *in = m->message;
    const bool is_call = in->direction == RPCRDMA_DIRECTION_CALL;
    const struct rpcrdma_rpc *call = is_call ? in->rpc : in->call;
    struct reconstruct making = {.rpcs = rpcs, .t = t, .partial = true};
    bool done;

    t->conn = conn;
    t->pub.caller_end = is_call ? m->sender : 1 - m->sender;
    t->pub.xid = in->message->xid;
    t->pub.has_program = call && call->present & RPCRDMA_RPC_HAS_PROGRAM;
    if (t->pub.has_program)
        t->rpc = *call;
    *out = (struct rpcrdma_rpc_message){.frame = in->frame,
                                        .complete_ns = in->time_ns,
                                        .send_frame = in->frame,
                                        .time_ns = in->time_ns};
    done = lay_out(&making, in, out);
    rpc_chunk_map_free(rpcs, t->chunk_map);
    return done;
}

static void emit(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_message *m,
                 bool message_too)
{
    const struct rpcrdma_flow_sink *sink = &rpcs->context->sink;
    const struct rpcrdma_flow_message *in = m->message;
    struct rpc_transaction t = {0};
    struct rpcrdma_rpc_message out;
    struct rpcrdma_rpc rpc;
    bool known =
        (in->direction == RPCRDMA_DIRECTION_CALL || in->direction == RPCRDMA_DIRECTION_REPLY) &&
        begins_rpc(in) && partial(rpcs, conn, m, &t, &out);

    if (known) {
        rpc = *in->rpc;
        rpc.cred.data = rpc.verf.data = NULL;
        out.rpc = &rpc;
    }
    if ((known || message_too) && !rpcs->context->memory.failed)
        sink->partial(sink->context, in, known ? &out : NULL);
}

void flow_rpc_partial(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_message *m)
{
    emit(rpcs, conn, m, true);
}

void rpc_partial_waits(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_message *m)
{
    emit(rpcs, conn, m, false);
}
