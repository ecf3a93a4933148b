/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_RIGHTS_PRIVILEGE_H
#define RPCRDMA_CLI_SOURCE_RIGHTS_PRIVILEGE_H

/*
 * Opening a device takes CAP_NET_RAW, opening files the user's rights; nothing after it takes
 * anything. What looks at bytes that came over a network has no capability any more, and cannot get
 * one: no_new_privs is set, and every capability set is empty. And it is not root: it goes on as
 * the user who called sudo, else as nobody.
 */

#include <stdbool.h>
#include <stddef.h>

/* For good. False with one line in `error`: the process must not go on. */
bool privilege_drop(char *error, size_t size);

/* The same of a process that does nothing but create files in this folder: as the user who called
 * sudo, else as the folder's owner. */
bool privilege_drop_to_folder(int folder, char *error, size_t size);

/* What is done between the two is done to files as the user who called sudo would. */
struct privilege_lent {
    bool lent;
    int n; /* groups; -1: they stayed */
    unsigned groups[256];
};
void privilege_lend(struct privilege_lent *lent);
void privilege_return(const struct privilege_lent *lent);

#endif
