/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_PROOF_ANY_CURSOR_H
#define RPCRDMA_TESTS_PROOF_ANY_CURSOR_H

/*
 * In place of codec/wire/cursor.h, for messages of any length: a cursor that says yes or no to
 * whatever is asked of it, and gives for n bytes a block of just n, each time with anything in it.
 * Behind `base` there is not one byte, so that what is read in another way is an alarm.
 *
 * The real cursor does one of the things that this one may do: tests/proof/cursor.c says so in
 * contracts, and WP shows it.
 */

#include "proof.h"

#define rpcrdma_cursor_init real_cursor_init
#define rpcrdma_cursor_left real_cursor_left
#define rpcrdma_cursor_captured real_cursor_captured
#define rpcrdma_cursor_limit real_cursor_limit
#define rpcrdma_cursor_peek real_cursor_peek
#define rpcrdma_cursor_take real_cursor_take
#define rpcrdma_cursor_u8 real_cursor_u8
#define rpcrdma_cursor_be16 real_cursor_be16
#define rpcrdma_cursor_be32 real_cursor_be32
#define rpcrdma_cursor_be64 real_cursor_be64
#define rpcrdma_cursor_skip real_cursor_skip
#define rpcrdma_cursor_sub real_cursor_sub
#include_next "wire/cursor.h"
#undef rpcrdma_cursor_init
#undef rpcrdma_cursor_left
#undef rpcrdma_cursor_captured
#undef rpcrdma_cursor_limit
#undef rpcrdma_cursor_peek
#undef rpcrdma_cursor_take
#undef rpcrdma_cursor_u8
#undef rpcrdma_cursor_be16
#undef rpcrdma_cursor_be32
#undef rpcrdma_cursor_be64
#undef rpcrdma_cursor_skip
#undef rpcrdma_cursor_sub

/* Two blocks, of which one is given, and which is not known: so nothing that is found out of bytes
 * given once is believed of those given later. */
#define GIVE(n)                                                                                    \
    case n: {                                                                                      \
        static uint8_t one[n], other[n];                                                           \
        static uint8_t *const blocks[] = {one, other};                                             \
        ANY(&one);                                                                                 \
        ANY(&other);                                                                               \
        return blocks[Frama_C_interval(0, 1)];                                                     \
    }

#ifdef PROOF_LAYER
static uint8_t any_large[1024];
#endif

static inline const uint8_t *any_block(const struct rpcrdma_cursor *c, size_t n)
{
    switch (n) {
        GIVE(1)
        GIVE(2)
        GIVE(3)
        GIVE(4)
        GIVE(8)
        GIVE(16)
        GIVE(20)
        GIVE(24)
        GIVE(28)
        GIVE(32)
    case 0: /* of no bytes, which may have no address */
        return maybe() ? c->base : NULL;
    default: /* of another size, or of one that is not known: no decoder of codec/wire reads of these */
#ifdef PROOF_LAYER
        if (n <= sizeof(any_large)) { /* it ends where the block does */
            ANY(&any_large);
            return any_large + sizeof(any_large) - n;
        }
#endif
        return c->base;
    }
}

/* That caplen <= len is the caller's to keep. */
static inline struct rpcrdma_cursor rpcrdma_cursor_init(const void *base, size_t caplen, size_t len)
{
    return (struct rpcrdma_cursor){.base = base, .caplen = caplen, .len = len};
}

static inline size_t rpcrdma_cursor_left(const struct rpcrdma_cursor *c)
{
    return any_word();
}

static inline size_t rpcrdma_cursor_captured(const struct rpcrdma_cursor *c)
{
    return any_word();
}

static inline void rpcrdma_cursor_limit(struct rpcrdma_cursor *c, size_t n)
{
    c->len = any_word();
    c->caplen = any_word();
}

static inline const uint8_t *rpcrdma_cursor_peek(const struct rpcrdma_cursor *c, size_t n)
{
    return maybe() ? any_block(c, n) : NULL;
}

static inline const uint8_t *rpcrdma_cursor_take(struct rpcrdma_cursor *c, size_t n,
                                                 const char *what)
{
    if (c->status == RPCRDMA_OK && maybe()) {
        c->off = any_word();
        return any_block(c, n);
    }
    rpcrdma_cursor_fail(c, maybe() ? RPCRDMA_MALFORMED : RPCRDMA_TRUNCATED, c->off, what);
    return NULL;
}

#define READ(type, name, size, get)                                                                \
    static inline type name(struct rpcrdma_cursor *c, const char *what)                            \
    {                                                                                              \
        const uint8_t *p = rpcrdma_cursor_take(c, size, what);                                     \
        return p ? get : 0;                                                                        \
    }

READ(uint8_t, rpcrdma_cursor_u8, 1, p[0])
READ(uint16_t, rpcrdma_cursor_be16, 2, rpcrdma_get_be16(p))
READ(uint32_t, rpcrdma_cursor_be32, 4, rpcrdma_get_be32(p))
READ(uint64_t, rpcrdma_cursor_be64, 8, rpcrdma_get_be64(p))

static inline void rpcrdma_cursor_skip(struct rpcrdma_cursor *c, size_t n, const char *what)
{
    if (c->status != RPCRDMA_OK)
        return;
    if (maybe())
        rpcrdma_cursor_fail(c, RPCRDMA_MALFORMED, c->off, what);
    else
        c->off = any_word();
}

static inline struct rpcrdma_cursor rpcrdma_cursor_sub(struct rpcrdma_cursor *c, size_t n,
                                                       const char *what)
{
    struct rpcrdma_cursor sub = *c;

    rpcrdma_cursor_skip(c, n, what);
    if (c->status != RPCRDMA_OK)
        sub = *c;
    sub.len = any_word();
    sub.caplen = any_word();
    return sub;
}

#endif
