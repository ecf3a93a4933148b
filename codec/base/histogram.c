/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/histogram.h"

#include <string.h>

#include "base/buckets.h"

void histogram_init(struct histogram *level, struct flow_memory *memory)
{
    memset(level, 0, sizeof(*level));
    level->memory = memory;
}

static void release(struct histogram *level)
{
    if (level->ns != level->first)
        flow_release(level->memory, level->ns, level->buckets * sizeof(*level->ns));
}

void histogram_free(struct histogram *level)
{
    release(level);
    histogram_init(level, level->memory);
}

void histogram_clear(struct histogram *level)
{
    uint64_t *ns = level->ns;
    uint32_t buckets = level->buckets;

    if (ns)
        memset(ns, 0, buckets * sizeof(*ns));
    histogram_init(level, level->memory);
    level->ns = ns;
    level->buckets = buckets;
}

static bool grow(struct histogram *level, uint32_t bucket)
{
    uint32_t buckets = HISTOGRAM_FIRST;
    uint64_t *ns = level->first;

    while (buckets <= bucket) /* twice as many, as far as needed */
        buckets *= 2;
    if (buckets > HISTOGRAM_FIRST)
        ns = flow_alloc(level->memory, buckets * sizeof(*ns));
    if (!ns)
        return false;
    if (level->ns)
        memcpy(ns, level->ns, level->buckets * sizeof(*ns));
    release(level);
    level->ns = ns;
    level->buckets = buckets;
    return true;
}

static bool is_exact(uint64_t value)
{
    return value >> RPCRDMA_LEVEL_EXACT_BITS == 0;
}

void histogram_add_time(struct histogram *level, uint64_t value, uint64_t ns)
{
    uint32_t bucket = bucket_of(value, RPCRDMA_LEVEL_EXACT_BITS);
    bool kept = bucket < level->buckets || grow(level, bucket);

    if (kept)
        level->ns[bucket] += ns;
    else
        level->lost_ns += ns;
    if (!kept || !is_exact(value))
        level->area += (double)value * (double)ns;
}

void histogram_cap(struct histogram *level, uint64_t max)
{
    uint32_t top = bucket_of(max, RPCRDMA_LEVEL_EXACT_BITS);

    if (level->max <= max)
        return;
    level->max = max;
    for (uint32_t i = top + 1; i < level->buckets; i++) {
        level->ns[top] += level->ns[i];
        level->ns[i] = 0;
    }
}

double histogram_mean(const struct histogram *level)
{
    double area = level->area;

    for (uint32_t i = 0; i < level->buckets && is_exact(i); i++)
        area += (double)i * (double)level->ns[i];
    return level->total_ns ? area / (double)level->total_ns : 0;
}

uint64_t histogram_percentile(const struct histogram *level, double percent)
{
    double wanted = (double)(level->total_ns - level->lost_ns) * percent / 100;
    uint64_t sum = 0, value = 0;

    for (uint32_t i = 0; i < level->buckets; i++) {
        if (level->ns[i] == 0)
            continue;
        value = bucket_top(i, RPCRDMA_LEVEL_EXACT_BITS);
        sum += level->ns[i];
        if ((double)sum >= wanted)
            break;
    }
    return value < level->max ? value : level->max;
}
