/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_WRITER_H
#define RPCRDMA_WIRE_WRITER_H

/*
 * The fixed-buffer XDR writer: the one place where a write pointer moves. It writes what fits and
 * counts on beyond the end, so one pass gives either the bytes or the size they need.
 */

#include <stdint.h>
#include <string.h>

#include "wire/status.h"

struct rpcrdma_writer {
    uint8_t *buf;
    size_t size;
    size_t off; /* bytes asked for so far; above size: the rest was not written */
};

static inline struct rpcrdma_writer rpcrdma_writer_init(void *buf, size_t size)
{
    return (struct rpcrdma_writer){.buf = buf, .size = size};
}

/* Room for n bytes, or NULL when they do not fit. Counts them either way. */
static inline uint8_t *rpcrdma_writer_put(struct rpcrdma_writer *w, size_t n)
{
    size_t off = w->off;

    w->off += n;
    return off <= w->size && n <= w->size - off ? w->buf + off : NULL;
}

static inline void rpcrdma_put_be32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

static inline void rpcrdma_writer_be32(struct rpcrdma_writer *w, uint32_t v)
{
    uint8_t *p = rpcrdma_writer_put(w, 4);

    if (p)
        rpcrdma_put_be32(p, v);
}

static inline void rpcrdma_writer_be64(struct rpcrdma_writer *w, uint64_t v)
{
    rpcrdma_writer_be32(w, (uint32_t)(v >> 32));
    rpcrdma_writer_be32(w, (uint32_t)v);
}

/* n bytes from data; data may be NULL when n is 0. */
static inline void rpcrdma_writer_bytes(struct rpcrdma_writer *w, const void *data, size_t n)
{
    uint8_t *p = rpcrdma_writer_put(w, n);

    if (p && n > 0)
        memcpy(p, data, n);
}

/* XDR variable-length opaque (RFC 4506 section 4.10): count, bytes, zeros to a multiple of 4. */
static inline void rpcrdma_writer_opaque(struct rpcrdma_writer *w, const void *data, uint32_t n)
{
    static const uint8_t zeros[4];

    rpcrdma_writer_be32(w, n);
    rpcrdma_writer_bytes(w, data, n);
    rpcrdma_writer_bytes(w, zeros, -n & 3);
}

/* Ends writing: *written is what was written, or with NO_SPACE the size needed. */
static inline enum rpcrdma_status rpcrdma_writer_end(const struct rpcrdma_writer *w,
                                                     size_t *written)
{
    *written = w->off;
    return w->off <= w->size ? RPCRDMA_OK : RPCRDMA_NO_SPACE;
}

#endif
