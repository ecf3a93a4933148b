/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_RIGHTS_OPENED_H
#define RPCRDMA_CLI_SOURCE_RIGHTS_OPENED_H

/*
 * Files to be read, opened before privileges are dropped: what reads them later may not open any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Opens all of them, "-" excepted; borrows the paths. *left of them, the last ones, are not open
 * for want of descriptors. What cannot be opened for another reason is reported when it is asked
 * for. False when memory is short. */
bool opened_before(char *const *paths, size_t n, size_t *left);

/* A descriptor of the path: of the file opened before, else it is opened now. -1 with errno. One of
 * a regular file opened before is *borrowed: it stays open, and where it stands says nothing; any
 * other is the caller's. */
int opened_take(const char *path, bool *borrowed);

/* The same, to be looked at only: it is not the caller's. -1: it was not opened before. */
int opened_look(const char *path);

/* As stat(2). */
int opened_stat(const char *path, struct stat *out);

#endif
