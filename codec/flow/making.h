/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_MAKING_H
#define RPCRDMA_FLOW_MAKING_H

/* A whole RPC message in the making: whole.c says of what, making.c puts it together. */

#include "flow/track.h"

struct making {
    struct track *track;
    struct track_rpc *t;
    const char *what;                      /* "Call", "Reply" */
    const struct rpcrdma_message *message; /* Reply: its header */
    const struct track_offer *reads;       /* whose read chunks were taken out; may be NULL */
    uint32_t n_writes;
    bool pad_inline;
    bool fault;     /* the parts do not fit each other */
    uint64_t taken; /* unreduced minus reduced length, up to here */
    size_t n_loose;
    size_t first_finding;
};

struct making_holes {
    bool lost; /* bytes that did not pass */
    bool any;
};

/* A finding of the transaction that names the message. */
void making_finding(struct making *m, enum rpcrdma_rule_id rule, uint64_t a, uint64_t b,
                    uint64_t c);

/* What the Call offered: write chunk `index`, the reply chunk. NULL: no such. */
const struct track_chunk *making_offered_write(const struct track_rpc *t, uint32_t index);
const struct track_chunk *making_offered_reply(const struct track_rpc *t);

/* The first `length` bytes of a returned chunk, from the segments of `chunk`. */
void making_add_returned(struct making *m, struct track_pieces *to, const struct track_chunk *chunk,
                         const struct rpcrdma_chunk *wire, uint64_t length);

/* Says where a returned chunk is not the one that was offered. */
void making_check_returned(struct making *m, const struct track_chunk *chunk,
                           const struct rpcrdma_chunk *wire);

/* track->base and the chunks -> track->whole, in the order of their places. */
void making_compose(struct making *m);

/* Write chunks with bytes and without a place go behind the message. `why` they have none. */
void making_add_loose(struct making *m, const char *why);

/* Says what is missing of the first n_pieces, byte range by byte range. */
struct making_holes making_tell_holes(struct making *m, size_t n_pieces);

#endif
