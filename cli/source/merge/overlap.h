/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_MERGE_OVERLAP_H
#define RPCRDMA_CLI_SOURCE_MERGE_OVERLAP_H

/*
 * Which of several capture files saw the same packets, and how far apart their clocks are. Files of
 * a ring buffer follow one another and share none; two sides' captures of one conversation share
 * many.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/merge/replays.h"

struct overlap_file {
    const char *path;
    /* what was found: */
    bool readable;             /* and there is a packet in it */
    bool shares;               /* packets with others */
    int64_t first_ns, last_ns; /* earliest and latest packet, by its own clock */
    int64_t offset_ns;         /* its clock less the reference's: subtract it from its times */
    int64_t drift_ppb;         /* and by how many parts in 10^9 it is faster; 0: none was seen */
    size_t reference;          /* the file whose clock that is, the same of all that share packets,
                                * with each other or others of them; itself where it shares none */
    uint64_t matches;          /* packets by which the offset is known */
    size_t twin; /* the first file that was written from the same capture; itself where none was */
    bool twins;  /* there is another one with that */
    bool elsewhere; /* it shares packets with files of other captures */
    bool related;   /* of a `twin`: one of all that have it does */
    int64_t all_first_ns,
        all_last_ns; /* of a `twin`: the earliest and latest of all that have it */
    /* its sample of packets: how many, where their times are, and which keys are in it */
    size_t sampled, times_from;
    size_t repeated;     /* and how many are left out, as the file has them more than once: */
    int64_t repeated_ns; /* the second mostly so long after the first */
    uint64_t limit;
    uint32_t cut; /* least IP payload captured of a packet that was cut; UINT32_MAX: none */
};

/* Pairs of files that have packets alike, though by their clocks one ends before the other begins:
 * whether they are the same packets is not known. */
struct overlap_doubt {
    size_t pairs;
    size_t first, second; /* files of the first pair */
    size_t packets;       /* alike, of their samples */
    int64_t apart_ns;     /* the second's clock less the first's, if they are the same */
};

struct overlap {
    struct overlap_file *files;
    size_t n;
    bool any;               /* some share packets */
    struct replays replays; /* these are no packets that files share */
    struct overlap_doubt doubt;
    uint32_t most; /* payload bytes that each file that shares has of a packet: compare no more */
};

/* Reads the beginnings of all packets of all files. False when memory is short. */
bool overlap_find(struct overlap *overlap, char *const *paths, size_t n);

void overlap_free(struct overlap *overlap);

/* Whether these, each a `twin` for all that have it, captured at the same time, and so may have the
 * same packets: a packet retransmitted is in the next file of a ring buffer, and no copy. */
bool overlap_together(const struct overlap *overlap, size_t i, size_t k);

/* Whether these captured at the same time, and nothing tells how far their clocks are apart. */
bool overlap_unrelated(const struct overlap *overlap, size_t i, size_t k);

#endif
