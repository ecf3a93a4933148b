/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

#include "wire/cursor.h"

/*
 * After a reconnect a client retransmits its outstanding Calls, with the XIDs they had (RFC 5531
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

static uint64_t hash_of(const struct rpcrdma_address *from, const struct rpcrdma_address *to)
{
    return flow_hash2(host(from), host(to));
}

RPCRDMA_RARE static void other_hosts(struct flow_messages *messages,
                                     const struct rpcrdma_address *from,
                                     const struct rpcrdma_address *to)
{
    messages->hosts.made = true;
    messages->hosts.address[0] = *from;
    messages->hosts.address[1] = *to;
    messages->hosts.hash = hash_of(from, to);
}

/* One pair of hosts is asked for again and again. */
static RPCRDMA_INLINE uint64_t hosts(struct flow_messages *messages,
                                     const struct rpcrdma_connection *connection, int caller)
{
    const struct rpcrdma_address *from = &connection->end[caller].address;
    const struct rpcrdma_address *to = &connection->end[1 - caller].address;

    if (!messages->hosts.made || memcmp(&messages->hosts.address[0], from, sizeof(*from)) != 0 ||
        memcmp(&messages->hosts.address[1], to, sizeof(*to)) != 0)
        other_hosts(messages, from, to);
    return messages->hosts.hash;
}

/* What a retransmitted Call has in common with the first, whatever chunks it offers: its bytes
 * inline, and what it calls where that is known. It is compared, and no place is found by it: so
 * the bits need not be mixed. */
static uint64_t kind_of(uint32_t bytes, uint32_t program, uint32_t version, uint32_t procedure)
{
    return bytes + ((uint64_t)program << 32 | version) * UINT64_C(0xbf58476d1ce4e5b9) +
           procedure * UINT64_C(0x94d049bb133111eb);
}

/* One behind the other for Calls whose XIDs were counted, in either order of their bytes: the next
 * entry is at hand then. */
static size_t place_of(uint64_t of_hosts, uint32_t xid)
{
    return (of_hosts + xid + __builtin_bswap32(xid)) & (FLOW_CALLS_REMEMBERED - 1);
}

static RPCRDMA_INLINE const struct flow_sent_before *
note(struct flow_messages *messages, struct flow_conn *conn, int sender,
     const struct flow_send *send, uint32_t xid, uint64_t kind, uint32_t *remembered)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);
    uint64_t of_hosts = hosts(messages, pub, sender);
    struct message_sent sent = {
        .key = of_hosts + xid * UINT64_C(0x9e3779b97f4a7c15) + kind,
        .frame = send->frame,
        .first_frame = send->frame,
        .first_time_ns = send->time_ns,
        .connection = pub->number,
        .first_connection = pub->number,
        .calls = message_calls_of(conn, sender),
    };
    struct flow_sent_before *before = &messages->sent_before;
    struct message_sent *e;

    if (!messages->sent)
        messages->sent =
            flow_alloc(&messages->context->memory, FLOW_CALLS_REMEMBERED * sizeof(*messages->sent));
    if (!messages->sent)
        return NULL;
    e = &messages->sent[place_of(of_hosts, xid)];
    *remembered = (uint32_t)(e - messages->sent) + 1;
    if (e->connection == 0 || e->key != sent.key || e->connection == pub->number ||
        e->frame >= pub->first_frame) {
        *e = sent;
        return NULL;
    }
    *before =
        (struct flow_sent_before){.frame = e->frame,
                                  .connection = e->connection,
                                  .first_frame = e->first_frame,
                                  .first_connection = e->first_connection,
                                  .first_time_ns = e->first_time_ns,
                                  .call = message_call_outstanding_of(messages, e->calls, xid)};
    e->frame = sent.frame;
    e->connection = sent.connection;
    e->calls = sent.calls;
    return before;
}

void message_sent_note(struct flow_messages *messages, struct flow_conn *conn,
                       const struct flow_send *send, struct flow_message *event)
{
    const struct rpcrdma_message *msg = event->message->message;
    const struct rpcrdma_rpc *rpc = event->message->rpc;
    uint64_t kind = rpc && rpc->present & RPCRDMA_RPC_HAS_PROGRAM
                        ? kind_of(msg->payload.len, rpc->program, rpc->version, rpc->procedure)
                        : msg->payload.len;

    event->sent_before =
        note(messages, conn, event->sender, send, msg->xid, kind, &event->remembered);
}

void message_sent_note_plain(struct flow_messages *messages, struct flow_conn *conn,
                             struct flow_plain *message, uint32_t bytes)
{
    const struct flow_call *call = message->call;
    uint64_t kind = kind_of(bytes, call->program, call->version, call->procedure);

    message->remembered = 0;
    message->sent_before = note(messages, conn, message->sender, message->send, message->xid, kind,
                                &message->remembered);
}

void flow_message_fetch(const struct flow_messages *messages, const struct flow_conn *conn,
                        int sender, const struct rpcrdma_op *op)
{
    enum { XID = 4 };
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);
    uint64_t of_hosts;

    if (!messages->sent || op->kind != RPCRDMA_OP_SEND || !op->data || op->caplen < XID ||
        pub->role[sender] != RPCRDMA_ROLE_CLIENT)
        return;
    of_hosts = hash_of(&pub->end[sender].address, &pub->end[1 - sender].address);
    __builtin_prefetch(&messages->sent[place_of(of_hosts, rpcrdma_get_be32(op->data))]);
}

uint64_t flow_call_first_frame(const struct flow_messages *messages, uint32_t remembered)
{
    return messages->sent[remembered - 1].first_frame;
}

void message_sent_free(struct flow_messages *messages)
{
    flow_release(&messages->context->memory, messages->sent,
                 FLOW_CALLS_REMEMBERED * sizeof(*messages->sent));
    messages->sent = NULL;
}
