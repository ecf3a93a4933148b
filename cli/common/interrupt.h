/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_INTERRUPT_H
#define RPCRDMA_CLI_COMMON_INTERRUPT_H

/* SIGINT, SIGTERM and SIGHUP as a wish to end: once. Another one ends the process at once, but for
 * what comes within half a second, as timeout(1) sends each twice. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* From now on; processes forked later share the wish, whoever of them got the signal (and whatever
 * users they have become since). False where the system has no descriptor left. */
bool interrupt_watch(void);

/* The wish, without a signal. */
void interrupt_raise(void);

/* Whether somebody wished for it. Cheap, but a process that no signal reaches sees it later:
 * with interrupt_look. */
bool interrupt_seen(void);
bool interrupt_look(void);

/* For a handler: whether `number` is the first signal. One that comes later than half a second
 * after that ends the process as soon as the handler returns, if it is blocked meanwhile. */
bool interrupt_first(int number);

/* Readable once it was wished for. -1 before interrupt_watch. */
int interrupt_fd(void);

/* errno where no call of the system sets it: of a pipe whose reader does not read. */
enum { INTERRUPT_UNTAKEN = EHOSTDOWN };

/* Writes n bytes. 0, or errno; *done of them were written. Where the reader of a pipe stands still
 * it waits without end, but once there is the wish for three seconds only, unless `patient`. */
int interrupt_write(int fd, const void *bytes, size_t n, size_t *done, bool patient);

#endif
