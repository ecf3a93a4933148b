/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_state.h"

static bool within(const struct rpc_chunk_map *chunk_map, const struct flow_region *region)
{
    return chunk_map && region >= chunk_map->regions &&
           region < chunk_map->regions + chunk_map->n_regions;
}

/* Takes the chunk if the region is one of its segments: its length, and what is before. */
static bool is_in(const struct rpc_chunk_map *chunk_map, const struct rpc_chunk *chunk, uint32_t at,
                  struct rpcrdma_data_transfer *out)
{
    if (at < chunk->first || at - chunk->first >= chunk->count)
        return false;
    out->offset += chunk_map->regions[at].before;
    out->chunk_length = chunk->length;
    return true;
}

/* The last of n chunks that begins at this region or before it; they are one behind the other. */
static uint32_t last_before(const struct rpc_chunk *chunks, uint32_t n, uint32_t at)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (chunks[middle].first <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1; /* n or more where there is none */
}

static bool find(const struct rpc_chunk_map *chunk_map, uint32_t at,
                 struct rpcrdma_data_transfer *out)
{
    out->chunk = RPCRDMA_CHUNK_CALL;
    if (is_in(chunk_map, &chunk_map->base, at, out))
        return true;
    out->chunk = RPCRDMA_CHUNK_REPLY;
    if (is_in(chunk_map, &chunk_map->reply, at, out))
        return true;
    out->chunk = RPCRDMA_CHUNK_READ;
    out->index = last_before(chunk_map->reads, chunk_map->n_reads, at);
    if (out->index < chunk_map->n_reads) {
        out->position = chunk_map->reads[out->index].position;
        if (is_in(chunk_map, &chunk_map->reads[out->index], at, out))
            return true;
    }
    out->position = 0;
    out->chunk = RPCRDMA_CHUNK_WRITE;
    out->index = last_before(chunk_map->writes, chunk_map->n_writes, at);
    return out->index < chunk_map->n_writes &&
           is_in(chunk_map, &chunk_map->writes[out->index], at, out);
}

void rpc_data_transfer_emit(const struct flow_rpcs *rpcs, const struct flow_region *region,
                            enum rpcrdma_op_kind kind, uint64_t frame, uint64_t start,
                            uint32_t length)
{
    const struct rpcrdma_flow_sink *sink = &rpcs->context->sink;
    const struct rpc_transaction *t = region->owner;
    const struct rpc_chunk_map *chunk_map =
        within(t->chunk_map, region) ? t->chunk_map : t->reply.chunk_map;
    struct rpcrdma_data_transfer data_transfer = {.connection = flow_conn_public_const(t->conn),
                                                  .kind = kind,
                                                  .frame = frame,
                                                  .xid = t->pub.xid,
                                                  .call_frame = t->pub.call_frame,
                                                  .offset = start,
                                                  .length = length};

    /* A Read Response can run past its segment: then it moves bytes of no chunk. */
    if (sink->data_transfer && start < region->length && within(chunk_map, region) &&
        find(chunk_map, (uint32_t)(region - chunk_map->regions), &data_transfer))
        sink->data_transfer(sink->context, &data_transfer);
}
