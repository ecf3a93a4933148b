/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

/*
 * Connections that keep something, or have packets ahead of a gap: which has the oldest, that
 * messages of others wait for; and which of those that are silent now time decides about. Both are
 * heaps: there can be many, and each packet asks.
 */

#define CHECK_NS INT64_C(50000000) /* how often silent connections are looked at */
/* what is held longer than it should be waits for nothing that will come soon */
#define PATIENCE_NS (FLOW_ADMISSION_NS + 2 * CHECK_NS)

/* None is looked at twice within CHECK_NS, whatever the clock does. */
static int64_t due(const struct flow_conn *conn)
{
    int64_t next = conn->holding->checked_ns + CHECK_NS;
    int64_t old = conn->holding->since_ns + FLOW_ADMISSION_NS;

    return conn->waiting & (FLOW_WAIT_GAP0 | FLOW_WAIT_GAP1) || old < next ? next : old;
}

static void set_due(struct flow_conns *conns, struct flow_conn *conn)
{
    /* the sign's bit turned: negative times are before the others */
    heap_set(&conns->due, &conn->holding->due, (uint64_t)due(conn) ^ UINT64_C(1) << 63, conn->id);
}

/* The frame of the oldest event that this connection keeps, or has behind a gap. */
static uint64_t oldest_of(const struct flow_conns *conns, const struct flow_conn *conn)
{
    uint64_t oldest = UINT64_MAX, frame;
    int64_t now = conns->context->time_ns, since;

    if (conn->class != CONN_RPCRDMA)
        return oldest;
    if (!TAILQ_EMPTY(&conn->admission) && now - conn->holding->since_ns <= PATIENCE_NS)
        oldest = TAILQ_FIRST(&conn->admission)->event.order;
    for (int i = 0; i < 2; i++)
        if (conn->dir[i] && flow_stream_waits(conn->dir[i], &frame, &since) && frame < oldest &&
            now - since <= PATIENCE_NS)
            oldest = frame;
    return oldest;
}

static void set_held(struct flow_conns *conns, struct flow_conn *conn, uint64_t oldest)
{
    if (oldest == UINT64_MAX)
        heap_remove(&conns->held, &conn->holding->held);
    else
        heap_set(&conns->held, &conn->holding->held, oldest, conn->id);
}

static void leave_heaps(struct flow_conns *conns, struct flow_conn *conn)
{
    if (!conn->holding)
        return;
    heap_remove(&conns->held, &conn->holding->held);
    heap_remove(&conns->due, &conn->holding->due);
}

RPCRDMA_RARE bool conn_make_holding(struct flow_conns *conns, struct flow_conn *conn)
{
    if (conn->holding)
        return true;
    conn->holding = flow_alloc_always(&conns->context->memory, sizeof(*conn->holding));
    if (!conn->holding)
        return false;
    conn->holding->conn = conn;
    conn->holding->checked_ns = INT64_MIN;
    return true;
}

void conn_holding_free(struct flow_conns *conns, struct flow_conn *conn)
{
    leave_heaps(conns, conn);
    flow_release(&conns->context->memory, conn->holding, sizeof(*conn->holding));
    conn->holding = NULL;
}

void conn_update_holding(struct flow_conns *conns, struct flow_conn *conn)
{
    if (TAILQ_EMPTY(&conn->admission) && !(conn->waiting & (FLOW_WAIT_GAP0 | FLOW_WAIT_GAP1))) {
        leave_heaps(conns, conn);
    } else if (conn_make_holding(conns, conn)) {
        set_held(conns, conn, oldest_of(conns, conn));
        set_due(conns, conn);
    }
}

bool flow_admission_any(const struct flow_conns *conns)
{
    return conns->due != NULL;
}

struct flow_conn *flow_admission_silent(struct flow_conns *conns)
{
    int64_t now = conns->context->time_ns;
    uint64_t key = (uint64_t)now ^ UINT64_C(1) << 63;

    if (!conns->due || (now < conns->next_check_ns && conns->next_check_ns - now < CHECK_NS))
        return NULL;
    conns->next_check_ns = now + CHECK_NS; /* not a hindrance at this very time */
    while (conns->due && conns->due->key < key) {
        struct flow_conn *conn = HEAP_OF(conns->due, struct conn_holding, due)->conn;

        conn->holding->checked_ns = now;
        set_due(conns, conn);
        if (conn->dir[0] || conn->dir[1])
            return conn;
    }
    return NULL;
}

/* Keys are what was true when something was kept. Time only makes them later: the first is looked
 * at again until it is true. (What time that runs backwards would bring back is not waited for.) */
RPCRDMA_RARE static uint64_t oldest_held(struct flow_conns *conns)
{
    while (conns->held) {
        struct flow_conn *conn = HEAP_OF(conns->held, struct conn_holding, held)->conn;
        uint64_t oldest = oldest_of(conns, conn);

        if (oldest == conn->holding->held.key)
            return oldest;
        set_held(conns, conn, oldest);
    }
    return UINT64_MAX;
}

uint64_t flow_admission_oldest(struct flow_conns *conns)
{
    return conns->held ? oldest_held(conns) : UINT64_MAX;
}
