/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_MERGE_ORIGINS_H
#define RPCRDMA_CLI_SOURCE_MERGE_ORIGINS_H

/* Which of several files gave a packet, of those that were given out last: runs of packets of one
 * file, of which a ring buffer has one per file, and two sides' captures about one per packet. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORIGINS_MOST = 128 * 1024 }; /* runs: 1 MiB */

struct origins {
    uint64_t *runs; /* frame << 12 | file: a ring */
    size_t room;    /* a power of 2 */
    size_t first, n;
};

/* That frame, and those after it, are of the file, which is below 4096. */
void origins_add(struct origins *origins, uint64_t frame, uint32_t file);

/* False: it is not known any more, or there was no memory. */
bool origins_find(const struct origins *origins, uint64_t frame, size_t *file);

void origins_free(struct origins *origins);

#endif
