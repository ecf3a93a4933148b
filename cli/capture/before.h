/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_BEFORE_H
#define RPCRDMA_CLI_CAPTURE_BEFORE_H

/* The latest packets, in memory: what was before a trigger. The oldest make way, for time or room.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net.h"

struct capture_before {
    uint8_t *bytes;
    size_t size;
    size_t oldest, next;  /* where the oldest begins, and the next one will */
    size_t wrap;          /* behind the last before the bytes' end, where next < oldest */
    uint64_t packets;     /* in here */
    int64_t span_ns;      /* longer ago is of no use */
    bool short_of_room;   /* a packet made way before its time */
    int64_t displaced_ns; /* the time of the latest that did */
};

/* False when memory is short. */
bool capture_before_new(struct capture_before *before, size_t size, int64_t span_ns);
void capture_before_free(struct capture_before *before);

/* A copy; one that is larger than all there is room for is left out. */
void capture_before_add(struct capture_before *before, uint32_t interface,
                        const struct rpcrdma_packet *packet);

/* Those captured at from_ns and later, oldest first; `last`: there is no further one. */
void capture_before_each(const struct capture_before *before, int64_t from_ns,
                         void (*each)(void *context, uint32_t interface,
                                      const struct rpcrdma_packet *packet, bool last),
                         void *context);

/* The frame of the first of those. There is a packet in here. */
uint64_t capture_before_first(const struct capture_before *before, int64_t from_ns);

/* Whether packets from from_ns on made way. */
bool capture_before_lacks(const struct capture_before *before, int64_t from_ns);

#endif
