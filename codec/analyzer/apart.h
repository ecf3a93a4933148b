/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_ANALYZER_APART_H
#define RPCRDMA_ANALYZER_APART_H

/*
 * Whether the two directions have the times of two clocks: two ports or hosts captured them, each
 * with its own. Nobody answers what has not come. So an Ack, or the first response to a Read, whose
 * time is before that of what it answers says how far the clocks are apart, at least. That is what
 * is left of the difference when the time on the way is taken off.
 *
 * It is asked of packets alone, before anything is made of them: where clocks are far apart, what
 * is made of them is wrong. A packet and its answer are found by their hosts and the PSN, or TCP's
 * ports and sequence number, whichever comes first. Of many packets few are looked at, always the
 * same of both directions; the table has one size.
 */

#include "analyzer/analyzer.h"

enum {
    APART_BUCKETS = 512,
    APART_WAYS = 4, /* of a bucket: together a line of the processor's cache */
    APART_TIMES = 64,
    APART_PAIRS = 16,
};

struct apart_entry {
    uint64_t key; /* with enum apart_state in its low bits */
    int64_t time_ns;
};

/* What one host sent to another. */
struct apart_direction {
    uint64_t answered, early;      /* packets that were answered; of these before they passed */
    int64_t early_ns[APART_TIMES]; /* the latest of them: by how much */
};

/* Two hosts, the one with the lower address first; and what that one sent, and the other. */
struct apart_pair {
    bool used, tcp;
    struct rpcrdma_address host[2];
    struct apart_direction sent[2];
};

struct apart {
    uint32_t mask;    /* of a number's hash: looked at where these bits are zero */
    uint32_t looked;  /* since the mask grew */
    uint32_t crowded; /* likewise: entries that gave their place away */
    struct apart_pair pairs[APART_PAIRS]; /* of more the first: all have the same clocks */
    uint64_t early, told_early;           /* of all; when `told` was found */
    struct rpcrdma_apart told;
    struct apart_entry entries[APART_BUCKETS][APART_WAYS];
};

void apart_look(struct apart *apart, const struct rpcrdma_op *op);
void apart_segment(struct apart *apart, const struct rpcrdma_tcp_segment *segment);

static inline bool apart_looks_at(const struct apart *apart, uint32_t number)
{
    return (number * UINT32_C(2654435761) & apart->mask) == 0;
}

/* Of each operation, in line: most are left out. */
static inline void apart_ops(struct apart *apart, const struct rpcrdma_op *ops, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (apart_looks_at(apart, ops[i].seq))
            apart_look(apart, &ops[i]);
}

/* What they show so far; the apart's. */
const struct rpcrdma_apart *apart_tell(struct apart *apart);

#endif
