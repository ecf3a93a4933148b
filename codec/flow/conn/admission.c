/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/*
 * Events kept back, in order, while their connection is undecided: not known to be RPC-over-RDMA,
 * its peer or its dialect not known, or packets missing in one direction. Bounded by count, bytes
 * and time; on the bound they are given out with what is known then.
 */

static struct flow_event *new_event(struct flow *flow, struct flow_direction *dir, size_t bytes)
{
    size_t size = sizeof(struct flow_event) + bytes;
    struct flow_event *event = flow_alloc(&flow->memory, size);

    if (!event)
        return NULL;
    event->size = size;
    event->dir = dir;
    event->order = dir->order ? dir->order : flow->frame;
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
           (there->dir == event->dir && is_request(there) && is_request(event));
}

/* In the order of the capture; the requests of one half stay in theirs. */
static void insert(struct flow_conn *conn, struct flow_event *event)
{
    struct flow_event **at = &conn->admission;

    if (conn->admission_tail && stays_before(conn->admission_tail, event)) {
        at = &conn->admission_tail->next;
    } else {
        for (struct flow_event **e = &conn->admission; *e; e = &(*e)->next)
            if (stays_before(*e, event))
                at = &(*e)->next;
    }
    event->next = *at;
    *at = event;
    if (!event->next)
        conn->admission_tail = event;
    conn->admission_count++;
    conn->admission_bytes += event->size;
}

static void push(struct flow *flow, struct flow_conn *conn, struct flow_event *event)
{
    if (!conn->admission)
        conn->admission_since_ns = flow->time_ns;
    insert(conn, event);
    flow_order_holding(flow, conn);
    flow_admission_check(flow, conn);
}

void flow_admission_op(struct flow *flow, struct flow_conn *conn, struct flow_direction *dir,
                       const struct rpcrdma_op *op, const struct flow_write *write)
{
    uint32_t n = op->caplen;
    struct flow_event *event = new_event(flow, dir, n);

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

void flow_admission_send(struct flow *flow, struct flow_conn *conn, struct flow_direction *dir,
                         const struct flow_send *send)
{
    struct flow_event *event = new_event(flow, dir, send->caplen);

    if (!event)
        return;
    event->kind = FLOW_EVENT_SEND;
    event->send = *send;
    if (send->caplen > 0)
        memcpy(event->bytes, send->data, send->caplen);
    event->send.data = event->bytes;
    push(flow, conn, event);
}

void flow_admission_gap(struct flow *flow, struct flow_conn *conn, struct flow_direction *dir,
                        uint32_t first, uint32_t last)
{
    struct flow_event *event = new_event(flow, dir, 0);

    if (!event)
        return;
    event->kind = FLOW_EVENT_GAP;
    event->gap.first = first;
    event->gap.last = last;
    event->gap.frame = flow->frame;
    event->gap.time_ns = flow->time_ns;
    push(flow, conn, event);
}

void flow_admission_merge(struct flow *flow, struct flow_conn *into, struct flow_conn *from)
{
    if (from->admission &&
        (!into->admission || from->admission_since_ns < into->admission_since_ns))
        into->admission_since_ns = from->admission_since_ns;
    while (from->admission) {
        struct flow_event *event = from->admission;

        from->admission = event->next;
        insert(into, event);
    }
    from->admission_tail = NULL;
    from->admission_count = 0;
    from->admission_bytes = 0;
    flow_order_holding(flow, from);
    flow_order_holding(flow, into);
}

static struct flow_event *pop(struct flow *flow, struct flow_conn *conn)
{
    struct flow_event *event = conn->admission;

    conn->admission = event->next;
    if (!conn->admission)
        conn->admission_tail = NULL;
    conn->admission_count--;
    conn->admission_bytes -= event->size;
    flow_order_holding(flow, conn);
    return event;
}

void flow_admission_release(struct flow *flow, struct flow_conn *conn)
{
    if (conn->draining)
        return;
    conn->draining = true;
    while (conn->admission && conn->waiting == 0) {
        struct flow_event *event = pop(flow, conn);

        flow_deliver(flow, conn, event);
        flow_release(&flow->memory, event, event->size);
    }
    conn->draining = false;
}

void flow_admission_drop(struct flow *flow, struct flow_conn *conn)
{
    while (conn->admission) {
        struct flow_event *event = pop(flow, conn);

        flow_release(&flow->memory, event, event->size);
    }
}

void flow_admission_forget(struct flow *flow, struct flow_conn *conn,
                           const struct flow_direction *dir)
{
    struct flow_event **at = &conn->admission;

    conn->admission_tail = NULL;
    while (*at) {
        struct flow_event *event = *at;

        if (event->dir != dir) {
            conn->admission_tail = event;
            at = &event->next;
            continue;
        }
        *at = event->next;
        conn->admission_count--;
        conn->admission_bytes -= event->size;
        flow_release(&flow->memory, event, event->size);
    }
    conn->waiting &= ~(uint32_t)(dir->index == 0 ? FLOW_WAIT_GAP0 : FLOW_WAIT_GAP1);
    flow_order_holding(flow, conn);
}

void flow_admission_clear(struct flow *flow, struct flow_conn *conn, uint32_t reason)
{
    if (reason & FLOW_WAIT_PEER)
        flow_pair_lacks(flow, conn, false);
    conn->waiting &= ~reason;
    flow_order_holding(flow, conn);
    /* from here on it is one connection, and its own: others may be given out before it */
    if (conn->class == FLOW_RPCRDMA && !(conn->waiting & (FLOW_WAIT_CLASS | FLOW_WAIT_PEER)))
        flow_conn_number(flow, conn);
    if (conn->waiting == 0)
        flow_admission_release(flow, conn);
}

void flow_admission_give_up(struct flow *flow, struct flow_conn *conn)
{
    conn->gave_up = true;
    flow_admission_drop(flow, conn);
}

void flow_admission_check(struct flow *flow, struct flow_conn *conn)
{
    bool full = conn->admission_count >= FLOW_ADMISSION_EVENTS ||
                conn->admission_bytes >= FLOW_ADMISSION_BYTES;
    bool old = conn->admission && flow->time_ns - conn->admission_since_ns > FLOW_ADMISSION_NS;

    if (conn->draining || (!full && !old))
        return;
    if (conn->waiting & FLOW_WAIT_CLASS) {
        flow_admission_give_up(flow, conn);
        return;
    }
    if (conn->waiting & FLOW_WAIT_PEER && flow_pair_with_half_open(flow, conn))
        return;
    flow_pair_lacks(flow, conn, false);
    conn->waiting &= ~(uint32_t)(FLOW_WAIT_PEER | FLOW_WAIT_ROLE | FLOW_WAIT_DIALECT);
    flow_dialect_settle(flow, conn);
    if (full) {
        struct flow_direction *dir = conn->dir[0] ? conn->dir[0] : conn->dir[1];

        /* what is given out may pair the half, and its connection be another one then */
        for (int i = 0; dir && i < 2; i++) {
            struct flow_direction *each = dir->conn->dir[i];

            if (each)
                flow_stream_check(flow, each, true);
        }
        if (dir)
            conn = dir->conn;
    }
    if (conn->waiting == 0)
        flow_admission_release(flow, conn);
}
