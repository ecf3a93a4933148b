/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/merge/origins.h"

#include <stdlib.h>

enum { FILE_BITS = 12, LEAST = 64 };

static uint64_t *run(const struct origins *origins, size_t i)
{
    return &origins->runs[(origins->first + i) & (origins->room - 1)];
}

static uint32_t file_of(uint64_t one)
{
    return (uint32_t)(one & ((1u << FILE_BITS) - 1));
}

/* Only of a ring that has not turned: the first run lies first. */
static bool grow(struct origins *origins)
{
    size_t room = origins->room > 0 ? 2 * origins->room : LEAST;
    uint64_t *more = realloc(origins->runs, room * sizeof(*more));

    if (!more)
        return false;
    origins->runs = more;
    origins->room = room;
    return true;
}

void origins_add(struct origins *origins, uint64_t frame, uint32_t file)
{
    if (origins->n > 0 && file_of(*run(origins, origins->n - 1)) == file)
        return;
    if (origins->n == origins->room &&
        (origins->room == ORIGINS_MOST || origins->first > 0 || !grow(origins))) {
        if (origins->n == 0)
            return;
        origins->first = (origins->first + 1) & (origins->room - 1);
        origins->n--;
    }
    *run(origins, origins->n++) = frame << FILE_BITS | file;
}

bool origins_find(const struct origins *origins, uint64_t frame, size_t *file)
{
    size_t low = 0, high = origins->n; /* the run is below `high`; not below `low` */

    if (origins->n == 0 || frame < *run(origins, 0) >> FILE_BITS)
        return false;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (frame < *run(origins, middle) >> FILE_BITS)
            high = middle;
        else
            low = middle;
    }
    *file = file_of(*run(origins, low));
    return true;
}

void origins_free(struct origins *origins)
{
    free(origins->runs);
    *origins = (struct origins){0};
}
