/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_PIPELINE_POINTS_H
#define RPCRDMA_CLI_PIPELINE_POINTS_H

/*
 * Many capture points in one call: a point is a file, or all files of a ring
 * (NAME_00001_20261120091839.pcapng) in a folder, in order of their numbers, as rpcrdma-batch has
 * it. Each is analysed by a process of its own, so that --max-memory holds for each.
 */

#include <limits.h>

#include "options/options.h"
#include "out/out.h"

struct point {
    char *name; /* of its file, or ring, below the folder that all points have in common */
    char **files;
    guint n_files;
};

struct points {
    struct point *point; /* by their names */
    guint n;
};

enum { POINTS_JOBS_UNSAID = INT_MIN };
#define POINTS_JOBS(jobs)                                                                          \
    {                                                                                              \
        "jobs", 'j', 0, G_OPTION_ARG_INT, jobs,                                                    \
            "Read each file, or ring of files, on its own, N at a time; also those in folders",    \
            "N"                                                                                    \
    }

/* OPTIONS_GO_ON, or bad usage. Jobs that are POINTS_JOBS_UNSAID are 0 then. */
int points_check(const struct command *command, const struct options *options, int *jobs);

/* Whether `options` ask for points: jobs are given, or a folder or a pattern is among the files. */
bool points_wanted(const struct options *options, guint jobs);

/* Those of the files, of the folders below and of what patterns match. OPTIONS_GO_ON, or what is
 * wrong was said. points_free afterwards in every case. */
int points_find(struct points *points, const struct options *options);
void points_free(struct points *points);

/* Calls `one` for each in a process of its own, `jobs` at a time, with its files in place of the
 * options'. What it writes to standard output comes out in order of the points, after what `before`
 * (may be NULL) writes. The worst exit status. */
struct points_call {
    int (*one)(void *context, const struct point *point);
    void (*before)(void *context, const struct point *point, struct out *out);
    void *context;
};
int points_each(const struct points *points, struct options *options, guint jobs,
                const struct points_call *call);

#endif
