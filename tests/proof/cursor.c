/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the cursor of any_cursor/ takes for granted of the real one, for messages of any length; and
 * that the real one reads no other bytes than those captured. For WP (prove.py), which shows that
 * each function here does what its contract says, for every state of the cursor and every n.
 */
#include "wire/cursor.h"

/*@
  predicate cursor(struct rpcrdma_cursor *c) =
    \valid(c) && c->off <= c->len && c->caplen <= c->len &&
    \valid_read(c->base + (0 .. c->caplen - 1));

  // n bytes at p: NULL only where none were asked for, of a message that has none
  predicate given{L}(struct rpcrdma_cursor *c, uint8_t *p, integer off, integer n) =
    p == c->base + off && off + n <= c->caplen && (n > 0 ==> p != \null) &&
    \valid_read(p + (0 .. n - 1));
*/

/*@ // That `base` is the caller's is to be read: WP knows no void pointers.
  requires caplen <= len;
  assigns \result \from base, caplen, len;
  ensures \result.off == 0;
  ensures \result.caplen == caplen && \result.len == len;
  ensures \result.status == RPCRDMA_OK;
*/
static inline struct rpcrdma_cursor rpcrdma_cursor_init(const void *base, size_t caplen,
                                                        size_t len);

/*@
  requires \valid(c);
  requires status != RPCRDMA_OK;
  assigns c->status \from c->status, status;
  assigns c->error_off \from c->status, c->error_off, off;
  assigns c->what \from c->status, c->what, what;
  ensures c->status != RPCRDMA_OK;
*/
static inline void rpcrdma_cursor_fail(struct rpcrdma_cursor *c, enum rpcrdma_status status,
                                       size_t off, const char *what);

/*@
  requires cursor(c);
  assigns \result \from *c;
  ensures \result == c->len - c->off;
*/
static inline size_t rpcrdma_cursor_left(const struct rpcrdma_cursor *c);

/*@
  requires cursor(c);
  assigns \result \from *c;
  ensures c->off <= c->caplen ==> \result == c->caplen - c->off;
  ensures c->off >= c->caplen ==> \result == 0;
*/
static inline size_t rpcrdma_cursor_captured(const struct rpcrdma_cursor *c);

/*@
  requires cursor(c) && c->off + n <= SIZE_MAX;
  assigns c->len, c->caplen \from *c, n;
  ensures cursor(c);
  ensures c->len == c->off + n;
*/
static inline void rpcrdma_cursor_limit(struct rpcrdma_cursor *c, size_t n);

/*@
  requires cursor(c);
  assigns \result \from *c;
  ensures \result == \null || given(c, \result, c->off, n);
*/
static inline const uint8_t *rpcrdma_cursor_peek(const struct rpcrdma_cursor *c, size_t n);

/*@
  requires cursor(c);
  assigns \result \from *c, n;
  assigns c->off \from *c, n;
  assigns c->status, c->error_off \from *c, n;
  assigns c->what \from *c, n, what;
  ensures cursor(c);
  behavior failed:
    assumes \at(c->status, Pre) != RPCRDMA_OK || \at(c->off, Pre) + n > \at(c->caplen, Pre);
    ensures \result == \null && c->status != RPCRDMA_OK && c->off == \old(c->off);
  behavior taken:
    assumes \at(c->status, Pre) == RPCRDMA_OK && \at(c->off, Pre) + n <= \at(c->caplen, Pre);
    ensures c->status == RPCRDMA_OK && c->off == \old(c->off) + n;
    ensures given(c, \result, \old(c->off), n);
  complete behaviors;
*/
static inline const uint8_t *rpcrdma_cursor_take(struct rpcrdma_cursor *c, size_t n,
                                                 const char *what);

/*@
  requires \valid_read(p + (0 .. 1));
  assigns \result \from p[0 .. 1];
*/
static inline uint16_t rpcrdma_get_be16(const uint8_t *p);

/*@
  requires \valid_read(p + (0 .. 2));
  assigns \result \from p[0 .. 2];
*/
static inline uint32_t rpcrdma_get_be24(const uint8_t *p);

/*@
  requires \valid_read(p + (0 .. 3));
  assigns \result \from p[0 .. 3];
*/
static inline uint32_t rpcrdma_get_be32(const uint8_t *p);

/*@
  requires \valid_read(p + (0 .. 7));
  assigns \result \from p[0 .. 7];
*/
static inline uint64_t rpcrdma_get_be64(const uint8_t *p);

/*@
  requires cursor(c);
  assigns \result, c->off, c->status, c->error_off \from *c;
  assigns c->what \from *c, what;
  ensures cursor(c);
*/
static inline uint8_t rpcrdma_cursor_u8(struct rpcrdma_cursor *c, const char *what);

/*@
  requires cursor(c);
  assigns \result, c->off, c->status, c->error_off \from *c;
  assigns c->what \from *c, what;
  ensures cursor(c);
*/
static inline uint16_t rpcrdma_cursor_be16(struct rpcrdma_cursor *c, const char *what);

/*@
  requires cursor(c);
  assigns \result, c->off, c->status, c->error_off \from *c;
  assigns c->what \from *c, what;
  ensures cursor(c);
*/
static inline uint32_t rpcrdma_cursor_be32(struct rpcrdma_cursor *c, const char *what);

/*@
  requires cursor(c);
  assigns \result, c->off, c->status, c->error_off \from *c;
  assigns c->what \from *c, what;
  ensures cursor(c);
*/
static inline uint64_t rpcrdma_cursor_be64(struct rpcrdma_cursor *c, const char *what);

/*@
  requires cursor(c);
  assigns c->off, c->status, c->error_off \from *c, n;
  assigns c->what \from *c, n, what;
  ensures cursor(c);
  ensures \old(c->status) != RPCRDMA_OK ==> c->status == \old(c->status);
  ensures c->status == RPCRDMA_OK ==> c->off == \old(c->off) + n;
  ensures c->status != RPCRDMA_OK ==> c->off == \old(c->off);
*/
static inline void rpcrdma_cursor_skip(struct rpcrdma_cursor *c, size_t n, const char *what);

/*@
  requires cursor(c);
  assigns \result \from *c, n, what;
  assigns c->off, c->status, c->error_off \from *c, n;
  assigns c->what \from *c, n, what;
  ensures cursor(c);
  ensures \result.base == c->base && \result.caplen <= c->caplen;
  ensures \result.caplen <= \result.len && \result.off <= \result.len;
  ensures \result.status == c->status;
*/
static inline struct rpcrdma_cursor rpcrdma_cursor_sub(struct rpcrdma_cursor *c, size_t n,
                                                       const char *what);
