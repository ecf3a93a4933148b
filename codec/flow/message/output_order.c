/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/*
 * Messages reach the sink in the order of the capture. Each connection gives its own in order;
 * while one of them holds an older one back, those of the others wait here, as copies. Bounded:
 * then what waits is given, and the one held back comes late. Nothing is copied while nothing is
 * held back.
 */

/* what is held longer than it should be waits for nothing that will come soon */
#define PATIENCE_NS (FLOW_ADMISSION_NS + 2 * FLOW_CHECK_NS)
enum { QUEUE_MESSAGES = RPCRDMA_BOUND(1024, 3), QUEUE_BYTES = RPCRDMA_BOUND(4 << 20, 4096) };

struct flow_queued {
    struct flow_queued *next;
    size_t size;
    uint64_t order;
    struct rpcrdma_connection connection; /* as it was */
    struct rpcrdma_flow_message out;
    const struct rpcrdma_dialect *dialect;
    uint32_t caplen, len;
    struct rpcrdma_rpc call;
    struct rpcrdma_finding findings[FLOW_FINDINGS];
    uint8_t bytes[];
};

void flow_order_holding(struct flow *flow, struct flow_conn *conn)
{
    bool holds = conn->admission || conn->waiting & (FLOW_WAIT_GAP0 | FLOW_WAIT_GAP1);

    if (conn->holding == holds)
        return;
    conn->holding = holds;
    if (holds) {
        conn->previous_holding = NULL;
        conn->next_holding = flow->holding;
        if (flow->holding)
            flow->holding->previous_holding = conn;
        flow->holding = conn;
        return;
    }
    if (conn->next_holding)
        conn->next_holding->previous_holding = conn->previous_holding;
    if (conn->previous_holding)
        conn->previous_holding->next_holding = conn->next_holding;
    else
        flow->holding = conn->next_holding;
}

/* The frame of the oldest event that this connection holds back, or has behind a gap. */
static uint64_t oldest_of(const struct flow *flow, const struct flow_conn *conn)
{
    uint64_t oldest = UINT64_MAX;

    if (conn->class != FLOW_RPCRDMA)
        return oldest;
    if (conn->admission && flow->time_ns - conn->admission_since_ns <= PATIENCE_NS)
        oldest = conn->admission->order;
    for (int i = 0; i < 2; i++) {
        const struct flow_reordered *reorder = conn->dir[i] ? conn->dir[i]->reorder : NULL;

        if (reorder && reorder->op.frame < oldest &&
            flow->time_ns - reorder->time_ns <= PATIENCE_NS)
            oldest = reorder->op.frame;
    }
    return oldest;
}

static uint64_t oldest_held(const struct flow *flow)
{
    uint64_t oldest = UINT64_MAX;

    for (const struct flow_conn *conn = flow->holding; conn; conn = conn->next_holding) {
        uint64_t frame = oldest_of(flow, conn);

        if (frame < oldest)
            oldest = frame;
    }
    return oldest;
}

static void give(struct flow *flow, const struct flow_queued *q)
{
    struct rpcrdma_flow_message out = q->out;
    struct rpcrdma_message message;
    struct rpcrdma_rpc rpc;

    if (!flow->sink.message)
        return;
    /* the same bytes by the same rules: the same message */
    rpcrdma_message_decode(q->dialect, q->bytes, q->caplen, q->len, &message);
    out.message = &message;
    if (out.rpc) {
        rpcrdma_rpc_decode(message.payload.data, message.payload.caplen, message.payload.len, &rpc);
        out.rpc = &rpc;
    }
    flow->sink.message(flow->sink.context, &out);
}

static void pop(struct flow *flow)
{
    struct flow_queued *q = flow->queue;

    flow->queue = q->next;
    if (!flow->queue)
        flow->queue_tail = NULL;
    flow->queue_count--;
    flow->queue_bytes -= q->size;
    give(flow, q);
    flow_release(&flow->memory, q, q->size);
}

void flow_order_flush(struct flow *flow, bool all)
{
    uint64_t oldest;

    if (!flow->queue)
        return;
    oldest = all ? UINT64_MAX : oldest_held(flow);
    while (flow->queue && (flow->queue->order <= oldest || flow->queue_count > QUEUE_MESSAGES ||
                           flow->queue_bytes > QUEUE_BYTES))
        pop(flow);
}

static struct flow_queued *copy(struct flow *flow, const struct rpcrdma_flow_message *out)
{
    const struct rpcrdma_message *message = out->message;
    size_t size = sizeof(struct flow_queued) + message->caplen;
    struct flow_queued *q = flow_alloc(&flow->memory, size);

    if (!q)
        return NULL;
    q->size = size;
    q->connection = *out->connection;
    q->out = *out;
    q->dialect = message->dialect;
    q->caplen = message->caplen;
    q->len = message->len;
    q->out.connection = &q->connection;
    if (out->call) {
        q->call = *out->call;
        q->out.call = &q->call;
    }
    if (out->n_findings > 0)
        memcpy(q->findings, out->findings, out->n_findings * sizeof(*q->findings));
    q->out.findings = q->findings;
    if (message->caplen > 0)
        memcpy(q->bytes, message->base, message->caplen);
    return q;
}

void flow_order_give(struct flow *flow, struct flow_conn *conn,
                     const struct rpcrdma_flow_message *out)
{
    struct flow_queued *q, **at = &flow->queue;

    if (!flow->sink.message || flow->memory.failed)
        return;
    /* within a connection the transport's order counts, not the capture's */
    if (conn->last_given < out->frame)
        conn->last_given = out->frame;
    if (flow->unordered ||
        (!flow->queue && (!flow->holding || conn->last_given <= oldest_held(flow)))) {
        flow->sink.message(flow->sink.context, out);
        return;
    }
    q = copy(flow, out);
    if (!q) {
        flow_order_flush(flow, true);
        flow->sink.message(flow->sink.context, out);
        return;
    }
    q->order = conn->last_given;
    if (flow->queue_tail && flow->queue_tail->order <= q->order)
        at = &flow->queue_tail->next;
    while (*at && (*at)->order <= q->order)
        at = &(*at)->next;
    q->next = *at;
    *at = q;
    if (!q->next)
        flow->queue_tail = q;
    flow->queue_count++;
    flow->queue_bytes += q->size;
    flow_order_flush(flow, false);
}
