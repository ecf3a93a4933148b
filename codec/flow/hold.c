/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/*
 * Events kept back, in order, while their connection is undecided: not known to be RPC-over-RDMA,
 * its peer or its dialect not known, or packets missing in one direction. Bounded by count, bytes
 * and time; on the bound they are given out with what is known then.
 */

static struct flow_event *new_event(struct flow *flow, struct flow_half *half, size_t bytes)
{
    size_t size = sizeof(struct flow_event) + bytes;
    struct flow_event *event = flow_alloc(&flow->memory, size);

    if (!event)
        return NULL;
    event->size = size;
    event->half = half;
    event->order = half->order ? half->order : flow->frame;
    return event;
}

/* Requests, whose order is their PSNs'; answers have that of the capture. */
static bool is_request(const struct flow_event *event)
{
    return event->kind != FLOW_EVENT_OP || event->op.kind <= RPCRDMA_OP_ATOMIC;
}

static bool stays_before(const struct flow_event *there, const struct flow_event *event)
{
    return there->order <= event->order ||
           (there->half == event->half && is_request(there) && is_request(event));
}

/* In the order of the capture; the requests of one half stay in theirs. */
static void insert(struct flow_conn *conn, struct flow_event *event)
{
    struct flow_event **at = &conn->hold;

    if (conn->hold_tail && stays_before(conn->hold_tail, event)) {
        at = &conn->hold_tail->next;
    } else {
        for (struct flow_event **e = &conn->hold; *e; e = &(*e)->next)
            if (stays_before(*e, event))
                at = &(*e)->next;
    }
    event->next = *at;
    *at = event;
    if (!event->next)
        conn->hold_tail = event;
    conn->hold_count++;
    conn->hold_bytes += event->size;
}

static void push(struct flow *flow, struct flow_conn *conn, struct flow_event *event)
{
    if (!conn->hold)
        conn->hold_since_ns = flow->time_ns;
    insert(conn, event);
    flow_order_holding(flow, conn);
    flow_hold_check(flow, conn);
}

void flow_hold_op(struct flow *flow, struct flow_conn *conn, struct flow_half *half,
                  const struct rpcrdma_op *op, const struct flow_write *write)
{
    uint32_t n = op->caplen;
    struct flow_event *event = new_event(flow, half, n);

    if (!event)
        return;
    event->kind = FLOW_EVENT_OP;
    event->op = *op;
    if (n > 0)
        memcpy(event->bytes, op->data, n);
    event->op.data = event->bytes;
    event->op.connect = NULL;
    if (write) {
        event->placed = write->placed;
        event->rkey = write->rkey;
        event->address = write->address;
    }
    push(flow, conn, event);
}

void flow_hold_send(struct flow *flow, struct flow_conn *conn, struct flow_half *half,
                    const struct flow_send *send)
{
    struct flow_event *event = new_event(flow, half, send->caplen);

    if (!event)
        return;
    event->kind = FLOW_EVENT_SEND;
    event->send = *send;
    if (send->caplen > 0)
        memcpy(event->bytes, send->data, send->caplen);
    event->send.data = event->bytes;
    push(flow, conn, event);
}

void flow_hold_gap(struct flow *flow, struct flow_conn *conn, struct flow_half *half,
                   uint32_t first, uint32_t last)
{
    struct flow_event *event = new_event(flow, half, 0);

    if (!event)
        return;
    event->kind = FLOW_EVENT_GAP;
    event->gap.first = first;
    event->gap.last = last;
    event->gap.frame = flow->frame;
    event->gap.time_ns = flow->time_ns;
    push(flow, conn, event);
}

void flow_hold_merge(struct flow *flow, struct flow_conn *into, struct flow_conn *from)
{
    if (from->hold && (!into->hold || from->hold_since_ns < into->hold_since_ns))
        into->hold_since_ns = from->hold_since_ns;
    while (from->hold) {
        struct flow_event *event = from->hold;

        from->hold = event->next;
        insert(into, event);
    }
    from->hold_tail = NULL;
    from->hold_count = 0;
    from->hold_bytes = 0;
    flow_order_holding(flow, from);
    flow_order_holding(flow, into);
}

static struct flow_event *pop(struct flow *flow, struct flow_conn *conn)
{
    struct flow_event *event = conn->hold;

    conn->hold = event->next;
    if (!conn->hold)
        conn->hold_tail = NULL;
    conn->hold_count--;
    conn->hold_bytes -= event->size;
    flow_order_holding(flow, conn);
    return event;
}

void flow_hold_release(struct flow *flow, struct flow_conn *conn)
{
    if (conn->draining)
        return;
    conn->draining = true;
    while (conn->hold && conn->waiting == 0) {
        struct flow_event *event = pop(flow, conn);

        flow_deliver(flow, conn, event);
        flow_release(&flow->memory, event, event->size);
    }
    conn->draining = false;
}

void flow_hold_drop(struct flow *flow, struct flow_conn *conn)
{
    while (conn->hold) {
        struct flow_event *event = pop(flow, conn);

        flow_release(&flow->memory, event, event->size);
    }
}

void flow_hold_forget(struct flow *flow, struct flow_conn *conn, const struct flow_half *half)
{
    struct flow_event **at = &conn->hold;

    conn->hold_tail = NULL;
    while (*at) {
        struct flow_event *event = *at;

        if (event->half != half) {
            conn->hold_tail = event;
            at = &event->next;
            continue;
        }
        *at = event->next;
        conn->hold_count--;
        conn->hold_bytes -= event->size;
        flow_release(&flow->memory, event, event->size);
    }
    conn->waiting &= ~(uint32_t)(half->index == 0 ? FLOW_WAIT_GAP0 : FLOW_WAIT_GAP1);
    flow_order_holding(flow, conn);
}

void flow_hold_clear(struct flow *flow, struct flow_conn *conn, uint32_t reason)
{
    if (reason & FLOW_WAIT_PEER)
        flow_pair_lacks(flow, conn, false);
    conn->waiting &= ~reason;
    flow_order_holding(flow, conn);
    /* from here on it is one connection, and its own: others may be given out before it */
    if (conn->claim == FLOW_CLAIMED && !(conn->waiting & (FLOW_WAIT_CLAIM | FLOW_WAIT_PEER)))
        flow_conn_number(flow, conn);
    if (conn->waiting == 0)
        flow_hold_release(flow, conn);
}

void flow_hold_check(struct flow *flow, struct flow_conn *conn)
{
    bool full = conn->hold_count >= FLOW_HOLD_EVENTS || conn->hold_bytes >= FLOW_HOLD_BYTES;
    bool old = conn->hold && flow->time_ns - conn->hold_since_ns > FLOW_HOLD_NS;

    if (conn->draining || (!full && !old))
        return;
    if (conn->waiting & FLOW_WAIT_CLAIM) {
        /* nothing says that this is RPC-over-RDMA */
        conn->gave_up = true;
        flow_hold_drop(flow, conn);
        return;
    }
    if (conn->waiting & FLOW_WAIT_PEER && flow_pair_with_half_open(flow, conn))
        return;
    flow_pair_lacks(flow, conn, false);
    conn->waiting &= ~(uint32_t)(FLOW_WAIT_PEER | FLOW_WAIT_ROLE | FLOW_WAIT_DIALECT);
    flow_choose_settle(flow, conn);
    if (full) {
        struct flow_half *half = conn->half[0] ? conn->half[0] : conn->half[1];

        /* what is given out may pair the half, and its connection be another one then */
        for (int i = 0; half && i < 2; i++) {
            struct flow_half *each = half->conn->half[i];

            if (each)
                flow_stream_check(flow, each, true);
        }
        if (half)
            conn = half->conn;
    }
    if (conn->waiting == 0)
        flow_hold_release(flow, conn);
}
