/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_FINISH_H
#define RPCRDMA_CLI_FINISH_H

/* Standard output, from its first byte to the exit status. */

#include "out/out.h"

/* Opens *out on standard output, by line where that is a terminal. OPTIONS_GO_ON, or an exit
 * status. */
int begin_output(struct out *out);

/* Writes what is left. A reader that went away is no error; a full disk is one and is said. Returns
 * the exit status: `status` unless output failed. */
int end_output(struct out *out, int status);

#endif
