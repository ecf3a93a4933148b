/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_CHUNK_H
#define RPCRDMA_WIRE_CHUNK_H

/*
 * Segments and chunk lists: the same bytes in version 1 (RFC 8166 section 4.3) and in every dialect
 * of version 2. Only a decoder, or a caller that builds a message, makes a list; iterating it stays
 * within it and cannot fail.
 *
 *     segment     uint32 handle, uint32 length, uint64 offset
 *     read list   { uint32 1, uint32 position, segment } ... uint32 0
 *     write list  { uint32 1, write chunk } ... uint32 0
 *     write chunk uint32 count, segment[count]
 *     reply chunk uint32 0 | uint32 1, write chunk
 */

#include <stdbool.h>
#include <stdint.h>

#include "../export.h"

RPCRDMA_BEGIN_DECLS

enum {
    RPCRDMA_SEGMENT_SIZE = 16,
    RPCRDMA_READ_SEGMENT_SIZE = 20,
};

struct rpcrdma_segment {
    uint32_t handle; /* R_key or STag */
    uint32_t length;
    uint64_t offset; /* remote address */
};

struct rpcrdma_read_segment {
    uint32_t position; /* in the unreduced Payload stream */
    struct rpcrdma_segment segment;
};

/* Segments one after another, on the wire or (to build a message) in an array. */
struct rpcrdma_chunk {
    const uint8_t *wire;                    /* first segment, or NULL */
    const struct rpcrdma_segment *segments; /* used where wire is NULL */
    uint32_t count;                         /* segments readable here */
    uint32_t declared;                      /* count the header says; more than count: truncated */
    uint32_t off;                           /* of the count word, in the message; 0 when built */
};

struct rpcrdma_read_list {
    const uint8_t *wire;                         /* first entry's discriminator, or NULL */
    const struct rpcrdma_read_segment *segments; /* used where wire is NULL */
    uint32_t count;                              /* whole entries readable here */
    uint32_t off;                                /* of the list, in the message; 0 when built */
};

struct rpcrdma_write_list {
    const uint8_t *wire;                /* first entry's discriminator, or NULL */
    const struct rpcrdma_chunk *chunks; /* used where wire is NULL */
    uint32_t count;                     /* chunks of which the count word was readable */
    uint32_t size;                      /* wire only: bytes from there to the end of what of the
                                         * chunks is readable */
    uint32_t off;                       /* of the list, in the message; 0 when built */
};

/* Iterators are values: copy one to remember a place. `off` is where the item that _next returned
 * starts in the message (its handle, position or count word). */
struct rpcrdma_read_iter {
    struct rpcrdma_read_list list;
    uint32_t index, off;
};

struct rpcrdma_write_iter {
    struct rpcrdma_write_list list;
    uint32_t index, off, pos;
};

/* Segment `i` of a chunk, i < count. */
RPCRDMA_API struct rpcrdma_segment rpcrdma_chunk_segment(const struct rpcrdma_chunk *chunk,
                                                         uint32_t i);

/* Sum of the readable segments' lengths. */
RPCRDMA_API uint64_t rpcrdma_chunk_length(const struct rpcrdma_chunk *chunk);

/* A read list in a few numbers. Segments that follow each other with one position are one chunk
 * (RFC 8166 section 3.4.4). */
struct rpcrdma_read_totals {
    uint32_t segments, chunks;
    uint32_t position; /* of the last chunk */
    uint64_t bytes;
};
/* Of the entries readable here. */
RPCRDMA_API struct rpcrdma_read_totals rpcrdma_read_sum(const struct rpcrdma_read_list *list);
/* Of these, too: whether one is of a Position-Zero Read chunk (RFC 8166 section 3.5.3), which has
 * the RPC message itself, or its beginning. */
RPCRDMA_API bool rpcrdma_read_position_zero(const struct rpcrdma_read_list *list);

/* At the first entry. The list is copied, what it points to is borrowed. */
RPCRDMA_API struct rpcrdma_read_iter rpcrdma_read_begin(const struct rpcrdma_read_list *list);
/* True and the next read segment, or false at the end. */
RPCRDMA_API bool rpcrdma_read_next(struct rpcrdma_read_iter *it, struct rpcrdma_read_segment *out);

/* Likewise at the first write chunk. */
RPCRDMA_API struct rpcrdma_write_iter rpcrdma_write_begin(const struct rpcrdma_write_list *list);
/* True and the next write chunk, or false at the end. */
RPCRDMA_API bool rpcrdma_write_next(struct rpcrdma_write_iter *it, struct rpcrdma_chunk *out);

RPCRDMA_END_DECLS

#endif
