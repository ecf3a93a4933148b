/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_TEXT_H
#define RPCRDMA_CLI_EXPORT_TEXT_H

/* A row as text, for the stores that write files. */

#include "export/stores.h"

/* A line. `named`: an object of NDJSON begins with its table. */
void text_row(struct out *out, const struct row *row, enum text_form form, bool named);

/* The first line of CSV. */
void text_header(struct out *out, const struct table *table);

/* Opens it as the user who gave its path, and makes it where there is none. -1: it was said. */
int text_folder(const char *path);

#endif
