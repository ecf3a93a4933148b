/* SPDX-License-Identifier: BSD-2-Clause */
/* One line that is written over: as much of it as the terminal is wide, whatever its width is by
 * now. No terminal's own commands are used but the carriage return, which all of them know. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "command.h"
#include "source/source.h"

#define SECOND INT64_C(1000000000)

enum { COLUMNS = 80, COLUMNS_MAX = 200 };

struct line {
    char text[COLUMNS_MAX];
    size_t n, room;
};

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

/* How many characters fit: the last column is left free, where some terminals begin a new line. */
static size_t room(void)
{
    struct winsize size;
    size_t columns = COLUMNS;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        columns = size.ws_col;
    return (columns < COLUMNS_MAX ? columns : COLUMNS_MAX) - 1;
}

/* Adds an item, whole or not at all; what comes first matters most. */
__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    char text[COLUMNS_MAX];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (n < 0 || line->n + (size_t)n > line->room) {
        line->room = line->n; /* nor what is less important, in its place */
        return;
    }
    memcpy(line->text + line->n, text, (size_t)n);
    line->n += (size_t)n;
}

/* The line, and blanks over what is left of the one before. */
static void put(struct capture_progress *progress, const struct line *line)
{
    size_t columns = room();
    size_t end = progress->shown < columns ? progress->shown : columns; /* it may be narrower now */

    fprintf(stderr, "\r%.*s%*s", (int)line->n, line->text, end > line->n ? (int)(end - line->n) : 0,
            "");
    fflush(stderr);
    progress->shown = line->n;
}

void capture_progress_show(struct capture_progress *progress, const struct source *source,
                           struct capture_select *select, uint64_t packets)
{
    struct source_stats stats = {0};
    struct line line = {.room = room()};
    int64_t at = now(), seconds;
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
    add(&line, "%" PRId64 ":%02d:%02d", seconds / 3600, (int)(seconds / 60 % 60),
        (int)(seconds % 60));
    add(&line, "  %" PRIu64 " packets", packets);
    add(&line, ", %.0f/s", rate);
    if (stats.dropped_known && source->live)
        add(&line, ", %" PRIu64 " lost", stats.dropped);
    else if (source->live)
        add(&line, ", ? lost");
    add(&line, ", %" PRIu64 " messages", select->messages);
    if (select->most.granted > 0)
        add(&line, ", %" PRIu64 "/%" PRIu32 " credits", select->most.in_flight,
            select->most.granted);
    select->most = select->now;
    put(progress, &line);
    progress->packets_before = packets;
    progress->next_ns = at + SECOND;
}

static void clear(void *context)
{
    struct capture_progress *progress = context;

    if (progress->shown == 0)
        return;
    progress->shown = COLUMNS_MAX; /* the terminal may have echoed a ^C behind it */
    put(progress, &(struct line){.n = 0});
    fputc('\r', stderr);
}

void capture_progress_begin(struct capture_progress *progress)
{
    if (progress->on)
        complain_first(clear, progress);
}

void capture_progress_end(struct capture_progress *progress)
{
    clear(progress);
    complain_first(NULL, NULL);
}
