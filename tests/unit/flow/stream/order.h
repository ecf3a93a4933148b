/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_OUTPUT_ORDER_H
#define RPCRDMA_TESTS_UNIT_FLOW_OUTPUT_ORDER_H

/* Calls with PSNs in any order, and in which order they came out. */

#include "rig.h"

static struct rig rig;

/* These XIDs' messages came out, and no others. */
static inline void assert_xids(const uint32_t *xids, size_t n)
{
    assert_int_equal(rig.messages, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rig.message[i].xid, xids[i]);
}
#define XIDS(...)                                                                                  \
    assert_xids((const uint32_t[]){__VA_ARGS__},                                                   \
                sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* A Call of one packet, with this PSN; it does not advance. */
static inline void call_at(const struct rig_end *a, const struct rig_end *b, uint32_t psn,
                           uint32_t xid)
{
    struct rig_end from = *a;

    from.psn = psn;
    rig_send_call(&rig, &from, b, xid);
}

#endif
