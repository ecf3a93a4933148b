/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BENCH_HOSTILE_H
#define RPCRDMA_BENCH_HOSTILE_H

#include "talk.h"

/* Captures built to exhaust whoever reads them. False: no such kind. */
bool hostile(const char *kind, struct talk_file *file, uint64_t size);

/* The same: names that collide, and walks that grow. */
bool hostile_names(const char *kind, struct talk_file *file, uint64_t size);
bool hostile_work(const char *kind, struct talk_file *file, uint64_t size);
bool hostile_tables(const char *kind, struct talk_file *file, uint64_t size);
bool hostile_ends(const char *kind, struct talk_file *file, uint64_t size);

#endif
