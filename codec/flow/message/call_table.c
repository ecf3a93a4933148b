/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

#include "wire/plain.h"

/*
 * Calls, under (connection, caller, XID): a forward and a reverse Call with one XID are two (RFC
 * 8167 section 4.1). A Call without Reply stays until its connection ends or MESSAGE_CALLS newer
 * ones have come.
 *
 * Most clients count their XIDs, so that each Call has a place of its own in a ring, beside that of
 * the Call before. Where that place is taken by another one, a Call is in the table instead, whose
 * places nobody can choose: XIDs that are made to meet cost no more than a look at the ring.
 */

uint64_t message_calls_of(const struct flow_conn *conn, int caller)
{
    return flow_conn_id(conn) << 1 | (uint64_t)caller;
}

static uint64_t key(uint64_t calls, uint32_t xid)
{
    return flow_hash2(calls, xid);
}

static RPCRDMA_INLINE void **ring_at(struct flow_messages *messages, uint64_t calls, uint32_t xid)
{
    return &messages->ring[message_ring_index(calls, xid)];
}

static bool is(const struct flow_call *call, uint64_t calls, uint32_t xid)
{
    return call->xid == xid && message_calls_of(call->conn, call->caller) == calls;
}

static struct flow_call *in_table(const struct flow_messages *messages, uint64_t calls,
                                  uint32_t xid)
{
    return messages->calls.count > 0 ? flow_table_get(&messages->calls, key(calls, xid)) : NULL;
}

static RPCRDMA_INLINE struct flow_call *find(const struct flow_messages *messages, uint64_t calls,
                                             uint32_t xid)
{
    struct flow_call *call = messages->ring[message_ring_index(calls, xid)];

    if (call && is(call, calls, xid))
        return call;
    call = in_table(messages, calls, xid);
    return call && is(call, calls, xid) ? call : NULL; /* the key is a hash: make sure */
}

struct flow_call *flow_call_find(const struct flow_messages *messages, const struct flow_conn *conn,
                                 int caller, uint32_t xid)
{
    return find(messages, message_calls_of(conn, caller), xid);
}

struct flow_call *message_call_outstanding_of(const struct flow_messages *messages, uint64_t calls,
                                              uint32_t xid)
{
    struct flow_call *call = find(messages, calls, xid);

    return call && call->holders & CALL_OUTSTANDING ? call : NULL;
}

void flow_calls_reserve(struct flow_messages *messages, enum flow_call_stage stage, size_t size)
{
    messages->rpcs_followed |= stage == FLOW_CALL_RPC;
    messages->slot_at[stage] = messages->call_size;
    messages->call_size += (size + sizeof(uint64_t) - 1) & ~(sizeof(uint64_t) - 1);
}

void *flow_call_slot(const struct flow_messages *messages, struct flow_call *call,
                     enum flow_call_stage stage)
{
    return (char *)call + messages->slot_at[stage];
}

struct flow_call *flow_call_of_slot(const struct flow_messages *messages, void *slot,
                                    enum flow_call_stage stage)
{
    return (struct flow_call *)(void *)((char *)slot - messages->slot_at[stage]);
}

/* Calls come and go with every other message: some of those that went are kept, to be used again.
 */
enum { SPARE = 256 };

static struct flow_call *get_entry(struct flow_messages *messages)
{
    struct flow_call *call = SLIST_FIRST(&messages->spare_calls);

    if (!call)
        return flow_alloc(&messages->context->memory, messages->call_size);
    SLIST_REMOVE_HEAD(&messages->spare_calls, spare);
    messages->n_spare_calls--;
    memset(call, 0, messages->call_size);
    return call;
}

static void put_entry(struct flow_messages *messages, struct flow_call *call)
{
    if (messages->n_spare_calls == SPARE) {
        flow_release(&messages->context->memory, call, messages->call_size);
        return;
    }
    SLIST_INSERT_HEAD(&messages->spare_calls, call, spare);
    messages->n_spare_calls++;
}

void flow_message_trim(struct flow_messages *messages)
{
    struct flow_call *call;

    while ((call = SLIST_FIRST(&messages->spare_calls))) {
        SLIST_REMOVE_HEAD(&messages->spare_calls, spare);
        messages->n_spare_calls--;
        flow_release(&messages->context->memory, call, messages->call_size);
    }
}

bool flow_calls_ready(struct flow_messages *messages)
{
    struct flow_call *call;

    if (!flow_table_ready(&messages->calls, &messages->context->memory))
        return false;
    if (!SLIST_EMPTY(&messages->spare_calls))
        return true;
    call = get_entry(messages);
    if (call)
        put_entry(messages, call);
    return call != NULL;
}

static struct message_calls *list_of(const struct flow_call *call)
{
    return &message_conn_of(call->conn)->calls[call->caller];
}

static RPCRDMA_INLINE void remove_from_its_place(struct flow_messages *messages,
                                                 struct flow_call *call)
{
    uint64_t calls = message_calls_of(call->conn, call->caller);
    void **at = ring_at(messages, calls, call->xid);

    if (*at == call)
        *at = NULL;
    else
        flow_table_remove_value(&messages->calls, key(calls, call->xid), call);
}

static void forget(struct flow_messages *messages, struct flow_call *call)
{
    if (call->unmatched > 0)
        message_unmatched_forget(messages, call);
    TAILQ_REMOVE(list_of(call), call, by_age);
    message_conn_of(call->conn)->n_calls[call->caller]--;
    remove_from_its_place(messages, call);
    put_entry(messages, call);
}

void message_call_let_go(struct flow_messages *messages, struct flow_call *call, unsigned holder)
{
    call->holders &= (uint8_t)~holder;
    if (call->holders == 0)
        forget(messages, call);
}

/* An entry that is in the table now. */
static RPCRDMA_INLINE void enter(struct flow_call *call, struct flow_conn *conn, int caller,
                                 uint32_t xid)
{
    call->conn = conn;
    call->caller = (uint8_t)caller;
    call->xid = xid;
    if (message_conn_of(conn)->n_calls[caller]++ == 0)
        TAILQ_INIT(list_of(call));
    TAILQ_INSERT_TAIL(list_of(call), call, by_age);
}

struct flow_call *message_call_add(struct flow_messages *messages, struct flow_conn *conn,
                                   int caller, uint32_t xid)
{
    uint64_t calls = message_calls_of(conn, caller);
    void **at = ring_at(messages, calls, xid);
    struct flow_call *call;

    if (*at && is(*at, calls, xid))
        return *at;
    call = in_table(messages, calls, xid);
    if (call) /* else of another one with the same hash, once in 2^64: there is no place */
        return is(call, calls, xid) ? call : NULL;
    call = get_entry(messages);
    if (!call)
        return NULL;
    if (!*at) {
        *at = call;
    } else if (!flow_table_add(&messages->calls, &messages->context->memory, key(calls, xid),
                               call)) {
        put_entry(messages, call);
        return NULL;
    }
    enter(call, conn, caller, xid);
    return call;
}

/* The place of a Call that is new: to be filled at once. NULL: it is not new. */
static RPCRDMA_INLINE void **claim(struct flow_messages *messages, uint64_t calls, uint32_t xid)
{
    void **at = ring_at(messages, calls, xid);

    if (*at)
        return is(*at, calls, xid) ? NULL : flow_table_claim(&messages->calls, key(calls, xid));
    return in_table(messages, calls, xid) ? NULL : at;
}

void flow_call_hold(struct flow_call *call, enum flow_call_stage stage)
{
    call->holders |= (uint8_t)(1 << stage);
}

void flow_call_leave(struct flow_messages *messages, struct flow_call *call,
                     enum flow_call_stage stage)
{
    if (call->holders & 1 << stage)
        message_call_let_go(messages, call, 1U << stage);
}

/* RPCSEC_GSS numbers and signs each sending anew (RFC 2203 section 5.3.3.1). */
static uint32_t mark_of(const struct rpcrdma_message *m, const struct rpcrdma_rpc *rpc)
{
    bool whole = rpc && rpc->present & RPCRDMA_RPC_HAS_VERF && m->payload.data &&
                 m->payload.caplen == m->payload.len;

    return whole && rpc->cred_flavor != RPCRDMA_RPC_GSS
               ? message_mark(m->payload.data, m->payload.len)
               : 0;
}

static bool same_call(const struct flow_call *call, const struct rpcrdma_message *m,
                      const struct rpcrdma_rpc *rpc)
{
    uint32_t mark;

    if (!call->has_rpc || !rpc || !(rpc->present & RPCRDMA_RPC_HAS_PROGRAM))
        return true;
    mark = mark_of(m, rpc);
    return call->program == rpc->program && call->version == rpc->version &&
           call->procedure == rpc->procedure &&
           (mark == call->mark || mark == 0 || call->mark == 0);
}

enum { FLAVOR_UNKNOWN = UINT32_MAX }; /* not captured */

void message_call_handle(struct flow_call *call, const struct rpcrdma_message *m)
{
    if (!(m->present & RPCRDMA_HAS_INV_HANDLE))
        return;
    if (!call->has_inv_handle || m->inv_handle != 0)
        call->inv_handle = m->inv_handle;
    call->has_inv_handle = true;
}

static void describe(struct flow_call *call, const struct rpcrdma_message *m,
                     const struct rpcrdma_rpc *rpc, uint64_t frame)
{
    call->protocol = m->version;
    /* the length of a list that was not captured whole is unknown */
    call->writes = m->present & RPCRDMA_HAS_HEADER_LENGTH ? m->write.count : UINT32_MAX;
    call->frame = frame;
    call->mark = mark_of(m, rpc);
    call->has_inv_handle = false;
    message_call_handle(call, m);
    if (!rpc || !(rpc->present & RPCRDMA_RPC_HAS_PROGRAM))
        return;
    call->has_rpc = true;
    call->program = rpc->program;
    call->version = rpc->version;
    call->procedure = rpc->procedure;
    call->flavor = rpc->present & RPCRDMA_RPC_HAS_CRED ? rpc->cred_flavor : FLAVOR_UNKNOWN;
    call->gss_procedure = rpc->gss_procedure;
    call->gss_service = rpc->gss_service;
}

struct flow_call *message_call_note(struct flow_messages *messages, struct flow_conn *conn,
                                    int caller, const struct rpcrdma_message *m,
                                    const struct rpcrdma_rpc *rpc, const struct flow_send *send,
                                    bool sure, enum flow_call_use *use)
{
    struct flow_call *call = message_call_add(messages, conn, caller, m->xid);

    *use = FLOW_CALL_NEW;
    if (!call)
        return NULL;
    if (call->holders & CALL_OUTSTANDING && call->sure && !call->replied) {
        if (sure)
            *use = same_call(call, m, rpc) ? FLOW_CALL_RETRANSMITTED : FLOW_CALL_XID_REUSED;
    } else {
        call->sure = false;
    }
    call->holders |= CALL_OUTSTANDING | CALL_IN_HAND;
    if (call->unmatched > 0 && sure && message_unmatched_answers(messages, call, send)) {
        *use = FLOW_CALL_ANSWERED;
        call->holders &= (uint8_t)~CALL_OUTSTANDING;
    }
    call->plain = false;
    if (!sure && call->sure)
        return call; /* a Call is known by this XID: what may be one says no more */
    if (*use != FLOW_CALL_RETRANSMITTED) {
        call->has_rpc = call->replied = false;
        if (TAILQ_NEXT(call, by_age)) {
            TAILQ_REMOVE(list_of(call), call, by_age);
            TAILQ_INSERT_TAIL(list_of(call), call, by_age);
        }
    }
    call->sure = sure;
    describe(call, m, rpc, messages->context->frame);
    return call;
}

struct flow_call *message_call_note_plain(struct flow_messages *messages, struct flow_conn *conn,
                                          int caller, const uint8_t *p, uint32_t n)
{
    uint32_t xid = rpcrdma_get_be32(p);
    void **at = claim(messages, message_calls_of(conn, caller), xid);
    struct flow_call *call;

    if (!at)
        return NULL;
    call = get_entry(messages);
    *at = call;
    enter(call, conn, caller, xid);
    call->holders = CALL_OUTSTANDING | CALL_IN_HAND;
    call->sure = call->has_rpc = call->plain = true;
    call->protocol = 1;
    call->program = rpcrdma_get_be32(p + RPCRDMA_PLAIN_PROGRAM);
    call->version = rpcrdma_get_be32(p + RPCRDMA_PLAIN_VERSION);
    call->procedure = rpcrdma_get_be32(p + RPCRDMA_PLAIN_PROCEDURE);
    call->flavor = rpcrdma_get_be32(p + RPCRDMA_PLAIN_CRED);
    call->mark = message_mark(p, n);
    call->frame = messages->context->frame;
    return call;
}

void message_call_reply(struct flow_call *call, bool continues)
{
    call->replied = true;
    if (!continues)
        call->holders &= (uint8_t)~CALL_OUTSTANDING;
}

void flow_message_done(struct flow_messages *messages, struct flow_call *call)
{
    if (call)
        message_call_let_go(messages, call, CALL_IN_HAND);
}

int flow_call_caller(const struct flow_call *call)
{
    return call->caller;
}

struct flow_conn *flow_call_conn(const struct flow_call *call)
{
    return call->conn;
}

struct flow_call *flow_call_excess(struct flow_conn *conn)
{
    const struct message_conn *mc = message_conn_of(conn);

    for (int i = 0; i < 2; i++)
        if (mc->n_calls[i] > MESSAGE_CALLS) {
            struct flow_call *call = TAILQ_FIRST(&mc->calls[i]);

            if (call->holders & CALL_IN_HAND)
                call = TAILQ_NEXT(call, by_age);
            call->holders |= CALL_IN_HAND;
            return call;
        }
    return NULL;
}

struct flow_call *flow_call_oldest(struct flow_conn *conn)
{
    const struct message_conn *mc = message_conn_of(conn);
    struct flow_call *call = TAILQ_FIRST(&mc->calls[mc->n_calls[0] > 0 ? 0 : 1]);

    if (call)
        call->holders |= CALL_IN_HAND;
    return call;
}

void flow_call_drop(struct flow_messages *messages, struct flow_conn *conn, struct flow_call *call)
{
    struct message_conn *mc = message_conn_of(conn);

    if (call->holders & CALL_OUTSTANDING && !messages->rpcs_followed && !mc->given_up_reported &&
        flow_conn_heard_from(conn, 1 - call->caller)) {
        mc->given_up_reported = true;
        flow_report(messages->context, flow_conn_public(conn),
                    &(struct rpcrdma_finding){
                        .rule = RPCRDMA_RULE_RPC_GIVEN_UP, .frame = call->frame, .offset = -1});
    }
    forget(messages, call);
}

void flow_message_close(struct flow_messages *messages, struct flow_conn *conn)
{
    struct message_conn *mc = message_conn_of(conn);

    for (int i = 0; i < 2; i++)
        while (mc->n_calls[i] > 0)
            forget(messages, TAILQ_FIRST(&mc->calls[i]));
    flow_release(&messages->context->memory, mc->extra, sizeof(*mc->extra));
    mc->extra = NULL;
}

void flow_call_rpc(const struct flow_call *call, struct rpcrdma_rpc *out)
{
    *out = (struct rpcrdma_rpc){.present = RPCRDMA_RPC_HAS_XID | RPCRDMA_RPC_HAS_TYPE |
                                           RPCRDMA_RPC_HAS_PROGRAM,
                                .xid = call->xid,
                                .type = RPCRDMA_RPC_CALL,
                                .rpcvers = 2,
                                .program = call->program,
                                .version = call->version,
                                .procedure = call->procedure,
                                .gss_procedure = call->gss_procedure,
                                .gss_service = call->gss_service};
    if (call->flavor != FLAVOR_UNKNOWN) {
        out->present |= RPCRDMA_RPC_HAS_CRED;
        out->cred_flavor = call->flavor;
    }
    if (call->gss_service != 0) /* there is no service 0: RFC 2203 section 5.3.1 */
        out->present |= RPCRDMA_RPC_HAS_GSS;
}
