/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

/*
 * Messages reach the sink in the order of the capture. Each connection gives its own in order;
 * while one of them holds an older one back, those of the others wait here, as copies. Bounded:
 * then what waits is given, and the one held back comes late. Nothing is copied while nothing is
 * held back.
 */

enum { QUEUE_MESSAGES = RPCRDMA_BOUND(1024, 3), QUEUE_BYTES = RPCRDMA_BOUND(4 << 20, 4096) };

struct message_queued {
    struct heap_node node; /* by its connection's latest frame, then as they came */
    size_t size;
    struct rpcrdma_connection connection; /* as it was */
    struct flow_conn *conn;               /* which waits for it to be given, to end */
    struct rpcrdma_flow_message out;
    const struct rpcrdma_dialect *dialect;
    uint32_t caplen, len;
    struct rpcrdma_rpc call;
    struct rpcrdma_finding findings[FLOW_FINDINGS];
    uint8_t bytes[];
};

static void emit(struct flow_messages *messages, struct message_queued *q)
{
    struct rpcrdma_connection *now = flow_conn_public(q->conn);
    struct rpcrdma_flow_message out = q->out;
    struct rpcrdma_message message;
    struct rpcrdma_rpc rpc;

    if (!messages->context->sink.message)
        return;
    /* the same bytes by the same rules: the same message */
    flow_message_decode(q->dialect, q->bytes, q->caplen, q->len, &message);
    out.message = &message;
    if (out.rpc) {
        message_rpc_decode(&message, &rpc);
        out.rpc = &rpc;
    }
    q->connection.user = now->user; /* which is no part of what the connection was */
    messages->context->sink.message(messages->context->sink.context, &out);
    now->user = q->connection.user;
}

static void pop(struct flow_messages *messages)
{
    struct message_queued *q = HEAP_OF(messages->queue, struct message_queued, node);

    heap_remove(&messages->queue, &q->node);
    messages->queue_count--;
    messages->queue_bytes -= q->size;
    emit(messages, q);
    flow_release(&messages->context->memory, q, q->size);
}

bool flow_messages_any_queued(const struct flow_messages *messages)
{
    return messages->queue != NULL;
}

void flow_message_flush(struct flow_messages *messages, bool all)
{
    uint64_t oldest;

    if (!messages->queue)
        return;
    oldest = all ? UINT64_MAX : flow_admission_oldest(messages->conns);
    while (messages->queue &&
           (messages->queue->key <= oldest || messages->queue_count > QUEUE_MESSAGES ||
            messages->queue_bytes > QUEUE_BYTES))
        pop(messages);
}

static struct message_queued *copy(struct flow_messages *messages, struct flow_conn *conn,
                                   const struct rpcrdma_flow_message *out)
{
    const struct rpcrdma_message *message = out->message;
    size_t size = sizeof(struct message_queued) + message->caplen;
    struct message_queued *q = flow_alloc(&messages->context->memory, size);

    if (!q)
        return NULL;
    q->size = size;
    q->connection = *out->connection;
    q->conn = conn;
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

void flow_message_emit(struct flow_messages *messages, struct flow_conn *conn,
                       const struct rpcrdma_flow_message *out)
{
    struct message_queued *q;
    struct message_conn *mc = message_conn_of(conn);

    if (!messages->context->sink.message || messages->context->memory.failed)
        return;
    /* within a connection the transport's order counts, not the capture's */
    if (mc->last_emitted < out->frame)
        mc->last_emitted = out->frame;
    if (!flow_context_tells(messages->context, out->n_findings)) {
        ++*messages->context->sink.without_findings;
        return;
    }
    if (messages->unordered ||
        (!messages->queue && (mc->last_emitted <= flow_admission_oldest(messages->conns)))) {
        messages->context->sink.message(messages->context->sink.context, out);
        return;
    }
    q = copy(messages, conn, out);
    if (!q) {
        flow_message_flush(messages, true);
        messages->context->sink.message(messages->context->sink.context, out);
        return;
    }
    heap_add(&messages->queue, &q->node, mc->last_emitted, ++messages->queued);
    messages->queue_count++;
    messages->queue_bytes += q->size;
    flow_message_flush(messages, false);
}
