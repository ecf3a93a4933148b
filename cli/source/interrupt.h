/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_INTERRUPT_H
#define RPCRDMA_CLI_SOURCE_INTERRUPT_H

/* SIGINT and SIGTERM as a wish to end: once. A second one ends the process. */

#include <stdbool.h>
#include <sys/types.h>

/* From now on. False where the system has no descriptor left. */
bool interrupt_watch(void);

/* The signals are passed on to this process, which captures for us. 0: none. */
void interrupt_forward(pid_t to);

bool interrupt_seen(void);

/* Readable once one was seen. -1 before interrupt_watch. */
int interrupt_fd(void);

#endif
