/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_FORMATS_COUNTS_H
#define RPCRDMA_CLI_SOURCE_FORMATS_COUNTS_H

/* Counts of files or interfaces, together: of those that count the same packets from the same
 * beginning on one has all that the others have. */

#include <stddef.h>

#include "source/source.h"

struct source_count {
    uint64_t from; /* equal: the same packets; 0: others than all */
    uint64_t received, dropped;
};

/* Adds them to what is received and dropped in *out. They are sorted. */
void source_counts_add(struct source_count *counts, size_t n, struct source_stats *out);

/* Of each interface of the source that counts, the first `most` of them. Returns how many there
 * are.
 */
size_t source_counts_of(const struct source *source, struct source_count *out, size_t most);

/* What an interface of that name counts that does so since then. `before`: what else tells it from
 * others, as its number in its section, or what those before it count; 0: nothing. */
uint64_t source_count_from(uint64_t before, const char *name, int64_t since_ns);

#endif
