/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the thread copies ahead of who reads a mapped file, by contract (WP): wherever it guesses that a record begins,
 * and whatever is there, it reads no byte beyond the file as it was when it was mapped, and writes none beyond the
 * part that it was given. That a file is cut meanwhile a signal tells, and who has a part when the mutex: neither is shown.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What cli/source/file.h has of it; that reads just these four bytes. */
#define RPCRDMA_CLI_SOURCE_FILE_H
#define RPCRDMA_CLI_SOURCE_SKIM_H
enum { SOURCE_MAX_PACKET = 1024 * 1024 };

/*@
  requires \valid_read(p + (0 .. 3));
  assigns \result \from p[0 .. 3];
*/
uint32_t file_word(const uint8_t *p, bool swapped);

/*@
  requires \valid(to + (0 .. n - 1)) && \valid_read(from + (0 .. n - 1)) && \separated(to + (0 .. n - 1), from + (0 .. n - 1));
  assigns to[0 .. n - 1] \from from[0 .. n - 1];
*/
void copy(uint8_t *to, const uint8_t *from, size_t n);

#include <pthread.h>
#include <setjmp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

/* Of the functions around those that are looked at. */
typedef int cpu_set_t;
#define CPU_COUNT(set) (*(set))
#define sched_getaffinity(pid, size, set) (*(set) = 2, 0)
#define pthread_sigmask(how, set, before) ((void)(set), (void)(before))
#define pthread_cond_init(condition, attributes) ((void)(condition))
#define pthread_cond_signal(condition) ((void)(condition))
#define pthread_cond_wait(condition, mutex) ((void)(condition))
#define pthread_cond_destroy(condition) ((void)(condition))
#define pthread_create(thread, attributes, start, argument) ((void)(start), 0)
#define pthread_join(thread, result) ((void)(thread))

#define __builtin_prefetch(place) ((void)(place)) /* it reads nothing */
#define memcpy(to, from, n) copy(to, from, n)
#include "source/skim_own.h"

/*@
  predicate mapped(struct skim *s) =
    \valid_read(s) && s->size <= 0x4000000000000000 && \valid_read(s->map + (0 .. s->size - 1));
*/

/*@
  requires \valid_read(record + (0 .. SKIM_HEADERS - 1)) && caplen <= SOURCE_MAX_PACKET;
  assigns \nothing;
  ensures \result == SKIM_RECORD + caplen || (\result == SKIM_HEADERS && caplen > SKIM_HEADERS);
*/
static inline uint32_t skim_kept(const uint8_t *record, uint32_t caplen);

/*@
  requires \valid_read(p + (0 .. SKIM_HEADERS - SKIM_RECORD - 1));
  assigns \nothing;
*/
static inline bool skim_is_bulk(const uint8_t *p, uint32_t caplen);

/*@
  assigns \nothing;
  ensures \result >= kept && \result >= SKIM_HEADERS && (\result == kept || \result == SKIM_HEADERS);
*/
static inline size_t skim_room(uint32_t kept);

/* It reads nothing: the processor may look, or not. */
//@ assigns \nothing;
static inline void skim_ask(const uint8_t *record, uint32_t caplen);

#define skim_guarded(skim, work, argument) work(skim, argument)
#define skim_populate(skim, window) true
#define skim_let_go(skim, from, to) ((void)(skim))
extern bool skim_late, skim_patient;
extern unsigned skim_used, skim_wrong;

#include "source/skim_ahead.c"
