/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/check.h"

#include "upper/compound.h"

/*
 * What a session allows on its two channels (RFC 8881 section 18.36.3): sizes, operations, slots.
 * Known where the Reply to CREATE_SESSION was captured; and of slots the Responder may allow more
 * later (section 2.10.6.1). Sizes are those of RPC messages before anything is put into chunks.
 */

enum { OP_CREATE_SESSION = 43, OP_SEQUENCE = 53, OP_CB_SEQUENCE = 11, SESSION_ID = 16 };

static struct rpc_session *place_of(struct flow_rpcs *rpcs, uint64_t key)
{
    if (!rpcs->sessions)
        rpcs->sessions = flow_alloc(&rpcs->context->memory, RPC_SESSIONS * sizeof(*rpcs->sessions));
    return rpcs->sessions ? &rpcs->sessions[key % RPC_SESSIONS] : NULL;
}

static struct rpc_session *find(const struct flow_rpcs *rpcs, uint64_t key)
{
    struct rpc_session *session = rpcs->sessions ? &rpcs->sessions[key % RPC_SESSIONS] : NULL;

    return session && session->key == key ? session : NULL;
}

static void add(struct flow_rpcs *rpcs, struct rpc_transaction *t, enum rpcrdma_rule_id rule,
                int64_t offset, uint64_t a, uint64_t b)
{
    rpc_add_finding_at(rpcs, t, rule, t->pub.call_frame, offset, NULL, a, b, 0);
}

void rpc_session_call(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpc_session *session = find(rpcs, t->ddp.session);
    const struct rpcrdma_ddp *ddp = &t->ddp;
    const struct rpc_channel *channel;
    int back = t->pub.callback;

    if (!session || session->channel[back].slots == 0)
        return;
    channel = &session->channel[back];
    if (t->pub.call_length > channel->request_size)
        add(rpcs, t, RPCRDMA_RULE_SESSION_REQUEST_SIZE, -1, t->pub.call_length,
            channel->request_size);
    if (ddp->operations > channel->operations)
        add(rpcs, t, RPCRDMA_RULE_SESSION_OPERATIONS, rpc_call_place(t, ddp->first_off - 4),
            ddp->operations, channel->operations);
    if (ddp->slot >= session->slots_known[back] && !session->blind[back] &&
        flow_conn_saw_all(t->conn))
        add(rpcs, t, RPCRDMA_RULE_SESSION_SLOT, rpc_call_place(t, ddp->slot_off), ddp->slot,
            session->slots_known[back]);
}

void rpc_session_reply_size(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpc_session *session = find(rpcs, t->ddp.session);
    uint32_t most = session ? session->channel[t->pub.callback].reply_size : 0;

    if (most > 0 && t->pub.reply_length > most)
        rpc_add_finding(rpcs, t, RPCRDMA_RULE_SESSION_REPLY_SIZE, t->pub.reply_frame, NULL,
                        t->pub.reply_length, most, 0);
}

/* channel_attrs4 */
static struct rpc_channel read_channel(struct rpcrdma_cursor *c)
{
    struct rpc_channel channel;
    uint32_t n;

    rpcrdma_cursor_be32(c, "header padding");
    channel.request_size = rpcrdma_cursor_be32(c, "request size");
    channel.reply_size = rpcrdma_cursor_be32(c, "response size");
    rpcrdma_cursor_be32(c, "cached response size");
    channel.operations = rpcrdma_cursor_be32(c, "operations");
    channel.slots = rpcrdma_cursor_be32(c, "requests");
    n = rpcrdma_cursor_be32(c, "count of rdma_ird");
    rpcrdma_cursor_take(c, n > 0 ? 4 : 0, "rdma_ird");
    return channel;
}

/* status, session, sequence, flags, fore channel, back channel */
static void created(struct flow_rpcs *rpcs, struct rpcrdma_cursor c)
{
    uint32_t status = rpcrdma_cursor_be32(&c, "status");
    const uint8_t *name = rpcrdma_cursor_take(&c, SESSION_ID, "session");
    struct rpc_session new = {0}, *session;

    rpcrdma_cursor_take(&c, 8, "sequence, flags");
    new.channel[0] = read_channel(&c);
    new.channel[1] = read_channel(&c);
    if (status != 0 || !name || c.status != RPCRDMA_OK)
        return;
    new.key = rpcrdma_session_key(name);
    new.slots_known[0] = new.channel[0].slots;
    new.slots_known[1] = new.channel[1].slots;
    session = place_of(rpcs, new.key);
    if (session)
        *session = new;
}

/* status, session, sequence, slot, highest slot, target highest slot */
static void sequenced(struct rpc_session *session, int back, struct rpcrdma_cursor c)
{
    uint32_t status = rpcrdma_cursor_be32(&c, "status"), slots[2];

    if (c.status == RPCRDMA_OK && status != 0)
        return;
    rpcrdma_cursor_take(&c, SESSION_ID + 8, "session, sequence, slot");
    slots[0] = rpcrdma_cursor_be32(&c, "highest slot");
    slots[1] = rpcrdma_cursor_be32(&c, "target highest slot");
    if (c.status != RPCRDMA_OK) {
        session->blind[back] = true;
        return;
    }
    for (int i = 0; i < 2; i++)
        if (slots[i] != UINT32_MAX && slots[i] + 1 > session->slots_known[back])
            session->slots_known[back] = slots[i] + 1;
}

static bool creates(const struct rpc_transaction *t)
{
    const uint32_t *operations = t->pub.operations;

    /* alone, or in a session that there is already */
    return !t->pub.callback && t->pub.n_operations > 0 &&
           (operations[0] == OP_CREATE_SESSION ||
            (t->pub.n_operations > 1 && operations[1] == OP_CREATE_SESSION));
}

void rpc_session_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                       const struct rpcrdma_rpc *rpc, const void *data, size_t caplen, size_t len)
{
    struct rpc_session *session = t->ddp.has_slot ? find(rpcs, t->ddp.session) : NULL;
    struct rpcrdma_compound it;
    struct rpcrdma_operation op;
    bool create = creates(t);

    if (!session && !create)
        return;
    if (!data || !rpcrdma_compound_begin(&it, rpc, &t->rpc, t->pub.callback, data, caplen, len,
                                         NULL, NULL)) {
        if (session)
            session->blind[t->pub.callback] = true;
        return;
    }
    for (int i = 0; i < 2 && rpcrdma_compound_next(&it, &op); i++) {
        struct rpcrdma_cursor c = it.xdr.in;

        if (op.number == OP_CREATE_SESSION && create)
            created(rpcs, c);
        else if (i == 0 && session && op.number == (t->pub.callback ? OP_CB_SEQUENCE : OP_SEQUENCE))
            sequenced(session, t->pub.callback, c);
        if (!create)
            break;
    }
}
