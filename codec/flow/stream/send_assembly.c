/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/*
 * Sends of several packets. A Send of one packet is used in place. A message's caplen is the prefix
 * that was captured without a hole: what comes after a hole (a sliced packet, the bound, one lost
 * packet) counts in len only, so a decoder says truncated and not malformed.
 */

enum { FIRST_SIZE = 4096 };

static void finding(struct flow *flow, struct flow_direction *dir, enum rpcrdma_rule_id rule,
                    uint64_t arg0, uint64_t arg1)
{
    struct rpcrdma_finding f = {
        .rule = rule, .frame = flow->frame, .offset = -1, .arg = {arg0, arg1}};

    /* a connection that has no number yet is nobody's to speak of */
    if (dir->conn && dir->conn->class == FLOW_RPCRDMA)
        flow_report(flow, dir->conn->pub.number != 0 ? dir->conn : NULL, &f);
}

static void reset(struct flow *flow, struct flow_direction *dir)
{
    struct flow_assembly *a = &dir->assembly;

    flow_release(&flow->memory, a->buffer, a->size);
    *a = (struct flow_assembly){0};
}

void flow_assemble_free(struct flow *flow, struct flow_direction *dir)
{
    reset(flow, dir);
}

/* What was put together will never be whole. */
static void drop(struct flow *flow, struct flow_direction *dir)
{
    struct flow_assembly *a = &dir->assembly;

    if (!a->active)
        return;
    finding(flow, dir, RPCRDMA_RULE_SEND_INCOMPLETE, a->first_frame, a->len);
    reset(flow, dir);
}

void flow_assemble_gap(struct flow *flow, struct flow_direction *dir, uint32_t packets,
                       bool goes_on)
{
    struct flow_assembly *a = &dir->assembly;

    if (!a->active)
        return;
    /* One packet between a first or middle one and a middle or last one can only be a middle one,
     * as long as the path MTU. Of two, one might end this Send and the other begin the next. */
    if (packets == 1 && goes_on && dir->pmtu != 0) {
        a->hole = true;
        a->len += dir->pmtu;
        return;
    }
    drop(flow, dir);
}

static bool reserve(struct flow *flow, struct flow_assembly *a, uint32_t size)
{
    uint32_t bigger = a->size ? a->size : FIRST_SIZE;
    uint8_t *buffer;

    if (size <= a->size)
        return true;
    while (bigger < size)
        bigger *= 2;
    buffer = flow_alloc(&flow->memory, bigger);
    if (!buffer)
        return false;
    if (a->have > 0)
        memcpy(buffer, a->buffer, a->have);
    flow_release(&flow->memory, a->buffer, a->size);
    a->buffer = buffer;
    a->size = bigger;
    return true;
}

static void append(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op)
{
    struct flow_assembly *a = &dir->assembly;
    uint32_t n = op->caplen;

    if (!a->hole && n > FLOW_SEND_MAX - a->have) {
        n = FLOW_SEND_MAX - a->have;
        finding(flow, dir, RPCRDMA_RULE_SEND_TOO_LONG, a->first_frame, FLOW_SEND_MAX);
    }
    if (!a->hole && n > 0) {
        if (reserve(flow, a, a->have + n)) {
            memcpy(a->buffer + a->have, op->data, n);
            a->have += n;
        } else {
            n = 0;
            finding(flow, dir, RPCRDMA_RULE_MEMORY_LIMIT, flow->memory.limit, 0);
        }
    }
    if (n < op->len)
        a->hole = true;
    /* a Send is at most 2^31 bytes long (IBTA volume 1 section 9.3.3.2.1) */
    a->len = op->len > UINT32_MAX - a->len ? UINT32_MAX : a->len + op->len;
}

static void remember(struct flow_direction *dir, const struct rpcrdma_op *op)
{
    uint32_t i = dir->recent_next++ % FLOW_RECENT;

    dir->recent[i].set = op->caplen >= 4;
    dir->recent[i].psn = op->seq;
    if (op->caplen >= 4)
        memcpy(dir->recent[i].xid, op->data, 4);
}

static void begin(struct flow_direction *dir, const struct rpcrdma_op *op)
{
    dir->assembly.active = true;
    dir->assembly.first_seq = op->seq;
    dir->assembly.first_frame = op->frame;
    dir->assembly.first_time_ns = op->time_ns;
}

static void complete(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op)
{
    struct flow_assembly a = dir->assembly;
    struct flow_send send = {.data = a.buffer,
                             .caplen = a.have,
                             .len = a.len,
                             .frame = op->frame,
                             .first_frame = a.first_frame,
                             .time_ns = op->time_ns,
                             .first_time_ns = a.first_time_ns,
                             .first_seq = a.first_seq,
                             .last_seq = op->seq,
                             .has_invalidate = (op->flags & RPCRDMA_OP_INVALIDATE) != 0,
                             .invalidate = op->invalidate};

    dir->assembly = (struct flow_assembly){0};
    flow_event_send(flow, dir, &send);
    flow_release(&flow->memory, a.buffer, a.size);
}

static struct flow_send in_place(const struct rpcrdma_op *op)
{
    return (struct flow_send){.data = op->data,
                              .caplen = op->caplen,
                              .len = op->len,
                              .frame = op->frame,
                              .first_frame = op->frame,
                              .time_ns = op->time_ns,
                              .first_time_ns = op->time_ns,
                              .first_seq = op->seq,
                              .last_seq = op->seq,
                              .has_invalidate = (op->flags & RPCRDMA_OP_INVALIDATE) != 0,
                              .invalidate = op->invalidate};
}

/* The packets from `first` to `last`, both in the stash, are a Send. */
static void early_of_several(struct flow *flow, struct flow_direction *dir,
                             const struct flow_reordered *first, const struct flow_reordered *last)
{
    struct flow_send send = in_place(&last->op);
    size_t size = 1;
    uint8_t *buffer;

    for (const struct flow_reordered *s = first; s != last->next; s = s->next)
        size += s->op.caplen;
    buffer = flow_alloc(&flow->memory, size);
    if (!buffer)
        return;
    send.data = buffer;
    send.caplen = send.len = 0;
    send.first_frame = first->op.frame;
    send.first_time_ns = first->op.time_ns;
    send.first_seq = first->op.seq;
    for (const struct flow_reordered *s = first; s != last->next; s = s->next) {
        if (send.caplen == send.len && s->op.caplen > 0) {
            memcpy(buffer + send.caplen, s->op.data, s->op.caplen);
            send.caplen += s->op.caplen;
        }
        send.len += s->op.len;
    }
    flow_message_early(flow, dir->conn, dir, &send);
    flow_release(&flow->memory, buffer, size);
}

void flow_assemble_early(struct flow *flow, struct flow_direction *dir,
                         const struct flow_reordered *s, bool follows)
{
    bool first = (s->op.flags & RPCRDMA_OP_FIRST) != 0, last = (s->op.flags & RPCRDMA_OP_LAST) != 0;
    struct flow_send send;

    if (!flow->sink.early)
        return;
    if (s->op.kind == RPCRDMA_OP_SEND && first && last) {
        send = in_place(&s->op);
        flow_message_early(flow, dir->conn, dir, &send);
    } else if (s->op.kind == RPCRDMA_OP_SEND && first && !s->next) {
        dir->early = s;
        return;
    } else if (s->op.kind == RPCRDMA_OP_SEND && follows && dir->early) {
        if (!last)
            return;
        early_of_several(flow, dir, dir->early, s);
    }
    dir->early = NULL;
}

/* Of a stream that nobody has claimed, is this Send worth putting together? */
static bool worth_it(const struct flow *flow, const struct flow_direction *dir,
                     const struct rpcrdma_op *op)
{
    return (dir->conn && dir->conn->class == FLOW_RPCRDMA) || flow_forced(flow, dir) ||
           flow_probe_plausible(op->data, op->caplen, UINT32_MAX);
}

RPCRDMA_HOT void flow_assemble(struct flow *flow, struct flow_direction *dir,
                               const struct rpcrdma_op *op)
{
    struct flow_assembly *a = &dir->assembly;
    bool first = (op->flags & RPCRDMA_OP_FIRST) != 0, last = (op->flags & RPCRDMA_OP_LAST) != 0;
    bool iwarp = op->carrier == RPCRDMA_CARRIER_IWARP;

    if (first) {
        drop(flow, dir);
        remember(dir, op);
        if (last) {
            struct flow_send send = in_place(op);

            flow_event_send(flow, dir, &send);
            return;
        }
        if (!worth_it(flow, dir, op))
            return;
        begin(dir, op);
        a->msn = op->seq;
    } else if (!a->active) {
        if (last)
            finding(flow, dir, RPCRDMA_RULE_SEND_START_MISSING, 0, 0);
        return;
    } else if (iwarp && (op->seq != a->msn || op->message_offset != a->len)) {
        /* untagged segments of a message come in order (RFC 5041 section 5.2) */
        drop(flow, dir);
        return;
    }
    append(flow, dir, op);
    if (last)
        complete(flow, dir, op);
}
