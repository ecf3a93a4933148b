/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_DIFF_DIFF_H
#define RPCRDMA_CLI_DIFF_DIFF_H

/* rpcrdma diff: two captures side by side, a row for each group that either has. */

#include "filter/where.h"
#include "out/json_writer.h"
#include "out/out.h"
#include "pipeline/pipeline.h"
#include "rpcs/details.h"
#include "rpcs/groups.h"

enum { DIFF_PROBLEMS = 8 }; /* of a capture, in text and in each line of JSON */

/* What the second is. */
enum diff_verdict {
    DIFF_TOO_FEW,
    DIFF_SAME,
    DIFF_SLOWER,
    DIFF_FASTER,
    DIFF_FAILS_MORE,
    DIFF_FAILS_LESS,
    DIFF_ONLY_FIRST,
    DIFF_ONLY_SECOND,
    DIFF_NOT_KNOWN,
    DIFF_VERDICTS
};

/* A capture. */
struct diff_side {
    const char *path;
    struct pipeline pipeline;
    GPtrArray *problems; /* why not all of it could be read: texts */
    GPtrArray *doubts;   /* what was read and may be wrong, or lack something */
    struct details *details;
    struct groups *groups;
    struct filter *filter;
    int64_t span_ns;
    bool replies; /* some RPC has its Reply: both directions were captured */
};

struct diff_row {
    const struct group *of[2]; /* NULL: there are none */
    double time_ns;            /* that both took */
    enum diff_verdict verdict;
};

/* rows.c: of struct diff_row, what took most time first; the caller's. */
GArray *diff_rows(struct diff_side sides[2]);
const char *diff_verdict_name(enum diff_verdict verdict);

/* The group of either side that has it. */
static inline const struct group *diff_either(const struct diff_row *row)
{
    return row->of[0] ? row->of[0] : row->of[1];
}

/* Some of its RPCs have a latency. NULL: none. */
static inline bool diff_answered(const struct group *group)
{
    return group && group->latency.count > 0;
}

/* Both means are known, and are of the same RPCs. */
static inline bool diff_comparable(const struct diff_row *row)
{
    return diff_answered(row->of[0]) && diff_answered(row->of[1]) && row->verdict != DIFF_NOT_KNOWN;
}

/* text.c, json.c: the first rows, `most` of them. by: what a row is of. */
void diff_text(struct out *out, const struct diff_side sides[2], const GArray *rows, guint most,
               struct json_key by);
void diff_json(struct out *out, const struct diff_side sides[2], const GArray *rows, guint most,
               struct json_key by);

#endif
