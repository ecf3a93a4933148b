/* SPDX-License-Identifier: BSD-2-Clause */
/* A Call that was cut within its chunk lists may have the handle of the segment that it was cut in:
 * what is written there is its own. */
#include "base/step.h"
#include "flow/rpc/rpc_state.h"

enum { LOOKED_AT = 128 }; /* of the latest Calls: more are seldom under way at once */

/* The chunk that the header was cut in; false: it was not cut in a segment of one. */
static bool cut_chunk(const struct rpcrdma_message *message, struct rpcrdma_chunk *chunk)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&message->write);
    bool found = false;

    if ((message->present & RPCRDMA_HAS_REPLY) != 0) {
        *chunk = message->reply;
        return message->reply_present && chunk->declared > chunk->count;
    }
    while ((message->present & RPCRDMA_HAS_WRITE) != 0 && rpcrdma_write_next(&it, chunk)) {
        RPCRDMA_STEP();
        found = chunk->declared > chunk->count;
    }
    return found;
}

/* A client that registers memory for each RPC by itself gives each another handle. One that has the
 * same for all has it in Calls one after the other. */
static void compare(struct rpc_conn *c, int caller, uint32_t handle)
{
    if (c->cut_handles[caller] == RPC_HANDLES_UNKNOWN)
        c->cut_handles[caller] = RPC_HANDLES_ONE;
    else if (c->cut_handle[caller] == handle)
        c->cut_handles[caller] = RPC_HANDLES_SHARED;
    else if (c->cut_handles[caller] == RPC_HANDLES_ONE)
        c->cut_handles[caller] = RPC_HANDLES_APART;
    c->cut_handle[caller] = handle;
}

void rpc_cut_note(struct rpc_transaction *t, int caller, const struct flow_message *m)
{
    const struct rpcrdma_message *message = m->message->message;
    struct rpc_conn *c = rpc_of(t->conn);
    const bool had = t->has_cut_handle;
    struct rpcrdma_chunk chunk;
    uint32_t handle;
    uint64_t at;

    t->has_cut_handle = false;
    if (!c || message->version != 1 || !cut_chunk(message, &chunk))
        return;
    at = (uint64_t)chunk.off + 4 + (uint64_t)chunk.count * RPCRDMA_SEGMENT_SIZE;
    if (at + 4 > m->send->caplen || !m->send->data)
        return;
    handle = rpcrdma_get_be32(m->send->data + at);
    if (!had || t->cut_handle != handle) /* else it is the same Call again */
        compare(c, caller, handle);
    t->has_cut_handle = true;
    t->cut_handle = handle;
}

struct rpc_transaction *rpc_cut_owner(struct rpc_conn *c, int caller, uint32_t handle)
{
    struct rpc_transaction *t = TAILQ_LAST(&c->transactions[caller], rpc_list), *found = NULL;

    if (c->cut_handles[caller] != RPC_HANDLES_APART)
        return NULL;
    for (int i = 0; t && i < LOOKED_AT; i++, t = TAILQ_PREV(t, rpc_list, by_age)) {
        RPCRDMA_STEP();
        if (!t->has_cut_handle || t->cut_handle != handle || t->pub.reply_frame != 0)
            continue;
        if (found)
            return NULL;
        found = t;
    }
    return found;
}
