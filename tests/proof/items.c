/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The iterators, by contract (WP): of any list, of any size and in any state, whose bytes are
 * there, they read no others, and what they give has its bytes. lists.c shows the same of single
 * sizes.
 */
#include "cursor.c"
#include "wire/chunk.c"
#include "wire/property.c"

/*@
  predicate chunk(struct rpcrdma_chunk *c) =
    c->wire == \null ? \valid_read(c->segments + (0 .. c->count - 1))
                     : \valid_read(c->wire + (0 .. c->count * 16 - 1));

  predicate read_list(struct rpcrdma_read_list *l) =
    l->wire == \null ? \valid_read(l->segments + (0 .. l->count - 1))
                     : l->count * 24 <= UINT32_MAX && \valid_read(l->wire + (0 .. l->count * 24 - 1));

  predicate write_list(struct rpcrdma_write_list *l) =
    l->wire == \null ? \valid_read(l->chunks + (0 .. l->count - 1))
                     : \valid_read(l->wire + (0 .. l->size - 1));

  predicate propset(struct rpcrdma_propset *s) =
    s->wire.data == \null ? \valid_read(s->properties + (0 .. s->count - 1))
                          : \valid_read(s->wire.data + (0 .. s->wire.len - 1));

  predicate words(struct rpcrdma_words *w) =
    w->wire == \null ? \valid_read(w->words + (0 .. w->count - 1))
                     : \valid_read(w->wire + (0 .. w->count * 4 - 1));
*/

/*@
  requires \valid_read(p + (0 .. 15));
  assigns \result \from p[0 .. 15];
*/
static struct rpcrdma_segment get_segment(const uint8_t *p);

/*@
  requires \valid_read(chunk) && chunk(chunk) && i < chunk->count;
  assigns \nothing;
*/
struct rpcrdma_segment rpcrdma_chunk_segment(const struct rpcrdma_chunk *chunk, uint32_t i);

/*@
  requires \valid_read(chunk) && chunk(chunk);
  assigns \nothing;
*/
uint64_t rpcrdma_chunk_length(const struct rpcrdma_chunk *chunk);

/*@
  requires \valid(it) && \valid(out) && \separated(it, out) && read_list(&it->list);
  assigns it->index, it->off, *out;
*/
bool rpcrdma_read_next(struct rpcrdma_read_iter *it, struct rpcrdma_read_segment *out);

/*@
  requires \valid(it) && \valid(out) && \separated(it, out) && write_list(&it->list);
  assigns it->index, it->off, it->pos, *out;
  ensures \result && it->list.wire != \null ==>
    \valid_read(out->wire + (0 .. out->count * 16 - 1));
*/
bool rpcrdma_write_next(struct rpcrdma_write_iter *it, struct rpcrdma_chunk *out);

/*@
  assigns \nothing;
  ensures \result == \null || \valid_read(\result);
*/
const struct rpcrdma_property_desc *rpcrdma_xchar_property(uint32_t id);

/*@
  assigns \nothing;
  ensures \result == \null || \valid_read(\result);
*/
const struct rpcrdma_property_desc *rpcrdma_dialect_property(const struct rpcrdma_dialect *d,
                                                             uint32_t value);

/*@
  requires \valid(property) && \valid_read(desc);
  requires \valid_read(property->data.data + (0 .. property->data.len - 1));
  assigns property->value, property->state, property->too_long;
*/
static void set_number(struct rpcrdma_property *property, const struct rpcrdma_property_desc *desc);

/*@
  requires \valid(property);
  requires \valid_read(property->data.data + (0 .. property->data.len - 1));
  assigns property->state, property->too_long;
*/
static void set_opaque(struct rpcrdma_property *property);

/*@ // What rpcrdma_property_next gives of the wire went through this: so its bytes are there.
  requires \valid(property);
  requires property->desc == \null || \valid_read(property->desc);
  requires \valid_read(property->data.data + (0 .. property->data.len - 1));
  assigns property->value, property->state, property->too_long;
*/
static void interpret(struct rpcrdma_property *property, bool xchar);

/*@
  requires \valid(it) && \valid(out) && \separated(it, out) && propset(&it->set);
  assigns it->index, it->pos, *out;
*/
bool rpcrdma_property_next(struct rpcrdma_property_iter *it, struct rpcrdma_property *out);

/*@
  requires \valid_read(words) && words(words) && i < words->count;
  assigns \nothing;
*/
uint32_t rpcrdma_words_get(const struct rpcrdma_words *words, uint32_t i);

/*@
  requires \valid_read(subset) && words(subset);
  assigns \nothing;
*/
bool rpcrdma_subset_has(const struct rpcrdma_words *subset, uint32_t position);
