/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_HEAP_H
#define RPCRDMA_CLI_COMMON_HEAP_H

/*
 * The C library's heap in large pages, where an analysis keeps much: of 10,000 connections each is
 * on another page, and most packets have the processor look one up that it does not know; and the
 * kernel gives memory page by page. Each thread that is not the program's has a heap of its own, of
 * which nothing is said here.
 */

/* Before anything is analysed. */
void heap_begin(void);
/* Now and then: the heap may have grown. */
void heap_look(void);

#endif
