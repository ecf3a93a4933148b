/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

/* Calls that are held back, for Replies that are, too: what a Reply's chunks carry shows in what
 * its Call asked for. The latest ones only: one takes the place of another with the same hash. */

static uint64_t stream_of(const struct rpcrdma_flow_message *message)
{
    const struct rpcrdma_connection *connection = message->connection;

    return message->sender_end < 0 ? 0
           : message->direction == RPCRDMA_DIRECTION_CALL
               ? connection->stream[1 - message->sender_end]
               : connection->stream[message->sender_end];
}

static struct message_previewed *place_of(const struct flow_messages *messages, uint64_t stream,
                                          uint32_t xid)
{
    return &messages->previewed[flow_hash2(stream, xid) & (MESSAGE_PREVIEWED - 1)];
}

void message_previewed_add(struct flow_messages *messages, const struct rpcrdma_flow_message *call)
{
    const struct rpcrdma_rpc *rpc = call->rpc;
    uint64_t stream = stream_of(call);

    if (!rpc || !(rpc->present & RPCRDMA_RPC_HAS_PROGRAM) || stream == 0)
        return;
    if (!messages->previewed)
        messages->previewed = flow_alloc(&messages->context->memory,
                                         MESSAGE_PREVIEWED * sizeof(*messages->previewed));
    if (!messages->previewed)
        return;
    *place_of(messages, stream, rpc->xid) =
        (struct message_previewed){.stream = stream,
                                   .xid = rpc->xid,
                                   .program = rpc->program,
                                   .version = rpc->version,
                                   .procedure = rpc->procedure,
                                   .gss_service = rpc->gss_service};
}

void message_previewed_remove(struct flow_messages *messages,
                              const struct rpcrdma_flow_message *call)
{
    uint64_t stream = stream_of(call);
    struct message_previewed *at = place_of(messages, stream, call->message->xid);

    if (at->stream == stream && at->xid == call->message->xid)
        at->stream = 0;
}

bool message_previewed_find(const struct flow_messages *messages,
                            const struct rpcrdma_flow_message *reply, struct rpcrdma_rpc *out)
{
    uint64_t stream = stream_of(reply);
    uint32_t xid = reply->message->xid;
    const struct message_previewed *at =
        messages->previewed ? place_of(messages, stream, xid) : NULL;

    if (!at || stream == 0 || at->stream != stream || at->xid != xid)
        return false;
    *out = (struct rpcrdma_rpc){.present = RPCRDMA_RPC_HAS_XID | RPCRDMA_RPC_HAS_TYPE |
                                           RPCRDMA_RPC_HAS_PROGRAM,
                                .type = RPCRDMA_RPC_CALL,
                                .xid = xid,
                                .program = at->program,
                                .version = at->version,
                                .procedure = at->procedure,
                                .gss_service = at->gss_service};
    return true;
}

void message_previewed_free(struct flow_messages *messages)
{
    flow_release(&messages->context->memory, messages->previewed,
                 MESSAGE_PREVIEWED * sizeof(*messages->previewed));
    messages->previewed = NULL;
}
