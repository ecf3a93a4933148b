/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/check.h"
#include "flow/rpc/slot_use.h"

#include <string.h>

#include "upper/compound.h"
#include "upper/nfs4.h"

/*
 * What a session allows on its two channels (RFC 8881 section 18.36.3): sizes, operations, slots.
 * Known where the Reply to CREATE_SESSION was captured; and of slots the Responder may allow more
 * later (section 2.10.6.1). Sizes are those of RPC messages before anything is put into chunks.
 * A session has any number of connections: those that its requests come over (section 2.10.3.1),
 * to any address of its server. Where two servers are seen to create one of the same name, each is
 * its server's. Where one is, and another address takes numbers far from those of its slots, that
 * is another server, whose session of that name is older than the capture.
 */

enum {
    SESSION_ID = 16,
    LATER = 16, /* of one name; further ones take the place of the last */
};

static struct rpc_session *find(const struct flow_rpcs *rpcs, uint64_t key)
{
    return ring_table_get(&rpcs->sessions, key);
}

/* The n-th of that name; the first is 0. */
static uint64_t nth_key(const struct flow_rpcs *rpcs, const uint64_t name[2], uint32_t n)
{
    const uint64_t words[] = {name[0], name[1], n};

    return siphash_words(&rpcs->key, words, n > 0 ? 3 : 2) | 1;
}

static struct rpcrdma_address server_of(const struct flow_conn *conn)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);

    for (int end = 0; end < 2; end++)
        if (pub->role[end] == RPCRDMA_ROLE_SERVER)
            return pub->end[end].address;
    return (struct rpcrdma_address){0};
}

static bool by_server(const struct rpc_session *session, const struct rpcrdma_address *server)
{
    return session && memcmp(&session->server, server, sizeof(*server)) == 0;
}

uint64_t rpc_session_key(const struct flow_rpcs *rpcs, const struct flow_conn *conn,
                         const uint64_t name[2])
{
    uint64_t first = nth_key(rpcs, name, 0), key;
    const struct rpc_session *session = find(rpcs, first);
    struct rpcrdma_address server;

    if (!session || session->later == 0)
        return first;
    server = server_of(conn);
    for (uint32_t n = session->later; n > 0; n--) {
        key = nth_key(rpcs, name, n);
        if (by_server(find(rpcs, key), &server))
            return key;
    }
    return first;
}

bool rpc_session_abroad(const struct flow_rpcs *rpcs, const struct flow_conn *conn, uint64_t key)
{
    const struct rpcrdma_address none = {0}, server = server_of(conn);
    const struct rpc_session *session = find(rpcs, key);

    return session && !by_server(session, &server) && !by_server(session, &none) &&
           memcmp(&server, &none, sizeof(none)) != 0;
}

/* One more of the name, in the place of the last where there are too many. NULL: no memory. */
static struct rpc_session *add_later(struct flow_rpcs *rpcs, const uint64_t name[2])
{
    struct rpc_session *session = find(rpcs, nth_key(rpcs, name, 0));
    uint64_t key;

    if (session && session->later < LATER)
        session->later++;
    key = nth_key(rpcs, name, session ? session->later : 0);
    session = find(rpcs, key);
    if (!session)
        session = ring_table_add(&rpcs->sessions, &rpcs->context->memory, key);
    if (session)
        *session = (struct rpc_session){.key = key};
    return session;
}

uint64_t rpc_session_apart(struct flow_rpcs *rpcs, const struct flow_conn *conn,
                           const uint64_t name[2])
{
    struct rpc_session *session = add_later(rpcs, name);

    if (!session)
        return 1;
    session->server = server_of(conn);
    session->torn = true;
    return session->key;
}

void rpc_session_together(struct flow_rpcs *rpcs, const struct rpc_transaction *t)
{
    struct rpc_session *session = find(rpcs, t->session);

    if (session)
        session->server = (struct rpcrdma_address){0};
}

/* The connection belongs to the session's from here on. */
static void carry(struct flow_rpcs *rpcs, struct rpc_session *session, struct flow_conn *conn)
{
    struct rpc_conn *c;

    for (uint32_t i = 0; i < session->n_carriers; i++)
        if (session->carrier[i] == conn)
            return;
    c = rpc_conn_get(rpcs, conn);
    if (!c || session->n_carriers == RPC_CARRIERS) {
        session->torn = true;
        return;
    }
    session->carrier[session->n_carriers++] = conn;
    c->carries = true;
}

bool rpc_session_followed(const struct flow_conn *conn)
{
    const struct rpc_conn *c = rpc_of(conn);

    return flow_conn_saw_all(conn) && c && c->unread == 0;
}

void rpc_session_close(struct flow_rpcs *rpcs, const struct flow_conn *conn)
{
    struct rpc_session *session;

    for (uint32_t i = 0; (session = ring_table_at(&rpcs->sessions, i)); i++)
        for (uint32_t k = 0; k < session->n_carriers; k++)
            if (session->carrier[k] == conn) {
                session->torn = session->torn || !rpc_session_followed(conn);
                session->carrier[k--] = session->carrier[--session->n_carriers];
            }
}

bool rpc_session_whole(const struct flow_rpcs *rpcs, const struct rpc_transaction *t)
{
    const struct rpc_session *session = find(rpcs, t->session);

    if (!session || session->torn)
        return false;
    for (uint32_t i = 0; i < session->n_carriers; i++)
        if (!rpc_session_followed(session->carrier[i]) || flow_conn_waits(session->carrier[i]))
            return false;
    return true;
}

void rpc_session_elsewhere(struct flow_rpcs *rpcs, const struct rpc_transaction *t)
{
    struct rpc_session *session = find(rpcs, t->session);

    if (session)
        session->torn = true;
}

bool rpc_session_beyond(const struct flow_rpcs *rpcs, const struct rpc_transaction *t,
                        uint32_t *slots)
{
    const struct rpc_session *session = find(rpcs, t->session);
    int back = t->pub.callback;

    if (!session || session->blind[back] || session->channel[back].slots == 0)
        return false;
    *slots = session->slots_known[back];
    return t->ddp.slot >= *slots;
}

void rpc_session_call(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpc_session *session = find(rpcs, t->session);
    const struct rpcrdma_ddp *ddp = &t->ddp;
    const struct rpc_channel *channel;
    int back = t->pub.callback;

    if (!session)
        return;
    carry(rpcs, session, t->conn);
    if (session->channel[back].slots == 0)
        return;
    channel = &session->channel[back];
    if (t->pub.call_length > channel->request_size)
        rpc_add_call_finding(rpcs, t, -1,
                             (struct rpc_finding){.rule = RPCRDMA_RULE_SESSION_REQUEST_SIZE,
                                                  .a = t->pub.call_length,
                                                  .b = channel->request_size});
    if (ddp->operations > channel->operations)
        rpc_add_call_finding(rpcs, t, rpc_call_place(t, ddp->first_off - 4),
                             (struct rpc_finding){.rule = RPCRDMA_RULE_SESSION_OPERATIONS,
                                                  .a = ddp->operations,
                                                  .b = channel->operations});
}

void rpc_session_reply_size(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpc_session *session = find(rpcs, t->session);
    uint32_t most = session ? session->channel[t->pub.callback].reply_size : 0;

    if (most > 0 && t->pub.reply_length > most)
        rpc_add_finding(rpcs, t,
                        (struct rpc_finding){.rule = RPCRDMA_RULE_SESSION_REPLY_SIZE,
                                             .frame = t->pub.reply_frame,
                                             .a = t->pub.reply_length,
                                             .b = most});
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
static void created(struct flow_rpcs *rpcs, const struct rpc_transaction *t,
                    struct rpcrdma_cursor c)
{
    uint32_t status = rpcrdma_cursor_be32(&c, "status");
    struct rpc_session new = {0}, *session;
    uint64_t name[2];

    name[0] = rpcrdma_cursor_be64(&c, "session");
    name[1] = rpcrdma_cursor_be64(&c, "session");
    rpcrdma_cursor_take(&c, 8, "sequence, flags");
    new.channel[0] = read_channel(&c);
    new.channel[1] = read_channel(&c);
    if (status != 0 || c.status != RPCRDMA_OK)
        return;
    new.slots_known[0] = new.channel[0].slots;
    new.slots_known[1] = new.channel[1].slots;
    new.server = server_of(t->conn);
    session = find(rpcs, nth_key(rpcs, name, 0));
    if (!session && rpc_slot_used(rpcs, nth_key(rpcs, name, 0))) { /* not captured, and destroyed */
        session = ring_table_add(&rpcs->sessions, &rpcs->context->memory, nth_key(rpcs, name, 0));
        if (!session)
            return;
        *session = (struct rpc_session){.key = nth_key(rpcs, name, 0)};
    }
    session = add_later(rpcs, name);
    if (!session)
        return;
    new.key = session->key;
    *session = new;
    rpc_slot_use_created(rpcs, new.key, t->ddp.slots_asked, new.channel[0].slots);
    carry(rpcs, session, t->conn);
}

/* status, session, sequence, slot, highest slot, target highest slot. session: NULL: its beginning
 * was not captured. */
static void sequenced(struct flow_rpcs *rpcs, const struct rpc_transaction *t,
                      struct rpc_session *session, struct rpcrdma_cursor c)
{
    int back = t->pub.callback;
    uint32_t status = rpcrdma_cursor_be32(&c, "status"), slots[2];

    if (c.status == RPCRDMA_OK && status != 0)
        return;
    rpcrdma_cursor_take(&c, SESSION_ID + 8, "session, sequence, slot");
    slots[0] = rpcrdma_cursor_be32(&c, "highest slot");
    slots[1] = rpcrdma_cursor_be32(&c, "target highest slot");
    if (c.status != RPCRDMA_OK) {
        if (session)
            session->blind[back] = true;
        return;
    }
    if (!back && slots[1] != UINT32_MAX)
        rpc_slot_use_granted(rpcs, t->session, slots[1] + 1);
    for (int i = 0; session && i < 2; i++)
        if (slots[i] != UINT32_MAX && slots[i] + 1 > session->slots_known[back])
            session->slots_known[back] = slots[i] + 1;
}

static void read_status(struct rpc_transaction *t, struct rpcrdma_cursor c)
{
    t->slot_status = rpcrdma_cursor_be32(&c, "status");
    t->slot_answered = c.status == RPCRDMA_OK;
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
                       const struct rpcrdma_rpc_stream *reply)
{
    struct rpc_session *session = t->ddp.has_slot ? find(rpcs, t->session) : NULL;
    bool doubt = t->slot && t->slot_doubt != 0;
    struct rpcrdma_rpc_stream stream = *reply;
    struct rpcrdma_compound it;
    struct rpcrdma_operation op;
    bool create = creates(t);

    if (!t->ddp.has_slot && !create)
        return;
    stream.call = &t->rpc;
    stream.reverse = t->pub.callback;
    if (!stream.data || !rpcrdma_compound_begin(&it, &stream, NULL, NULL)) {
        if (session)
            session->blind[t->pub.callback] = true;
        return;
    }
    for (int i = 0; i < 2 && rpcrdma_compound_next(&it, &op); i++) {
        struct rpcrdma_cursor c = it.xdr.in;

        if (op.number == OP_CREATE_SESSION && create)
            created(rpcs, t, c);
        else if (i == 0 && op.number == (t->pub.callback ? OP_CB_SEQUENCE : OP_SEQUENCE)) {
            if (doubt)
                read_status(t, c);
            sequenced(rpcs, t, session, c);
        }
        if (!create)
            break;
    }
}
