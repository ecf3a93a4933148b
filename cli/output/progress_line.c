/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/progress_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/bounded_text.h"
#include "common/complain.h"

/* How many characters fit: the last column is left free, where some terminals begin a new line. */
static size_t room(void)
{
    struct winsize size;
    size_t columns = 80;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        columns = size.ws_col;
    return (columns < PROGRESS_COLUMNS ? columns : PROGRESS_COLUMNS) - 1;
}

void progress_line_new(struct progress_line *line)
{
    line->n = 0;
    line->room = room();
}

void progress_line_add(struct progress_line *line, const char *format, ...)
{
    char text[PROGRESS_COLUMNS];
    va_list args;
    size_t n;

    va_start(args, format);
    n = bounded_text(text, sizeof(text), format, args);
    va_end(args);
    if (line->n + n > line->room) {
        line->room = line->n; /* nor what is less important, in its place */
        return;
    }
    memcpy(line->text + line->n, text, n);
    line->n += n;
}

/* The line, and blanks over what is left of the one before. */
void progress_line_show(struct progress_line *line)
{
    size_t columns = room();
    size_t end = line->shown < columns ? line->shown : columns; /* it may be narrower now */

    fprintf(stderr, "\r%.*s%*s", (int)line->n, line->text, end > line->n ? (int)(end - line->n) : 0,
            "");
    fflush(stderr);
    line->shown = line->n;
}

static void clear(void *context)
{
    struct progress_line *line = context;

    if (line->shown == 0)
        return;
    line->shown = PROGRESS_COLUMNS; /* the terminal may have echoed a ^C behind it */
    line->n = 0;
    progress_line_show(line);
    fputc('\r', stderr);
}

void progress_line_begin(struct progress_line *line)
{
    complain_first(clear, line);
}

void progress_line_end(struct progress_line *line)
{
    clear(line);
    complain_first(NULL, NULL);
}
