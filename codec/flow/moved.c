/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/track.h"

static bool within(const struct track_offer *offer, const struct flow_region *region)
{
    return offer && region >= offer->regions && region < offer->regions + offer->n_regions;
}

/* Takes the chunk if the region is one of its segments: its length, and what is before. */
static bool is_in(const struct track_offer *offer, const struct track_chunk *chunk, uint32_t at,
                  struct rpcrdma_moved *out)
{
    if (at < chunk->first || at - chunk->first >= chunk->count)
        return false;
    for (uint32_t i = chunk->first; i < at; i++)
        out->offset += offer->regions[i].length;
    out->chunk_length = chunk->length;
    return true;
}

static bool find(const struct track_offer *offer, uint32_t at, struct rpcrdma_moved *out)
{
    out->chunk = RPCRDMA_CHUNK_CALL;
    if (is_in(offer, &offer->base, at, out))
        return true;
    out->chunk = RPCRDMA_CHUNK_REPLY;
    if (is_in(offer, &offer->reply, at, out))
        return true;
    out->chunk = RPCRDMA_CHUNK_READ;
    for (out->index = 0; out->index < offer->n_reads; out->index++) {
        out->position = offer->reads[out->index].position;
        if (is_in(offer, &offer->reads[out->index], at, out))
            return true;
    }
    out->position = 0;
    out->chunk = RPCRDMA_CHUNK_WRITE;
    for (out->index = 0; out->index < offer->n_writes; out->index++)
        if (is_in(offer, &offer->writes[out->index], at, out))
            return true;
    return false;
}

void track_moved_tell(const struct track *track, const struct flow_region *region,
                      enum rpcrdma_op_kind kind, uint64_t frame, uint64_t start, uint32_t length)
{
    const struct rpcrdma_flow_sink *sink = &track->flow->sink;
    const struct track_rpc *t = region->owner;
    const struct track_offer *offer = within(t->offer, region) ? t->offer : t->reply.offer;
    struct rpcrdma_moved moved = {.connection = &t->conn->pub,
                                  .kind = kind,
                                  .frame = frame,
                                  .xid = t->pub.xid,
                                  .call_frame = t->pub.call_frame,
                                  .offset = start,
                                  .length = length};

    /* A Read Response can run past its segment: then it moves bytes of no chunk. */
    if (sink->moved && start < region->length && within(offer, region) &&
        find(offer, (uint32_t)(region - offer->regions), &moved))
        sink->moved(sink->context, &moved);
}
