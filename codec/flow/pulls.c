/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/track.h"

/*
 * Where the Read requests of one end go: by the request's id, in a table that is as large as the
 * ring of requests that flow/ keeps. Most connections have few of them, or none.
 */

static bool grow(struct track *track, struct track_pulls *pulls, uint32_t size)
{
    struct flow_memory *memory = &track->flow->memory;
    struct track_pull *bigger = flow_alloc(memory, size * sizeof(*bigger));

    if (!bigger)
        return false;
    for (uint32_t i = 0; i < pulls->size; i++)
        bigger[pulls->at[i].id % size] = pulls->at[i];
    flow_release(memory, pulls->at, pulls->size * sizeof(*bigger));
    pulls->at = bigger;
    pulls->size = size;
    return true;
}

void track_pulls_add(struct track *track, struct track_pulls *pulls, uint32_t ring, uint32_t id,
                     struct flow_region *region)
{
    if (pulls->size < ring && !grow(track, pulls, ring) && pulls->size == 0)
        return;
    pulls->at[id % pulls->size] = (struct track_pull){id, region};
}

struct flow_region *track_pulls_find(const struct track_pulls *pulls, uint32_t id)
{
    const struct track_pull *pull = pulls->size > 0 ? &pulls->at[id % pulls->size] : NULL;

    return pull && pull->id == id ? pull->region : NULL;
}

void track_pulls_forget(struct track_pulls *pulls, uint32_t first, uint32_t last,
                        const struct track_rpc *owner)
{
    uint32_t n = last - first + 1;

    for (uint32_t i = 0; i < n && i < pulls->size; i++) {
        struct track_pull *pull = &pulls->at[(last - i) % pulls->size];

        if (pull->region && pull->region->owner == owner)
            pull->region = NULL;
    }
}

void track_pulls_free(struct track *track, struct track_pulls *pulls)
{
    flow_release(&track->flow->memory, pulls->at, pulls->size * sizeof(*pulls->at));
    *pulls = (struct track_pulls){0};
}
