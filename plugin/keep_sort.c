/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keep.h"

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

const struct way *keep_way(const struct rpcrdma_flow_message *m)
{
    struct way way;

    memset(&way, 0, sizeof(way)); /* its padding, too */
    way.src = store_end_point(&m->src);
    way.dst = store_end_point(&m->dst);
    way.stream = stream_of(m->connection, m->sender_end, m->direction);
    way.connection = m->connection->number;
    way.carrier = (uint8_t)m->connection->carrier;
    way.sender = (uint8_t)m->sender;
    return store_share(&way, sizeof(way));
}

static void set_call(struct sort *sort, const struct rpcrdma_flow_message *m)
{
    const struct rpcrdma_rpc *call = m->direction == RPCRDMA_DIRECTION_REPLY ? m->call : m->rpc;

    if (m->direction == RPCRDMA_DIRECTION_CALL && !call)
        call = m->call; /* a later part */
    sort->has_call = call && call->present & RPCRDMA_RPC_HAS_PROGRAM;
    if (!sort->has_call)
        return;
    sort->program = call->program;
    sort->version = call->version;
    sort->procedure = call->procedure;
    sort->gss_service = call->gss_service;
}

static void set_names(struct sort *sort, const struct rpcrdma_message *m)
{
    const struct rpcrdma_type_desc *type = NULL;
    const struct rpcrdma_error_desc *error = NULL;

    if (m->present & RPCRDMA_HAS_TYPE && m->version == m->dialect->version)
        type = rpcrdma_dialect_type(m->dialect, m->type);
    if (m->present & RPCRDMA_HAS_ERROR)
        error = rpcrdma_dialect_error(m->dialect, m->error.code);
    sort->type = type ? type->name : NULL;
    sort->error = error ? error->name : NULL;
}

const struct sort *keep_sort(const struct rpcrdma_flow_message *m)
{
    struct sort sort;

    memset(&sort, 0, sizeof(sort));
    sort.dialect = m->message->dialect;
    sort.direction = (uint8_t)m->direction;
    sort.reverse = m->reverse;
    set_names(&sort, m->message);
    set_call(&sort, m);
    return store_share(&sort, sizeof(sort));
}
