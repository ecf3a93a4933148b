/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_stage.h"

#include "wire/cursor.h"

/* What Sends carried of an RPC message: one part, or several of a continued message. */

bool track_part_starts(const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;

    return m->message->part <= 1 &&
           (msg->payload.caplen < 4 || rpcrdma_get_be32(msg->payload.data) == msg->xid);
}

/* flow/ counts parts anew after one was lost: then this one's place is told by what it and the
 * first one say is still to come (rdma_remaining), or not at all. */
static void replace(struct track_parts *parts, const struct rpcrdma_message *msg,
                    struct track_part *part)
{
    uint64_t left = (uint64_t)msg->remaining + part->len;

    if (parts->first && parts->total >= parts->length + left)
        part->at = parts->total - left;
    else
        parts->lost = true;
    parts->base = part->at;
}

struct track_part track_part_of(struct track_parts *parts, const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;
    struct track_part part = {.at = parts->base + m->part_bytes};

    if (msg->present & RPCRDMA_HAS_HEADER_LENGTH && msg->payload.data) {
        part.data = msg->payload.data;
        part.caplen = msg->payload.caplen;
        part.len = msg->payload.len;
    }
    if (m->message->part <= 1 && !track_part_starts(m)) {
        part.at = parts->length;
        replace(parts, msg, &part);
    } else if (m->continues && m->message->part == 1 && msg->present & RPCRDMA_HAS_REMAINING) {
        parts->total = (uint64_t)msg->remaining + part.len;
    }
    return part;
}

void track_parts_free(struct track *track, struct track_parts *parts)
{
    while (parts->first) {
        struct track_part *next = parts->first->next;

        flow_release(&track->flow->memory, parts->first, parts->first->size);
        parts->first = next;
    }
    *parts = (struct track_parts){0};
}

/* A part that stays: its bytes are copied where `keep`. */
void track_parts_add(struct track *track, struct track_rpc *t, struct track_parts *parts,
                     const struct track_part *part, bool keep)
{
    size_t size = sizeof(*part) + (keep ? part->caplen : 0);
    struct track_part *copy = flow_alloc(&track->flow->memory, size);

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
