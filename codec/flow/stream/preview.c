/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/stream/stream_state.h"

/* Sends that are whole in the reorder queue, for views that cannot wait for the gap before them. */

/* The packets from `first` to `last`, both in the queue, are a Send. */
static void several(struct flow_streams *streams, struct stream *s,
                    const struct stream_reordered *first, const struct stream_reordered *last)
{
    struct flow_send send = stream_send_of(&last->op);
    uint32_t size = 1; /* the queue is bounded */
    uint8_t *buffer;

    for (const struct stream_reordered *p = first; p != TAILQ_NEXT(last, next);
         p = TAILQ_NEXT(p, next))
        size += p->op.caplen;
    buffer = flow_alloc(&streams->context->memory, size);
    if (!buffer)
        return;
    send.data = buffer;
    send.caplen = send.len = 0;
    send.first_frame = first->op.frame;
    send.first_time_ns = first->op.time_ns;
    send.first_seq = first->op.seq;
    for (const struct stream_reordered *p = first; p != TAILQ_NEXT(last, next);
         p = TAILQ_NEXT(p, next)) {
        if (send.caplen == send.len && p->op.caplen > 0) {
            memcpy(buffer + send.caplen, p->op.data, p->op.caplen);
            send.caplen += p->op.caplen;
        }
        send.len += p->op.len;
    }
    s->buffer = buffer;
    s->buffer_size = size;
    stream_event(streams, s, FLOW_STREAM_PREVIEW)->send = send;
}

void stream_preview(struct flow_streams *streams, struct stream *s,
                    const struct stream_reordered *packet, bool follows)
{
    const struct rpcrdma_op *op = &packet->op;
    bool first = (op->flags & RPCRDMA_OP_FIRST) != 0, last = (op->flags & RPCRDMA_OP_LAST) != 0;

    if (!streams->context->sink.partial)
        return;
    if (op->kind == RPCRDMA_OP_SEND && first && last) {
        stream_event(streams, s, FLOW_STREAM_PREVIEW)->send = stream_send_of(op);
    } else if (op->kind == RPCRDMA_OP_SEND && first && !TAILQ_NEXT(packet, next)) {
        s->queue->preview = packet;
        return;
    } else if (op->kind == RPCRDMA_OP_SEND && follows && s->queue->preview) {
        if (!last)
            return;
        several(streams, s, s->queue->preview, packet);
    }
    s->queue->preview = NULL;
}
