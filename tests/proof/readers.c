/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The readers of chunks and of words, by contract (WP): the bytes that they call a list's were
 * captured, which items.c takes for granted. within.c shows the same of single sizes, and of the
 * other lists.
 */
#include "any_dialect.c"
#include "any_lists.c"
#include "cursor.c"
#include "wire/message.c"
#include "wire/xdr.c"

/*@
  predicate whole_cursor(struct rpcrdma_cursor *c) = cursor(c) && c->off <= c->caplen;
*/

/*@
  requires whole_cursor(c) && \valid(chunk) && \separated(c, chunk);
  assigns c->off, c->status, c->error_off, c->what, *chunk;
  ensures whole_cursor(c) && c->off >= \old(c->off);
  ensures \result ==> \valid_read(chunk->wire + (0 .. chunk->count * 16 - 1));
*/
static RPCRDMA_INLINE bool read_chunk(struct rpcrdma_cursor *c, struct rpcrdma_chunk *chunk);

/*@
  requires whole_cursor(c) && \valid(declared) && \separated(c, declared) && size > 0;
  assigns c->off, c->status, c->error_off, c->what, *declared;
  ensures whole_cursor(c) && c->off >= \old(c->off);
  ensures \result && c->status == RPCRDMA_OK ==> *declared <= (c->len - c->off) / size;
*/
static bool read_count(struct rpcrdma_cursor *c, uint32_t size, uint32_t *declared,
                       const char *what);

/*@
  requires whole_cursor(c) && \valid(out) && \separated(c, out);
  assigns c->off, c->status, c->error_off, c->what, *out;
  ensures whole_cursor(c) && c->off >= \old(c->off);
  ensures \result ==> \valid_read(out->wire + (0 .. out->count * 4 - 1));
*/
bool rpcrdma_read_words(struct rpcrdma_cursor *c, struct rpcrdma_words *out);
