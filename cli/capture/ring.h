/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_RING_H
#define RPCRDMA_CLI_CAPTURE_RING_H

/*
 * The names of what a capture writes: one file, standard output, or a ring of files, of which the
 * oldest are removed. A process of its own creates and removes them (source/rights/creator.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "source/rights/creator.h"

struct ring {
    const char *path; /* "-" is standard output; the caller's */
    bool several;
    uint64_t most;   /* so many are kept; 0: all */
    char *name;      /* of the current file; NULL: there was none */
    uint64_t number; /* in the latest name */
    GQueue *names;   /* of those to be removed one day, oldest first */
    struct creator creator;
};

/* Before privileges are dropped and devices opened. False: it was said. */
bool ring_prepare(struct ring *ring, const char *path, bool several, uint64_t most,
                  bool no_sandbox);

/* Opens the next file, whose name is in `name` then, also when that failed: -1 with errno. */
int ring_create(struct ring *ring);

/* The current file goes again. False with errno. */
bool ring_remove(struct ring *ring);

/* The current file is whole, and is removed when it is the oldest of too many. */
void ring_keep(struct ring *ring);

/* Makes room for another file: the oldest is removed where there are as many as may be. */
void ring_make_room(struct ring *ring);

void ring_free(struct ring *ring);

#endif
