/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_STRIDES_H
#define RPCRDMA_CLI_SOURCE_STRIDES_H

/*
 * Where a record some packets ahead is likely to be, for prefetches. Reads and Writes of the same
 * size follow each other, so that after the same lengths in sequence (runs of equal ones, as a
 * segmented transfer has) the next ones are mostly as far as they were the last time. Of lengths
 * not seen before, all that follow are taken for as long as the one at hand.
 */

#include <stddef.h>
#include <stdint.h>

enum { STRIDES_AHEAD = 8, STRIDES_BITS = 10, STRIDES_KNOWN = 1 << STRIDES_BITS, STRIDES_RUN = 61 };
#define STRIDES_MIX 0x9e3779b1U /* odd, of no pattern */

/* Zeros to begin with. */
struct strides {
    uint32_t distance[STRIDES_KNOWN]; /* by key: to the record STRIDES_AHEAD on; 0: not seen */
    uint64_t place[STRIDES_AHEAD];    /* of the last records, and their keys */
    uint32_t key[STRIDES_AHEAD];
    uint64_t next;        /* where the next record is expected */
    uint64_t records;     /* in sequence so far */
    uint32_t length, run; /* of the last record; so many in sequence had it */
    uint32_t past;        /* runs before these */
};

/* A number for what came before, of which the last record is one. */
static inline uint32_t strides_key(const struct strides *strides)
{
    uint32_t runs = strides->past ^ (strides->length * STRIDES_RUN + strides->run) * 0x85ebca6b;

    return runs * STRIDES_MIX >> (32 - STRIDES_BITS);
}

/* The record at `place` takes `length` bytes, its header in: how far behind its beginning the one
 * STRIDES_AHEAD on is likely to begin. */
static inline size_t strides_next(struct strides *strides, uint64_t place, uint32_t length)
{
    enum { PAST = 256 };
    uint32_t key, known;
    size_t i;

    if (place != strides->next)
        strides->records = 0;
    strides->next = place + length;
    if (length == strides->length) {
        strides->run++;
    } else {
        strides->past =
            strides->past * PAST + (strides->length * STRIDES_RUN + strides->run) * STRIDES_MIX;
        strides->length = length;
        strides->run = 1;
    }
    key = strides_key(strides);
    i = strides->records++ % STRIDES_AHEAD;
    if (strides->records > STRIDES_AHEAD)
        strides->distance[strides->key[i] % STRIDES_KNOWN] = (uint32_t)(place - strides->place[i]);
    strides->place[i] = place;
    strides->key[i] = key;
    known = strides->distance[key % STRIDES_KNOWN];
    return known > 0 ? known : STRIDES_AHEAD * (size_t)length;
}

#endif
