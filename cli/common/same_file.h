/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_SAME_FILE_H
#define RPCRDMA_CLI_COMMON_SAME_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

/* Whatever names they were opened by. */
static inline bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

#endif
