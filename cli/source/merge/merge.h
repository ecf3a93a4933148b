/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_MERGE_MERGE_H
#define RPCRDMA_CLI_SOURCE_MERGE_MERGE_H

/* Several files as one source: merge.c gives their packets, merge_told.c what is known of the
 * files. */

#include "source/merge/copies.h"
#include "source/merge/origins.h"
#include "source/merge/overlap.h"
#include "source/merge/part.h"
#include "source/source.h"

/* Of a packet's interface: its number in its file. Above them is the file's. */
enum { MERGE_INTERFACE_BITS = 16 };

struct merge {
    struct source source;
    struct part *parts;
    size_t n_parts;
    struct parts shared;
    struct source_packet *packets; /* all parts' */
    size_t *heap;                  /* of parts that have packets, the earliest first */
    size_t n_heap;
    struct overlap overlap;
    struct origins origins;
    struct copies *copies; /* NULL: no files share packets */
    source_ended *ended;   /* NULL: nobody wants to know */
    void *context;
    uint64_t frame;
    bool failed;     /* source.error is not reported yet */
    char error[512]; /* that */
};

/* What merge.c gives as source's: see there. */
bool merge_interface(const struct source *source, uint32_t number, struct source_interface *out);
void merge_stats(const struct source *source, struct source_stats *out);
void merge_report(const struct source *source, void (*line)(void *, const char *), void *context);
bool merge_part(const struct source *source, size_t i, struct source_part *out);
bool merge_part_of(const struct source *source, uint64_t frame, size_t *i);
bool merge_unrelated(const struct source *source, uint32_t a, uint32_t b);

#endif
