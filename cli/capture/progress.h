/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_PROGRESS_H
#define RPCRDMA_CLI_CAPTURE_PROGRESS_H

/* What a terminal shows while a capture runs. */

#include "capture/select.h"
#include "output/progress_line.h"

struct source;
struct capture_progress {
    bool on; /* standard error is a terminal */
    int64_t start_ns, next_ns;
    uint64_t packets_before;
    struct progress_line line;
};
/* Between the two, the line makes way for what is complained about. */
void capture_progress_begin(struct capture_progress *progress);
void capture_progress_end(struct capture_progress *progress);
/* Once a second, however often it is called. */
void capture_progress_show(struct capture_progress *progress, const struct source *source,
                           struct capture_select *select, uint64_t packets);

#endif
