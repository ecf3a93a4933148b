/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_MERGE_ALIKE_H
#define RPCRDMA_CLI_SOURCE_MERGE_ALIKE_H

/* Whether the packets that two files have alike are the same packets, which both captured. */

#include <stddef.h>
#include <stdint.h>

#include "source/merge/drift.h"
#include "source/merge/overlap.h"

enum { ALIKE_LEAST = 3 /* of fewer nothing is said */ };

enum alike {
    ALIKE_OTHERS,    /* sent again, or alike by chance */
    ALIKE_NOT_KNOWN, /* either, or clocks that are far apart */
    ALIKE_SAME,
};

/*
 * `all`: n differences of one pair, sorted by direction and ns; offset_ns: the clocks' difference
 * if they are the same. `times`: of the samples of all files, file by file, ascending.
 */
enum alike alike_judge(const struct overlap_file *files, const int64_t *times,
                       const struct difference *all, size_t n, int64_t offset_ns);

#endif
