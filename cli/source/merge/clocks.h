/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_MERGE_CLOCKS_H
#define RPCRDMA_CLI_SOURCE_MERGE_CLOCKS_H

/* The clocks of files, of which some pairs are known to share packets. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/merge/overlap.h"

struct clock_pair {
    uint32_t first, second; /* files */
    uint32_t matches;       /* packets that both have */
    int64_t offset_ns;      /* second's clock less first's */
    int64_t drift_ppb;      /* see drift.h */
};

/* Sets every file's clock against the first of those that share packets with it or with others that
 * do, by the pairs that know best. Sorts the pairs. False when memory is short. */
bool clocks_set(struct overlap_file *files, size_t n, struct clock_pair *pairs, size_t n_pairs);

#endif
