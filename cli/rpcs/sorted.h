/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_RPCS_SORTED_H
#define RPCRDMA_CLI_RPCS_SORTED_H

/* The first N lines by a measure, the greatest first; bounded by bytes, too. */

#include "out/view.h"

struct sorted;

/* n 0: as many as max_bytes hold. NULL when memory is short. The view writes the lines. */
struct sorted *sorted_new(size_t n, struct view *view, size_t max_bytes);
void sorted_free(struct sorted *sorted);

/* Whether a line of that measure would be kept: else it need not be made, and is counted. */
bool sorted_wants(struct sorted *sorted, int64_t measure);
/* Where to write it, times open; then sorted_done. Of equal measures the first is the first. */
struct out *sorted_begin(struct sorted *sorted);
void sorted_done(struct sorted *sorted, int64_t measure);

/* Writes all lines. Returns how many were left out for want of room, not by N. */
uint64_t sorted_end(struct sorted *sorted, struct out *out);

#endif
