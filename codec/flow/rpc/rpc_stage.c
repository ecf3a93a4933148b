/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/check.h"
#include "flow/rpc/rpc_state.h"
#include "flow/rpc/slot_use.h"
#include "wire/hot.h"

/* A Call opens a transaction and its segments, data is placed in them, a Reply ends
 * it. Nothing is allocated per packet. */

/* What waits may still get data that was captured late. */
static bool awaited(const struct flow_region *region)
{
    const struct rpc_transaction *t = region->owner;

    return t->reply.waits;
}

static RPCRDMA_INLINE void of_direction(struct flow_rpcs *rpcs, struct flow_conn *conn,
                                        const struct flow_message *m)
{
    if (m->message->direction == RPCRDMA_DIRECTION_CALL)
        rpc_call(rpcs, conn, m);
    else if (m->message->direction == RPCRDMA_DIRECTION_REPLY)
        rpc_reply(rpcs, conn, m);
}

/* A message that is no RDMA_MSG. */
RPCRDMA_APART static void of_kind(struct flow_rpcs *rpcs, struct flow_conn *conn,
                                  const struct flow_message *m)
{
    switch (m->message->message->kind) {
    case RPCRDMA_KIND_ERROR:
        rpc_error(rpcs, conn, m);
        break;
    case RPCRDMA_KIND_DONE:
        rpc_done(rpcs, conn, m);
        break;
    case RPCRDMA_KIND_NOMSG:
    case RPCRDMA_KIND_MSGP:
    case RPCRDMA_KIND_CALL_EXTERNAL:
    case RPCRDMA_KIND_CALL_MIDDLE:
    case RPCRDMA_KIND_CALL_INLINE:
    case RPCRDMA_KIND_REPLY_EXTERNAL:
    case RPCRDMA_KIND_REPLY_MIDDLE:
    case RPCRDMA_KIND_REPLY_INLINE:
        of_direction(rpcs, conn, m);
        break;
    default:
        break;
    }
}

void flow_rpc_message(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;

    if (!TAILQ_EMPTY(&rpcs->held[0]))
        rpc_check_held(rpcs, m->send->time_ns);
    if (!rpc_conn_get(rpcs, conn))
        return;
    if (m->malformed)
        rpc_of(conn)->malformed[1 - m->sender]++;
    if (!(msg->present & RPCRDMA_HAS_XID))
        return;
    rpcs->in_hand = m->message;
    rpcs->in_hand_emitted = false;
    if (msg->kind == RPCRDMA_KIND_MSG)
        of_direction(rpcs, conn, m);
    else
        of_kind(rpcs, conn, m);
    rpcs->in_hand = NULL;
    if (rpcs->context->sink.partial && !rpcs->in_hand_emitted)
        rpc_partial_waits(rpcs, conn, m);
    if (m->send->has_invalidate)
        flow_region_invalidate(&rpcs->regions, flow_conn_id(conn), (uint8_t)(1 - m->sender),
                               m->send->invalidate, awaited);
}

/* Receives that short or malformed messages took are not posted again by every receiver. */
void flow_rpc_nak(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender,
                  const struct rpcrdma_op *op)
{
    struct rpc_conn *c = rpc_of(conn);

    if (!c || op->kind != RPCRDMA_OP_NAK || op->nak != RPCRDMA_NAK_RNR ||
        c->malformed[sender] == 0 || c->malformed_reported)
        return;
    c->malformed_reported = true;
    flow_report(rpcs->context, flow_conn_public_const(conn),
                &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_MALFORMED_THEN_RNR,
                                          .frame = op->frame,
                                          .offset = -1,
                                          .arg = {c->malformed[sender]}});
}

void flow_rpc_close(struct flow_rpcs *rpcs, struct flow_conn *conn)
{
    struct rpc_conn *c = rpc_of(conn);

    if (!c)
        return;
    rpc_timing_end(conn);
    rpcs->closing = true;
    for (int caller = 0; caller < 2; caller++)
        while (!TAILQ_EMPTY(&c->transactions[caller]))
            rpc_cut_short(rpcs, TAILQ_FIRST(&c->transactions[caller]));
    rpc_unpark(rpcs, conn);
    rpcs->closing = false;
    if (c->carries)
        rpc_session_close(rpcs, conn);
    for (int end = 0; end < 2; end++)
        rpc_read_map_free(rpcs, &c->reads[end]);
    if (c->unknown_packets > 0)
        flow_report(rpcs->context, flow_conn_public_const(conn),
                    &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_RPC_UNOFFERED,
                                              .offset = -1,
                                              .arg = {c->unknown_bytes, c->unknown_packets}});
    flow_release(&rpcs->context->memory, c->retired, RPC_RETIRED * sizeof(*c->retired));
    flow_release(&rpcs->context->memory, c->twice, RPC_TWICE * sizeof(*c->twice));
    flow_release(&rpcs->context->memory, c, sizeof(*c));
    *flow_conn_slot(conn, FLOW_SLOT_RPC) = NULL;
}

uint32_t flow_rpc_outstanding(const struct flow_conn *conn)
{
    const struct rpc_conn *c = rpc_of(conn);
    const struct rpc_transaction *t;
    uint32_t n = 0;

    for (int caller = 0; c && caller < 2; caller++)
        TAILQ_FOREACH(t, &c->transactions[caller], by_age)
    n += t->has_call && t->pub.reply_frame == 0;
    return n;
}

struct flow_rpcs *flow_rpcs_new(struct flow_context *context, struct flow_messages *messages)
{
    struct flow_rpcs *rpcs = flow_alloc_always(&context->memory, sizeof(*rpcs));

    if (!rpcs)
        return NULL;
    rpcs->context = context;
    rpcs->messages = messages;
    TAILQ_INIT(&rpcs->held[0]);
    TAILQ_INIT(&rpcs->held[1]);
    TAILQ_INIT(&rpcs->parked);
    flow_calls_reserve(messages, FLOW_CALL_RPC, sizeof(struct rpc_transaction *));
    rpcs->regions.memory = &context->memory;
    rpcs->key = siphash_key();
    rpcs->slots = (struct ring_table){.most = RPC_SLOTS, .size = sizeof(struct rpc_slot)};
    rpcs->sessions = (struct ring_table){.most = RPC_SESSIONS, .size = sizeof(struct rpc_session)};
    rpcs->slot_uses =
        (struct ring_table){.most = RPC_SLOT_USES, .size = sizeof(struct rpc_slot_use)};
    rpcs->keep_data = context->sink.rpc != NULL;
    rpcs->keep_base = true;
    /* a transaction has its Reply's findings, whoever else wants its bytes */
    rpcs->keep_reply =
        context->sink.rpc || context->sink.payload_stream || context->sink.transaction;
    return rpcs;
}

void flow_rpcs_free(struct flow_rpcs *rpcs)
{
    struct flow_memory *memory;

    if (!rpcs)
        return;
    memory = &rpcs->context->memory;
    flow_rpc_trim(rpcs);
    flow_table_free(&rpcs->regions.table, memory);
    rpc_iovec_free(rpcs, &rpcs->base);
    rpc_iovec_free(rpcs, &rpcs->whole);
    rpc_iovec_free(rpcs, &rpcs->spare);
    flow_release(memory, rpcs->flat, rpcs->flat_size);
    ring_table_free(&rpcs->slots, memory);
    ring_table_free(&rpcs->sessions, memory);
    ring_table_free(&rpcs->slot_uses, memory);
    flow_release(memory, rpcs->lengths, rpcs->lists_size * sizeof(*rpcs->lengths));
    flow_release(memory, rpcs->gaps, rpcs->lists_size * sizeof(*rpcs->gaps));
    flow_release(memory, rpcs->places, rpcs->lists_size * sizeof(*rpcs->places));
    flow_release(memory, rpcs->unplaced_chunks, rpcs->lists_size * sizeof(*rpcs->unplaced_chunks));
    flow_release(memory, rpcs, sizeof(*rpcs));
}
