/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

#include "flow/delivery/delivery.h"

/*
 * Events kept back, in order, while their connection is undecided: not known to be RPC-over-RDMA,
 * its peer or its dialect not known, or packets missing in one direction. Bounded by count, bytes
 * and time; on the bound they are given out with what is known then.
 */

/* Requests, whose order is their PSNs'; responses have that of the capture. */
static bool is_request(const struct flow_kept *kept)
{
    return kept->event.kind != FLOW_STREAM_OP || kept->op.kind <= RPCRDMA_OP_ATOMIC;
}

static bool stays_before(const struct flow_kept *there, const struct flow_kept *kept)
{
    return there->event.order <= kept->event.order ||
           (there->dir == kept->dir && is_request(there) && is_request(kept));
}

/* In the order of the capture; the requests of one direction stay in theirs. conn->holding is
 * there. */
static void insert(struct flow_conn *conn, struct flow_kept *kept)
{
    struct flow_kept *after;

    TAILQ_FOREACH_REVERSE(after, &conn->admission, conn_admission, next)
    if (stays_before(after, kept))
        break;
    if (after)
        TAILQ_INSERT_AFTER(&conn->admission, after, kept, next);
    else
        TAILQ_INSERT_HEAD(&conn->admission, kept, next);
    conn->holding->count++;
    conn->holding->bytes += (uint32_t)kept->size;
}

static void take_out(struct flow_conn *conn, struct flow_kept *kept)
{
    TAILQ_REMOVE(&conn->admission, kept, next);
    conn->holding->count--;
    conn->holding->bytes -= (uint32_t)kept->size;
}

/* What is kept asks for its delivery when it is given out. */
static void hold_delivery(const struct flow_conn *conn)
{
    for (int end = 0; end < 2; end++)
        if (conn->dir[end] && conn->dir[end]->delivery)
            flow_delivery_hold(conn->dir[end]->delivery, !TAILQ_EMPTY(&conn->admission));
}

static void copy_bytes(struct flow_kept *kept, const uint8_t **data, uint32_t n)
{
    if (n > 0)
        memcpy(kept->bytes, *data, n);
    *data = kept->bytes;
}

bool flow_admission_keep(struct flow_conns *conns, struct flow_conn *conn,
                         struct flow_direction *dir, const struct flow_stream_event *event)
{
    uint32_t bytes = event->op                         ? event->op->caplen
                     : event->kind == FLOW_STREAM_SEND ? event->send.caplen
                                                       : 0;
    size_t size = sizeof(struct flow_kept) + bytes;
    struct flow_kept *kept =
        conn_make_holding(conns, conn) ? flow_alloc(&conns->context->memory, size) : NULL;

    if (!kept)
        return false;
    kept->size = size;
    kept->dir = dir;
    kept->event = *event;
    if (event->op) {
        kept->op = *event->op;
        kept->op.connect = NULL;
        kept->event.op = &kept->op;
        copy_bytes(kept, &kept->op.data, bytes);
    } else if (event->kind == FLOW_STREAM_SEND) {
        copy_bytes(kept, &kept->event.send.data, bytes);
    }
    if (TAILQ_EMPTY(&conn->admission))
        conn->holding->since_ns = conns->context->time_ns;
    insert(conn, kept);
    hold_delivery(conn);
    conn_update_holding(conns, conn);
    return true;
}

void conn_admission_merge(struct flow_conns *conns, struct flow_conn *into, struct flow_conn *from)
{
    struct flow_kept *kept = TAILQ_FIRST(&from->admission);

    if (kept && conn_make_holding(conns, into)) {
        if (TAILQ_EMPTY(&into->admission) || from->holding->since_ns < into->holding->since_ns)
            into->holding->since_ns = from->holding->since_ns;
        for (; kept; kept = TAILQ_FIRST(&from->admission)) {
            take_out(from, kept);
            insert(into, kept);
        }
    }
    hold_delivery(into);
    conn_update_holding(conns, from);
    conn_update_holding(conns, into);
}

static struct flow_kept *pop(struct flow_conns *conns, struct flow_conn *conn)
{
    struct flow_kept *kept = TAILQ_FIRST(&conn->admission);

    take_out(conn, kept);
    hold_delivery(conn);
    conn_update_holding(conns, conn);
    return kept;
}

struct flow_kept *flow_admission_next(struct flow_conns *conns, struct flow_conn *conn)
{
    return !TAILQ_EMPTY(&conn->admission) && conn->waiting == 0 ? pop(conns, conn) : NULL;
}

void flow_admission_free(struct flow_conns *conns, struct flow_kept *kept)
{
    flow_release(&conns->context->memory, kept, kept->size);
}

bool flow_conn_keeps(const struct flow_conn *conn)
{
    return conn->waiting != 0 || !TAILQ_EMPTY(&conn->admission);
}

void flow_admission_drop(struct flow_conns *conns, struct flow_conn *conn)
{
    while (!TAILQ_EMPTY(&conn->admission)) {
        struct flow_kept *kept = pop(conns, conn);

        flow_release(&conns->context->memory, kept, kept->size);
    }
}

void conn_admission_forget(struct flow_conns *conns, struct flow_conn *conn,
                           const struct flow_direction *dir)
{
    struct flow_kept *kept, *next;

    for (kept = TAILQ_FIRST(&conn->admission); kept; kept = next) {
        next = TAILQ_NEXT(kept, next);
        if (kept->dir != dir)
            continue;
        take_out(conn, kept);
        flow_release(&conns->context->memory, kept, kept->size);
    }
    conn->waiting &= ~(uint32_t)(dir->index == 0 ? FLOW_WAIT_GAP0 : FLOW_WAIT_GAP1);
    hold_delivery(conn);
    conn_update_holding(conns, conn);
}

void flow_conn_wait_over(struct flow_conns *conns, struct flow_conn *conn, uint32_t reason)
{
    if (reason & FLOW_WAIT_PEER)
        conn_pair_lacks(conns, conn, false);
    conn->waiting &= ~reason;
    conn_update_holding(conns, conn);
    /* from here on it is one connection, and its own: others may be given out before it */
    if (conn->class == CONN_RPCRDMA && !(conn->waiting & (FLOW_WAIT_CLASS | FLOW_WAIT_PEER)))
        flow_conn_number(conns, conn);
}

void conn_give_up(struct flow_conns *conns, struct flow_conn *conn)
{
    if (conn->class == CONN_UNCLASSIFIED)
        conn_set_class(conn, CONN_UNLIKELY);
    flow_admission_drop(conns, conn);
}

enum flow_patience flow_admission_review(struct flow_conns *conns, struct flow_conn *conn)
{
    const struct conn_holding *holding = conn->holding;
    bool full, old;

    if (!holding)
        return FLOW_PATIENCE_LEFT;
    full = holding->count >= CONN_ADMISSION_EVENTS || holding->bytes >= CONN_ADMISSION_BYTES;
    old = !TAILQ_EMPTY(&conn->admission) &&
          conns->context->time_ns - holding->since_ns > FLOW_ADMISSION_NS;
    if (!full && !old)
        return FLOW_PATIENCE_LEFT;
    if (conn->waiting & FLOW_WAIT_CLASS) {
        conn_give_up(conns, conn);
        return FLOW_PATIENCE_NEVER;
    }
    if (conn->waiting & FLOW_WAIT_PEER && conn_pair_with_half_open(conns, conn))
        return FLOW_PATIENCE_PAIRED;
    conn_pair_lacks(conns, conn, false);
    conn->waiting &= ~(uint32_t)(FLOW_WAIT_PEER | FLOW_WAIT_ROLE | FLOW_WAIT_DIALECT);
    return full ? FLOW_PATIENCE_FULL : FLOW_PATIENCE_OVER;
}

void flow_admission_open(struct flow_conns *conns, struct flow_conn *conn)
{
    conn->waiting = 0;
    conn_update_holding(conns, conn);
}

bool flow_admission_holds(const struct flow_conn *conn)
{
    return !TAILQ_EMPTY(&conn->admission);
}
