/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUTPUT_FINISH_H
#define RPCRDMA_CLI_OUTPUT_FINISH_H

/* Output: standard output from its first byte to the exit status, and files. */

#include "options/options.h"
#include "out/out.h"

/* Opens *out on standard output. Where that is a terminal it goes through a pager (pager.h), or by
 * line, and in color, unless options say otherwise. OPTIONS_GO_ON, or an exit status. */
int begin_output(const struct options *options, struct out *out);

/* Lines of text fit the terminal, if there is one: they are cut, or folded. What goes elsewhere
 * stays whole. */
void fit_lines(struct out *out, bool fold);

/* Writes what is left, and waits for the pager's reader. A reader that went away is no error; a
 * full disk is one and is said. Returns the exit status: `status` unless output failed. */
int end_output(struct out *out, int status);

/* What messages call standard output from now on; the caller keeps it. */
void output_is(const char *name);

/* Whether end_output said that not all of it could be written. */
bool output_failed(void);

/* Whether somebody waits for what comes out of this path: a pipe, or "-", standard output. */
bool output_awaited(const char *path);

#endif
