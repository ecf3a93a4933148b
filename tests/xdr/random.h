/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_XDR_RANDOM_H
#define RPCRDMA_TESTS_XDR_RANDOM_H

/* Messages nobody would send: every type, error and list of a dialect, with numbers from the edges
 * and in between. The same seed gives the same messages on every machine. */

#include "wire/message.h"
#include "wire/property.h"
#include "wire/xchar.h"

enum { RANDOM_ITEMS = 256, RANDOM_BYTES = 4096 };

/* A message and all it points to. */
struct random_message {
    struct rpcrdma_message m;
    struct rpcrdma_read_segment reads[RANDOM_ITEMS];
    struct rpcrdma_segment segments[RANDOM_ITEMS];
    struct rpcrdma_chunk chunks[RANDOM_ITEMS];
    struct rpcrdma_property properties[RANDOM_ITEMS];
    uint32_t words[RANDOM_ITEMS];
    uint8_t bytes[RANDOM_BYTES];
    uint32_t n_reads, n_segments, n_chunks, n_properties, n_words, n_bytes;
};

void random_seed(uint64_t seed);
uint32_t random_below(uint32_t n);

/* A message of `type`. `closed`: the XDR has no arm for an error code that the dialect does not
 * name. `first_word`: the payload has at least a word. */
void random_message(struct random_message *r, const struct rpcrdma_dialect *dialect,
                    const struct rpcrdma_type_desc *type, bool closed, bool first_word);

/* What an xchar message of `type` holds; r gives the memory. */
void random_xchar(struct random_message *r, uint32_t type, struct rpcrdma_xchar *x);

#endif
