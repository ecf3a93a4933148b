/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/stream/stream_state.h"

/* The reorder queue: packets ahead of a gap, by PSN. */

bool stream_reorder_full(const struct flow_streams *streams, const struct stream *s, uint32_t bytes)
{
    return s->reorder_count >= FLOW_REORDER_PACKETS ||
           s->reorder_bytes + bytes > FLOW_REORDER_BYTES ||
           streams->reorder_bytes + bytes > FLOW_REORDER_TOTAL;
}

static void note_evidence(struct flow_streams *streams, struct stream *s)
{
    s->evident_packets++;
    if (!s->evident && s->has_acked && rpcrdma_psn_diff(s->acked, s->next) >= 0) {
        s->evident = true;
        s->evident_ns = streams->context->time_ns;
        s->evident_packets = 0;
    }
}

bool stream_reorder_add(struct flow_streams *streams, struct stream *s, const struct rpcrdma_op *op)
{
    struct stream_reordered *packet, *last = TAILQ_LAST(&s->reorder, stream_reorder), *at = NULL;
    size_t size = sizeof(*packet) + op->caplen;

    packet = flow_alloc(&streams->context->memory, size);
    if (!packet)
        return false;
    /* mostly at the end */
    if (last && rpcrdma_psn_diff(op->seq, last->op.seq) <= 0)
        at = TAILQ_FIRST(&s->reorder);
    while (at && rpcrdma_psn_diff(at->op.seq, op->seq) < 0)
        at = TAILQ_NEXT(at, next);
    if (at && at->op.seq == op->seq) {
        flow_release(&streams->context->memory, packet, size);
        return true;
    }
    packet->op = *op;
    packet->size = size;
    packet->time_ns = streams->context->time_ns;
    if (op->caplen > 0)
        memcpy(packet->bytes, op->data, op->caplen);
    packet->op.data = packet->bytes;
    if (at)
        TAILQ_INSERT_BEFORE(at, packet, next);
    else
        TAILQ_INSERT_TAIL(&s->reorder, packet, next);
    s->reorder_count++;
    s->reorder_bytes += op->caplen;
    streams->reorder_bytes += op->caplen;
    if (!last)
        stream_event(streams, s, FLOW_STREAM_WAITS);
    stream_preview(streams, s, packet, last && !at && rpcrdma_psn_diff(op->seq, last->op.seq) == 1);
    note_evidence(streams, s);
    return true;
}

struct stream_reordered *stream_reorder_pop(struct stream *s)
{
    struct stream_reordered *packet = TAILQ_FIRST(&s->reorder);

    TAILQ_REMOVE(&s->reorder, packet, next);
    return packet;
}

void stream_reorder_release(struct flow_streams *streams, struct stream *s,
                            struct stream_reordered *packet)
{
    if (s->preview == packet)
        s->preview = NULL;
    s->reorder_count--;
    s->reorder_bytes -= packet->op.caplen;
    streams->reorder_bytes -= packet->op.caplen;
    flow_release(&streams->context->memory, packet, packet->size);
}

void stream_reorder_free(struct flow_streams *streams, struct stream *s)
{
    while (!TAILQ_EMPTY(&s->reorder))
        stream_reorder_release(streams, s, stream_reorder_pop(s));
    if (s->lent)
        stream_reorder_release(streams, s, s->lent);
    s->lent = NULL;
}

bool flow_stream_waits(const struct flow_direction *dir, uint64_t *frame, int64_t *time_ns)
{
    const struct stream_reordered *first = TAILQ_FIRST(&stream_of_const(dir)->reorder);

    if (!first)
        return false;
    if (frame)
        *frame = first->op.frame;
    if (time_ns)
        *time_ns = first->time_ns;
    return true;
}

void flow_stream_review(struct flow_direction *dir, bool all)
{
    struct stream *s = stream_of(dir);

    if (!TAILQ_EMPTY(&s->reorder))
        s->review = all ? STREAM_REVIEW_ALL : STREAM_REVIEW_TIME;
}
