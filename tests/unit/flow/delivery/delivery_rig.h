/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_DELIVERY_RIG_H
#define RPCRDMA_TESTS_UNIT_FLOW_DELIVERY_RIG_H

/* What tests of the stage of delivery share: both directions, their memory, and packets. */

#include "stage.h"

#include "flow/delivery/delivery.h"

enum { LENGTH = 100, ONLY = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST | RPCRDMA_OP_ACK_REQUEST };
#define US INT64_C(1000)
#define MS INT64_C(1000000)

static struct flow_memory memory;
static struct flow_delivery *d, *back;
static uint64_t frame; /* of the last packet */
static uint8_t bytes[LENGTH];

static inline int delivery_begin(void **state)
{
    (void)state;
    memory = (struct flow_memory){.limit = 1 << 20};
    d = flow_delivery_new(&memory);
    back = flow_delivery_new(&memory);
    frame = 0;
    return d && back ? 0 : -1;
}

static inline int delivery_end(void **state)
{
    (void)state;
    flow_delivery_free(&memory, d);
    flow_delivery_free(&memory, back);
    assert_int_equal(memory.used, 0);
    return 0;
}

/* What was sent towards an end so far; until it is asked for again. */
static inline const struct rpcrdma_path *path_to(const struct flow_delivery *end)
{
    static struct rpcrdma_path plain;

    return flow_delivery_path(end, &plain);
}

/* The next packet of the capture; `id`: its IP ID, 0 where these are not counted. */
static inline struct rpcrdma_op delivery_packet(enum rpcrdma_op_kind kind, uint32_t psn,
                                                uint16_t flags, uint16_t id, int64_t time_ns)
{
    return (struct rpcrdma_op){.kind = (uint8_t)kind,
                               .seq = psn & 0xffffff,
                               .frame = ++frame,
                               .time_ns = time_ns,
                               .flags = flags,
                               .ip_id = id,
                               .data = bytes,
                               .caplen = LENGTH,
                               .len = LENGTH};
}

#endif
