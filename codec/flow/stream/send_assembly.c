/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/stream/stream_state.h"

#include "wire/plausible.h"

/*
 * Sends of several packets. A Send of one packet is used in place. A message's caplen is the prefix
 * that was captured without a hole: what comes after a hole (a sliced packet, the bound, one lost
 * packet) counts in len only, so a decoder says truncated and not malformed.
 */

enum { FIRST_SIZE = 4096 };

struct stream_parts *stream_parts(struct flow_streams *streams, struct stream *s)
{
    if (!s->parts)
        s->parts = flow_alloc_always(&streams->context->memory, sizeof(*s->parts));
    return s->parts;
}

static void reset(struct flow_streams *streams, struct stream_assembly *a)
{
    flow_release(&streams->context->memory, a->buffer, a->size);
    *a = (struct stream_assembly){0};
}

void stream_assemble_forget(struct flow_streams *streams, struct stream *s)
{
    if (s->parts)
        reset(streams, &s->parts->assembly);
}

void stream_assemble_free(struct flow_streams *streams, struct stream *s)
{
    stream_assemble_forget(streams, s);
    flow_release(&streams->context->memory, s->parts, sizeof(*s->parts));
    s->parts = NULL;
}

/* What was put together will never be whole. */
RPCRDMA_RARE static void drop_active(struct flow_streams *streams, struct stream *s)
{
    struct stream_assembly *a = &s->parts->assembly;

    stream_finding(streams, s, RPCRDMA_RULE_SEND_INCOMPLETE, a->first_frame, a->len);
    reset(streams, a);
}

static inline void drop(struct flow_streams *streams, struct stream *s)
{
    if (stream_is_assembling(s))
        drop_active(streams, s);
}

/* A Send is at most 2^31 bytes long (IBTA volume 1 section 9.3.3.2.1). */
static void longer(struct stream_assembly *a, uint32_t by)
{
    a->len = by > UINT32_MAX - a->len ? UINT32_MAX : a->len + by;
}

void stream_assemble_gap(struct flow_streams *streams, struct stream *s, uint32_t packets,
                         bool goes_on)
{
    struct stream_assembly *a;

    if (!stream_is_assembling(s))
        return;
    a = &s->parts->assembly;
    /* One packet between a first or middle one and a middle or last one can only be a middle one,
     * as long as the path MTU. Of two, one might end this Send and the other begin the next. */
    if (packets == 1 && goes_on && s->pub.pmtu != 0) {
        a->hole = true;
        longer(a, s->pub.pmtu);
        return;
    }
    drop(streams, s);
}

static bool reserve(struct flow_streams *streams, struct stream_assembly *a, uint32_t size)
{
    uint32_t bigger = a->size ? a->size : FIRST_SIZE;
    uint8_t *buffer;

    if (size <= a->size)
        return true;
    while (bigger < size)
        bigger *= 2;
    buffer = flow_alloc(&streams->context->memory, bigger);
    if (!buffer)
        return false;
    if (a->have > 0)
        memcpy(buffer, a->buffer, a->have);
    flow_release(&streams->context->memory, a->buffer, a->size);
    a->buffer = buffer;
    a->size = bigger;
    return true;
}

static void append(struct flow_streams *streams, struct stream *s, const struct rpcrdma_op *op)
{
    struct stream_assembly *a = &s->parts->assembly;
    uint32_t n = op->caplen;

    if (!a->hole && n > FLOW_SEND_MAX - a->have) {
        n = FLOW_SEND_MAX - a->have;
        stream_finding(streams, s, RPCRDMA_RULE_SEND_TOO_LONG, a->first_frame, FLOW_SEND_MAX);
    }
    if (!a->hole && n > 0) {
        if (reserve(streams, a, a->have + n)) {
            memcpy(a->buffer + a->have, op->data, n);
            a->have += n;
        } else {
            n = 0;
            stream_finding(streams, s, RPCRDMA_RULE_MEMORY_LIMIT,
                           flow_memory_limit(&streams->context->memory), 0);
        }
    }
    if (n < op->len)
        a->hole = true;
    longer(a, op->len);
}

static void begin(struct stream_assembly *a, const struct rpcrdma_op *op)
{
    a->active = true;
    a->first_seq = op->seq;
    a->stream_first = op->stream_first;
    a->first_frame = op->frame;
    a->first_time_ns = op->time_ns;
    a->msn = op->seq;
}

static void complete(struct flow_streams *streams, struct stream *s, const struct rpcrdma_op *op)
{
    struct stream_assembly a = s->parts->assembly;
    struct flow_send send = {.data = a.buffer,
                             .caplen = a.have,
                             .len = a.len,
                             .frame = op->frame,
                             .first_frame = a.first_frame,
                             .time_ns = op->time_ns,
                             .first_time_ns = a.first_time_ns,
                             .first_seq = a.first_seq,
                             .last_seq = op->seq,
                             .stream_first = a.stream_first,
                             .stream_end = op->stream_end,
                             .has_invalidate = (op->flags & RPCRDMA_OP_INVALIDATE) != 0,
                             .invalidate = op->invalidate};

    s->parts->assembly = (struct stream_assembly){0};
    s->buffer = a.buffer;
    s->buffer_size = a.size;
    stream_event(streams, s, FLOW_STREAM_SEND)->send = send;
}

/* Of a stream that nobody has classified, is this Send worth putting together? */
static bool worth_it(const struct stream *s, const struct rpcrdma_op *op)
{
    return s->pub.classified || s->selected ||
           rpcrdma_message_plausible(op->data, op->caplen, UINT32_MAX);
}

/* One packet of several. */
RPCRDMA_RARE static void assemble_part(struct flow_streams *streams, struct stream *s,
                                       const struct rpcrdma_op *op)
{
    struct stream_assembly *a;
    bool first = (op->flags & RPCRDMA_OP_FIRST) != 0, last = (op->flags & RPCRDMA_OP_LAST) != 0;
    bool iwarp = op->carrier == RPCRDMA_CARRIER_IWARP;

    if (first) {
        if (!worth_it(s, op) || !stream_parts(streams, s))
            return;
        begin(&s->parts->assembly, op);
    } else if (!stream_is_assembling(s)) {
        if (last)
            stream_finding(streams, s, RPCRDMA_RULE_SEND_START_MISSING, 0, 0);
        return;
    }
    a = &s->parts->assembly;
    if (!first && iwarp && (op->seq != a->msn || op->message_offset != a->len)) {
        /* untagged segments of a message come in order (RFC 5041 section 5.2) */
        drop(streams, s);
        return;
    }
    append(streams, s, op);
    if (last)
        complete(streams, s, op);
}

RPCRDMA_HOT void stream_assemble(struct flow_streams *streams, struct stream *s,
                                 const struct rpcrdma_op *op)
{
    if (op->flags & RPCRDMA_OP_FIRST) {
        drop(streams, s);
        stream_remember(s, op);
        if (op->flags & RPCRDMA_OP_LAST) {
            stream_event(streams, s, FLOW_STREAM_SEND)->send = stream_send_of(op);
            return;
        }
    }
    assemble_part(streams, s, op);
}

bool flow_stream_quiet(const struct flow_direction *dir)
{
    const struct stream *s = stream_of_const(dir);

    return dir->carrier != RPCRDMA_CARRIER_IWARP && s->started && !s->fresh &&
           !stream_is_assembling(s) && !stream_first_waiting(s) && stream_is_done(s);
}

RPCRDMA_HOT bool flow_stream_whole_send(struct flow_direction *dir, const struct rpcrdma_op *op,
                                        struct flow_send *send)
{
    const uint16_t whole = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST;
    struct stream *s = stream_of(dir);

    if (op->seq != s->next || (op->flags & whole) != whole)
        return false;
    s->resync = false;
    stream_expect(s, rpcrdma_psn_add(op->seq, 1));
    stream_order_own(s);
    stream_remember(s, op);
    *send = stream_send_of(op);
    return true;
}
