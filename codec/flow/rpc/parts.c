/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_state.h"

/* What Sends carried of an RPC message: one part, or several of a continued message. */

/* flow/ counts parts anew after one was lost: then this one's place is known by what it and the
 * first one say is still to come (rdma_remaining), or not at all. */
static void replace(struct rpc_parts *parts, const struct rpcrdma_message *msg,
                    struct rpc_part *part)
{
    uint64_t left = (uint64_t)msg->remaining + part->len;

    if (parts->first && parts->total >= parts->length + left)
        part->at = parts->total - left;
    else
        parts->lost = true;
    parts->base = part->at;
}

void rpc_part_of_any(struct rpc_parts *parts, const struct flow_message *m, struct rpc_part *part)
{
    const struct rpcrdma_message *msg = m->message->message;

    *part = (struct rpc_part){.at = parts->base + m->part_bytes};

    if (msg->present & RPCRDMA_HAS_HEADER_LENGTH && msg->payload.data) {
        part->data = msg->payload.data;
        part->caplen = msg->payload.caplen;
        part->len = msg->payload.len;
    }
    if (m->message->part <= 1 && !rpc_part_starts(m)) {
        if (msg->dialect->version == 1) { /* has no parts */
            parts->other = true;
            return;
        }
        part->at = parts->length;
        replace(parts, msg, part);
    } else if (m->continues && m->message->part == 1 && msg->present & RPCRDMA_HAS_REMAINING) {
        parts->total = (uint64_t)msg->remaining + part->len;
    }
}

void rpc_parts_free(struct flow_rpcs *rpcs, struct rpc_parts *parts)
{
    while (parts->first) {
        struct rpc_part *next = parts->first->next;

        flow_release(&rpcs->context->memory, parts->first, parts->first->size);
        parts->first = next;
    }
    *parts = (struct rpc_parts){0};
}

/* A part that stays: its bytes are copied where `keep`. */
void rpc_parts_add(struct flow_rpcs *rpcs, struct rpc_transaction *t, struct rpc_parts *parts,
                   const struct rpc_part *part, bool keep)
{
    size_t size = sizeof(*part) + (keep ? part->caplen : 0);
    struct rpc_part *copy = flow_alloc(&rpcs->context->memory, size);

    if (part->at + part->len > parts->length)
        parts->length = part->at + part->len;
    if (!copy) {
        t->dropped = true;
        return;
    }
    *copy = *part;
    copy->next = NULL;
    copy->size = size;
    copy->data = keep ? copy->bytes : NULL;
    if (keep && part->caplen > 0)
        memcpy(copy->bytes, part->data, part->caplen);
    if (parts->last)
        parts->last->next = copy;
    else
        parts->first = copy;
    parts->last = copy;
}
