/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_GRAMMAR_H
#define RPCRDMA_CLI_SANITIZE_GRAMMAR_H

/*
 * Replaces in place what a grammar of upper/xdr_grammar.h steps over. What that says nothing about
 * is not kept: who walks a stream blanks what is behind the place where the walk ended.
 *
 *     u       stays            xN   replaced: identifiers, verifiers; a small first word stays
 *     h       stays where plain_hyper; else, and before 's' (a client's owner), replaced
 *     s       replaced; behind a bitmap, which makes it NFSv4's attributes, these are walked
 *     d       zeros; text is replaced where text_data
 *
 * and besides that
 *
 *     k       8 bytes, replaced       w   4 bytes, replaced: a user, a group
 *     t, T    time of NFSv4 (12 bytes), NFSv3 (8 bytes): shifted
 *     b       4 bytes: a boolean or number that is blanked
 */

#include "sanitize/key.h"
#include "upper/xdr_grammar.h"

struct sanitize_walk {
    const struct sanitize_key *key;
    int64_t shift_s;
    uint8_t *p; /* caplen bytes of len; offsets count from here */
    size_t caplen, len, off;
    const struct rpcrdma_reduction *reduction; /* NULL: nothing was taken out */
    bool plain_hyper, text_data;
    bool blank; /* what 's' has is of a form that is not known here: zeros */

    bool failed; /* it is not what the grammar says; off is where */
    bool cut;    /* not captured further */

    bool taken_out;       /* an item was passed over: a chunk is taken to have it */
    size_t taken_out_off; /* where the first of these would be, were it inline */

    /* its own */
    size_t gap, chunk;
    uint64_t removed;
    size_t bitmap_off;
    uint32_t bitmap_words;
    bool placed;
};

void sanitize_walk(struct sanitize_walk *walk, const char *grammar);

/* Zeroes n bytes from off on, as far as they were captured. */
void sanitize_blank(struct sanitize_walk *walk, size_t off, size_t n);

static inline bool sanitize_walking(const struct sanitize_walk *walk)
{
    return !walk->failed && !walk->cut;
}

/* 4 bytes that stay. 0 where they are not there. */
uint32_t sanitize_walk_word(struct sanitize_walk *walk);

/* attributes.c: n bytes at off, by the bitmap of the walk */
void sanitize_attributes(struct sanitize_walk *walk, size_t off, size_t n);

#endif
