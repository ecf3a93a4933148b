/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_BYTES_BESIDE_H
#define RPCRDMA_CLI_SOURCE_BYTES_BESIDE_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Starts a thread that works beside the caller: on another processor than the one that the caller
 * is on, as the scheduler tends to leave both on that one for as long as a short run takes. Signals
 * are for the caller, but for `own` (0: none), which the thread handles as well. False: there is
 * one processor alone, or no thread to be had.
 */
bool beside_start(pthread_t *thread, void *(*run)(void *argument), void *argument, int own);

/* Ends a thread that ends once *stop is set, which the mutex guards, and waits for `wake` where it
 * sleeps. Returns when it has ended. */
void beside_stop(pthread_t thread, pthread_mutex_t *mutex, pthread_cond_t *wake, bool *stop);

/* False: the program has one processor alone. */
bool beside_possible(void);

#endif
