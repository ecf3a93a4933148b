/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/stream/stream_state.h"

/* The reorder queue: packets ahead of a gap, by PSN. */

bool stream_reorder_full(const struct flow_streams *streams, const struct stream *s, uint32_t bytes)
{
    const struct stream_queue *queue = s->queue;

    return (queue &&
            (queue->count >= FLOW_REORDER_PACKETS || queue->bytes + bytes > FLOW_REORDER_BYTES)) ||
           streams->reorder_bytes + bytes > FLOW_REORDER_TOTAL;
}

void stream_gap_evident(const struct flow_streams *streams, struct stream *s)
{
    if (s->evident || !s->has_acked || rpcrdma_psn_diff(s->acked, s->next) < 0)
        return;
    s->evident = true;
    s->queue->evident_ns = streams->context->time_ns;
    s->queue->evident_packets = 0;
}

/* NULL: no memory. */
static struct stream_queue *queue_of(struct flow_streams *streams, struct stream *s)
{
    if (s->queue)
        return s->queue;
    s->queue = flow_alloc(&streams->context->memory, sizeof(*s->queue));
    if (s->queue)
        TAILQ_INIT(&s->queue->packets);
    return s->queue;
}

bool stream_reorder_add(struct flow_streams *streams, struct stream *s, const struct rpcrdma_op *op)
{
    struct stream_queue *queue = queue_of(streams, s);
    struct stream_reordered *packet, *last, *at = NULL;
    size_t size = sizeof(*packet) + op->caplen;

    packet = queue ? flow_alloc(&streams->context->memory, size) : NULL;
    if (!packet)
        return false;
    last = TAILQ_LAST(&queue->packets, stream_reorder);
    /* mostly at the end */
    if (last && rpcrdma_psn_diff(op->seq, last->op.seq) <= 0)
        at = TAILQ_FIRST(&queue->packets);
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
        TAILQ_INSERT_TAIL(&queue->packets, packet, next);
    queue->count++;
    queue->bytes += op->caplen;
    streams->reorder_bytes += op->caplen;
    if (!last)
        stream_event(streams, s, FLOW_STREAM_WAITS);
    stream_preview(streams, s, packet, last && !at && rpcrdma_psn_diff(op->seq, last->op.seq) == 1);
    queue->evident_packets++;
    stream_gap_evident(streams, s);
    return true;
}

static struct stream_reordered *pop(struct stream *s)
{
    struct stream_reordered *packet = TAILQ_FIRST(&s->queue->packets);

    TAILQ_REMOVE(&s->queue->packets, packet, next);
    return packet;
}

const struct stream_reordered *stream_reorder_lend(struct stream *s)
{
    return s->queue->lent = pop(s);
}

static void release(struct flow_streams *streams, struct stream *s, struct stream_reordered *packet)
{
    if (s->queue->preview == packet)
        s->queue->preview = NULL;
    s->queue->count--;
    s->queue->bytes -= packet->op.caplen;
    streams->reorder_bytes -= packet->op.caplen;
    flow_release(&streams->context->memory, packet, packet->size);
}

void stream_reorder_take_back(struct flow_streams *streams, struct stream *s)
{
    if (!stream_lends(s))
        return;
    release(streams, s, s->queue->lent);
    s->queue->lent = NULL;
}

void stream_reorder_free(struct flow_streams *streams, struct stream *s)
{
    while (stream_first_waiting(s))
        release(streams, s, pop(s));
    stream_reorder_take_back(streams, s);
    flow_release(&streams->context->memory, s->queue, sizeof(*s->queue));
    s->queue = NULL;
}

bool flow_stream_waits(const struct flow_direction *dir, uint64_t *frame, int64_t *time_ns)
{
    const struct stream_reordered *first = stream_first_waiting(stream_of_const(dir));

    if (!first)
        return false;
    if (frame)
        *frame = first->op.frame;
    if (time_ns)
        *time_ns = first->time_ns;
    return true;
}

bool flow_stream_disorder(const struct flow_direction *dir)
{
    const struct stream_queue *queue = stream_of_const(dir)->queue;

    return queue && queue->disorder;
}

void flow_stream_review(struct flow_direction *dir, bool all)
{
    struct stream *s = stream_of(dir);

    if (stream_first_waiting(s))
        s->review = all ? STREAM_REVIEW_ALL : STREAM_REVIEW_TIME;
}
