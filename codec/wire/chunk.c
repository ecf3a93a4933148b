/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/chunk.h"

#include <assert.h>

#include "wire/cursor.h"

/*
 * The decoder checked that what a list counts is there. A count that is read once more here is held
 * against the list's size again: the bytes may be a file's, mapped, that someone writes to.
 */

enum { CHUNK_HEAD = 8 }; /* of a write list: discriminator, count */

static struct rpcrdma_segment get_segment(const uint8_t *p)
{
    return (struct rpcrdma_segment){
        .handle = rpcrdma_get_be32(p),
        .length = rpcrdma_get_be32(p + 4),
        .offset = rpcrdma_get_be64(p + 8),
    };
}

struct rpcrdma_segment rpcrdma_chunk_segment(const struct rpcrdma_chunk *chunk, uint32_t i)
{
    assert(i < chunk->count);
    if (chunk->wire)
        return get_segment(chunk->wire + (size_t)i * RPCRDMA_SEGMENT_SIZE);
    return chunk->segments[i];
}

uint64_t rpcrdma_chunk_length(const struct rpcrdma_chunk *chunk)
{
    uint64_t length = 0;

    for (uint32_t i = 0; i < chunk->count; i++)
        length += chunk->wire ? rpcrdma_get_be32(chunk->wire + (size_t)i * RPCRDMA_SEGMENT_SIZE + 4)
                              : chunk->segments[i].length;
    return length;
}

struct rpcrdma_read_totals rpcrdma_read_sum(const struct rpcrdma_read_list *list)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment segment;
    struct rpcrdma_read_totals sum = {0};

    while (rpcrdma_read_next(&it, &segment)) {
        if (sum.segments++ == 0 || segment.position != sum.position)
            sum.chunks++;
        sum.position = segment.position;
        sum.bytes += segment.segment.length;
    }
    return sum;
}

bool rpcrdma_read_position_zero(const struct rpcrdma_read_list *list)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment segment;

    while (rpcrdma_read_next(&it, &segment))
        if (segment.position == 0)
            return true;
    return false;
}

struct rpcrdma_read_iter rpcrdma_read_begin(const struct rpcrdma_read_list *list)
{
    return (struct rpcrdma_read_iter){.list = *list};
}

bool rpcrdma_read_next(struct rpcrdma_read_iter *it, struct rpcrdma_read_segment *out)
{
    const struct rpcrdma_read_list *list = &it->list;

    if (it->index >= list->count)
        return false;
    if (list->wire) {
        uint32_t at = it->index * (4 + RPCRDMA_READ_SEGMENT_SIZE) + 4;
        const uint8_t *p = list->wire + at;

        it->off = list->off + at;
        *out = (struct rpcrdma_read_segment){rpcrdma_get_be32(p), get_segment(p + 4)};
    } else {
        *out = list->segments[it->index];
    }
    it->index++;
    return true;
}

struct rpcrdma_write_iter rpcrdma_write_begin(const struct rpcrdma_write_list *list)
{
    return (struct rpcrdma_write_iter){.list = *list};
}

bool rpcrdma_write_next(struct rpcrdma_write_iter *it, struct rpcrdma_chunk *out)
{
    const struct rpcrdma_write_list *list = &it->list;

    if (it->index >= list->count)
        return false;
    if (list->wire) {
        uint32_t declared, readable;

        if (list->size < CHUNK_HEAD || it->pos > list->size - CHUNK_HEAD)
            return false;
        declared = rpcrdma_get_be32(list->wire + it->pos + 4);
        readable = (list->size - CHUNK_HEAD - it->pos) / RPCRDMA_SEGMENT_SIZE;
        it->off = list->off + it->pos + 4;
        *out = (struct rpcrdma_chunk){
            .wire = list->wire + it->pos + CHUNK_HEAD,
            .count = declared < readable ? declared : readable, /* less: the last, cut short */
            .declared = declared,
            .off = it->off,
        };
        it->pos += CHUNK_HEAD + out->count * RPCRDMA_SEGMENT_SIZE;
    } else {
        *out = list->chunks[it->index];
    }
    it->index++;
    return true;
}
