/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_BYTES_SPILL_H
#define RPCRDMA_CLI_SOURCE_BYTES_SPILL_H

/*
 * A temporary file without a name, for what is unpacked of more files than there is memory to
 * unpack at once. It is in $TMPDIR, else in /var/tmp or /tmp, and gone with the process.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/bytes/feed.h"

/* Makes the file; before privileges are dropped. Where it cannot, spill_write says why. */
void spill_prepare(void);

struct spilled {
    const char *error; /* NULL: all was written */
    uint64_t first;    /* the offset in the feed of its first byte */
    uint64_t at, n;    /* where it is in the file, and how long */
    const struct feed *feed;
};

/* What comes of `feed`, from that offset on. One at a time. */
void spill_begin(struct spilled *spilled, const struct feed *feed, uint64_t first);

/* False with spilled->error set. */
bool spill_write(struct spilled *spilled, const uint8_t *bytes, size_t n);

/* A feed of it, with the offsets and the name of the one it came from, which is not needed any
 * more. `error`: what that one failed with at its end; NULL: it did not. NULL: no memory. */
struct feed *spill_end(const struct spilled *spilled, const char *error);

#endif
