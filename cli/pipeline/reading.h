/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_PIPELINE_READING_H
#define RPCRDMA_CLI_PIPELINE_READING_H

/* How far the files are read, on a terminal's standard error: for who waits longer than a second.
 */

#include "output/progress_line.h"
#include "source/source.h"

struct reading {
    bool on; /* it is shown, and not over */
    int64_t start_ns, next_ns;
    uint64_t packets; /* so far */
    struct progress_line line;
};

/* Shows nothing yet. *reading must stay where it is. */
void reading_begin(struct reading *reading);
void reading_end(struct reading *reading); /* again, or without a beginning: nothing */

/* n more packets were read: the share of the files, packets per second, and how long it will take;
 * once a second, however often it is called. */
void reading_show(struct reading *reading, const struct source *source, uint64_t n);

#endif
