/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_RPCS_IN_ORDER_H
#define RPCRDMA_CLI_RPCS_IN_ORDER_H

/*
 * Lines of RPCs in the order of their Calls, though each is known only when it is answered or given
 * up. What waits for an older Call is kept as it will be printed, bounded: then the oldest lines
 * are given without waiting for it, and it comes late.
 */

#include <stdbool.h>
#include <stdint.h>

#include "out/view.h"

struct order;

/* Lines go to `out`, with the view's times; those that wait take max_bytes at most. NULL when
 * memory is short. */
struct order *order_new(struct out *out, struct view *view, size_t max_bytes);
void order_free(struct order *order);

/* A Call has begun: lines of later ones wait for it. `key`: a small number; 0: nothing waits. */
void order_expect(struct order *order, uint64_t key, int64_t time_ns);

/* Where the view is to write the line of that key: `out` itself or memory, where times are open.
 * Then order_done. */
struct out *order_begin(struct order *order, uint64_t key, int64_t time_ns);
void order_done(struct order *order, bool drop); /* drop: nothing was written */

/* Gives what still waits. Returns how many lines came late. */
uint64_t order_end(struct order *order);

#endif
