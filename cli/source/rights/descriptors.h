/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_RIGHTS_DESCRIPTORS_H
#define RPCRDMA_CLI_SOURCE_RIGHTS_DESCRIPTORS_H

#include <stddef.h>

/* Standard ones that are closed stay of no use, but what is opened next does not become one: a file
 * that messages would go to. */
void descriptors_hold_standard(void);

/* What this process was started with is not for it: closes all but the standard ones and these n,
 * which it sorts. */
void descriptors_close_but(int *keep, size_t n);

/* The same of all that arguments do not name: /dev/fd/N, /proc/self/fd/N. */
void descriptors_close_unnamed(int argc, char **argv);

#endif
