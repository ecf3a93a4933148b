/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_CREDIT_RIG_H
#define RPCRDMA_TESTS_UNIT_FLOW_CREDIT_RIG_H

/* What tests of credits in a flow share: Calls of `a` that ask for credits, and Replies of `b` that
 * grant some. */

#include "pair.h"

static inline void call(uint32_t xid, uint32_t requested)
{
    uint8_t buf[256];
    uint32_t n = rig_call(buf, xid, 100003, 0);

    rig_word(buf + 8, requested);
    rig_send(&rig, &a, &b, buf, n);
}

static inline void reply(uint32_t xid, uint32_t granted)
{
    uint8_t buf[256];
    uint32_t n = rig_reply(buf, xid, 0);

    rig_word(buf + 8, granted);
    rig_send(&rig, &b, &a, buf, n);
}

#endif
