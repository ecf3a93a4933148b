/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_CURSOR_H
#define RPCRDMA_WIRE_CURSOR_H

/*
 * The bounded reader: the one place where a read pointer moves.
 *
 * Status is sticky: the first failure is kept with its offset, later reads give 0 or NULL. Test the
 * status before a value read decides a branch or a loop. A sub-cursor keeps `base` and clips the
 * ends, so offsets are always from the start of the whole message.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "hot.h"
#include "status.h"

struct rpcrdma_cursor {         /* off <= len, caplen <= len */
    const uint8_t *base;        /* borrowed; start of the whole message */
    size_t off;                 /* next byte; beyond caplen only after _sub or _skip */
    size_t caplen;              /* end of what was captured */
    size_t len;                 /* end of what was on the wire */
    enum rpcrdma_status status; /* first failure */
    size_t error_off;           /* where it happened */
    const char *what;           /* what could not be read; static text */
};

/* At the first of len bytes that were on the wire, of which the first caplen, at base, were
 * captured: caplen <= len. */
static inline struct rpcrdma_cursor rpcrdma_cursor_init(const void *base, size_t caplen, size_t len)
{
    assert(caplen <= len);
    /* as C++ has it, too */
    struct rpcrdma_cursor c = {(const uint8_t *)base, 0, caplen, len, RPCRDMA_OK, 0, NULL};
    return c;
}

/* Records a failure at `off` unless one was recorded before. */
static RPCRDMA_INLINE void rpcrdma_cursor_fail(struct rpcrdma_cursor *c, enum rpcrdma_status status,
                                               size_t off, const char *what)
{
    if (c->status == RPCRDMA_OK) {
        c->status = status;
        c->error_off = off;
        c->what = what;
    }
}

/* Bytes left on the wire. */
static inline size_t rpcrdma_cursor_left(const struct rpcrdma_cursor *c)
{
    return c->len - c->off;
}

/* Bytes left that were captured. */
static inline size_t rpcrdma_cursor_captured(const struct rpcrdma_cursor *c)
{
    return c->off < c->caplen ? c->caplen - c->off : 0;
}

/* Ends the cursor n bytes from here, which may be beyond where it ended before. */
static inline void rpcrdma_cursor_limit(struct rpcrdma_cursor *c, size_t n)
{
    c->len = c->off + n;
    if (c->caplen > c->len)
        c->caplen = c->len;
}

/* The next n bytes, without a move over them; NULL where not all of them were captured. */
static inline const uint8_t *rpcrdma_cursor_peek(const struct rpcrdma_cursor *c, size_t n)
{
    return c->off <= c->caplen && n <= c->caplen - c->off ? c->base + c->off : NULL;
}

/* Takes n bytes. Returns them, or NULL: malformed when the wire ends before, else truncated. */
static RPCRDMA_INLINE const uint8_t *rpcrdma_cursor_take(struct rpcrdma_cursor *c, size_t n,
                                                         const char *what)
{
    size_t at = c->off;

    /* This clears the usual case, as caplen <= len; no sum of two lengths, which could wrap. */
    if (c->status == RPCRDMA_OK && n <= c->caplen && at <= c->caplen - n) {
        c->off = at + n;
        return c->base + at;
    }
    rpcrdma_cursor_fail(c, n > c->len - at ? RPCRDMA_MALFORMED : RPCRDMA_TRUNCATED, at, what);
    return NULL;
}

/* The integer at p, where there are as many bytes. */
static inline uint16_t rpcrdma_get_be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t rpcrdma_get_be24(const uint8_t *p)
{
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint32_t rpcrdma_get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t rpcrdma_get_be64(const uint8_t *p)
{
    return (uint64_t)rpcrdma_get_be32(p) << 32 | rpcrdma_get_be32(p + 4);
}

/* Take the next integer; 0 after a failure, now or before. */
static inline uint8_t rpcrdma_cursor_u8(struct rpcrdma_cursor *c, const char *what)
{
    const uint8_t *p = rpcrdma_cursor_take(c, 1, what);
    return p ? p[0] : 0;
}

static inline uint16_t rpcrdma_cursor_be16(struct rpcrdma_cursor *c, const char *what)
{
    const uint8_t *p = rpcrdma_cursor_take(c, 2, what);
    return p ? rpcrdma_get_be16(p) : 0;
}

static inline uint32_t rpcrdma_cursor_be32(struct rpcrdma_cursor *c, const char *what)
{
    const uint8_t *p = rpcrdma_cursor_take(c, 4, what);
    return p ? rpcrdma_get_be32(p) : 0;
}

static inline uint64_t rpcrdma_cursor_be64(struct rpcrdma_cursor *c, const char *what)
{
    const uint8_t *p = rpcrdma_cursor_take(c, 8, what);
    return p ? rpcrdma_get_be64(p) : 0;
}

/* Moves over n bytes whether they were captured or not. n > left: malformed. */
static inline void rpcrdma_cursor_skip(struct rpcrdma_cursor *c, size_t n, const char *what)
{
    if (c->status != RPCRDMA_OK)
        return;
    if (n > c->len - c->off)
        rpcrdma_cursor_fail(c, RPCRDMA_MALFORMED, c->off, what);
    else
        c->off += n;
}

/*
 * Splits off the next n bytes of the wire as a cursor of their own; c moves over them as
 * rpcrdma_cursor_skip does, so what was not captured of them fails in the sub-cursor where it is
 * read, and in c only when c is read again. n > left: malformed. After any failure of c the
 * sub-cursor is empty and has c's status.
 */
static inline struct rpcrdma_cursor rpcrdma_cursor_sub(struct rpcrdma_cursor *c, size_t n,
                                                       const char *what)
{
    struct rpcrdma_cursor sub = *c;

    rpcrdma_cursor_skip(c, n, what);
    if (c->status != RPCRDMA_OK) {
        sub = *c;
        n = 0;
    }
    sub.len = sub.off + n;
    if (sub.caplen > sub.len)
        sub.caplen = sub.len;
    return sub;
}

#endif
