/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_state.h"

/*
 * After a reconnect a client sends its outstanding Calls again, with the XIDs they had (RFC 5531
 * section 9); also those that were answered, where the Reply did not reach it. A Call is one of
 * those when it came on a connection that was opened after the first sending, between the same
 * hosts, and calls the same procedure with a Payload stream of the same length. Entries are
 * overwritten, never searched for.
 */

static uint64_t load64(const uint8_t *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof(x));
    return x;
}

static uint64_t host(const struct rpcrdma_address *a)
{
    return flow_hash2(load64(a->bytes), load64(a->bytes + 8));
}

static uint64_t retransmit_key(const struct rpc_transaction *t)
{
    const struct rpcrdma_connection *c = flow_conn_public_const(t->conn);

    return flow_hash2(flow_hash2(host(&c->end[t->pub.caller_end].address),
                                 host(&c->end[1 - t->pub.caller_end].address)),
                      t->pub.xid);
}

static struct rpc_retransmit *entry(struct flow_rpcs *rpcs, uint64_t key)
{
    return rpcs->retransmits ? &rpcs->retransmits[key & (RPC_RETRANSMIT - 1)] : NULL;
}

/* What a Call sent again has in common with the first, whatever chunks it offers. */
static uint64_t kind_of(const struct flow_message *m)
{
    const struct rpcrdma_rpc *rpc = m->message->rpc;
    uint64_t kind = m->message->message->payload.len;

    if (rpc && rpc->present & RPCRDMA_RPC_HAS_PROGRAM)
        kind = flow_hash2(kind,
                          flow_hash2((uint64_t)rpc->program << 32 | rpc->version, rpc->procedure));
    return kind;
}

/* So often, as far as it was captured, was the Call sent on its connection; it was once. */
static uint32_t own_of(const struct rpc_transaction *t)
{
    struct rpcrdma_delivery d;

    rpc_delivery_find(t, &t->call_place, &d);
    return t->sent_earlier + (d.transmissions > 0 ? d.transmissions : 1);
}

static uint32_t own_of_latest(const struct rpc_retransmit *e)
{
    return e->latest ? own_of(e->latest) : e->own;
}

bool rpc_retransmit_note(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                         const struct flow_message *m, uint64_t *frame, uint32_t *connection)
{
    const struct rpcrdma_connection *c = flow_conn_public_const(t->conn);
    uint64_t key = retransmit_key(t), kind = kind_of(m);
    struct rpc_retransmit *e;

    if (!rpcs->retransmits)
        rpcs->retransmits =
            flow_alloc(&rpcs->context->memory, RPC_RETRANSMIT * sizeof(*rpcs->retransmits));
    e = entry(rpcs, key);
    if (!e)
        return false;
    t->retransmit = (uint32_t)(e - rpcs->retransmits) + 1;
    if (e->connection == 0 || e->key != key || e->kind != kind || e->connection == c->number ||
        e->frame >= c->first_frame) {
        *e = (struct rpc_retransmit){.key = key,
                                     .kind = kind,
                                     .frame = t->pub.call_frame,
                                     .first_frame = t->pub.call_frame,
                                     .first_time_ns = t->pub.call_time_ns,
                                     .connection = c->number,
                                     .first_connection = c->number,
                                     .latest = t,
                                     .own = 1};
        return false;
    }
    *frame = e->frame;
    *connection = e->connection;
    t->pub.original_connection = e->first_connection;
    t->pub.original_frame = e->first_frame;
    t->pub.original_time_ns = e->first_time_ns;
    e->frame = t->pub.call_frame;
    e->connection = c->number;
    t->sent_before = e->before += own_of_latest(e);
    e->latest = t;
    e->own = 1;
    return true;
}

void rpc_retransmit_here(struct rpc_transaction *t, uint64_t frame)
{
    t->sent_earlier = own_of(t);
    t->sent_frame = frame;
}

void rpc_retransmit_over(struct flow_rpcs *rpcs, const struct rpc_transaction *t)
{
    struct rpc_retransmit *e = t->retransmit > 0 ? &rpcs->retransmits[t->retransmit - 1] : NULL;

    if (!e || e->latest != t)
        return;
    e->own = own_of(t);
    e->latest = NULL;
}

uint32_t rpc_retransmit_total(struct flow_rpcs *rpcs, const struct rpc_transaction *t, uint32_t own)
{
    uint64_t key = retransmit_key(t);
    struct rpc_retransmit *e = entry(rpcs, key);
    uint64_t first = t->pub.original_frame ? t->pub.original_frame : t->pub.call_frame;

    if (own == 0)
        return 0;
    own += t->sent_earlier;
    if (!e || e->key != key || e->first_frame != first)
        return own;
    return e->before + (e->latest == t ? own : own_of_latest(e));
}
