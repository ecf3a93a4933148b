/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_MERGE_TWINS_H
#define RPCRDMA_CLI_SOURCE_MERGE_TWINS_H

/*
 * Packets that two files have at the same nanosecond were captured once and written twice: parts of
 * one capture that overlap, a file and what was filtered from it. Of each file a sample, chosen so
 * that two files choose the same.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/siphash.h"

enum {
    TWINS_FILES = 4096,
    TWINS_IN_ALL = 1 << 18, /* 2 MiB; room for files with few packets comes on top */
};

struct twins {
    uint64_t *all; /* the hash of a packet and its time; in the lowest bits its file */
    size_t n;

    struct siphash_key key;
    size_t most; /* of one file */
    size_t from; /* where those of this one begin */
    uint64_t limit;
    uint32_t file;
    bool fine; /* the file's times are finer than a millisecond */
};

/* Of n files, each after the other. False when memory is short. */
bool twins_begin(struct twins *twins, size_t n, const struct siphash_key *key);
void twins_free(struct twins *twins);

void twins_file(struct twins *twins, uint32_t file);
void twins_add(struct twins *twins, uint64_t print, int64_t time_ns);
void twins_file_end(struct twins *twins);

/* Two files that have some in common. */
struct twins_pair {
    uint16_t first, second; /* first < second */
    uint32_t matches;
};

/* Of each packet the files that have it, each with the next one; ascending. The samples are gone.
 * *pairs is the caller's to free. False when memory is short. */
bool twins_pairs(struct twins *twins, struct twins_pair **pairs, size_t *n);

#endif
