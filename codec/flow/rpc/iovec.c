/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_stage.h"

enum { FIRST_SIZE = 16, WORD = 4 };

void track_iovec_reset(struct track_iovec *iovec)
{
    iovec->count = iovec->apart = 0;
    iovec->length = 0;
    iovec->failed = false;
}

void track_iovec_free(struct track *track, struct track_iovec *iovec)
{
    flow_release(&track->flow->memory, iovec->at, iovec->size * sizeof(*iovec->at));
    *iovec = (struct track_iovec){0};
}

static bool grow(struct track *track, struct track_iovec *iovec)
{
    size_t size = iovec->size ? iovec->size * 2 : FIRST_SIZE;
    struct rpcrdma_iovec *bigger = flow_alloc(&track->flow->memory, size * sizeof(*bigger));

    if (!bigger)
        return false;
    if (iovec->count > 0)
        memcpy(bigger, iovec->at, iovec->count * sizeof(*bigger));
    flow_release(&track->flow->memory, iovec->at, iovec->size * sizeof(*bigger));
    iovec->at = bigger;
    iovec->size = size;
    return true;
}

void track_iovec_add(struct track *track, struct track_iovec *iovec, struct rpcrdma_iovec part_iov)
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
    if (iovec->count == iovec->size && !grow(track, iovec)) {
        iovec->failed = true;
        return;
    }
    iovec->at[iovec->count++] = part_iov;
}

void track_iovec_fill(struct track *track, struct track_iovec *iovec, enum rpcrdma_iovec_kind kind,
                      uint64_t length)
{
    while (length > 0) {
        uint32_t n = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;

        track_iovec_add(track, iovec, (struct rpcrdma_iovec){.kind = kind, .length = n});
        length -= n;
    }
}

void track_iovec_parts(struct track *track, struct track_iovec *iovec,
                       const struct track_parts *parts)
{
    for (const struct track_part *p = parts->first; p; p = p->next) {
        if (p->at > iovec->length)
            track_iovec_fill(track, iovec, RPCRDMA_IOVEC_LOST, p->at - iovec->length);
        track_iovec_add(track, iovec,
                        (struct rpcrdma_iovec){RPCRDMA_IOVEC_INLINE, p->caplen, p->data});
        track_iovec_fill(track, iovec, RPCRDMA_IOVEC_CUT, p->len - p->caplen);
    }
}

void track_iovec_region(struct track *track, struct track_iovec *iovec,
                        const struct flow_region *region, uint32_t length)
{
    struct flow_extent run;
    uint32_t at = 0;
    bool seen;

    if (!region) {
        track_iovec_fill(track, iovec, RPCRDMA_IOVEC_LOST, length);
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
        track_iovec_add(track, iovec, (struct rpcrdma_iovec){kind, run.length, run.data});
    }
}

void track_iovec_chunk(struct track *track, struct track_iovec *iovec,
                       const struct track_chunk_map *chunk_map, const struct track_chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->count; i++) {
        const struct flow_region *region = &chunk_map->regions[chunk->first + i];

        track_iovec_region(track, iovec, region, region->length);
    }
}

struct track_reader track_reader_begin(const struct track_iovec *from)
{
    return (struct track_reader){.from = from, .left = from->length};
}

void track_reader_move(struct track *track, struct track_reader *reader, struct track_iovec *to,
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
        track_iovec_add(track, to, part_iov);
        length -= part_iov.length;
    }
}

const uint8_t *track_flatten(struct track *track, const struct track_iovec *iovec, size_t *caplen)
{
    size_t n = 0, runs = 0;

    while (runs < iovec->count && iovec->at[runs].data)
        n += iovec->at[runs++].length;
    *caplen = n;
    if (runs <= 1)
        return runs ? iovec->at[0].data : NULL;
    if (n > track->flat_size) {
        flow_release(&track->flow->memory, track->flat, track->flat_size);
        track->flat = flow_alloc(&track->flow->memory, n);
        track->flat_size = track->flat ? n : 0;
        if (!track->flat) {
            *caplen = iovec->at[0].length;
            return iovec->at[0].data;
        }
    }
    n = 0;
    for (size_t i = 0; i < runs; i++) {
        memcpy(track->flat + n, iovec->at[i].data, iovec->at[i].length);
        n += iovec->at[i].length;
    }
    return track->flat;
}
