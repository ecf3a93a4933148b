/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a record of a mapped file is, by contract (WP): whatever its first bytes are, these alone are read, and what is
 * kept of it lies within it; and where the next ones are is guessed within the tables for that. That a file is cut
 * meanwhile a signal tells, which is not shown.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What cli/source/formats/file.h has of it; that reads just these four bytes. */
#define RPCRDMA_CLI_SOURCE_FORMATS_FILE_H
#define RPCRDMA_CLI_SOURCE_BYTES_SKIM_H
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
#include <string.h>

#define __builtin_prefetch(place) ((void)(place)) /* it reads nothing */
#define memcpy(to, from, n) copy(to, from, n)

#include "source/bytes/strides.h"

/*@
  requires \valid_read(strides);
  assigns \nothing;
*/
static inline uint32_t strides_key(const struct strides *strides);

/*@
  requires \valid(strides);
  assigns *strides;
*/
static inline size_t strides_next(struct strides *strides, uint64_t place, uint32_t length);

/*@
  requires \valid(stride);
  assigns *stride;
*/
static inline void strides_learn(struct stride *stride, uint32_t distance);

/*@ assigns \nothing; */
static inline uint32_t strides_run(uint32_t length, uint32_t run, uint32_t factor);

/*@
  requires \valid_read(p + (0 .. 1));
  assigns \result \from p[0 .. 1];
*/
uint16_t file_half(const uint8_t *p, bool swapped);

#include "source/bytes/skim_own.h"

/*@
  requires \valid_read(packet + (0 .. SKIM_MIDDLE - 1)) && caplen <= 2 * SOURCE_MAX_PACKET;
  assigns \nothing;
  ensures \result <= caplen;
*/
static inline uint32_t skim_kept(const uint8_t *packet, uint32_t caplen);

/*@
  requires \valid_read(p + (0 .. SKIM_MIDDLE - 1));
  assigns \nothing;
*/
static inline bool skim_is_bulk(const uint8_t *p, uint32_t caplen);

/*@
  requires \valid_read(p + (0 .. SKIM_SHORT - 1)) && \valid(record) && \separated(record, p + (0 .. SKIM_SHORT - 1));
  assigns *record;
  ensures \result ==> record->size <= SKIM_RECORD + SOURCE_MAX_PACKET && record->kept <= record->size && record->rest == 0;
*/
static inline bool skim_record(const uint8_t *p, bool swapped, struct skim_record *record);

/*@
  requires \valid_read(p + (0 .. SKIM_FIRST - 1)) && \valid(record) && \separated(record, p + (0 .. SKIM_FIRST - 1));
  assigns *record;
  ensures \result ==> record->size <= 2 * SOURCE_MAX_PACKET && record->kept + record->rest <= record->size;
*/
static inline bool skim_block(const uint8_t *p, bool swapped, struct skim_record *record);
