/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_DELIVERY_TALK_H
#define RPCRDMA_TESTS_UNIT_FLOW_DELIVERY_TALK_H

/* What tests of the stage of delivery say: packets of one direction, and the answers to them. */

#include "delivery_rig.h"

enum { PSN = 1000, WRAP = 0xfffffe };
#define START INT64_C(1700000000000000000)

static int64_t now;
static uint16_t id; /* of the next packet; 0: not counted */

static inline int begin(void **state)
{
    now = START;
    id = 0;
    return delivery_begin(state);
}

/* Nothing was sent yet, once more. */
static inline void begin_again(void)
{
    delivery_end(NULL);
    assert_int_equal(begin(NULL), 0);
}

static inline struct rpcrdma_op op(enum rpcrdma_op_kind kind, uint32_t psn, uint16_t flags)
{
    now += 10 * US;
    return delivery_packet(kind, psn, flags, id ? id++ : 0, now);
}

static inline uint64_t send_part(uint32_t psn, uint16_t flags)
{
    const struct rpcrdma_op packet = op(RPCRDMA_OP_SEND, psn, flags);

    flow_delivery_request(&memory, d, &packet, 1);
    return frame;
}

static inline uint64_t send_one(uint32_t psn)
{
    return send_part(psn, ONLY);
}

/* Asks for so many responses. */
static inline void read_request(uint32_t psn, uint32_t packets)
{
    struct rpcrdma_op packet = op(RPCRDMA_OP_READ_REQUEST, psn, 0);

    packet.len = 0;
    flow_delivery_request(&memory, d, &packet, packets);
}

static inline bool answer(enum rpcrdma_op_kind kind, uint32_t psn, enum rpcrdma_nak nak)
{
    struct rpcrdma_op packet = op(kind, psn, 0);

    packet.nak = (uint8_t)nak;
    return flow_delivery_answer(&memory, d, back, &packet);
}

static inline bool ack(uint32_t psn)
{
    return answer(RPCRDMA_OP_ACK, psn, 0);
}

static inline struct rpcrdma_delivery find(uint32_t first, uint32_t last)
{
    struct rpcrdma_delivery out;

    assert_true(flow_delivery_find(d, true, first & 0xffffff, last & 0xffffff, &out));
    assert_int_equal(flow_delivery_over(d, true, last & 0xffffff), out.state == RPCRDMA_DELIVERED);
    return out;
}

static inline void path_is(uint64_t retransmitted, uint64_t lost, uint64_t duplicated,
                           uint64_t reordered, uint64_t uncaptured)
{
    const struct rpcrdma_path *path = path_to(d);

    assert_int_equal(path->retransmitted, retransmitted);
    assert_int_equal(path->lost, lost);
    assert_int_equal(path->duplicated, duplicated);
    assert_int_equal(path->reordered, reordered);
    assert_int_equal(path->uncaptured, uncaptured);
}

#endif
