/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_RIGHTS_CREATOR_H
#define RPCRDMA_CLI_SOURCE_RIGHTS_CREATOR_H

/*
 * Files that are created while packets are looked at: those of a ring, of extracted messages. Who
 * looks at packets is not the user whose folder that is, and may open nothing. So a process of its
 * own creates files in this one folder, and gives them away open; it sees no packet, and nothing of
 * the other process but the names. It creates only those that it was given at its start, and
 * removes those only that it created.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "source/rights/create.h"
#include "source/rights/names.h"

struct creator {
    int socket; /* -1: there is none */
    pid_t child;
};

/* What it may do. */
struct creator_task {
    int folder; /* a descriptor, which stays the caller's */
    enum create_how how;
    mode_t mode;
    struct names names;   /* only of these; the strings stay the caller's */
    const char *replaces; /* what creator_replace gives its file the name of; NULL: nothing */
    size_t removable;     /* so many of the latest that it created can be removed */
};

/* Starts it. Before threads are started and
 * privileges dropped; it drops its own. From then on SIGPIPE is ignored. False with one line in
 * `error`. */
bool creator_begin(struct creator *creator, const struct creator_task *task, bool no_sandbox,
                   char *error, size_t size);

/* An open file of this name. -1 with errno, see create_error(); EPERM: it is none of the task. */
int creator_create(struct creator *creator, const char *name);

/* False with errno. */
bool creator_remove(struct creator *creator, const char *name);

/* The file of this name, of the task's, takes the place of the one that `replaces` names. False
 * with errno: CREATE_BUSY where another run does so. Until this one ends, its file is locked. */
bool creator_replace(struct creator *creator, const char *name);

/* The file of this name, of the task's, which ends with CREATOR_PART, loses that: its name is taken
 * by nobody else, or EEXIST. False with errno. */
bool creator_publish(struct creator *creator, const char *name);
#define CREATOR_PART ".part"

/* Ends it; one that there is none of is fine. */
void creator_end(struct creator *creator);

#endif
