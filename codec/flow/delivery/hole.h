/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_HOLE_H
#define RPCRDMA_FLOW_DELIVERY_HOLE_H

/* hole.c: what is missing between the records of what was sent: it was lost before the place of
 * capture, was not captured, or comes yet. */

#include "flow/delivery/state.h"

/* How many of [first, end) the latest responses answered that came one after the other: there the
 * request was a Read. */
uint64_t hole_responded(const struct flow_delivery *d, uint64_t first, uint64_t end);
/* [first, first + count) is missing. Where no Acks are captured it counts as not captured, unless
 * it comes yet: what is lost on the way is sent again. */
void hole_found(struct flow_memory *memory, struct flow_delivery *d, uint64_t first, uint64_t count,
                int64_t time_ns);
/* A Nak asks for it, or a SACK has it not: it was lost, before the place of capture if it does not
 * pass yet. `packet`: how much of it a packet has. */
void hole_asked(struct rpcrdma_path *path, struct hole *hole, uint32_t packet);
/* What is missing there; NULL: nothing is. */
struct hole *hole_at(const struct flow_delivery *d, uint64_t at);
/* Takes that out of what is missing. False, and *filled is zero: `first` is not. */
bool hole_fill(struct flow_delivery *d, uint64_t first, uint64_t count, struct filled *filled);
/* What is missing up to `last` has arrived: it was not captured, unless it comes yet. There are
 * holes. */
void hole_uncaptured(struct flow_delivery *d, uint64_t last, int64_t time_ns);

/* Acks are captured: what one acknowledges has arrived, and nothing else. */
void hole_first_ack(struct flow_delivery *d);

/* Nothing more will come: what is missing, and was answered before that showed, was not captured.
 */
void hole_end(struct flow_delivery *d);

#endif
