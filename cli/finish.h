/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_FINISH_H
#define RPCRDMA_CLI_FINISH_H

/* Output: standard output from its first byte to the exit status, and files. */

#include "out/out.h"

/* Opens *out on standard output, by line where that is a terminal. OPTIONS_GO_ON, or an exit
 * status. */
int begin_output(struct out *out);

/* Lines of text fit the terminal, if it is one; what goes elsewhere stays whole. */
void fit_lines(struct out *out);

/* Writes what is left. A reader that went away is no error; a full disk is one and is said. Returns
 * the exit status: `status` unless output failed. */
int end_output(struct out *out, int status);

/* Whether somebody waits for what comes out of this path: a pipe, or "-", standard output. */
bool output_awaited(const char *path);

#endif
