/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_MERGE_SAMPLE_H
#define RPCRDMA_CLI_SOURCE_MERGE_SAMPLE_H

/*
 * Of every file a sample of its packets, chosen by their fingerprints, so that two files choose the
 * same ones. Packets that a file has more than once are not in it: they would say nothing, and
 * equal ones without end would leave no room for others.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/siphash.h"
#include "source/merge/overlap.h"
#include "source/merge/twins.h"

enum { SAMPLES_IN_ALL = 1 << 18 }; /* 6 MiB */

struct sample {
    uint64_t key;
    int64_t time_ns; /* of `several`: from the first to the second */
    uint32_t file;
    uint16_t id; /* IPv4's */
    bool forward, several;
};

struct samples {
    struct sample *all;
    size_t n;

    struct siphash_key key;
    size_t most; /* of one file */
    size_t from; /* where those of this one begin */
    uint64_t limit;
    uint32_t *places; /* of this file's, by key; 0: none */
    size_t mask;
    struct twins twins;
};

/* For n files. `seed` chooses the samples: nobody who does not know it can send packets that fill
 * them. False when memory is short. */
bool samples_begin(struct samples *samples, size_t n, uint64_t seed);
void samples_free(struct samples *samples);

/* Reads all packets of the file: its sample, its times and its cut, and what it repeats of files
 * before it. False when memory is short. */
bool samples_take(struct samples *samples, struct overlap_file *file, uint32_t number,
                  struct replays *replays);

#endif
