/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpcs/latency.h"

#include <math.h>

#include <glib.h>

void latency_clear(struct latency *l)
{
    for (size_t i = 0; i < LATENCY_OCTAVES; i++)
        g_free(l->octave[i]);
    *l = (struct latency){0};
}

/* All that is kept of it but its distribution. */
static void sum_up(struct latency *l, int64_t ns)
{
    l->count++;
    l->sum_ns += (double)ns;
    l->squares += (double)ns * (double)ns;
    if (ns > l->max_ns)
        l->max_ns = ns;
}

static void count(struct latency *l, size_t bucket)
{
    uint32_t **octave = &l->octave[bucket / LATENCY_FINE];

    if (!*octave)
        *octave = g_new0(uint32_t, LATENCY_FINE);
    if ((*octave)[bucket % LATENCY_FINE] < UINT32_MAX)
        (*octave)[bucket % LATENCY_FINE]++;
}

void latency_add(struct latency *l, int64_t ns)
{
    count(l, bucket_of(ns > 0 ? (uint64_t)ns : 0, LATENCY_EXACT_BITS));
    sum_up(l, ns);
}

/* The lowest bucket of a doubling above that there is, or the highest of one below. */
static size_t nearest(const struct latency *l, size_t octave)
{
    for (size_t i = octave + 1; i < LATENCY_OCTAVES; i++)
        if (l->octave[i])
            return i * LATENCY_FINE;
    while (octave > 0 && !l->octave[octave - 1])
        octave--;
    return octave * LATENCY_FINE - (octave > 0);
}

bool latency_add_within(struct latency *l, int64_t ns, size_t *bytes, size_t max_bytes)
{
    size_t bucket = bucket_of(ns > 0 ? (uint64_t)ns : 0, LATENCY_EXACT_BITS),
           octave = bucket / LATENCY_FINE;
    bool room = l->octave[octave] || l->count == 0 || *bytes < max_bytes;

    if (!l->octave[octave] && room)
        *bytes += LATENCY_FINE * sizeof(**l->octave);
    count(l, room ? bucket : nearest(l, octave));
    sum_up(l, ns);
    return room;
}

void latency_merge(struct latency *into, const struct latency *from)
{
    for (size_t i = 0; i < LATENCY_OCTAVES; i++) {
        if (!from->octave[i])
            continue;
        if (!into->octave[i])
            into->octave[i] = g_new0(uint32_t, LATENCY_FINE);
        for (size_t k = 0; k < LATENCY_FINE; k++)
            into->octave[i][k] += from->octave[i][k];
    }
    into->count += from->count;
    into->sum_ns += from->sum_ns;
    into->squares += from->squares;
    if (from->max_ns > into->max_ns)
        into->max_ns = from->max_ns;
}

int64_t latency_mean(const struct latency *l)
{
    return l->count > 0 ? (int64_t)(l->sum_ns / (double)l->count) : 0;
}

double latency_deviation(const struct latency *l)
{
    double mean = l->count > 0 ? l->sum_ns / (double)l->count : 0;
    double variance = l->count > 1 ? l->squares / (double)l->count - mean * mean : 0;

    return variance > 0 ? sqrt(variance) : 0;
}

int64_t latency_percentile(const struct latency *l, unsigned percent)
{
    uint64_t want = l->count / 100 * percent + (l->count % 100 * percent + 99) / 100, sum = 0;

    for (size_t i = 0; i < LATENCY_OCTAVES; i++)
        for (size_t k = 0; l->octave[i] && k < LATENCY_FINE; k++) {
            sum += l->octave[i][k];
            if (sum >= want && sum > 0) {
                int64_t top =
                    (int64_t)bucket_top((uint32_t)(i * LATENCY_FINE + k), LATENCY_EXACT_BITS);

                return top < l->max_ns ? top : l->max_ns;
            }
        }
    return l->max_ns;
}

uint64_t latency_below(const struct latency *l, int64_t ns)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < LATENCY_OCTAVES; i++)
        for (size_t k = 0; l->octave[i] && k < LATENCY_FINE; k++)
            if ((int64_t)bucket_top((uint32_t)(i * LATENCY_FINE + k), LATENCY_EXACT_BITS) < ns)
                sum += l->octave[i][k];
    return sum;
}
