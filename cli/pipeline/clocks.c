/* SPDX-License-Identifier: BSD-2-Clause */
/* A tap writes a file for each direction: no packet is in both, so nothing tells how far their
 * clocks are apart, and all lengths of time between them are as wrong as that. */
#include "pipeline/private.h"

void pipeline_clocks_begin(struct pipeline *pipeline)
{
    if (pipeline->options->n_files <= 1)
        return;
    pipeline->own->files = g_new0(struct pipeline_clocks, 1);
    pipeline->own->files->interface = UINT32_MAX;
}

static char *input_of(const struct pipeline_private *own, uint32_t number)
{
    struct source_interface interface = {0};

    return source_interface(own->source, number, &interface) ? g_strdup(interface.input)
                                                             : g_strdup("a file");
}

/* What follows a packet of the same file tells nothing: most of a ring's do. */
void pipeline_clocks_op(struct pipeline *pipeline, const struct rpcrdma_op *op)
{
    struct pipeline_private *own = pipeline->own;
    struct pipeline_clocks *files = own->files;
    const struct rpcrdma_connection *of;
    uint32_t before, at;

    if (own->interface == files->interface || files->inputs[0])
        return;
    files->interface = own->interface;
    of = rpcrdma_flow_connection(own->flow, op);
    if (!of)
        return;
    at = of->number % N_SEEN;
    before = files->seen[at].interface;
    if (files->seen[at].connection == of->number && before != own->interface &&
        source_unrelated(own->source, before, own->interface)) {
        files->inputs[0] = input_of(own, before);
        files->inputs[1] = input_of(own, own->interface);
    }
    files->seen[at].connection = of->number;
    files->seen[at].interface = own->interface;
}

void pipeline_clocks_end(struct pipeline *pipeline)
{
    struct pipeline_clocks *files = pipeline->own->files;

    for (int i = 0; files && i < 2; i++)
        g_free(files->inputs[i]);
    g_free(files);
}
