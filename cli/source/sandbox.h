/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_SANDBOX_H
#define RPCRDMA_CLI_SOURCE_SANDBOX_H

/*
 * A capture is what somebody sent over a network. Before its first byte is read, the process gives
 * up what reading it does not need: starting programs, sockets, other processes, files other than
 * the input and the output. By Landlock (which files) and seccomp (which system calls), each where
 * it is there: a kernel without them changes nothing but the protection.
 */

#include <stdbool.h>
#include <stddef.h>

struct sandbox {
    char *const *inputs; /* files that will be opened for reading; "-" is none */
    size_t n_inputs;
    const char *writes_in; /* folder in which files will be made; NULL: none will */
};

/* For the rest of the process. Whether anything protects it now. */
bool sandbox_enter(const struct sandbox *sandbox);

#endif
