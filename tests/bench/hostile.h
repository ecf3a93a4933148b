/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BENCH_HOSTILE_H
#define RPCRDMA_BENCH_HOSTILE_H

#include "talk.h"

/* Captures built to exhaust whoever reads them. False: no such kind. */
bool hostile(const char *kind, struct talk_file *file, uint64_t size);

#endif
