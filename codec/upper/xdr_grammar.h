/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_UPPER_XDR_GRAMMAR_H
#define RPCRDMA_UPPER_XDR_GRAMMAR_H

/*
 * Steps over XDR items that a short grammar describes, in a stream from which chunks may have been
 * taken out. The walker keeps no state outside its struct, allocates nothing, and its recursion is
 * bounded by the grammar's own nesting: the input decides nothing but how often an array repeats,
 * and every repetition takes at least one word of it.
 *
 *     u        4 bytes: an integer, an enumeration, a boolean
 *     h        8 bytes
 *     xN       N opaque bytes, N a multiple of 4
 *     s        opaque<> or string<>: count word, bytes, padding
 *     d        the same, and an upper-layer binding lets it travel in a chunk (RFC 8267)
 *     [G]      an array: count word, then G that often
 *     {G}      a linked list: while a boolean is 1, G
 *     <A:G;B,C:H;*:K>  a union: a discriminator (4 bytes), then the arm of its value; without an
 *              arm for it and without '*' the value is not possible
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../wire/cursor.h"

/* Bytes that are not in a stream because a read chunk carries them. */
struct rpcrdma_gap {
    uint32_t position; /* in the unreduced stream */
    uint32_t length;   /* of the chunk: the item's bytes, with or without XDR padding */
};

/* Where a write chunk's bytes belong. */
struct rpcrdma_insertion {
    bool placed;
    bool inlined;       /* not placed: the chunk came back unused, the item of `length` is inline */
    bool misfit;        /* the chunk's length is neither the item's nor the padded item's */
    bool pad_inline;    /* the item's padding is in the stream, at `offset` */
    uint32_t operation; /* of a COMPOUND: which one, from 0 */
    uint32_t offset;    /* in the reduced stream: just after the item's count word */
    uint32_t length;    /* the item's, as its count word says */
};

/* What was taken out of a stream. */
struct rpcrdma_reduction {
    const struct rpcrdma_gap *gaps; /* ascending positions, one entry per chunk */
    size_t n_gaps;
    const uint32_t *chunks; /* write chunks in their order: bytes written, 0 where unused */
    size_t n_chunks;
    bool pad_inline; /* the padding of items in chunks is in the stream (RFC 5666 left it open) */
};

/* RDMA_MSGP: where the bytes that it aligns are. */
struct rpcrdma_bulk {
    uint32_t align, header; /* rdma_align; length of the transport header before the stream */
    bool found;
    uint32_t offset; /* just after the count word of the first item 'd' */
    uint32_t pad;    /* bytes there that are not the item's */
};

struct rpcrdma_xdr {
    struct rpcrdma_cursor in;
    struct rpcrdma_bulk *bulk;                 /* NULL: nothing is aligned */
    const struct rpcrdma_reduction *reduction; /* NULL: nothing was taken out */
    struct rpcrdma_insertion *places;          /* n_chunks entries, or NULL */
    uint32_t operation;                        /* goes into the insertions */
    size_t gap, chunk;                         /* next of each */
    bool ineligible;                           /* a gap is at something else than an item 'd': */
    size_t ineligible_gap;                     /* the first such */
    uint64_t removed; /* bytes of the unreduced stream before in.off that are not in it */
};

#endif
