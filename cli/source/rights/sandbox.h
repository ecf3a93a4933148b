/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_RIGHTS_SANDBOX_H
#define RPCRDMA_CLI_SOURCE_RIGHTS_SANDBOX_H

/*
 * A capture is what somebody sent over a network. Before its first byte is read, the process gives
 * up what reading it does not need: starting programs, sockets, other processes, files other than
 * those that are open. By Landlock (which files) and seccomp (which system calls), each where it is
 * there: a kernel without them changes nothing but the protection.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sandbox {
    char *const *reads; /* files that will be opened for reading, or folders of such; "-" is none */
    size_t n_reads;
    bool creates; /* it creates and removes files in the folder (a descriptor), for others */
    int folder;
    bool captures; /* packets come from a device that is open */
    pid_t child;   /* a process that it may kill; 0: none */
};

/* For the rest of the process. Whether anything protects it now. */
bool sandbox_enter(const struct sandbox *sandbox);

/*
 * What reads files as root goes on as another user, too (privilege.h), and in the sandbox. False
 * with one line in `error`. A program built to be measured (sanitizers, coverage) keeps its rights
 * to say at the end what was measured.
 */
bool sandbox_files(const struct sandbox *sandbox, char *error, size_t size);

#endif
