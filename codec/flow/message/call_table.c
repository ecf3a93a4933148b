/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/*
 * Outstanding Calls, under (connection, sending end, XID): a forward and a reverse Call with one
 * XID are two (RFC 8167 section 4.1). A Call without Reply stays until its connection ends or
 * FLOW_CALLS newer ones have come.
 */

static uint64_t key(const struct flow_conn *conn, int sender, uint32_t xid)
{
    return flow_hash2(conn->id << 1 | (uint64_t)sender, xid);
}

struct flow_call *flow_call_find(const struct flow *flow, const struct flow_conn *conn, int sender,
                                 uint32_t xid)
{
    struct flow_call *call = flow_table_get(&flow->calls, key(conn, sender, xid));

    /* the key is a hash: make sure */
    return call && call->xid == xid && call->conn == conn && call->sender == sender ? call : NULL;
}

/* Calls come and go with every other message: some of those that went are kept, to be used again.
 */
enum { SPARE = 256 };

static struct flow_call *take(struct flow *flow)
{
    struct flow_call *call = flow->spare_calls;

    if (!call)
        return flow_alloc(&flow->memory, sizeof(*call));
    flow->spare_calls = call->older;
    flow->n_spare_calls--;
    return call;
}

static void give_back(struct flow *flow, struct flow_call *call)
{
    if (flow->n_spare_calls == SPARE) {
        flow_release(&flow->memory, call, sizeof(*call));
        return;
    }
    call->older = flow->spare_calls;
    flow->spare_calls = call;
    flow->n_spare_calls++;
}

void flow_call_trim(struct flow *flow)
{
    while (flow->spare_calls) {
        struct flow_call *call = flow->spare_calls;

        flow->spare_calls = call->older;
        flow->n_spare_calls--;
        flow_release(&flow->memory, call, sizeof(*call));
    }
}

void flow_call_remove(struct flow *flow, struct flow_conn *conn, struct flow_call *call)
{
    int sender = call->sender;

    if (call->newer)
        call->newer->older = call->older;
    else
        conn->newest_call[sender] = call->older;
    if (call->older)
        call->older->newer = call->newer;
    else
        conn->oldest_call[sender] = call->newer;
    conn->calls[sender]--;
    flow_table_remove_value(&flow->calls, key(conn, sender, call->xid), call);
    give_back(flow, call);
}

void flow_call_add(struct flow *flow, struct flow_conn *conn, int sender, uint32_t xid,
                   const struct rpcrdma_rpc *rpc)
{
    struct flow_call *call = flow_call_find(flow, conn, sender, xid);

    if (call)
        flow_call_remove(flow, conn, call);
    else if (conn->calls[sender] >= FLOW_CALLS)
        flow_call_remove(flow, conn, conn->oldest_call[sender]);
    call = take(flow);
    if (!call)
        return;
    *call = (struct flow_call){
        .conn = conn, .xid = xid, .sender = (uint8_t)sender, .frame = flow->frame};
    if (rpc && rpc->present & RPCRDMA_RPC_HAS_PROGRAM) {
        call->has_rpc = true;
        call->program = rpc->program;
        call->version = rpc->version;
        call->procedure = rpc->procedure;
        call->flavor = rpc->cred_flavor;
        call->gss_procedure = rpc->gss_procedure;
        call->gss_service = rpc->gss_service;
    }
    if (!flow_table_put(&flow->calls, &flow->memory, key(conn, sender, xid), call)) {
        give_back(flow, call);
        return;
    }
    call->older = conn->newest_call[sender];
    if (call->older)
        call->older->newer = call;
    else
        conn->oldest_call[sender] = call;
    conn->newest_call[sender] = call;
    conn->calls[sender]++;
}

void flow_call_free(struct flow *flow, struct flow_conn *conn)
{
    for (int i = 0; i < 2; i++)
        while (conn->newest_call[i])
            flow_call_remove(flow, conn, conn->newest_call[i]);
}

void flow_call_rpc(const struct flow_call *call, struct rpcrdma_rpc *out)
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
