/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BENCH_HOSTILE_H
#define RPCRDMA_BENCH_HOSTILE_H

#include "talk.h"

/* A kind of capture, and what makes one of about that size. A table ends with a NULL name. */
struct bench_kind {
    const char *name;
    void (*make)(struct talk_file *file, uint64_t size);
};

/* Captures built to exhaust whoever reads them. */
extern const struct bench_kind hostile_kinds[];
/* Names that collide, and walks that grow. */
extern const struct bench_kind hostile_names_kinds[], hostile_work_kinds[], hostile_tables_kinds[],
    hostile_ends_kinds[], hostile_paths_kinds[], hostile_causes_kinds[];

#endif
