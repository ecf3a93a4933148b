/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/* Disconnected connections stay this many disconnects long: a DREP, a late Ack, a retransmission
 * still trail in, and must not look like something new. */
enum { CLOSED_MAX = RPCRDMA_BOUND(64, 1) };

static void link_conn(struct flow *flow, struct flow_conn *conn)
{
    conn->older = flow->newest;
    if (flow->newest)
        flow->newest->newer = conn;
    else
        flow->oldest = conn;
    flow->newest = conn;
    flow->n_conns++;
    flow_lru_add(flow, conn);
}

static void unlink_conn(struct flow *flow, struct flow_conn *conn)
{
    if (conn->newer)
        conn->newer->older = conn->older;
    else
        flow->newest = conn->older;
    if (conn->older)
        conn->older->newer = conn->newer;
    else
        flow->oldest = conn->newer;
    flow->n_conns--;
    flow_lru_remove(flow, conn);
}

struct flow_conn *flow_conn_new(struct flow *flow, uint8_t carrier)
{
    struct flow_conn *conn = flow_alloc(&flow->memory, sizeof(*conn));

    while (!conn && !flow->memory.failed && flow_conn_evict(flow))
        conn = flow_alloc(&flow->memory, sizeof(*conn));
    if (!conn)
        return NULL;
    conn->id = ++flow->ids;
    conn->pub.carrier = (enum rpcrdma_carrier)carrier;
    conn->pub.first_frame = conn->pub.last_frame = flow->frame;
    conn->pub.first_time_ns = conn->pub.last_time_ns = flow->time_ns;
    flow_properties_default(conn);
    link_conn(flow, conn);
    return conn;
}

void flow_conn_touch(struct flow *flow, struct flow_conn *conn)
{
    /* what TCP held back comes with the frame it was captured in: not later than all before it */
    if (flow->frame >= conn->pub.last_frame) {
        conn->pub.last_frame = flow->frame;
        conn->pub.last_time_ns = flow->time_ns;
    } else if (flow->frame < conn->pub.first_frame) {
        conn->pub.first_frame = flow->frame;
        conn->pub.first_time_ns = flow->time_ns;
    }
}

/* TCP's ports name both directions in each packet, and the service. */
static void both_directions(struct flow *flow, struct flow_conn *conn, struct flow_direction *dir)
{
    struct flow_path path = dir->path;
    struct flow_direction *back;

    path.src = dir->path.dst;
    path.dst = dir->path.src;
    path.qpn = dir->path.qpn << 16 | dir->path.qpn >> 16;
    back = flow_direction_get(flow, &path, dir->carrier);
    if (back && !back->conn)
        flow_conn_attach(flow, conn, 0, back);
    conn->waiting &= ~(uint32_t)FLOW_WAIT_PEER;
    conn->pub.paired_by = RPCRDMA_PAIRED_INFERRED;
    for (int i = 0; i < 2; i++) {
        if (!flow_port_known(flow, conn->pub.end[i].port))
            continue;
        conn->pub.service_port = conn->pub.end[i].port;
        flow_conn_role(conn, i, RPCRDMA_ROLE_SERVER);
        flow_conn_accept(flow, conn);
        break;
    }
    if (flow_forced(flow, dir))
        flow_conn_accept(flow, conn);
}

struct flow_conn *flow_conn_unclassified(struct flow *flow, struct flow_direction *dir)
{
    struct flow_conn *conn = flow_conn_new(flow, dir->carrier);

    if (!conn)
        return NULL;
    conn->waiting = FLOW_WAIT_CLASS | FLOW_WAIT_PEER | FLOW_WAIT_ROLE;
    flow_conn_attach(flow, conn, 1, dir);
    if (dir->carrier == RPCRDMA_CARRIER_IWARP)
        both_directions(flow, conn, dir);
    return conn;
}

static void set_end(struct rpcrdma_endpoint *end, const struct flow_direction *dir)
{
    end->address = dir->path.dst;
    if (dir->carrier == RPCRDMA_CARRIER_IWARP) {
        end->port = (uint16_t)dir->path.qpn;
    } else {
        end->qpn = dir->path.qpn;
        end->has_qpn = true;
    }
}

void flow_conn_attach(struct flow *flow, struct flow_conn *conn, int end,
                      struct flow_direction *dir)
{
    if (conn->dir[1 - end] == dir)
        return; /* one QP cannot be both ends: what said so is wrong */
    if (conn->dir[end] && conn->dir[end] != dir) {
        /* a second REP with another QP */
        flow_admission_forget(flow, conn, conn->dir[end]);
        flow_direction_free(flow, conn->dir[end]);
    }
    if (!dir->conn)
        flow_direction_owned(flow, dir, true);
    dir->conn = conn;
    dir->index = (uint8_t)end;
    dir->foreign = conn->class == FLOW_FOREIGN;
    conn->dir[end] = dir;
    set_end(&conn->pub.end[end], dir);
    conn->pub.stream[end] = dir->id;
    conn->pub.end[1 - end].address = dir->path.src;
    if (dir->carrier == RPCRDMA_CARRIER_IWARP)
        conn->pub.end[1 - end].port = (uint16_t)(dir->path.qpn >> 16);
    if (!conn->by_cm && dir->first_frame < conn->pub.first_frame) {
        conn->pub.first_frame = dir->first_frame;
        conn->pub.first_time_ns = dir->first_time_ns;
    }
}

void flow_conn_number(struct flow *flow, struct flow_conn *conn)
{
    if (conn->pub.number != 0)
        return;
    conn->pub.number = ++flow->numbers;
    for (int i = 0; i < flow->n_observers; i++)
        if (flow->observers[i]->opened)
            flow->observers[i]->opened(flow->observers[i]->self, conn);
}

void flow_conn_accept(struct flow *flow, struct flow_conn *conn)
{
    if (conn->class == FLOW_RPCRDMA)
        return;
    conn->class = FLOW_RPCRDMA;
    conn->gave_up = false;
    if (conn->waiting & FLOW_WAIT_PEER)
        flow_pair_lacks(flow, conn, true);
    flow_admission_clear(flow, conn, FLOW_WAIT_CLASS);
}

void flow_conn_role(struct flow_conn *conn, int end, enum rpcrdma_role role)
{
    conn->waiting &= ~(uint32_t)FLOW_WAIT_ROLE;
    conn->pub.role[end] = role;
    conn->pub.role[1 - end] =
        role == RPCRDMA_ROLE_CLIENT ? RPCRDMA_ROLE_SERVER : RPCRDMA_ROLE_CLIENT;
    flow_conn_thresholds(conn);
}

static uint32_t lower(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A direction's threshold is the lower of its sender's send size and its receiver's receive size
 * (RFC 8797 section 4; draft-ietf-nfsv4-rpcrdma-version-two-07 section 5). Where no end is known as
 * client, a value that holds for both directions is given, else 0. */
void flow_conn_thresholds(struct flow_conn *conn)
{
    const struct rpcrdma_properties *p = conn->pub.properties;
    uint32_t by_sender[2];

    for (int i = 0; i < 2; i++)
        by_sender[i] = lower(p[i].send_size, p[1 - i].receive_size);
    if (conn->pub.role[0] == RPCRDMA_ROLE_UNKNOWN) {
        conn->pub.threshold_call = conn->pub.threshold_reply =
            by_sender[0] == by_sender[1] ? by_sender[0] : 0;
    } else {
        int client = conn->pub.role[0] == RPCRDMA_ROLE_CLIENT ? 0 : 1;

        conn->pub.threshold_call = by_sender[client];
        conn->pub.threshold_reply = by_sender[1 - client];
    }
}

static void unlink_closed(struct flow *flow, struct flow_conn *conn)
{
    if (conn->next_closed)
        conn->next_closed->previous_closed = conn->previous_closed;
    else
        flow->closed_newest = conn->previous_closed;
    if (conn->previous_closed)
        conn->previous_closed->next_closed = conn->next_closed;
    else
        flow->closed_oldest = conn->next_closed;
    flow->n_closed--;
}

void flow_conn_closed(struct flow *flow, struct flow_conn *conn)
{
    if (conn->pub.closed)
        return;
    conn->pub.closed = true;
    conn->closed_frame = flow->frame;
    conn->closed_time_ns = flow->time_ns;
    for (int i = 0; i < 2; i++)
        if (conn->dir[i])
            conn->dir[i]->closed = true;
    conn->previous_closed = flow->closed_newest;
    if (flow->closed_newest)
        flow->closed_newest->next_closed = conn;
    else
        flow->closed_oldest = conn;
    flow->closed_newest = conn;
    if (++flow->n_closed > CLOSED_MAX && flow->closed_oldest != conn)
        flow_conn_finish(flow, flow->closed_oldest);
}

void flow_conn_last(struct flow *flow, struct flow_conn *conn)
{
    conn->finishing = true;
    for (int i = 0; i < 2; i++)
        if (conn->dir[i])
            flow_stream_check(flow, conn->dir[i], true);
    if (conn->class == FLOW_RPCRDMA) {
        conn->waiting = 0;
        flow_dialect_settle(flow, conn);
        flow_admission_release(flow, conn);
        flow_continue_end(flow, conn);
    }
    flow_admission_drop(flow, conn);
    conn->waiting = 0;
    flow_order_holding(flow, conn);
}

void flow_conn_finish(struct flow *flow, struct flow_conn *conn)
{
    flow_conn_last(flow, conn);
    if (conn->pub.number != 0)
        flow_order_flush(flow, true); /* its messages come before its end */
    if (conn->pub.number != 0) {
        for (int i = 0; i < flow->n_observers; i++)
            if (flow->observers[i]->closed)
                flow->observers[i]->closed(flow->observers[i]->self, conn);
        if (flow->sink.connection)
            flow->sink.connection(flow->sink.context, &conn->pub);
    }
    if (conn->pub.closed)
        unlink_closed(flow, conn);
    flow_pair_lacks(flow, conn, false);
    flow_pair_half_open(flow, conn, false);
    if (conn->registered)
        flow_table_remove(&flow->cm, flow_cm_key(&conn->pub.end[0].address,
                                                 &conn->pub.end[1].address, conn->comm_id[0]));
    flow_call_free(flow, conn);
    for (int i = 0; i < 2; i++)
        if (conn->dir[i])
            flow_direction_free(flow, conn->dir[i]);
    unlink_conn(flow, conn);
    flow_release(&flow->memory, conn, sizeof(*conn));
}

/* The memory limit was reached: the connection that was silent longest goes, with what is held of
 * it. Not one that the operation in hand belongs to. */
bool flow_conn_evict(struct flow *flow)
{
    struct flow_conn *victim = flow->closed_oldest;

    if (!victim || victim->pub.last_frame == flow->frame)
        victim = flow_lru_longest(flow);
    if (!victim || victim->pub.last_frame == flow->frame)
        return false;
    if (victim->pub.number != 0)
        flow_report(flow, victim,
                    &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_MEMORY_LIMIT,
                                              .frame = flow->frame,
                                              .offset = -1,
                                              .arg = {flow->memory.limit}});
    flow_conn_finish(flow, victim);
    flow_call_trim(flow);
    return true;
}
