/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "feed/keep.h"

#include <string.h>

#include "wire/dialect.h"

/* What many messages have in common -> the store, once. */

static uint64_t stream_of(const struct rpcrdma_connection *connection, int sender_end,
                          enum rpcrdma_rpc_direction direction)
{
    if (sender_end < 0 || direction == RPCRDMA_DIRECTION_UNKNOWN)
        return 0;
    return connection->stream[direction == RPCRDMA_DIRECTION_CALL ? 1 - sender_end : sender_end];
}

const struct path *keep_path(const struct rpcrdma_flow_message *m)
{
    struct path path;

    memset(&path, 0, sizeof(path)); /* its padding, too */
    path.src = store_end_point(&m->src);
    path.dst = store_end_point(&m->dst);
    path.stream = stream_of(m->connection, m->sender_end, m->direction);
    path.connection = m->connection->number;
    path.carrier = (uint8_t)m->connection->carrier;
    path.sender = (uint8_t)m->sender;
    return store_share(&path, sizeof(path));
}

static void set_call(struct kind *kind, const struct rpcrdma_flow_message *m)
{
    const struct rpcrdma_rpc *call = m->direction == RPCRDMA_DIRECTION_REPLY ? m->call : m->rpc;

    if (m->direction == RPCRDMA_DIRECTION_CALL && !call)
        call = m->call; /* a later part */
    kind->has_call = call && call->present & RPCRDMA_RPC_HAS_PROGRAM;
    if (!kind->has_call)
        return;
    kind->program = call->program;
    kind->version = call->version;
    kind->procedure = call->procedure;
    kind->gss_service = call->gss_service;
}

static void set_names(struct kind *kind, const struct rpcrdma_message *m)
{
    const struct rpcrdma_type_desc *type = NULL;
    const struct rpcrdma_error_desc *error = NULL;

    if (m->present & RPCRDMA_HAS_TYPE && m->version == m->dialect->version)
        type = rpcrdma_dialect_type(m->dialect, m->type);
    if (m->present & RPCRDMA_HAS_ERROR)
        error = rpcrdma_dialect_error(m->dialect, m->error.code);
    kind->type = type ? type->name : NULL;
    kind->error = error ? error->name : NULL;
}

const struct kind *keep_kind(const struct rpcrdma_flow_message *m)
{
    struct kind kind;

    memset(&kind, 0, sizeof(kind));
    kind.dialect = m->message->dialect;
    kind.direction = (uint8_t)m->direction;
    kind.reverse = m->reverse;
    set_names(&kind, m->message);
    set_call(&kind, m);
    return store_share(&kind, sizeof(kind));
}
