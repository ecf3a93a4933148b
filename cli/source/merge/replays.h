/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_MERGE_REPLAYS_H
#define RPCRDMA_CLI_SOURCE_MERGE_REPLAYS_H

/*
 * Packets that files of a ring buffer repeat at their beginning (SOURCE_REPLAYED), and which of
 * them were given: from the file in which they were captured, or from another one's beginning. The
 * same packet has the same bytes and, by its own file's clock, the same time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net.h"

struct replays {
    uint64_t *keys; /* the lowest bit: it was given. NULL: there are none */
    size_t n;
    uint64_t *times;   /* bits: packets of other times are none of these */
    uint64_t too_many; /* that there was no room for */
};

void replays_free(struct replays *replays);

/* A file repeats this packet. False when memory is short. */
bool replays_add(struct replays *replays, const struct rpcrdma_packet *packet);

/* This packet is given now. Whether it was before; false of one that was not added. */
bool replays_given(struct replays *replays, const struct rpcrdma_packet *packet);

#endif
