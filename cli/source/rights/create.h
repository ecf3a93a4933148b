/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_RIGHTS_CREATE_H
#define RPCRDMA_CLI_SOURCE_RIGHTS_CREATE_H

/*
 * Files for output. What is in a folder may have been put there by somebody else: a symbolic link
 * is not followed, and in a folder that everybody can write a file of another user's, or one that
 * has another name, is not written over; nor is what another run of the command writes to, which is
 * locked.
 */

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

enum create_how {
    CREATE_NEW,  /* there is none of this name yet */
    CREATE_OVER, /* what a regular file has goes; a pipe or a device is opened */
    CREATE_KEPT, /* the same, but it stays until who writes empties it */
};

/* errno where no call of the system sets it: of a file that somebody else may have put there; of a
 * device or a link where a regular file should be; of a file that is written to; of a pipe that
 * nobody reads from. */
enum {
    CREATE_PLANTED = ENOTUNIQ,
    CREATE_IRREGULAR = EMEDIUMTYPE,
    CREATE_BUSY = EALREADY,
    CREATE_UNREAD = ENOTCONN,
};

/* The descriptor, or -1 with errno; see create_error(). `name` is one of the folder. */
int create_at(int folder, const char *name, enum create_how how, mode_t mode);

/* Whether another run writes to the regular file of this name, or replaces it from time to time
 * (creator_replace). */
bool create_is_busy(int folder, const char *name);

/* Whether to try that again: of a pipe, whose reader may come, until a signal ends us. Waits. */
bool create_waits(int error);

/* The same of a path (CREATE_KEPT), as the user who called sudo where somebody did. Names of
 * descriptors ("-", /dev/stdout, /dev/fd/N, /proc/self/fd/N) are the descriptors that the process
 * has. */
int create_path(const char *path, mode_t mode);

/* The descriptor that a path names in such a way, or -1. */
int create_standard(const char *path);

/* The folder of a path, and where in the path the name begins. -1 with errno. */
int create_folder(const char *path, const char **name);

/* errno of these in words. */
const char *create_error(int error);

/* Whether the open file has no name any more: what was written to it is lost. */
int create_is_gone(int fd);

#endif
