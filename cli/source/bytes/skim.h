/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_BYTES_SKIM_H
#define RPCRDMA_CLI_SOURCE_BYTES_SKIM_H

/*
 * A large plain pcap or pcapng file for who looks at no payload of RDMA Writes and Read responses:
 * it is mapped, and of such packets only the headers are copied into the caller's buffer;
 * everything else is, whole. Where the next records are likely to be is guessed, and asked for
 * ahead (strides.h). Where there is little such payload all is copied, a few KiB at a time, and the
 * caller is told where those behind are mapped: what it prefetches while it works on these is
 * copied in a fraction of the time. Where mapping cannot be done, or takes more than reading as far
 * as is tried at the beginning (skim_trial.c), the caller reads. A second thread, where there is a
 * processor for it, maps pages in ahead, and lets go of those behind (skim_ahead.c). Whatever it is
 * late with, 16 MiB at most are mapped in.
 *
 * What is mapped is looked at once, by the copying alone: decoders see the copy, so that another
 * program that writes the file changes nothing under them; and only the copying, and the touching
 * ahead of it, meet the signal of a file that was cut. A prefetch reads nothing and meets none.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SKIM_LEAST = 8 * 1024 * 1024 }; /* smaller files are read */

struct skim;

/* For tests: */
extern bool skim_tries;             /* false: it is not compared with reading */
extern bool skim_late;              /* the thread never gets a processor */
extern int64_t (*skim_clock)(void); /* by which it is compared: this thread's time, in ns */

/* `record`: where the first packet's record begins in the file, or, of pcapng (`blocks`), the block
 * behind its first section's; `swapped`: its byte order is not ours. NULL: read. */
struct skim *skim_begin(int fd, uint64_t record, bool blocks, bool swapped);

/* Gives n bytes from `offset`, which is where the call before ended, or anywhere from the first
 * record on. What payload is left out is whatever was at `to`. False: read these, and all that
 * follow; it is of no use any more. */
bool skim_fill(struct skim *skim, uint8_t *to, size_t n, uint64_t offset);

/* After skim_fill: where the bytes behind those are mapped, and how many to ask for at once. NULL,
 * and 0: they need not be fetched, and are as many as the caller likes. */
const char *skim_soon(const struct skim *skim, size_t *slot);

void skim_end(struct skim *skim); /* NULL is fine */

#endif
