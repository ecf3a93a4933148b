/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_state.h"

/*
 * After a reconnect a client sends its outstanding Calls again, with the XIDs they had (RFC 5531
 * section 9). A Call is one of those when it came on a connection that was opened after the first
 * sending, between the same hosts, and that one was not answered; or only when its connection had
 * ended already, and nobody took the Reply any more. Entries are overwritten, never searched for.
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

static uint64_t again_key(const struct rpc_transaction *t)
{
    const struct rpcrdma_connection *c = flow_conn_public_const(t->conn);

    return flow_hash2(flow_hash2(host(&c->end[t->pub.caller_end].address),
                                 host(&c->end[1 - t->pub.caller_end].address)),
                      t->pub.xid);
}

static struct rpc_retransmit *entry(struct flow_rpcs *rpcs, uint64_t key)
{
    return rpcs->again ? &rpcs->again[key & (RPC_RETRANSMIT - 1)] : NULL;
}

bool rpc_retransmit_seen(struct flow_rpcs *rpcs, const struct rpc_transaction *t, uint64_t *frame,
                         uint32_t *connection)
{
    uint64_t key = again_key(t);
    const struct rpc_retransmit *e = entry(rpcs, key);

    if (!e || e->connection == 0 || e->key != key ||
        e->connection == flow_conn_public_const(t->conn)->number ||
        e->frame >= flow_conn_public_const(t->conn)->first_frame)
        return false;
    *frame = e->frame;
    *connection = e->connection;
    return true;
}

void rpc_retransmit_note(struct flow_rpcs *rpcs, const struct rpc_transaction *t)
{
    uint64_t key = again_key(t);

    if (!rpcs->again)
        rpcs->again = flow_alloc(&rpcs->context->memory, RPC_RETRANSMIT * sizeof(*rpcs->again));
    if (rpcs->again)
        *entry(rpcs, key) =
            (struct rpc_retransmit){.key = key,
                                    .frame = t->pub.call_frame,
                                    .connection = flow_conn_public_const(t->conn)->number};
}

void rpc_retransmit_answered(struct flow_rpcs *rpcs, const struct rpc_transaction *t)
{
    uint64_t key = again_key(t);
    struct rpc_retransmit *e = entry(rpcs, key);

    if (e && e->key == key && e->connection == flow_conn_public_const(t->conn)->number &&
        !flow_conn_public_const(t->conn)->closed)
        e->connection = 0;
}
