/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TEST_PLACES_H
#define RPCRDMA_TEST_PLACES_H

/* A visitor that checks each value against the bytes under it, and its place against the table. */

#include <stdbool.h>

#include "wire/walk.h"

struct judge {
    const uint8_t *base;
    size_t caplen;
    uint32_t off[32], end[32]; /* of the open records */
    int depth;
    unsigned checked; /* values that stand on the wire */
};

struct rpcrdma_visitor start_judge(struct judge *j, const uint8_t *base, size_t caplen);

/* Which fields any judge has met on the wire. */
extern bool told[RPCRDMA_FIELD_COUNT];

#endif
