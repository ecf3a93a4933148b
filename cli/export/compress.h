/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_COMPRESS_H
#define RPCRDMA_CLI_EXPORT_COMPRESS_H

/* What is written to an output is compressed by zstd on its way. */

#include <stdint.h>

#include "out/out.h"

struct compress;

bool compress_built(void);

/* Whether it can be, before compress_begin, and before the sandbox is entered; else with one line in
 * `error`. */
bool compress_prepare(char *error, size_t size);

/* From now on; NULL: memory is short. */
struct compress *compress_begin(struct out *out);

/* Bytes that came out so far. */
uint64_t compress_written(const struct compress *compress);

/* After the output's last flush. Returns 0, or errno of what failed. */
int compress_end(struct compress *compress);

#endif
