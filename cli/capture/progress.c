/* SPDX-License-Identifier: BSD-2-Clause */
/* What capture says while it runs, once a second. */
#include <inttypes.h>

#include "capture/progress.h"
#include "common/times.h"
#include "source/clock.h"
#include "source/source.h"

void capture_progress_show(struct capture_progress *progress, const struct source *source,
                           struct capture_select *select, uint64_t packets)
{
    struct progress_line *line = &progress->line;
    struct source_stats stats = {0};
    int64_t at = clock_now(CLOCK_MONOTONIC), seconds;
    double rate = 0;

    if (!progress->on || at < progress->next_ns)
        return;
    if (progress->start_ns == 0)
        progress->start_ns = at;
    else
        rate = (double)(packets - progress->packets_before) * 1e9 /
               (double)(at - progress->next_ns + SECOND);
    seconds = (at - progress->start_ns) / SECOND;
    source_stats(source, &stats);
    progress_line_new(line);
    progress_line_add(line, "%" PRId64 ":%02d:%02d", seconds / 3600, (int)(seconds / 60 % 60),
                      (int)(seconds % 60));
    progress_line_add(line, "  %" PRIu64 " packets", packets);
    progress_line_add(line, ", %.0f/s", rate);
    if (stats.dropped_known && source->live)
        progress_line_add(line, ", %" PRIu64 " lost", stats.dropped);
    else if (source->live)
        progress_line_add(line, ", ? lost");
    progress_line_add(line, ", %" PRIu64 " messages", select->messages);
    if (select->most.granted > 0)
        progress_line_add(line, ", %" PRIu64 "/%" PRIu32 " credits", select->most.in_flight,
                          select->most.granted);
    select->most = select->now;
    progress_line_show(line);
    progress->packets_before = packets;
    progress->next_ns = at + SECOND;
}

void capture_progress_begin(struct capture_progress *progress)
{
    if (progress->on)
        progress_line_begin(&progress->line);
}

void capture_progress_end(struct capture_progress *progress)
{
    if (progress->on)
        progress_line_end(&progress->line);
}
