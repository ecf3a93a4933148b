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

static uint32_t wait_bit(const struct flow_direction *dir)
{
    return dir->index == 0 ? FLOW_WAIT_GAP0 : FLOW_WAIT_GAP1;
}

uint32_t flow_packets(const struct flow_direction *dir, uint32_t length)
{
    if (length <= SMALLEST_MTU)
        return 1;
    return dir->pmtu ? (uint32_t)(((uint64_t)length + dir->pmtu - 1) / dir->pmtu) : 0;
}

void flow_stream_start(struct flow_direction *dir, uint32_t psn)
{
    dir->next = psn & 0xffffff;
    dir->started = true;
    dir->fresh = true;
}

static void add_gap(struct flow_direction *dir, uint32_t first, uint32_t count)
{
    dir->gaps[dir->gap_next++ % FLOW_GAPS] = (struct flow_range){first, count};
}

/* Takes `psn` out of the gaps that were given up. False: it is in none. */
static bool take_late(struct flow_direction *dir, uint32_t psn)
{
    for (int i = 0; i < FLOW_GAPS; i++) {
        struct flow_range *gap = &dir->gaps[i];
        uint32_t at = (psn - gap->first) & 0xffffff;
        uint32_t after;

        if (at >= gap->count)
            continue;
        after = gap->count - at - 1;
        gap->count = at;
        if (after > 0 && at > 0)
            add_gap(dir, rpcrdma_psn_add(psn, 1), after);
        else if (after > 0)
            *gap = (struct flow_range){rpcrdma_psn_add(psn, 1), after};
        return true;
    }
    return false;
}

static struct flow_write place_write(struct flow_direction *dir, const struct rpcrdma_op *op)
{
    struct flow_write write = {.op = op};
    uint32_t at;

    if (op->flags & RPCRDMA_OP_RETH) {
        write.placed = true;
        write.rkey = op->rkey;
        write.address = op->remote_address;
        if (op->flags & RPCRDMA_OP_FIRST) {
            dir->write_psn = op->seq;
            dir->write_rkey = op->rkey;
            dir->write_address = op->remote_address;
            dir->write_length = op->length;
            dir->write_packets = op->flags & RPCRDMA_OP_LAST ? 1 : flow_packets(dir, op->length);
        }
        return write;
    }
    /* every packet but the last is one path MTU long: the PSN tells its place, gaps or not */
    at = (op->seq - dir->write_psn) & 0xffffff;
    if (at > 0 && at < dir->write_packets) {
        write.placed = true;
        write.rkey = dir->write_rkey;
        write.address = dir->write_address + (uint64_t)at * dir->pmtu;
    }
    return write;
}

/* The expected packet. */
RPCRDMA_HOT static void take(struct flow *flow, struct flow_direction *dir,
                             const struct rpcrdma_op *op)
{
    uint32_t packets = 1;

    if (op->kind == RPCRDMA_OP_READ_REQUEST) {
        /* its response takes a PSN per packet */
        packets = op->flags & RPCRDMA_OP_RETH ? flow_packets(dir, op->length) : 0;
    } else if (!(op->flags & RPCRDMA_OP_LAST) && op->len > 0 &&
               (op->kind == RPCRDMA_OP_SEND || op->kind == RPCRDMA_OP_WRITE)) {
        dir->pmtu = op->len;
    }
    dir->resync = packets == 0;
    dir->next = rpcrdma_psn_add(op->seq, packets ? packets : 1);
    if (dir->conn && !flow_peer(dir))
        flow_pair_request(flow, dir, op->seq);

    switch (op->kind) {
    case RPCRDMA_OP_SEND:
        flow_assemble(flow, dir, op);
        break;
    case RPCRDMA_OP_WRITE: {
        struct flow_write write = place_write(dir, op);

        flow_event_write(flow, dir, &write);
        break;
    }
    default:
        flow_event_op(flow, dir, op);
        break;
    }
}

static void free_reordered(struct flow *flow, struct flow_direction *dir, struct flow_reordered *s)
{
    if (dir->early == s)
        dir->early = NULL;
    dir->reorder_count--;
    dir->reorder_bytes -= s->op.caplen;
    flow->reorder_bytes -= s->op.caplen;
    flow_release(&flow->memory, s, s->size);
}

static void drain(struct flow *flow, struct flow_direction *dir)
{
    bool busy = dir->busy;

    dir->busy = true;
    while (dir->reorder) {
        struct flow_reordered *s = dir->reorder;
        int32_t ahead = rpcrdma_psn_diff(s->op.seq, dir->next);

        if (ahead > 0 && !dir->resync)
            break;
        dir->reorder = s->next;
        if (!dir->reorder)
            dir->reorder_tail = NULL;
        if (dir->order < s->op.frame)
            dir->order = s->op.frame;
        if (ahead >= 0) {
            flow->from_reorder = true;
            take(flow, dir, &s->op);
            flow->from_reorder = false;
        }
        free_reordered(flow, dir, s);
    }
    dir->busy = busy;
    dir->order = 0;
    dir->evident = dir->reorder && dir->has_acked && rpcrdma_psn_diff(dir->acked, dir->next) >= 0;
    if (!dir->reorder && dir->conn)
        flow_admission_clear(flow, dir->conn, wait_bit(dir));
}

/* What is before this packet was not captured. */
static void lose_until(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op)
{
    uint32_t first = dir->next;
    uint32_t count = (op->seq - first) & 0xffffff;

    dir->busy = true; /* telling of it may fill what is held back, which gives up gaps in turn */
    dir->lost += count;
    dir->order = op->frame;
    add_gap(dir, first, count);
    flow_event_gap(flow, dir, first, rpcrdma_psn_add(op->seq, 0xffffff));
    flow_assemble_gap(flow, dir, count,
                      op->kind == RPCRDMA_OP_SEND && !(op->flags & RPCRDMA_OP_FIRST));
    dir->next = op->seq;
    dir->busy = false;
}

static void give_up(struct flow *flow, struct flow_direction *dir)
{
    lose_until(flow, dir, &dir->reorder->op);
    drain(flow, dir);
}

/* Gives up gaps until this packet, which is ahead, is expected or behind. */
static void catch_up(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op)
{
    while (dir->reorder && rpcrdma_psn_diff(dir->reorder->op.seq, op->seq) <= 0)
        give_up(flow, dir);
    if (rpcrdma_psn_diff(op->seq, dir->next) > 0)
        lose_until(flow, dir, op);
}

void flow_stream_check(struct flow *flow, struct flow_direction *dir, bool all)
{
    while (dir->reorder && !dir->busy) {
        int64_t waited = flow->time_ns - dir->reorder->time_ns;
        bool evident = dir->evident && (dir->evident_packets >= REORDER_PACKETS ||
                                        flow->time_ns - dir->evident_ns > FLOW_REORDER_NS);

        if (!all && !evident && waited < (flow_peer(dir) ? PATIENCE_NS : PATIENCE_ONE_WAY_NS))
            return;
        give_up(flow, dir);
    }
}

static bool reorder_full(const struct flow *flow, const struct flow_direction *dir, uint32_t bytes)
{
    return dir->reorder_count >= FLOW_REORDER_PACKETS ||
           dir->reorder_bytes + bytes > FLOW_REORDER_BYTES ||
           flow->reorder_bytes + bytes > FLOW_REORDER_TOTAL;
}

/* Keeps a packet until what is before it has come. False: there is no room for it to wait in. */
static bool reorder(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op)
{
    struct flow_reordered **at = &dir->reorder, *s;
    size_t size = sizeof(*s) + op->caplen;
    bool follows;

    while (dir->reorder && reorder_full(flow, dir, op->caplen)) {
        if (rpcrdma_psn_diff(dir->reorder->op.seq, op->seq) > 0)
            return false;
        give_up(flow, dir);
        if (rpcrdma_psn_diff(op->seq, dir->next) <= 0)
            return false;
    }
    s = flow_alloc(&flow->memory, size);
    if (!s)
        return false;
    /* mostly at the end */
    if (dir->reorder_tail && rpcrdma_psn_diff(op->seq, dir->reorder_tail->op.seq) > 0)
        at = &dir->reorder_tail->next;
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
    follows = dir->reorder_tail && at == &dir->reorder_tail->next &&
              rpcrdma_psn_diff(op->seq, dir->reorder_tail->op.seq) == 1;
    s->next = *at;
    *at = s;
    if (!s->next)
        dir->reorder_tail = s;
    dir->reorder_count++;
    dir->reorder_bytes += op->caplen;
    flow->reorder_bytes += op->caplen;
    dir->conn->waiting |= wait_bit(dir);
    flow_order_holding(flow, dir->conn);
    flow_assemble_early(flow, dir, s, follows);
    dir->evident_packets++;
    if (!dir->evident && dir->has_acked && rpcrdma_psn_diff(dir->acked, dir->next) >= 0) {
        dir->evident = true;
        dir->evident_ns = flow->time_ns;
        dir->evident_packets = 0;
    }
    return true;
}

/* The QP number belongs to another connection now (its set-up was not captured): all that was known
 * ends, and the packet starts anew. */
static void renew(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op)
{
    if (dir->conn)
        flow_conn_finish(flow, dir->conn);
    else
        flow_direction_free(flow, dir);
    dir = flow_direction_find(flow, op);
    if (dir)
        flow_request(flow, dir, op);
}

/* A Send that stands where another stood: not the same Send sent again. */
static bool differs(const struct flow_direction *dir, const struct rpcrdma_op *op)
{
    if (op->kind != RPCRDMA_OP_SEND || !(op->flags & RPCRDMA_OP_FIRST) || op->caplen < 4)
        return false;
    for (int i = 0; i < FLOW_RECENT; i++)
        if (dir->recent[i].set && dir->recent[i].psn == op->seq)
            return memcmp(dir->recent[i].xid, op->data, 4) != 0;
    return false;
}

static void late(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op)
{
    uint32_t whole = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST;

    switch (op->kind) {
    case RPCRDMA_OP_SEND:
        if ((op->flags & whole) == whole)
            flow_assemble(flow, dir, op);
        break;
    case RPCRDMA_OP_WRITE:
        if (op->flags & RPCRDMA_OP_RETH) {
            struct flow_write write = {
                .op = op, .placed = true, .rkey = op->rkey, .address = op->remote_address};

            flow_event_write(flow, dir, &write);
        } else {
            struct flow_write write = place_write(dir, op);

            flow_event_write(flow, dir, &write);
        }
        break;
    default:
        flow_event_op(flow, dir, op);
        break;
    }
}

/* A packet far from all that is expected and not the first of its message: a stray one, or another
 * connection whose start was not captured. The packet after it tells. */
static void far_off(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op)
{
    if (dir->has_far && dir->far_next == op->seq) {
        renew(flow, dir, op);
        return;
    }
    dir->has_far = true;
    dir->far_next = rpcrdma_psn_add(op->seq, 1);
}

static void behind(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op,
                   int32_t by)
{
    if (differs(dir, op) || (by > LONG_AGO && op->flags & RPCRDMA_OP_FIRST)) {
        renew(flow, dir, op);
        return;
    }
    if (by > LONG_AGO) {
        far_off(flow, dir, op);
        return;
    }
    if (take_late(dir, op->seq))
        late(flow, dir, op);
}

static void ahead(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op,
                  int32_t by)
{
    bool jump = dir->closed ? by > FLOW_REORDER_PACKETS : by > OTHER_QP;

    if (jump && op->flags & RPCRDMA_OP_FIRST) {
        renew(flow, dir, op);
        return;
    }
    if (by > OTHER_QP) {
        far_off(flow, dir, op);
        return;
    }
    if (dir->resync) {
        /* a Read request took an unknown number of PSNs: this packet tells how many */
        dir->next = op->seq;
        take(flow, dir, op);
        return;
    }
    if (!dir->conn) {
        /* nothing is known to be worth waiting for */
        dir->assembly.active = false;
        dir->next = op->seq;
        take(flow, dir, op);
        return;
    }
    if (reorder(flow, dir, op)) {
        flow_stream_check(flow, dir, false);
        return;
    }
    catch_up(flow, dir, op);
    flow_request(flow, dir, op); /* after which there may be no such half */
}

static void iwarp(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op)
{
    if (op->kind == RPCRDMA_OP_SEND) {
        flow_assemble(flow, dir, op);
    } else if (op->kind == RPCRDMA_OP_WRITE) {
        struct flow_write write = {.op = op,
                                   .placed = !(op->flags & RPCRDMA_OP_TRUNCATED),
                                   .rkey = op->rkey,
                                   .address = op->remote_address};

        flow_event_write(flow, dir, &write);
    } else if (op->kind == RPCRDMA_OP_LOST) {
        dir->lost++;
        flow_assemble_gap(flow, dir, 0, false);
        flow_event_gap(flow, dir, 0, 0);
    } else {
        flow_event_op(flow, dir, op);
    }
}

RPCRDMA_HOT void flow_request(struct flow *flow, struct flow_direction *dir,
                              const struct rpcrdma_op *op)
{
    int32_t by;

    if (op->carrier == RPCRDMA_CARRIER_IWARP) {
        iwarp(flow, dir, op);
        return;
    }
    if (!dir->started) {
        flow_stream_start(dir, op->seq);
        add_gap(dir, (op->seq - BEFORE_START) & 0xffffff, BEFORE_START);
    }
    by = rpcrdma_psn_diff(op->seq, dir->next);
    if (dir->fresh) {
        /* the CM exchange told the first PSN; where it was wrong, the wire is right */
        dir->fresh = false;
        if (by > OTHER_QP || by < -BEFORE_START) {
            dir->next = op->seq;
            by = 0;
        }
    }
    if (by == 0) {
        /* what waits for this packet was captured before what came in between */
        if (dir->reorder)
            dir->order = dir->reorder->op.frame;
        take(flow, dir, op);
        if (dir->reorder)
            drain(flow, dir);
        dir->order = 0;
    } else if (by > 0) {
        ahead(flow, dir, op, by);
    } else {
        behind(flow, dir, op, -by);
    }
}

void flow_stream_free(struct flow *flow, struct flow_direction *dir)
{
    while (dir->reorder) {
        struct flow_reordered *s = dir->reorder;

        dir->reorder = s->next;
        free_reordered(flow, dir, s);
    }
    dir->reorder_tail = NULL;
}
