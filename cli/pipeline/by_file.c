/* SPDX-License-Identifier: BSD-2-Clause */
/* What was read of each of several files, for who wants to know. */
#include "pipeline/private.h"

static struct pipeline_file *file_of(struct pipeline *pipeline, uint64_t frame)
{
    size_t i;

    return source_part_of(pipeline->own->source, frame, &i) ? &pipeline->by_file[i] : NULL;
}

void pipeline_by_file_left_out(struct pipeline *pipeline, uint64_t frame)
{
    struct pipeline_file *file = file_of(pipeline, frame);

    if (file)
        file->left_out = true;
}

void pipeline_by_file_message(struct pipeline *pipeline, uint64_t frame)
{
    struct pipeline_file *file = file_of(pipeline, frame);

    if (file)
        file->messages++;
    else
        pipeline->messages_unknown = true;
}

void pipeline_by_file(struct pipeline *pipeline)
{
    for (guint i = 0; pipeline->by_file && i < pipeline->options->n_files; i++) {
        struct pipeline_file *file = &pipeline->by_file[i];

        if (source_part(pipeline->own->source, i, &file->source))
            file->source.complete &= !file->left_out && !pipeline->own->no_memory;
    }
}
