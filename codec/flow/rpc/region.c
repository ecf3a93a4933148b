/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/region.h"

#include <string.h>

#include "bound.h"

enum {
    EXTENTS_MAX = RPCRDMA_BOUND(1 << 16, 4), /* a region cut in more pieces keeps no further ones */
    MOVED_MAX = RPCRDMA_BOUND(4096, 2),      /* pieces that one which comes late may move */
    BLOCK_MIN = 4096,
    BLOCK_MAX = 256 << 10,
};

/* Storage grows with what was captured, never with what a header claims: a block is at most twice
 * the one before, and never larger than what the region can still take. */
struct flow_block {
    struct flow_block *next;
    uint32_t size, used;
    uint8_t bytes[];
};

void flow_region_clear(struct flow_regions *regions, struct flow_region *region)
{
    struct flow_block *next;

    flow_region_close(regions, region);
    for (struct flow_block *block = region->blocks; block; block = next) {
        next = block->next;
        flow_release(regions->memory, block, sizeof(*block) + block->size);
    }
    flow_release(regions->memory, region->extents, region->extents_size * sizeof(*region->extents));
    region->blocks = NULL;
    region->extents = NULL;
    region->extents_size = region->n_extents = 0;
    region->seen = region->captured = 0;
}

static uint64_t extent_end(const struct flow_extent *e)
{
    return (uint64_t)e->start + e->length;
}

/* Index of the first extent that ends after `at`. */
static uint32_t extent_after(const struct flow_region *region, uint64_t at)
{
    uint32_t low = 0, high = region->n_extents;

    if (high > 0 && extent_end(&region->extents[high - 1]) <= at)
        return high; /* in order, as nearly always */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (extent_end(&region->extents[middle]) <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What flow/ needs to find its way must not starve because data took everything. */
static bool data_has_much(const struct flow_regions *regions)
{
    return regions->memory->used >= regions->memory->limit / 4 * 3;
}

/* For n more. */
static bool extents_room(struct flow_regions *regions, struct flow_region *region, uint32_t n)
{
    uint32_t size = region->extents_size ? region->extents_size * 2 : 4;
    struct flow_extent *bigger;

    if (region->n_extents + n <= region->extents_size)
        return true;
    if (size > EXTENTS_MAX || (size > MOVED_MAX && data_has_much(regions)))
        return false;
    bigger = flow_alloc(regions->memory, size * sizeof(*bigger));
    if (!bigger)
        return false;
    if (region->n_extents > 0)
        memcpy(bigger, region->extents, region->n_extents * sizeof(*bigger));
    flow_release(regions->memory, region->extents, region->extents_size * sizeof(*bigger));
    region->extents = bigger;
    region->extents_size = size;
    return true;
}

static bool extent_insert(struct flow_regions *regions, struct flow_region *region, uint32_t i,
                          const struct flow_extent *e)
{
    struct flow_extent *before = i > 0 ? &region->extents[i - 1] : NULL;

    if (before && extent_end(before) == e->start && before->captured == e->captured &&
        (e->data ? before->data && before->data + before->length == e->data : !before->data)) {
        before->length += e->length;
        return true;
    }
    if (region->n_extents - i > MOVED_MAX || !extents_room(regions, region, 1))
        return false;
    memmove(&region->extents[i + 1], &region->extents[i],
            (region->n_extents - i) * sizeof(*region->extents));
    region->extents[i] = *e;
    region->n_extents++;
    return true;
}

/* Up to n bytes of storage; *got says how many. NULL: none to be had. */
static uint8_t *store(struct flow_regions *regions, struct flow_region *region, uint32_t n,
                      uint32_t *got)
{
    struct flow_block *block = region->blocks;

    if (!block || block->used == block->size) {
        uint32_t size = block ? block->size * 2 : BLOCK_MIN;
        uint32_t left = region->length - region->captured;

        if (size > BLOCK_MAX)
            size = BLOCK_MAX;
        if (size > left)
            size = left;
        if (size == 0)
            size = n;
        if (data_has_much(regions))
            return NULL;
        block = flow_alloc(regions->memory, sizeof(*block) + size);
        if (!block)
            return NULL;
        block->size = size;
        block->next = region->blocks;
        region->blocks = block;
    }
    *got = block->size - block->used < n ? block->size - block->used : n;
    block->used += *got;
    return block->bytes + block->used - *got;
}

/* [s, e), of which nothing is there, as extents before extents[*i]; *i moves behind them. `data`
 * NULL: it was not captured. */
static void add(struct flow_regions *regions, struct flow_region *region, uint32_t *i, uint64_t s,
                uint64_t e, const uint8_t *data)
{
    const bool captured = data != NULL;

    while (s < e) {
        struct flow_extent new = {.start = (uint32_t)s, .length = (uint32_t)(e - s)};
        uint32_t before = region->n_extents;

        new.captured = captured;
        if (captured && region->keep) {
            /* the second is for what follows and is not kept: that merges, without an end */
            if (extents_room(regions, region, 2))
                new.data = store(regions, region, new.length, &new.length);
            if (new.data) {
                memcpy(new.data, data, new.length);
                data += new.length;
            } else {
                /* passed and not kept: reported as one run, so that it costs nothing further */
                region->dropped = true;
                new.captured = false;
            }
        }
        if (!extent_insert(regions, region, *i, &new)) {
            region->dropped = true;
            return;
        }
        *i += region->n_extents - before;
        region->seen += new.length;
        if (new.captured)
            region->captured += new.length;
        s += new.length;
    }
}

/* Takes [s, e) out of extents[i], which holds it and has no bytes. Returns the index of what
 * follows the hole, UINT32_MAX when there is no room to split. */
static uint32_t cut(struct flow_regions *regions, struct flow_region *region, uint32_t i,
                    uint64_t s, uint64_t e)
{
    struct flow_extent old = region->extents[i];
    struct flow_extent tail = old;

    /* two: a tail, and what goes into the hole */
    if (region->n_extents - i > MOVED_MAX || !extents_room(regions, region, 2))
        return UINT32_MAX;
    region->seen -= (uint32_t)(e - s);
    tail.start = (uint32_t)e;
    tail.length = (uint32_t)(extent_end(&old) - e);
    region->extents[i].length = (uint32_t)(s - old.start);
    if (s == old.start && tail.length == 0) {
        region->n_extents--;
        memmove(&region->extents[i], &region->extents[i + 1],
                (region->n_extents - i) * sizeof(*region->extents));
        return i;
    }
    if (s == old.start) {
        region->extents[i] = tail;
        return i;
    }
    if (tail.length > 0) {
        memmove(&region->extents[i + 2], &region->extents[i + 1],
                (region->n_extents - i - 1) * sizeof(*region->extents));
        region->extents[i + 1] = tail;
        region->n_extents++;
    }
    return i + 1;
}

/* [s, e), which was captured, into extents[*i], which holds it: the latest bytes count. */
static void put_over(struct flow_regions *regions, struct flow_region *region, uint32_t *i,
                     uint64_t s, uint64_t e, const uint8_t *data)
{
    const struct flow_extent *there = &region->extents[*i];
    uint32_t after;

    if (there->data) {
        memcpy(there->data + (s - there->start), data, (size_t)(e - s));
        return;
    }
    if (there->captured)
        return;
    after = cut(regions, region, *i, s, e);
    if (after == UINT32_MAX)
        return;
    *i = after;
    add(regions, region, i, s, e, data);
}

static void put(struct flow_regions *regions, struct flow_region *region, uint64_t s, uint64_t e,
                const uint8_t *data)
{
    uint32_t i = extent_after(region, s);

    while (s < e) {
        struct flow_extent *there = i < region->n_extents ? &region->extents[i] : NULL;
        uint64_t until = e;

        if (!there || there->start > s) {
            if (there && there->start < until)
                until = there->start;
            add(regions, region, &i, s, until, data);
        } else {
            if (extent_end(there) < until)
                until = extent_end(there);
            if (data)
                put_over(regions, region, &i, s, until, data);
            if (i < region->n_extents && extent_end(&region->extents[i]) <= until)
                i++;
        }
        if (data && region->keep)
            data += until - s;
        s = until;
    }
}

/* Bytes that are not kept, and go on where the last run ends, as nearly always. */
static bool goes_on(struct flow_region *region, uint64_t start, uint32_t len)
{
    struct flow_extent *last =
        region->n_extents > 0 ? &region->extents[region->n_extents - 1] : NULL;

    if (!last || region->keep || extent_end(last) != start || !last->captured || last->data ||
        start + len > region->length)
        return false;
    last->length += len;
    region->seen += len;
    region->captured += len;
    return true;
}

bool flow_region_place(struct flow_regions *regions, struct flow_region *region, uint64_t start,
                       const uint8_t *data, uint32_t caplen, uint32_t len)
{
    uint64_t end = start + len;
    /* Where nobody wants the bytes, that they passed is enough. Packets that were cut would be two
     * extents each. */
    uint64_t captured = start + (region->keep ? caplen : len);

    if (goes_on(region, start, len))
        return true;
    if (start >= region->length)
        return len == 0;
    if (captured > region->length)
        captured = region->length;
    put(regions, region, start, captured, data ? data : (const uint8_t *)"");
    put(regions, region, captured, end > region->length ? region->length : end, NULL);
    return end <= region->length;
}

uint32_t flow_region_seen(const struct flow_region *region, uint32_t length)
{
    uint32_t at = 0, sum = 0;
    struct flow_extent run;
    bool seen;

    if (length >= region->length)
        return region->seen;
    while (flow_region_next(region, &at, length, &run, &seen))
        if (seen)
            sum += run.length;
    return sum;
}

bool flow_region_passed(const struct flow_region *region, uint32_t *at, uint32_t length)
{
    struct flow_extent run;
    uint32_t from = *at;
    bool seen;

    if (region->seen == region->length)
        return true;
    while (flow_region_next(region, at, length, &run, &seen)) {
        if (!seen) {
            *at = from;
            return false;
        }
        from = *at;
    }
    return true;
}

bool flow_region_next(const struct flow_region *region, uint32_t *at, uint32_t length,
                      struct flow_extent *run, bool *seen)
{
    uint32_t i = extent_after(region, *at);
    uint64_t end = length;

    if (*at >= length)
        return false;
    *run = (struct flow_extent){.start = *at};
    *seen = i < region->n_extents && region->extents[i].start <= *at;
    if (*seen) {
        const struct flow_extent *e = &region->extents[i];

        if (extent_end(e) < end)
            end = extent_end(e);
        run->captured = e->captured;
        run->data = e->data ? e->data + (*at - e->start) : NULL;
    } else if (i < region->n_extents && region->extents[i].start < end) {
        end = region->extents[i].start;
    }
    run->length = (uint32_t)(end - *at);
    *at = (uint32_t)end;
    return true;
}
