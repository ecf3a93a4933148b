/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_KEPT_H
#define RPCRDMA_CLI_OUT_KEPT_H

/*
 * Text that lines close to each other have in common: it is formatted once, and copied from then
 * on. What it was made of is the caller's to keep beside it, and to compare.
 */

#include "out/out.h"

enum { KEPT_SIZE = 240 };
_Static_assert((int)KEPT_SIZE <= (int)OUT_SLACK, "kept_put has room for all of it");

struct kept {
    uint8_t n; /* 0: none */
    char text[KEPT_SIZE];
};

/* Copies all there could be: that is a few instructions where the length is not known. */
static RPCRDMA_INLINE void kept_put(struct out *out, const struct kept *kept)
{
    out_room(out);
    memcpy(out->buf + out->n, kept->text, KEPT_SIZE);
    out->n += kept->n;
}

/* Keeps what was put since out->n was `begin`. False: it is too long, or was flushed in between. */
static inline bool kept_take(const struct out *out, size_t begin, struct kept *kept)
{
    size_t n = out->n - begin;

    kept->n = 0;
    if (n > KEPT_SIZE) /* wrapped, where it was flushed: out->n is less than before then */
        return false;
    memcpy(kept->text, out->buf + begin, n);
    kept->n = (uint8_t)n;
    return true;
}

#endif
