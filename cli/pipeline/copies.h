/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_PIPELINE_COPIES_H
#define RPCRDMA_CLI_PIPELINE_COPIES_H

/* Whether a capture has nearly every packet twice, always equally far apart: it is two that were
 * merged, of hosts whose clocks differ by that. Looked for in the first packets, and from the
 * moment on at which much is sent again. */

#include "pipeline/pipeline.h"

struct pipeline_copies;

/* It sets pipeline->passes_unlike while it wants no packets. */
struct pipeline_copies *pipeline_copies_new(struct pipeline *pipeline);
void pipeline_copies_free(struct pipeline_copies *copies);
/* pipeline->passes and ->op_done, whose context is the pipeline_copies; or called by these. */
void pipeline_copies_passes(void *copies, const struct source_packet *one);
void pipeline_copies_op(void *copies, const struct rpcrdma_op *op, const struct rpcrdma_path *path);

/* How far apart, ns; 0: it is no such capture, or too little shows it. */
int64_t pipeline_copies_judge(struct pipeline_copies *copies);

#endif
