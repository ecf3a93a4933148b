/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUTPUT_PAGER_H
#define RPCRDMA_CLI_OUTPUT_PAGER_H

/*
 * Text on a terminal goes through $PAGER (else less), as git does: it is shown page by page, and at
 * once where it fits the screen. PAGER=cat, or an empty one, is none.
 */

#include <stdbool.h>

/* Puts the pager between `fd` and the terminal. Before rights are given up: it is a program. False
 * where there is none: `fd` is the terminal still. */
bool pager_begin(int fd);

/* Closes `fd` and waits until the reader has left the pager. Without pager_begin, nothing. */
void pager_end(int fd);

#endif
