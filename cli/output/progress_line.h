/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUTPUT_PROGRESS_LINE_H
#define RPCRDMA_CLI_OUTPUT_PROGRESS_LINE_H

/*
 * A line on standard error that is written over: as much of it as the terminal is wide, whatever
 * its width is by now. No terminal's own commands are used but the carriage return, which all of
 * them know. It makes way for what is complained about.
 */

#include <stddef.h>

enum { PROGRESS_COLUMNS = 200 };

struct progress_line {
    char text[PROGRESS_COLUMNS];
    size_t n, room;
    size_t shown; /* characters to write over */
};

/* Between the two, the line is cleared before each complaint. `line` must stay where it is. */
void progress_line_begin(struct progress_line *line);
void progress_line_end(struct progress_line *line);

/* An empty line, then its items, whole or not at all: what comes first matters most. Then it is
 * shown in place of the one before. */
void progress_line_new(struct progress_line *line);
__attribute__((format(printf, 2, 3))) void progress_line_add(struct progress_line *line,
                                                             const char *format, ...);
void progress_line_show(struct progress_line *line);

#endif
