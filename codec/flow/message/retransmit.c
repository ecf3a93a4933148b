/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/fetch.h"
#include "flow/message/message_state.h"

#include "wire/cursor.h"

/*
 * After a reconnect a client retransmits its outstanding Calls, with the XIDs they had (RFC 5531
 * section 9); also those that were answered, where the Reply did not reach it. A Call is one of
 * those when it came on a connection that was opened after the first sending, between the same
 * hosts, and calls the same procedure with a Payload stream of the same length, as far as that was
 * captured; not where a Reply to the first was delivered: an XID is unique among outstanding Calls,
 * no more. Each has one place where it may be. What waits for its Reply there when another Call
 * comes goes to awaited.c, which is seldom.
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
 * inline, and what it calls. It is compared, and no place is found by it: so the bits need not be
 * mixed much. */
static uint16_t kind_of(uint32_t bytes, uint32_t program, uint32_t version, uint32_t procedure)
{
    uint64_t kind = bytes * UINT64_C(0x9e3779b97f4a7c15) +
                    ((uint64_t)program << 32 | version) * UINT64_C(0xbf58476d1ce4e5b9) +
                    procedure * UINT64_C(0x94d049bb133111eb);

    return (uint16_t)(kind >> 48) | 1;
}

enum { KIND_BITS = 16, CUT = 0 }; /* a kind that is not known, as in a packet that was cut */

static uint64_t key_of(uint32_t xid, uint64_t of_hosts, uint16_t kind)
{
    return (uint64_t)xid << 32 | (of_hosts >> 48) << KIND_BITS | kind;
}

/* Of the same hosts, and the same XID: at a glance. */
static RPCRDMA_INLINE bool near(uint64_t a, uint64_t b)
{
    return (a ^ b) >> KIND_BITS == 0;
}

static bool same(uint64_t a, uint64_t b)
{
    return a == b || (near(a, b) && ((uint16_t)a == CUT || (uint16_t)b == CUT));
}

/* One behind the other for Calls whose XIDs were counted, in either order of their bytes: the next
 * entry is at hand then. */
static size_t place_of(uint64_t of_hosts, uint32_t xid)
{
    return (of_hosts + xid + __builtin_bswap32(xid)) & (MESSAGE_SENT - 1);
}

const char flow_sent_left = 0;

bool message_sent_waits(const struct flow_messages *messages, const struct flow_sent *sent)
{
    if (messages->slot_at[FLOW_CALL_RPC] != 0)
        return sent->latest != NULL;
    return message_call_outstanding_of(messages, sent->calls, (uint32_t)(sent->key >> 32)) != NULL;
}

RPCRDMA_RARE static bool make_places(struct flow_messages *messages)
{
    enum { ROOM = MESSAGE_SENT + 1 }; /* they begin where a line of the processor's cache does */
    const size_t size = sizeof(*messages->sent);
    struct flow_sent *room = flow_alloc(&messages->context->memory, ROOM * size);

    messages->sent_memory = room;
    if (room)
        messages->sent = (void *)((char *)room + (size - (uintptr_t)room % size) % size);
    return room != NULL;
}

/* Whether it may: at a glance. */
static RPCRDMA_INLINE bool may_wait(const struct flow_messages *messages,
                                    const struct flow_sent *sent)
{
    uint32_t xid = (uint32_t)(sent->key >> 32);
    const struct flow_call *call;

    if (messages->slot_at[FLOW_CALL_RPC] != 0)
        return sent->latest != NULL;
    call = messages->ring[message_ring_index(sent->calls, xid)];
    return (call && call->xid == xid) || messages->calls.count > 0;
}

/* The caller has more Calls than are kept, and its oldest goes. */
static bool given_up(struct flow_conn *conn, int sender, const struct flow_sent *sent)
{
    return message_conn_of(conn)->n_calls[sender] > MESSAGE_CALLS &&
           sent->calls == message_calls_of(conn, sender);
}

/* What the place of a Call has: the same Call, sent before on another connection, or nothing. */
RPCRDMA_RARE static bool look_back(struct flow_messages *messages, struct flow_conn *conn,
                                   int sender, struct flow_sent *e, uint64_t key)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);

    if (!same(e->key, key)) {
        if (message_sent_waits(messages, e) && !given_up(conn, sender, e))
            message_awaited_add(messages, e);
        e->connection = 0;
        message_awaited_return(messages, key, e);
    }
    if (e->connection == 0 || e->connection == pub->number || e->frame >= pub->first_frame)
        return false;
    messages->sent_before = (struct flow_sent_before){
        .frame = e->frame,
        .connection = e->connection,
        .first_frame = e->first_frame,
        .first_connection = e->first_connection,
        .first_time_ns = e->first_time_ns,
        .call = message_call_outstanding_of(messages, e->calls, (uint32_t)(key >> 32))};
    return true;
}

static RPCRDMA_INLINE const struct flow_sent_before *
note(struct flow_messages *messages, struct flow_conn *conn, int sender,
     const struct flow_send *send, uint32_t xid, uint16_t kind, uint32_t *remembered)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);
    uint64_t of_hosts = hosts(messages, pub, sender), key = key_of(xid, of_hosts, kind);
    size_t place = place_of(of_hosts, xid);
    bool before = false;
    struct flow_sent *e;

    if (!messages->sent && !make_places(messages))
        return NULL;
    e = &messages->sent[place];
    *remembered = (uint32_t)place + 1;
    if (RPCRDMA_SELDOM(near(e->key, key) || messages->awaited.table.count > 0 ||
                       may_wait(messages, e)))
        before = look_back(messages, conn, sender, e, key);
    if (!before) {
        e->key = key;
        e->first_frame = send->frame;
        e->first_time_ns = send->time_ns;
        e->first_connection = pub->number;
        e->latest = NULL;
        e->own = e->before = 0;
    }
    e->frame = send->frame;
    e->connection = pub->number;
    e->calls = message_calls_of(conn, sender);
    return before ? &messages->sent_before : NULL;
}

void message_sent_note(struct flow_messages *messages, struct flow_conn *conn,
                       const struct flow_send *send, struct flow_message *event)
{
    const struct rpcrdma_message *msg = event->message->message;
    const struct rpcrdma_rpc *rpc = event->message->rpc;
    uint16_t kind = rpc && rpc->present & RPCRDMA_RPC_HAS_PROGRAM
                        ? kind_of(msg->payload.len, rpc->program, rpc->version, rpc->procedure)
                        : CUT;

    event->sent_before =
        note(messages, conn, event->sender, send, msg->xid, kind, &event->remembered);
}

void message_sent_note_plain(struct flow_messages *messages, struct flow_conn *conn,
                             struct flow_plain *message, uint32_t bytes)
{
    const struct flow_call *call = message->call;
    uint16_t kind = kind_of(bytes, call->program, call->version, call->procedure);

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
    flow_fetch_line(&messages->sent[place_of(of_hosts, rpcrdma_get_be32(op->data))]);
}

struct flow_sent *flow_call_sent_at(const struct flow_messages *messages, uint32_t remembered)
{
    return &messages->sent[remembered - 1];
}

struct flow_sent *flow_call_sent(const struct flow_messages *messages, uint32_t remembered,
                                 uint64_t key)
{
    struct flow_sent *sent = flow_call_sent_at(messages, remembered);

    return sent->key == key ? sent : message_awaited_find(messages, key);
}

void message_sent_free(struct flow_messages *messages)
{
    flow_release(&messages->context->memory, messages->sent_memory,
                 (MESSAGE_SENT + 1) * sizeof(*messages->sent));
    messages->sent_memory = NULL;
    messages->sent = NULL;
    message_awaited_free(messages);
}
