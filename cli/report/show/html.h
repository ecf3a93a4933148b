/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_SHOW_HTML_H
#define RPCRDMA_CLI_REPORT_SHOW_HTML_H

/* The report as HTML: html.c has the page, its charts and the verdict, html_tables.c the tables. */

#include "report/show/show.h"

/* HTML as it is. */
__attribute__((format(printf, 2, 3))) void html_put(struct out *out, const char *format, ...);
/* Text from outside, or with signs that HTML takes for its own. */
void html_text(struct out *out, const char *text);

void html_groups(const struct report *r, struct out *out); /* operations, clients */
void html_connections(const struct report *r, struct out *out);
void html_transport(const struct report *r, struct out *out);
/* Messages, what kernels traced, errors, findings. */
void html_counts(const struct report *r, struct out *out);

#endif
