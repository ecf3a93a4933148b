/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_SEGMENT_RIG_H
#define RPCRDMA_TESTS_UNIT_FLOW_SEGMENT_RIG_H

/* Segments of a TCP connection and their acknowledgements, for the stage of delivery. */

#include "delivery_rig.h"

#define START INT64_C(1700000000000000000)

static int64_t now;

static inline int begin(void **state)
{
    now = START;
    return delivery_begin(state);
}

static inline bool segment(struct flow_delivery *to, struct flow_delivery *other, uint32_t seq,
                           uint32_t len, uint32_t acknowledges, uint32_t window)
{
    const struct rpcrdma_tcp_segment one = {.frame = ++frame,
                                            .time_ns = now += 10 * US,
                                            .seq = seq,
                                            .len = len,
                                            .ack = acknowledges,
                                            .window = window,
                                            .has_ack = true};

    return flow_delivery_segment(&memory, to, other, &one);
}

static inline struct rpcrdma_delivery find_bytes(uint32_t first, uint32_t last)
{
    struct rpcrdma_delivery out;

    assert_true(flow_delivery_find(d, false, first, last, &out));
    return out;
}

/* As segment, for all of the other direction before `acknowledges`, of which these came twice. */
static inline bool says_twice(uint32_t acknowledges, uint32_t first, uint32_t end)
{
    const struct rpcrdma_tcp_segment one = {.frame = ++frame,
                                            .time_ns = now += 10 * US,
                                            .seq = 1,
                                            .ack = acknowledges,
                                            .window = 500,
                                            .has_ack = true,
                                            .twice = first,
                                            .twice_end = end};

    return flow_delivery_segment(&memory, back, d, &one);
}

static inline void times_out(unsigned times)
{
    while (times-- > 0) {
        now += 300 * MS;
        segment(d, back, 1000, 100, 1, 500);
    }
}

#endif
