/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/twice.h"

#include <glib.h>

#include "common/complain.h"
#include "pipeline/copies.h"

enum { DIRECTIONS = 256 }; /* of those that share a place some is counted that was not sent again */

struct check_twice {
    struct pipeline *pipeline;
    struct pipeline_copies *copies;
    uint64_t resent[DIRECTIONS]; /* so far */
};

static void on_passes(void *context, const struct source_packet *one)
{
    struct check_twice *twice = context;
    struct pipeline *pipeline = twice->pipeline;

    if (!pipeline->passes_unlike)
        pipeline->passes_unlike = !pipeline_copies_look(twice->copies, one);
}

static void on_op(void *context, const struct rpcrdma_op *op, const struct rpcrdma_path *path)
{
    struct check_twice *twice = context;
    const struct rpcrdma_connection *connection;
    uint64_t *resent;

    if (!path || path->retransmitted == 0)
        return;
    connection = pipeline_connection(twice->pipeline, op);
    if (!connection)
        return;
    resent =
        &twice->resent[(connection->number * 31 + op->dst_qpn * 7 + op->dst_port) % DIRECTIONS];
    if (path->retransmitted > *resent && pipeline_copies_again(twice->copies))
        twice->pipeline->passes_unlike = false;
    *resent = path->retransmitted;
}

struct check_twice *check_twice_join(struct pipeline *pipeline)
{
    struct check_twice *twice = g_new0(struct check_twice, 1);

    twice->pipeline = pipeline;
    twice->copies = pipeline_copies_new();
    pipeline->op_context = pipeline->passes_context = twice;
    pipeline->op_done = on_op;
    pipeline->op_done_unusual = true;
    pipeline->passes = on_passes;
    return twice;
}

void check_twice_free(struct check_twice *twice)
{
    pipeline_copies_free(twice->copies);
    g_free(twice);
}

void check_twice_say(struct check_twice *twice)
{
    const struct options *options = twice->pipeline->options;
    int64_t apart_ns = pipeline_copies_judge(twice->copies);

    if (apart_ns != 0)
        complain(
            "%s%s: nearly every packet is there twice, %.3f s apart: two captures were merged, "
            "of hosts whose clocks differ by that. Transport warnings may come from it; give "
            "both captures as two files",
            options_said(options), options_and_others(options), (double)apart_ns / 1e9);
}
