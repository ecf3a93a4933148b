/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/flow_state.h"

#include "wire/hot.h"

#define LOOK_NS UINT64_C(1000000000)

/*
 * The quick lane: a Send of one packet whose turn it is, a packet of a Write likewise, an Ack, or a
 * packet of a Read response, of a connection about which nothing is open. That is what most packets
 * are, and they do what they would do by way of events.
 *
 * Whether a direction is quiet is not asked for each packet anew. What makes it so is changed by
 * nothing that passes here; so it is as it was until an operation goes the other way, each of which
 * counts in flow->changes.
 */

RPCRDMA_RARE static bool is_quiet(const struct rpcrdma_flow *flow, const struct flow_direction *dir)
{
    return flow_is_plain(flow, dir) && !dir->foreign && !dir->closed &&
           flow_conn_public_const(dir->conn)->number != 0 && flow_stream_quiet(dir) &&
           !flow_conn_pair_possible(flow->conns, dir);
}

static RPCRDMA_INLINE void touch(struct flow_direction *dir, const struct rpcrdma_op *op)
{
    flow_conn_touch_at(dir->conn, op->frame, op->time_ns);
    dir->last_frame = op->frame;
}

static RPCRDMA_INLINE void answer(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                  const struct rpcrdma_op *op)
{
    touch(dir, op);
    if (flow->context.delivery)
        flow_follow_answer(flow, dir, op);
    flow_conn_answer(flow->conns, dir, op);
}

RPCRDMA_APART static bool ack(struct rpcrdma_flow *flow, struct flow_direction *dir,
                              const struct rpcrdma_op *op)
{
    answer(flow, dir, op);
    if (flow->credits && !flow_conns_messages_only(flow->conns))
        flow_credit_ack(flow->credits, dir->conn, 1 - dir->index, op);
    return true;
}

/* A packet of a Read response. */
RPCRDMA_APART static bool response(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                   const struct rpcrdma_op *op)
{
    if (RPCRDMA_SELDOM(flow->context.several_taps) && flow->doubt.damaged &&
        flow_response_passed(dir, op))
        return false;
    answer(flow, dir, op);
    if (!flow_conns_messages_only(flow->conns))
        flow_deliver_response(flow, dir->conn, dir, op);
    return true;
}

/* The same where credits are all that is wanted. */
RPCRDMA_APART static bool count_response(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                         const struct rpcrdma_op *op)
{
    struct flow_conn *conn = dir->conn;
    int sender = 1 - dir->index;
    struct flow_direction *asked = flow_conn_direction(conn, sender);

    touch(dir, op);
    flow_conn_answer(flow->conns, dir, op);
    if (RPCRDMA_SELDOM(!flow_read_find(asked, op, &flow->response_offset)))
        flow_check_response(flow, conn, asked, op);
    flow_credit_response(conn, sender, op);
    return true;
}

RPCRDMA_APART static void follow_plain(struct rpcrdma_flow *flow, struct flow_conn *conn,
                                       const struct flow_plain *message)
{
    if (message->is_call && flow->context.delivery)
        flow_life_call(flow, conn, message->xid, message->send->time_ns);
    flow_rpc_plain(flow->rpcs, conn, message);
}

/* A message that nobody sees, as it breaks nothing. False: it is not plain; nothing was done. */
RPCRDMA_APART static bool plain(struct rpcrdma_flow *flow, const struct flow_direction *dir)
{
    struct flow_plain *message = &flow->plain_message;
    struct flow_conn *conn = dir->conn;

    if ((flow->rpcs && !flow_rpc_ready(flow->rpcs, conn)) ||
        (flow->counts && !flow_credit_ready(flow->credits, conn)) ||
        !flow_calls_ready(flow->messages) ||
        !flow_message_plain(flow->messages, conn, dir, &flow->send, message))
        return false;
    if (message->is_call)
        flow_give_up_calls(flow, conn);
    if (flow->rpcs)
        follow_plain(flow, conn, message);
    if (flow->counts)
        flow_credit_plain(flow->credits, conn, message);
    flow_message_done(flow->messages, message->call);
    return true;
}

RPCRDMA_APART static bool send(struct rpcrdma_flow *flow, struct flow_direction *dir,
                               const struct rpcrdma_op *op)
{
    if (!flow_message_decided(flow->messages, dir->conn, op) ||
        !flow_stream_whole_send(dir, op, &flow->send))
        return false;
    touch(dir, op);
    if (flow->context.delivery)
        flow_follow_request(flow, dir, op);
    if (!flow->plain_unseen || !plain(flow, dir))
        flow_deliver_send(flow, dir->conn, dir, &flow->send);
    return true;
}

/* Where it is the first, the memory that it names is known. */
RPCRDMA_APART static bool write_fits(struct rpcrdma_flow *flow, const struct flow_direction *dir,
                                     const struct rpcrdma_op *op)
{
    return !flow->doubt.damaged || !flow->rpcs ||
           flow_rpc_advertised(flow->rpcs, dir->conn, 1 - dir->index, op);
}

/* A packet of a Write. */
RPCRDMA_APART static bool write(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                const struct rpcrdma_op *op)
{
    if (RPCRDMA_SELDOM(op->flags & RPCRDMA_OP_RETH) && !write_fits(flow, dir, op))
        return false;
    if (!flow_stream_next_write(flow->streams, dir, op, &flow->write))
        return false;
    touch(dir, op);
    if (flow->context.delivery)
        flow_follow_request(flow, dir, op);
    if (flow->rpcs)
        flow_rpc_write(flow->rpcs, dir->conn, 1 - dir->index, op, &flow->write);
    return true;
}

/* The same where credits are all that is wanted. */
RPCRDMA_APART static bool count_write(struct rpcrdma_flow *flow, struct flow_direction *dir,
                                      const struct rpcrdma_op *op)
{
    if (!flow_stream_pass_write(flow->streams, dir, op))
        return false;
    touch(dir, op);
    return true;
}

/* False: the operation is another, or about its connection something is open. */
static RPCRDMA_INLINE bool quick(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    enum {
        KINDS = 1 << RPCRDMA_OP_SEND | 1 << RPCRDMA_OP_WRITE | 1 << RPCRDMA_OP_ACK |
                1 << RPCRDMA_OP_READ_RESPONSE
    };
    struct flow_cached *at;

    if (!(KINDS >> op->kind & 1) || op->carrier == RPCRDMA_CARRIER_IWARP)
        return false;
    at = flow_direction_cached(flow->streams, op);
    if (!at)
        return false;
    if (at->note != flow->changes) {
        if (!is_quiet(flow, at->dir))
            return false;
        at->note = flow->changes;
    }
    switch (op->kind) {
    case RPCRDMA_OP_SEND:
        return send(flow, at->dir, op);
    case RPCRDMA_OP_WRITE:
        return flow->counts_only ? count_write(flow, at->dir, op) : write(flow, at->dir, op);
    case RPCRDMA_OP_READ_RESPONSE:
        return flow->counts_only ? count_response(flow, at->dir, op) : response(flow, at->dir, op);
    default:
        return ack(flow, at->dir, op);
    }
}

/* Likewise where the clock was set back. */
static RPCRDMA_INLINE bool is_due(const struct rpcrdma_flow *flow, int64_t time_ns)
{
    return flow->looks && (uint64_t)(time_ns - flow->looked_ns) > LOOK_NS;
}

static RPCRDMA_INLINE void step(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    struct flow_context *context = &flow->context;

    if (flow_admission_any(flow->conns)) {
        flow->changes++;
        flow_check_silent(flow);
    }
    if (is_due(flow, op->time_ns))
        flow_look(flow, op->time_ns);
    if (!quick(flow, op)) {
        flow_any(flow, op);
        flow->halt |= flow->halts_at_unusual;
    }
    if (flow_messages_any_queued(flow->messages))
        flow_message_flush(flow->messages, false);
    if (context->memory.refused > 0 && !flow->said_limit)
        flow_say_limit(flow);
}

static RPCRDMA_INLINE bool moves_data(const struct rpcrdma_op *op)
{
    return op->kind == RPCRDMA_OP_WRITE || op->kind == RPCRDMA_OP_READ_RESPONSE;
}

/* The next packet of the same Write or Read response, and neither its last nor odd. */
static RPCRDMA_INLINE bool goes_on(const struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    const struct rpcrdma_op *next = op + 1;

    return next->flags == 0 && next->kind == op->kind && next->seq == rpcrdma_psn_add(op->seq, 1) &&
           next->len == op->len && next->dst_qpn == op->dst_qpn && next->carrier == op->carrier &&
           memcmp(&next->src, &op->src, 2 * sizeof(op->src)) == 0 && !is_due(flow, next->time_ns);
}

/* Credits know no more of a Write or a Read response by each of its packets than by the last of
 * them. So many of those behind `op` need no look. */
RPCRDMA_APART static size_t pass(struct rpcrdma_flow *flow, const struct rpcrdma_op *op,
                                 const struct rpcrdma_op *end)
{
    const struct rpcrdma_op *last = op;
    struct flow_direction *dir;
    bool passed;

    while (last + 1 < end && goes_on(flow, last))
        last++;
    if (last - op < 2)
        return 0;
    dir = flow_direction_seen(flow->streams, op);
    if (!dir || !is_quiet(flow, dir))
        return 0;
    passed = op->kind == RPCRDMA_OP_WRITE
                 ? flow_stream_pass_to(dir, op, last)
                 : flow_read_has_both(flow_conn_direction(dir->conn, 1 - dir->index), op, last);
    return passed ? (size_t)(last - op) - 1 : 0;
}

enum { LINE = 64 }; /* of the processor's cache */

RPCRDMA_HOT bool rpcrdma_flow_ops(struct rpcrdma_flow *flow, const struct rpcrdma_op *ops,
                                  size_t *n, const struct rpcrdma_flow_batch *batch)
{
    const struct rpcrdma_op *op = ops, *end = ops + *n;
    uint64_t *frame = batch->frame;
    int64_t *time_ns = batch->time_ns;
    const bool *stop = batch->stop, unusual = batch->unusual != NULL;
    const char *line = batch->prefetch, *until = line;
    const size_t each = batch->prefetch_bytes / *n + 1;
    const bool counts_only = flow->counts_only;

    if (flow->context.memory.failed) {
        *n = 0;
        return false;
    }
    flow->halts_at_unusual = unusual;
    flow->halt = flow->stopped;
    do {
        flow->context.frame = *frame = op->frame;
        flow->context.time_ns = *time_ns = op->time_ns;
        if (line)
            for (until += each; line < until; line += LINE)
                __builtin_prefetch(line);
        step(flow, op++);
        if (counts_only && op < end && moves_data(op)) {
            size_t passed = pass(flow, op - 1, end);

            op += passed;
            if (line)
                until += passed * each;
        }
    } while (op < end && !flow->context.memory.failed && !flow->halt && !*stop);
    *n = (size_t)(op - ops);
    if (unusual)
        *batch->unusual = flow->halt;
    return !flow->context.memory.failed;
}

bool rpcrdma_flow_op(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    static const bool never;
    struct flow_context *context = &flow->context;
    struct rpcrdma_flow_batch batch = {&context->frame, &context->time_ns, &never, NULL, 0, NULL};
    size_t n = 1;

    return rpcrdma_flow_ops(flow, op, &n, &batch);
}
