/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_SHOW_TEXT_H
#define RPCRDMA_CLI_REPORT_SHOW_TEXT_H

/* What the files of the page of text share: text.c, text_groups.c. */

#include "report/show/show.h"

__attribute__((format(printf, 2, 3))) void report_line(struct out *out, const char *format, ...);
void report_title(struct out *out, const char *text);
/* The operation's name in `most` columns: of a COMPOUND what it is about is shown, its first
 * operations, which all have, and its last ones are not. `name` has room for it. */
const char *report_short_name(const char *whole, size_t most, char *name);
/* Tables of operations, their phases, and clients. */
void report_text_groups(const struct report *report, struct out *out);

#endif
