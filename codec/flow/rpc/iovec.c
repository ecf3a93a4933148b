/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_state.h"

enum { FIRST_SIZE = 16 };

void rpc_iovec_reset(struct rpc_iovec *iovec)
{
    iovec->count = iovec->apart = 0;
    iovec->length = 0;
    iovec->failed = false;
}

void rpc_iovec_free(struct flow_rpcs *rpcs, struct rpc_iovec *iovec)
{
    flow_release(&rpcs->context->memory, iovec->at, iovec->size * sizeof(*iovec->at));
    *iovec = (struct rpc_iovec){0};
}

static bool grow(struct flow_rpcs *rpcs, struct rpc_iovec *iovec)
{
    size_t size = iovec->size ? iovec->size * 2 : FIRST_SIZE;
    struct rpcrdma_iovec *bigger = flow_alloc(&rpcs->context->memory, size * sizeof(*bigger));

    if (!bigger)
        return false;
    if (iovec->count > 0)
        memcpy(bigger, iovec->at, iovec->count * sizeof(*bigger));
    flow_release(&rpcs->context->memory, iovec->at, iovec->size * sizeof(*bigger));
    iovec->at = bigger;
    iovec->size = size;
    return true;
}

static void add(struct flow_rpcs *rpcs, struct rpc_iovec *iovec, struct rpcrdma_iovec part_iov)
{
    struct rpcrdma_iovec *last = iovec->count > iovec->apart ? &iovec->at[iovec->count - 1] : NULL;

    if (part_iov.length == 0)
        return;
    iovec->length += part_iov.length;
    if (last && last->kind == part_iov.kind && last->length <= UINT32_MAX - part_iov.length &&
        (part_iov.data ? last->data && last->data + last->length == part_iov.data : !last->data)) {
        last->length += part_iov.length;
        return;
    }
    if (iovec->count == iovec->size && !grow(rpcs, iovec)) {
        iovec->failed = true;
        return;
    }
    iovec->at[iovec->count++] = part_iov;
}

void rpc_iovec_fill(struct flow_rpcs *rpcs, struct rpc_iovec *iovec, enum rpcrdma_iovec_kind kind,
                    uint64_t length)
{
    while (length > 0) {
        uint32_t n = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;

        add(rpcs, iovec, (struct rpcrdma_iovec){.kind = kind, .length = n});
        length -= n;
    }
}

void rpc_iovec_parts(struct flow_rpcs *rpcs, struct rpc_iovec *iovec, const struct rpc_parts *parts)
{
    for (const struct rpc_part *p = parts->first; p; p = p->next) {
        if (p->at > iovec->length)
            rpc_iovec_fill(rpcs, iovec, RPCRDMA_IOVEC_LOST, p->at - iovec->length);
        add(rpcs, iovec, (struct rpcrdma_iovec){RPCRDMA_IOVEC_INLINE, p->caplen, p->data});
        rpc_iovec_fill(rpcs, iovec, RPCRDMA_IOVEC_CUT, p->len - p->caplen);
    }
}

void rpc_iovec_region(struct flow_rpcs *rpcs, struct rpc_iovec *iovec,
                      const struct flow_region *region, uint32_t length)
{
    struct flow_extent run;
    uint32_t at = 0;
    bool seen;

    if (!region) {
        rpc_iovec_fill(rpcs, iovec, RPCRDMA_IOVEC_LOST, length);
        return;
    }
    while (flow_region_next(region, &at, length, &run, &seen)) {
        enum rpcrdma_iovec_kind kind = RPCRDMA_IOVEC_CHUNK;

        /* where nobody wants the bytes, that they passed is enough: a capture whose data items were
         * cut off says the same of its RPCs as the whole one */
        if (!seen)
            kind = RPCRDMA_IOVEC_LOST;
        else if (!run.captured && region->keep)
            kind = region->dropped ? RPCRDMA_IOVEC_DROPPED : RPCRDMA_IOVEC_CUT;
        add(rpcs, iovec, (struct rpcrdma_iovec){kind, run.length, run.data});
    }
}

void rpc_iovec_chunk(struct flow_rpcs *rpcs, struct rpc_iovec *iovec,
                     const struct rpc_chunk_map *chunk_map, const struct rpc_chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->count; i++) {
        const struct flow_region *region = &chunk_map->regions[chunk->first + i];

        rpc_iovec_region(rpcs, iovec, region, region->length);
    }
}

struct rpc_reader rpc_reader_begin(const struct rpc_iovec *from)
{
    return (struct rpc_reader){.from = from, .left = from->length};
}

void rpc_reader_move(struct flow_rpcs *rpcs, struct rpc_reader *reader, struct rpc_iovec *to,
                     uint64_t length)
{
    if (length > reader->left)
        length = reader->left;
    reader->left -= length;
    while (length > 0 && reader->index < reader->from->count) {
        struct rpcrdma_iovec part_iov = reader->from->at[reader->index];

        part_iov.length -= reader->used;
        if (part_iov.data)
            part_iov.data += reader->used;
        if (part_iov.length > length) {
            part_iov.length = (uint32_t)length;
            reader->used += part_iov.length;
        } else {
            reader->index++;
            reader->used = 0;
        }
        add(rpcs, to, part_iov);
        length -= part_iov.length;
    }
}

const uint8_t *rpc_flatten(struct flow_rpcs *rpcs, const struct rpc_iovec *iovec, size_t *caplen)
{
    size_t n = 0, runs = 0;

    while (runs < iovec->count && iovec->at[runs].data)
        n += iovec->at[runs++].length;
    *caplen = n;
    if (runs <= 1)
        return runs ? iovec->at[0].data : NULL;
    if (n > rpcs->flat_size) {
        flow_release(&rpcs->context->memory, rpcs->flat, rpcs->flat_size);
        rpcs->flat = flow_alloc(&rpcs->context->memory, n);
        rpcs->flat_size = rpcs->flat ? n : 0;
        if (!rpcs->flat) {
            *caplen = iovec->at[0].length;
            return iovec->at[0].data;
        }
    }
    n = 0;
    for (size_t i = 0; i < runs; i++) {
        memcpy(rpcs->flat + n, iovec->at[i].data, iovec->at[i].length);
        n += iovec->at[i].length;
    }
    return rpcs->flat;
}
