/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_SETUPS_H
#define RPCRDMA_CLI_CAPTURE_SETUPS_H

/*
 * The packets that set up the connections that are open (CM's REQ, REP and RTU; MPA's Request and
 * Reply), so that each file of several can begin with those from before it. Copies are made when a
 * connection is set up, and never of another packet. Where there are too many, those that ended
 * make way, then the oldest.
 */

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "net/net.h"

enum {
    SETUPS_MOST = 4096,    /* connections */
    SETUP_PACKETS = 3,     /* of each */
    SETUP_CAPTURED = 1024, /* bytes of a packet; a CM message has 256, an MPA frame 532 at most */
};

struct capture_setups {
    GHashTable *known;       /* struct setup, by its key */
    GQueue open, ended;      /* the same, the oldest first */
    struct rpcrdma_net *net; /* NULL: somebody else decodes packets, and gives operations */
    uint64_t forgotten;      /* open connections that made way */
    uint64_t no_room;        /* the same, of those that a file would have been too small for */

    uint32_t interface; /* the packet in hand */
    const struct rpcrdma_packet *packet;
};

/* decodes: packets are given, else operations. False when memory is short. */
bool capture_setups_begin(struct capture_setups *setups, bool decodes);
void capture_setups_end(struct capture_setups *setups);

/* The packet in hand, whose frame is larger than that of those before. Where setups decode, it is
 * looked at. */
void capture_setups_packet(struct capture_setups *setups, uint32_t interface,
                           const struct rpcrdma_packet *packet);

/* An operation in it. */
void capture_setups_op(struct capture_setups *setups, const struct rpcrdma_op *op);

/* Gives those before `frame`, the latest connections that fit into so many bytes of a file, in the
 * order in which they were captured. Returns how many bytes these are. */
uint64_t capture_setups_each(struct capture_setups *setups, uint64_t frame, uint64_t bytes,
                             void (*each)(void *context, uint32_t interface,
                                          const struct rpcrdma_packet *packet),
                             void *context);

#endif
