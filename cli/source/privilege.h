/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_PRIVILEGE_H
#define RPCRDMA_CLI_SOURCE_PRIVILEGE_H

/*
 * Opening a device takes CAP_NET_RAW; nothing after it takes anything. What reads bytes from a
 * network has no capability any more, and cannot get one: no_new_privs is set, and every
 * capability set is empty.
 *
 * A process of root's is still root's to the file system. Where sudo started it, it becomes the
 * user who called sudo; else, if it writes no files, nobody.
 */

#include <stdbool.h>
#include <stddef.h>

enum privilege_files {
    PRIVILEGE_NO_FILES,     /* none will be opened */
    PRIVILEGE_WRITES_FILES, /* the user's: root stays root where there is no other user */
};

/* For good. False with one line in `error`: the process must not go on. */
bool privilege_drop(enum privilege_files files, char *error, size_t size);

#endif
