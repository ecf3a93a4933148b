/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"
#include "flow/rpc/rpc_stage.h"

#include <stdlib.h>

enum { NFS_RDMA_PORT = 20049 };
#define DEFAULT_MEMORY ((size_t)64 << 20)

static void *copy(struct flow *flow, const void *from, size_t size)
{
    void *to = flow_alloc_always(&flow->memory, size);

    if (to)
        memcpy(to, from, size);
    return to;
}

struct rpcrdma_flow *rpcrdma_flow_new(const struct rpcrdma_flow_config *config,
                                      const struct rpcrdma_flow_sink *sink)
{
    static const uint16_t port = NFS_RDMA_PORT;
    struct rpcrdma_flow *handle = calloc(1, sizeof(*handle));
    struct flow *flow;

    if (!handle)
        return NULL;
    flow = &handle->flow;
    flow->sink = *sink;
    flow->memory.limit = config && config->max_memory ? (size_t)config->max_memory : DEFAULT_MEMORY;
    flow->dialect = config ? config->dialect : NULL;
    flow->unordered = config && config->unordered;
    flow->n_ports = config && config->ports ? config->n_ports : 1;
    flow->n_qpns = config && config->qpns ? config->n_qpns : 0;
    flow->n_tcp_ports = config && config->tcp_ports ? config->n_tcp_ports : 0;
    flow->all = config && config->all;
    if (flow->n_ports)
        flow->ports = copy(flow, config && config->ports ? config->ports : &port,
                           flow->n_ports * sizeof(*flow->ports));
    if (flow->n_qpns)
        flow->qpns = copy(flow, config->qpns, flow->n_qpns * sizeof(*flow->qpns));
    if (flow->n_tcp_ports)
        flow->tcp_ports =
            copy(flow, config->tcp_ports, flow->n_tcp_ports * sizeof(*flow->tcp_ports));
    if (sink->rpc || sink->transaction || sink->payload_stream || sink->data_transfer)
        flow->track = track_new(flow);
    if (flow->memory.failed || (config && config->credits && !flow_credits_start(flow))) {
        rpcrdma_flow_free(handle);
        return NULL;
    }
    return handle;
}

void flow_observe(struct flow *flow, struct flow_observer *observer)
{
    observer->slot = flow->n_observers;
    flow->observers[flow->n_observers++] = observer;
}

void flow_report(struct flow *flow, const struct flow_conn *conn,
                 const struct rpcrdma_finding *finding)
{
    /* what is made of an operation for which there was no memory is not what was on the wire */
    if (flow->sink.finding && !flow->memory.failed)
        flow->sink.finding(flow->sink.context, conn ? &conn->pub : NULL, finding);
}

/* Ends every connection without telling anyone. */
static void discard(struct flow *flow)
{
    flow->sink = (struct rpcrdma_flow_sink){0};
    while (flow->oldest)
        flow_conn_finish(flow, flow->oldest);
    flow_order_flush(flow, true);
    while (flow->oldest_direction)
        flow_direction_free(flow, flow->oldest_direction);
}

void rpcrdma_flow_free(struct rpcrdma_flow *handle)
{
    struct flow *flow;

    if (!handle)
        return;
    flow = &handle->flow;
    discard(flow);
    flow_credits_free(flow);
    track_free(flow->track);
    flow_call_trim(flow);
    flow_table_free(&flow->directions, &flow->memory);
    flow_table_free(&flow->cm, &flow->memory);
    flow_table_free(&flow->calls, &flow->memory);
    flow_table_free(&flow->unpaired, &flow->memory);
    flow_table_free(&flow->half_open, &flow->memory);
    free(flow->handles);
    free(flow->awaiting);
    free(flow->ports);
    free(flow->qpns);
    free(flow->tcp_ports);
    free(handle);
}

/* What time and later packets decide. */
static void check(struct flow *flow, struct flow_direction *dir)
{
    /* what is given out may pair the half, and its connection be another one then */
    for (int i = 0; i < 2; i++) {
        struct flow_direction *each = dir->conn->dir[i];

        if (each && each->reorder)
            flow_stream_check(flow, each, false);
    }
    if (dir->conn->waiting != 0)
        flow_admission_check(flow, dir->conn);
}

/* Connections that hold something back and are silent now: time decides for them, too. */
static void check_silent(struct flow *flow)
{
    struct flow_conn *conn = flow->holding;

    if (flow->time_ns < flow->next_check_ns && flow->next_check_ns - flow->time_ns < FLOW_CHECK_NS)
        return;
    flow->next_check_ns = flow->time_ns + FLOW_CHECK_NS;
    while (conn) {
        struct flow_direction *dir = conn->dir[0] ? conn->dir[0] : conn->dir[1];
        bool old = conn->admission && flow->time_ns - conn->admission_since_ns > FLOW_ADMISSION_NS;

        if (dir && (old || conn->waiting & (FLOW_WAIT_GAP0 | FLOW_WAIT_GAP1)) &&
            conn->checked_ns != flow->time_ns) {
            conn->checked_ns = flow->time_ns;
            check(flow, dir);
            conn = flow->holding; /* the list may be another one now */
        } else {
            conn = conn->next_holding;
        }
    }
}

RPCRDMA_HOT static void data(struct flow *flow, const struct rpcrdma_op *op)
{
    struct flow_direction *dir = flow_direction_find(flow, op);

    if (!dir || dir->foreign)
        return;
    if (dir->conn) {
        flow_conn_touch(flow, dir->conn);
        if (dir->conn->waiting != 0)
            check(flow, dir);
    }
    dir->last_frame = flow->frame;
    switch (op->kind) {
    case RPCRDMA_OP_SEND:
    case RPCRDMA_OP_WRITE:
    case RPCRDMA_OP_READ_REQUEST:
    case RPCRDMA_OP_ATOMIC:
    case RPCRDMA_OP_LOST:
        flow_request(flow, dir, op);
        break;
    default:
        flow_answer(flow, dir, op);
        break;
    }
}

RPCRDMA_HOT bool rpcrdma_flow_op(struct rpcrdma_flow *handle, const struct rpcrdma_op *op)
{
    struct flow *flow = &handle->flow;

    if (flow->memory.failed)
        return false;
    flow->frame = op->frame;
    flow->time_ns = op->time_ns;
    if (flow->holding)
        check_silent(flow);
    switch (op->kind) {
    case RPCRDMA_OP_CONNECT:
    case RPCRDMA_OP_ACCEPT:
    case RPCRDMA_OP_ESTABLISHED:
    case RPCRDMA_OP_REJECT:
    case RPCRDMA_OP_DISCONNECT:
    case RPCRDMA_OP_RESET:
        flow_cm(flow, op);
        break;
    default:
        data(flow, op);
        break;
    }
    if (flow->queue)
        flow_order_flush(flow, false);
    if (flow->memory.refused > 0 && !flow->said_limit) {
        flow->said_limit = true;
        flow_report(flow, NULL,
                    &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_MEMORY_LIMIT,
                                              .frame = flow->frame,
                                              .offset = -1,
                                              .arg = {flow->memory.limit}});
    }
    return !flow->memory.failed;
}

const struct rpcrdma_connection *rpcrdma_flow_connection(struct rpcrdma_flow *handle,
                                                         const struct rpcrdma_op *op)
{
    const struct flow_direction *dir = flow_direction_seen(&handle->flow, op);

    if (!dir || !dir->conn || dir->conn->class != FLOW_RPCRDMA)
        return NULL;
    return &dir->conn->pub;
}

uint64_t rpcrdma_flow_stream(struct rpcrdma_flow *handle, const struct rpcrdma_op *op)
{
    const struct flow_direction *dir;
    const struct flow_conn *conn;

    if (op->carrier != RPCRDMA_CARRIER_IWARP && op->connect) {
        conn = flow_cm_conn(&handle->flow, op);
        if (!conn)
            return 0;
        return conn->pub.stream[0] ? conn->pub.stream[0] : conn->pub.stream[1];
    }
    dir = flow_direction_seen(&handle->flow, op);
    return dir ? dir->id : 0;
}

bool rpcrdma_flow_undecided(struct rpcrdma_flow *handle, const struct rpcrdma_op *op)
{
    const struct flow_direction *dir = flow_direction_seen(&handle->flow, op);

    if (!dir || dir->foreign)
        return false;
    if (dir->conn && (dir->conn->class != FLOW_UNCLASSIFIED || dir->conn->gave_up))
        return false;
    return (dir->conn && dir->conn->admission) ||
           handle->flow.time_ns - dir->first_time_ns <= FLOW_ADMISSION_NS;
}

bool rpcrdma_flow_end(struct rpcrdma_flow *handle)
{
    struct flow *flow = &handle->flow;

    flow->ending = true;
    for (struct flow_conn *conn = flow->oldest; conn; conn = conn->newer)
        flow_conn_last(flow, conn);
    flow_order_flush(flow, true);
    while (flow->oldest)
        flow_conn_finish(flow, flow->oldest);
    return !flow->memory.failed;
}
