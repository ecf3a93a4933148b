/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_BYTES_PACE_H
#define RPCRDMA_CLI_SOURCE_BYTES_PACE_H

/* Whether a pipe is fed by a capture that goes on: then its end is the capture's. */

#include "source/source.h"

struct pace { /* zeroed at first */
    bool any, late;
    int64_t latest_ns; /* packet, by their clock, */
    int64_t came_ns;   /* and when it came, by one that is never set */
};

/* These came now. */
void pace_look(struct pace *pace, const struct source_packet *packets, size_t n);

/* No more come. True, and *end_ns by the packets' clock: they came as they happened, so packets
 * were awaited until now. */
bool pace_end(const struct pace *pace, int64_t *end_ns);

#endif
