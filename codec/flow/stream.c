/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/*
 * The requests towards one QP in PSN order (IBTA volume 1 section 9.7). A packet is the expected
 * one, or ahead (kept until the gap before it fills), or behind (sent or captured twice; or it
 * fills a gap that was given up; or the QP number is in use again). iWARP arrives in TCP's order.
 */

enum {
    REORDER_PACKETS = 16, /* capture may show an Ack this many packets early */
    OTHER_QP = 1 << 20,   /* PSNs further apart are another connection, not a gap */
    LONG_AGO = 1 << 16,   /* and so are PSNs this far behind */
    BEFORE_START = 32,    /* PSNs before the first one seen that may still come */
    SMALLEST_MTU = 256,
};
#define PATIENCE_NS INT64_C(8000000000)         /* for a retransmission that no Ack rules out */
#define PATIENCE_ONE_WAY_NS INT64_C(1000000000) /* likewise where Acks are not captured */

static uint32_t wait_bit(const struct flow_half *half)
{
    return half->index == 0 ? FLOW_WAIT_GAP0 : FLOW_WAIT_GAP1;
}

uint32_t flow_packets(const struct flow_half *half, uint32_t length)
{
    if (length <= SMALLEST_MTU)
        return 1;
    return half->pmtu ? (uint32_t)(((uint64_t)length + half->pmtu - 1) / half->pmtu) : 0;
}

void flow_stream_start(struct flow_half *half, uint32_t psn)
{
    half->next = psn & 0xffffff;
    half->started = true;
    half->fresh = true;
}

static void add_gap(struct flow_half *half, uint32_t first, uint32_t count)
{
    half->gaps[half->gap_next++ % FLOW_GAPS] = (struct flow_range){first, count};
}

/* Takes `psn` out of the gaps that were given up. False: it is in none. */
static bool take_late(struct flow_half *half, uint32_t psn)
{
    for (int i = 0; i < FLOW_GAPS; i++) {
        struct flow_range *gap = &half->gaps[i];
        uint32_t at = (psn - gap->first) & 0xffffff;
        uint32_t after;

        if (at >= gap->count)
            continue;
        after = gap->count - at - 1;
        gap->count = at;
        if (after > 0 && at > 0)
            add_gap(half, rpcrdma_psn_add(psn, 1), after);
        else if (after > 0)
            *gap = (struct flow_range){rpcrdma_psn_add(psn, 1), after};
        return true;
    }
    return false;
}

static struct flow_write place_write(struct flow_half *half, const struct rpcrdma_op *op)
{
    struct flow_write write = {.op = op};
    uint32_t at;

    if (op->flags & RPCRDMA_OP_RETH) {
        write.placed = true;
        write.rkey = op->rkey;
        write.address = op->remote_address;
        if (op->flags & RPCRDMA_OP_FIRST) {
            half->write_psn = op->seq;
            half->write_rkey = op->rkey;
            half->write_address = op->remote_address;
            half->write_length = op->length;
            half->write_packets = op->flags & RPCRDMA_OP_LAST ? 1 : flow_packets(half, op->length);
        }
        return write;
    }
    /* every packet but the last is one path MTU long: the PSN tells its place, gaps or not */
    at = (op->seq - half->write_psn) & 0xffffff;
    if (at > 0 && at < half->write_packets) {
        write.placed = true;
        write.rkey = half->write_rkey;
        write.address = half->write_address + (uint64_t)at * half->pmtu;
    }
    return write;
}

/* The expected packet. */
RPCRDMA_HOT static void take(struct flow *flow, struct flow_half *half, const struct rpcrdma_op *op)
{
    uint32_t packets = 1;

    if (op->kind == RPCRDMA_OP_READ_REQUEST) {
        /* its response takes a PSN per packet */
        packets = op->flags & RPCRDMA_OP_RETH ? flow_packets(half, op->length) : 0;
    } else if (!(op->flags & RPCRDMA_OP_LAST) && op->len > 0 &&
               (op->kind == RPCRDMA_OP_SEND || op->kind == RPCRDMA_OP_WRITE)) {
        half->pmtu = op->len;
    }
    half->resync = packets == 0;
    half->next = rpcrdma_psn_add(op->seq, packets ? packets : 1);
    if (half->conn && !flow_peer(half))
        flow_pair_request(flow, half, op->seq);

    switch (op->kind) {
    case RPCRDMA_OP_SEND:
        flow_assemble(flow, half, op);
        break;
    case RPCRDMA_OP_WRITE: {
        struct flow_write write = place_write(half, op);

        flow_event_write(flow, half, &write);
        break;
    }
    default:
        flow_event_op(flow, half, op);
        break;
    }
}

static void free_stashed(struct flow *flow, struct flow_half *half, struct flow_stashed *s)
{
    if (half->early == s)
        half->early = NULL;
    half->stash_count--;
    half->stash_bytes -= s->op.caplen;
    flow->stash_bytes -= s->op.caplen;
    flow_release(&flow->memory, s, s->size);
}

static void drain(struct flow *flow, struct flow_half *half)
{
    bool busy = half->busy;

    half->busy = true;
    while (half->stash) {
        struct flow_stashed *s = half->stash;
        int32_t ahead = rpcrdma_psn_diff(s->op.seq, half->next);

        if (ahead > 0 && !half->resync)
            break;
        half->stash = s->next;
        if (!half->stash)
            half->stash_tail = NULL;
        if (half->order < s->op.frame)
            half->order = s->op.frame;
        if (ahead >= 0) {
            flow->from_stash = true;
            take(flow, half, &s->op);
            flow->from_stash = false;
        }
        free_stashed(flow, half, s);
    }
    half->busy = busy;
    half->order = 0;
    half->evident =
        half->stash && half->has_acked && rpcrdma_psn_diff(half->acked, half->next) >= 0;
    if (!half->stash && half->conn)
        flow_hold_clear(flow, half->conn, wait_bit(half));
}

/* What is before this packet was not captured. */
static void lose_until(struct flow *flow, struct flow_half *half, const struct rpcrdma_op *op)
{
    uint32_t first = half->next;
    uint32_t count = (op->seq - first) & 0xffffff;

    half->busy = true; /* telling of it may fill what is held back, which gives up gaps in turn */
    half->lost += count;
    half->order = op->frame;
    add_gap(half, first, count);
    flow_event_gap(flow, half, first, rpcrdma_psn_add(op->seq, 0xffffff));
    flow_assemble_gap(flow, half, count,
                      op->kind == RPCRDMA_OP_SEND && !(op->flags & RPCRDMA_OP_FIRST));
    half->next = op->seq;
    half->busy = false;
}

static void give_up(struct flow *flow, struct flow_half *half)
{
    lose_until(flow, half, &half->stash->op);
    drain(flow, half);
}

/* Gives up gaps until this packet, which is ahead, is expected or behind. */
static void catch_up(struct flow *flow, struct flow_half *half, const struct rpcrdma_op *op)
{
    while (half->stash && rpcrdma_psn_diff(half->stash->op.seq, op->seq) <= 0)
        give_up(flow, half);
    if (rpcrdma_psn_diff(op->seq, half->next) > 0)
        lose_until(flow, half, op);
}

void flow_stream_check(struct flow *flow, struct flow_half *half, bool all)
{
    while (half->stash && !half->busy) {
        int64_t waited = flow->time_ns - half->stash->time_ns;
        bool evident = half->evident && (half->evident_packets >= REORDER_PACKETS ||
                                         flow->time_ns - half->evident_ns > FLOW_REORDER_NS);

        if (!all && !evident && waited < (flow_peer(half) ? PATIENCE_NS : PATIENCE_ONE_WAY_NS))
            return;
        give_up(flow, half);
    }
}

static bool stash_full(const struct flow *flow, const struct flow_half *half, uint32_t bytes)
{
    return half->stash_count >= FLOW_STASH_PACKETS ||
           half->stash_bytes + bytes > FLOW_STASH_BYTES ||
           flow->stash_bytes + bytes > FLOW_STASH_TOTAL;
}

/* Keeps a packet until what is before it has come. False: there is no room for it to wait in. */
static bool stash(struct flow *flow, struct flow_half *half, const struct rpcrdma_op *op)
{
    struct flow_stashed **at = &half->stash, *s;
    size_t size = sizeof(*s) + op->caplen;
    bool follows;

    while (half->stash && stash_full(flow, half, op->caplen)) {
        if (rpcrdma_psn_diff(half->stash->op.seq, op->seq) > 0)
            return false;
        give_up(flow, half);
        if (rpcrdma_psn_diff(op->seq, half->next) <= 0)
            return false;
    }
    s = flow_alloc(&flow->memory, size);
    if (!s)
        return false;
    /* mostly at the end */
    if (half->stash_tail && rpcrdma_psn_diff(op->seq, half->stash_tail->op.seq) > 0)
        at = &half->stash_tail->next;
    while (*at && rpcrdma_psn_diff((*at)->op.seq, op->seq) < 0)
        at = &(*at)->next;
    if (*at && (*at)->op.seq == op->seq) {
        flow_release(&flow->memory, s, size);
        return true;
    }
    s->op = *op;
    s->size = size;
    s->time_ns = flow->time_ns;
    if (op->caplen > 0)
        memcpy(s->bytes, op->data, op->caplen);
    s->op.data = s->bytes;
    follows = half->stash_tail && at == &half->stash_tail->next &&
              rpcrdma_psn_diff(op->seq, half->stash_tail->op.seq) == 1;
    s->next = *at;
    *at = s;
    if (!s->next)
        half->stash_tail = s;
    half->stash_count++;
    half->stash_bytes += op->caplen;
    flow->stash_bytes += op->caplen;
    half->conn->waiting |= wait_bit(half);
    flow_order_holding(flow, half->conn);
    flow_assemble_early(flow, half, s, follows);
    half->evident_packets++;
    if (!half->evident && half->has_acked && rpcrdma_psn_diff(half->acked, half->next) >= 0) {
        half->evident = true;
        half->evident_ns = flow->time_ns;
        half->evident_packets = 0;
    }
    return true;
}

/* The QP number belongs to another connection now (its set-up was not captured): all that was known
 * ends, and the packet starts anew. */
static void renew(struct flow *flow, struct flow_half *half, const struct rpcrdma_op *op)
{
    if (half->conn)
        flow_conn_finish(flow, half->conn);
    else
        flow_half_free(flow, half);
    half = flow_half_find(flow, op);
    if (half)
        flow_request(flow, half, op);
}

/* A Send that stands where another stood: not the same Send sent again. */
static bool differs(const struct flow_half *half, const struct rpcrdma_op *op)
{
    if (op->kind != RPCRDMA_OP_SEND || !(op->flags & RPCRDMA_OP_FIRST) || op->caplen < 4)
        return false;
    for (int i = 0; i < FLOW_RECENT; i++)
        if (half->recent[i].set && half->recent[i].psn == op->seq)
            return memcmp(half->recent[i].xid, op->data, 4) != 0;
    return false;
}

static void late(struct flow *flow, struct flow_half *half, const struct rpcrdma_op *op)
{
    uint32_t whole = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST;

    switch (op->kind) {
    case RPCRDMA_OP_SEND:
        if ((op->flags & whole) == whole)
            flow_assemble(flow, half, op);
        break;
    case RPCRDMA_OP_WRITE:
        if (op->flags & RPCRDMA_OP_RETH) {
            struct flow_write write = {
                .op = op, .placed = true, .rkey = op->rkey, .address = op->remote_address};

            flow_event_write(flow, half, &write);
        } else {
            struct flow_write write = place_write(half, op);

            flow_event_write(flow, half, &write);
        }
        break;
    default:
        flow_event_op(flow, half, op);
        break;
    }
}

/* A packet far from all that is expected and not the first of its message: a stray one, or another
 * connection whose start was not captured. The packet after it tells. */
static void far_off(struct flow *flow, struct flow_half *half, const struct rpcrdma_op *op)
{
    if (half->has_far && half->far_next == op->seq) {
        renew(flow, half, op);
        return;
    }
    half->has_far = true;
    half->far_next = rpcrdma_psn_add(op->seq, 1);
}

static void behind(struct flow *flow, struct flow_half *half, const struct rpcrdma_op *op,
                   int32_t by)
{
    if (differs(half, op) || (by > LONG_AGO && op->flags & RPCRDMA_OP_FIRST)) {
        renew(flow, half, op);
        return;
    }
    if (by > LONG_AGO) {
        far_off(flow, half, op);
        return;
    }
    if (take_late(half, op->seq))
        late(flow, half, op);
}

static void ahead(struct flow *flow, struct flow_half *half, const struct rpcrdma_op *op,
                  int32_t by)
{
    bool jump = half->closed ? by > FLOW_STASH_PACKETS : by > OTHER_QP;

    if (jump && op->flags & RPCRDMA_OP_FIRST) {
        renew(flow, half, op);
        return;
    }
    if (by > OTHER_QP) {
        far_off(flow, half, op);
        return;
    }
    if (half->resync) {
        /* a Read request took an unknown number of PSNs: this packet tells how many */
        half->next = op->seq;
        take(flow, half, op);
        return;
    }
    if (!half->conn) {
        /* nothing is known to be worth waiting for */
        half->assembly.active = false;
        half->next = op->seq;
        take(flow, half, op);
        return;
    }
    if (stash(flow, half, op)) {
        flow_stream_check(flow, half, false);
        return;
    }
    catch_up(flow, half, op);
    flow_request(flow, half, op); /* after which there may be no such half */
}

static void iwarp(struct flow *flow, struct flow_half *half, const struct rpcrdma_op *op)
{
    if (op->kind == RPCRDMA_OP_SEND) {
        flow_assemble(flow, half, op);
    } else if (op->kind == RPCRDMA_OP_WRITE) {
        struct flow_write write = {.op = op,
                                   .placed = !(op->flags & RPCRDMA_OP_TRUNCATED),
                                   .rkey = op->rkey,
                                   .address = op->remote_address};

        flow_event_write(flow, half, &write);
    } else if (op->kind == RPCRDMA_OP_LOST) {
        half->lost++;
        flow_assemble_gap(flow, half, 0, false);
        flow_event_gap(flow, half, 0, 0);
    } else {
        flow_event_op(flow, half, op);
    }
}

RPCRDMA_HOT void flow_request(struct flow *flow, struct flow_half *half,
                              const struct rpcrdma_op *op)
{
    int32_t by;

    if (op->carrier == RPCRDMA_CARRIER_IWARP) {
        iwarp(flow, half, op);
        return;
    }
    if (!half->started) {
        flow_stream_start(half, op->seq);
        add_gap(half, (op->seq - BEFORE_START) & 0xffffff, BEFORE_START);
    }
    by = rpcrdma_psn_diff(op->seq, half->next);
    if (half->fresh) {
        /* the CM exchange told the first PSN; where it was wrong, the wire is right */
        half->fresh = false;
        if (by > OTHER_QP || by < -BEFORE_START) {
            half->next = op->seq;
            by = 0;
        }
    }
    if (by == 0) {
        /* what waits for this packet was captured before what came in between */
        if (half->stash)
            half->order = half->stash->op.frame;
        take(flow, half, op);
        if (half->stash)
            drain(flow, half);
        half->order = 0;
    } else if (by > 0) {
        ahead(flow, half, op, by);
    } else {
        behind(flow, half, op, -by);
    }
}

void flow_stream_free(struct flow *flow, struct flow_half *half)
{
    while (half->stash) {
        struct flow_stashed *s = half->stash;

        half->stash = s->next;
        free_stashed(flow, half, s);
    }
    half->stash_tail = NULL;
}
