/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "capture.h"
#include "source/source.h"

#define SECOND INT64_C(1000000000)

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

void capture_progress_show(struct capture_progress *progress, const struct source *source,
                           const struct capture_select *select, uint64_t packets)
{
    struct source_stats stats = {0};
    int64_t at = now(), since;
    char drops[40] = "drops unknown", credits[60] = "";

    if (!progress->on || at < progress->next_ns)
        return;
    if (progress->start_ns == 0)
        progress->start_ns = at;
    since = at - (progress->next_ns > 0 ? progress->next_ns - SECOND : at);
    source_stats(source, &stats);
    if (stats.dropped_known)
        snprintf(drops, sizeof(drops), "%" PRIu64 " dropped", stats.dropped);
    if (select->has_credits)
        snprintf(credits, sizeof(credits), ", %" PRIu64 " of %" PRIu32 " credits in use",
                 select->in_flight, select->granted);
    fprintf(stderr,
            "\r%" PRId64 " s: %" PRIu64 " packets, %.0f/s, %s, %" PRIu64 " messages%s\033[K",
            (at - progress->start_ns) / SECOND, packets,
            since > 0 ? (double)(packets - progress->packets_before) * 1e9 / (double)since : 0,
            drops, select->messages, credits);
    fflush(stderr);
    progress->packets_before = packets;
    progress->next_ns = at + SECOND;
}

void capture_progress_clear(struct capture_progress *progress)
{
    if (progress->on && progress->next_ns > 0)
        fputs("\r\033[K", stderr);
}
