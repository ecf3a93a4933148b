/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_MERGE_COPIES_H
#define RPCRDMA_CLI_SOURCE_MERGE_COPIES_H

/*
 * Which packet is a copy of one already given out from another file. Equal packets are counted per
 * file: the third one in a file is the same as the third one in another, so that a retransmission,
 * which is equal but stands in the same file, is never taken for a copy. Files that were written
 * from one capture have a packet at the same nanosecond; to others they are one file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/merge/fingerprint.h"
#include "source/merge/overlap.h"

struct copies;

/* Takes so many bytes and 1 MiB, but 2 MiB at least. NULL when memory is short. overlap is
 * borrowed.
 */
struct copies *copies_new(const struct overlap *overlap, size_t memory);
void copies_free(struct copies *copies); /* NULL is fine */

/* Whether this packet of `file` is one that another file gave before. time_ns is by the reference's
 * clock and grows from call to call, but for packets out of order. */
bool copies_is_one(struct copies *copies, uint32_t file, int64_t time_ns,
                   const struct fingerprint *print);

/* For how long packets were remembered, where memory was too small for as long as a copy may take;
 * else 0. */
int64_t copies_remembered_ns(const struct copies *copies);

#endif
