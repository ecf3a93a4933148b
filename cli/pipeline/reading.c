/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/reading.h"

#include <inttypes.h>

#include "common/times.h"
#include "source/clock.h"

/* "6.25 GB": of 1000, as disks and ls --si have them. */
static void add_bytes(struct progress_line *line, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    size_t unit = 0;

    for (; value >= 1000 && unit < sizeof(units) / sizeof(units[0]) - 1; unit++)
        value /= 1000;
    progress_line_add(line, " of %.3g %s", value, units[unit]);
}

void reading_begin(struct reading *reading)
{
    reading->on = true;
    reading->start_ns = clock_now(CLOCK_MONOTONIC);
    reading->next_ns = reading->start_ns + SECOND;
    progress_line_begin(&reading->line);
}

void reading_end(struct reading *reading)
{
    if (reading->on)
        progress_line_end(&reading->line);
    reading->on = false;
}

void reading_show(struct reading *reading, const struct source *source, uint64_t n)
{
    struct progress_line *line = &reading->line;
    struct source_stats stats = {0};
    int64_t now, taken, left;

    if (!reading->on)
        return;
    now = clock_now(CLOCK_MONOTONIC);
    taken = now - reading->start_ns;
    reading->packets += n;
    if (now < reading->next_ns)
        return;
    reading->next_ns = now + SECOND;
    source_stats(source, &stats);
    progress_line_new(line);
    if (stats.size > 0) {
        double share = (double)stats.read / (double)stats.size;

        progress_line_add(line, "%d %%", (int)(share < 1 ? share * 100 : 100));
        add_bytes(line, stats.size);
        progress_line_add(line, ", ");
        left = share > 0 ? (int64_t)((double)taken / share) - taken : 0;
    } else {
        left = 0;
    }
    progress_line_add(line, "%" PRIu64 " packets, %.0f/s", reading->packets,
                      (double)reading->packets * 1e9 / (double)taken);
    if (left > 0)
        progress_line_add(line, ", %" PRId64 ":%02d left", left / SECOND / 60,
                          (int)(left / SECOND % 60));
    progress_line_show(line);
}
