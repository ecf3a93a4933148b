/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

/*
 * Outstanding Calls, under (connection, sending end, XID): a forward and a reverse Call with one
 * XID are two (RFC 8167 section 4.1). A Call without Reply stays until its connection ends or
 * MESSAGE_CALLS newer ones have come.
 */

static uint64_t key(const struct flow_conn *conn, int sender, uint32_t xid)
{
    return flow_hash2(flow_conn_id(conn) << 1 | (uint64_t)sender, xid);
}

struct message_call *message_call_find(const struct flow_messages *messages,
                                       const struct flow_conn *conn, int sender, uint32_t xid)
{
    struct message_call *call = flow_table_get(&messages->calls, key(conn, sender, xid));

    /* the key is a hash: make sure */
    return call && call->xid == xid && call->conn == conn && call->sender == sender ? call : NULL;
}

/* Calls come and go with every other message: some of those that went are kept, to be used again.
 */
enum { SPARE = 256 };

static struct message_call *take(struct flow_messages *messages)
{
    struct message_call *call = messages->spare_calls;

    if (!call)
        return flow_alloc(&messages->context->memory, sizeof(*call));
    messages->spare_calls = call->older;
    messages->n_spare_calls--;
    return call;
}

static void give_back(struct flow_messages *messages, struct message_call *call)
{
    if (messages->n_spare_calls == SPARE) {
        flow_release(&messages->context->memory, call, sizeof(*call));
        return;
    }
    call->older = messages->spare_calls;
    messages->spare_calls = call;
    messages->n_spare_calls++;
}

void flow_message_trim(struct flow_messages *messages)
{
    while (messages->spare_calls) {
        struct message_call *call = messages->spare_calls;

        messages->spare_calls = call->older;
        messages->n_spare_calls--;
        flow_release(&messages->context->memory, call, sizeof(*call));
    }
}

void message_call_remove(struct flow_messages *messages, struct flow_conn *conn,
                         struct message_call *call)
{
    struct message_conn *mc = message_conn_of(conn);
    int sender = call->sender;

    if (call->newer)
        call->newer->older = call->older;
    else
        mc->newest_call[sender] = call->older;
    if (call->older)
        call->older->newer = call->newer;
    else
        mc->oldest_call[sender] = call->newer;
    mc->calls[sender]--;
    flow_table_remove_value(&messages->calls, key(conn, sender, call->xid), call);
    give_back(messages, call);
}

void message_call_add(struct flow_messages *messages, struct flow_conn *conn, int sender,
                      const struct rpcrdma_message *m, const struct rpcrdma_rpc *rpc)
{
    uint32_t xid = m->xid;
    struct message_call *call = message_call_find(messages, conn, sender, xid);
    struct message_conn *mc = message_conn_of(conn);

    if (call)
        message_call_remove(messages, conn, call);
    else if (mc->calls[sender] >= MESSAGE_CALLS)
        message_call_remove(messages, conn, mc->oldest_call[sender]);
    call = take(messages);
    if (!call)
        return;
    *call = (struct message_call){.conn = conn,
                                  .xid = xid,
                                  .sender = (uint8_t)sender,
                                  .protocol = m->version,
                                  .writes = m->write.count,
                                  .frame = messages->context->frame};
    if (rpc && rpc->present & RPCRDMA_RPC_HAS_PROGRAM) {
        call->has_rpc = true;
        call->program = rpc->program;
        call->version = rpc->version;
        call->procedure = rpc->procedure;
        call->flavor = rpc->cred_flavor;
        call->gss_procedure = rpc->gss_procedure;
        call->gss_service = rpc->gss_service;
    }
    if (!flow_table_put(&messages->calls, &messages->context->memory, key(conn, sender, xid),
                        call)) {
        give_back(messages, call);
        return;
    }
    call->older = mc->newest_call[sender];
    if (call->older)
        call->older->newer = call;
    else
        mc->oldest_call[sender] = call;
    mc->newest_call[sender] = call;
    mc->calls[sender]++;
}

void flow_message_close(struct flow_messages *messages, struct flow_conn *conn)
{
    struct message_conn *mc = message_conn_of(conn);

    for (int i = 0; i < 2; i++)
        while (mc->newest_call[i])
            message_call_remove(messages, conn, mc->newest_call[i]);
}

void message_call_rpc(const struct message_call *call, struct rpcrdma_rpc *out)
{
    *out = (struct rpcrdma_rpc){.present = RPCRDMA_RPC_HAS_XID | RPCRDMA_RPC_HAS_TYPE |
                                           RPCRDMA_RPC_HAS_PROGRAM | RPCRDMA_RPC_HAS_CRED,
                                .xid = call->xid,
                                .type = RPCRDMA_RPC_CALL,
                                .rpcvers = 2,
                                .program = call->program,
                                .version = call->version,
                                .procedure = call->procedure,
                                .cred_flavor = call->flavor,
                                .gss_procedure = call->gss_procedure,
                                .gss_service = call->gss_service};
}
