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
    struct stream_reordered **at = &s->reorder, *packet;
    size_t size = sizeof(*packet) + op->caplen;
    bool first = !s->reorder, follows;

    packet = flow_alloc(&streams->context->memory, size);
    if (!packet)
        return false;
    /* mostly at the end */
    if (s->reorder_tail && rpcrdma_psn_diff(op->seq, s->reorder_tail->op.seq) > 0)
        at = &s->reorder_tail->next;
    while (*at && rpcrdma_psn_diff((*at)->op.seq, op->seq) < 0)
        at = &(*at)->next;
    if (*at && (*at)->op.seq == op->seq) {
        flow_release(&streams->context->memory, packet, size);
        return true;
    }
    packet->op = *op;
    packet->size = size;
    packet->time_ns = streams->context->time_ns;
    if (op->caplen > 0)
        memcpy(packet->bytes, op->data, op->caplen);
    packet->op.data = packet->bytes;
    follows = s->reorder_tail && at == &s->reorder_tail->next &&
              rpcrdma_psn_diff(op->seq, s->reorder_tail->op.seq) == 1;
    packet->next = *at;
    *at = packet;
    if (!packet->next)
        s->reorder_tail = packet;
    s->reorder_count++;
    s->reorder_bytes += op->caplen;
    streams->reorder_bytes += op->caplen;
    if (first)
        stream_event(streams, s, FLOW_STREAM_WAITS);
    stream_preview(streams, s, packet, follows);
    note_evidence(streams, s);
    return true;
}

struct stream_reordered *stream_reorder_pop(struct stream *s)
{
    struct stream_reordered *packet = s->reorder;

    s->reorder = packet->next;
    if (!s->reorder)
        s->reorder_tail = NULL;
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
    while (s->reorder)
        stream_reorder_release(streams, s, stream_reorder_pop(s));
    if (s->lent)
        stream_reorder_release(streams, s, s->lent);
    s->lent = NULL;
}

bool flow_stream_waits(const struct flow_direction *dir, uint64_t *frame, int64_t *time_ns)
{
    const struct stream_reordered *first = stream_of_const(dir)->reorder;

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

    if (s->reorder)
        s->review = all ? STREAM_REVIEW_ALL : STREAM_REVIEW_TIME;
}
