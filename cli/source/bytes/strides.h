/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_BYTES_STRIDES_H
#define RPCRDMA_CLI_SOURCE_BYTES_STRIDES_H

/*
 * Where a record some packets ahead is likely to be, for prefetches. Reads and Writes of the same
 * size follow each other, so that the next records are mostly as far as they were the last times
 * after the same lengths: so many records of one length, behind so many of another. Where they were
 * not twice the same, all that follow are taken to be as long as the one at hand.
 */

#include <stddef.h>
#include <stdint.h>

enum { STRIDES_AHEAD = 8, STRIDES_BITS = 10, STRIDES_KNOWN = 1 << STRIDES_BITS };

/* How far the record STRIDES_AHEAD on was, and how often it was that. */
struct stride {
    uint32_t distance;
    uint32_t sure; /* 0: it was once; SURE: often */
};

/* Zeros to begin with. */
struct strides {
    struct stride known[STRIDES_KNOWN]; /* by key */
    uint64_t place[STRIDES_AHEAD];      /* of the last records, and their keys */
    uint32_t key[STRIDES_AHEAD];
    uint64_t next;        /* where the next record is expected */
    uint64_t records;     /* in sequence so far */
    uint32_t length, run; /* of the last record; so many in sequence had it */
    uint32_t past;        /* a number for those of another length before them */
};

/* Of so many records of that length: odd factors, of no pattern. */
static inline uint32_t strides_run(uint32_t length, uint32_t run, uint32_t factor)
{
    return (length * 61 + run) * factor;
}

/* A number for what came before, of which the last record is one. */
static inline uint32_t strides_key(const struct strides *strides)
{
    uint32_t runs = strides->past ^ strides_run(strides->length, strides->run, 0x85ebca6b);

    return runs * 0x9e3779b1 >> (32 - STRIDES_BITS);
}

/* It was that far. */
static inline void strides_learn(struct stride *stride, uint32_t distance)
{
    enum { SURE = 3 };

    if (stride->distance == distance)
        stride->sure += stride->sure < SURE;
    else if (stride->sure > 0)
        stride->sure--;
    else
        stride->distance = distance;
}

/* The record at `place` takes `length` bytes, its header in: how far behind its beginning the one
 * STRIDES_AHEAD on is likely to begin. */
static inline size_t strides_next(struct strides *strides, uint64_t place, uint32_t length)
{
    const struct stride *stride;
    uint32_t key;
    size_t i;

    if (place != strides->next)
        strides->records = 0;
    strides->next = place + length;
    if (length == strides->length) {
        strides->run++;
    } else {
        strides->past = strides_run(strides->length, strides->run, 0x9e3779b1);
        strides->length = length;
        strides->run = 1;
    }
    i = strides->records++ % STRIDES_AHEAD;
    if (strides->records > STRIDES_AHEAD)
        strides_learn(&strides->known[strides->key[i] % STRIDES_KNOWN],
                      (uint32_t)(place - strides->place[i]));
    key = strides_key(strides);
    strides->place[i] = place;
    strides->key[i] = key;
    stride = &strides->known[key % STRIDES_KNOWN];
    return stride->sure > 0 ? stride->distance : STRIDES_AHEAD * (size_t)length;
}

#endif
