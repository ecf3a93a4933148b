/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_PAIR_H
#define RPCRDMA_TESTS_UNIT_FLOW_PAIR_H

/* What most tests of a flow share: two ends that talk. */

#include "rig.h"

static struct rig rig;
static struct rig_end a, b;

static inline void pair_begin(const struct rpcrdma_flow_config *config)
{
    a = RIG_A;
    b = RIG_B;
    rig_begin(&rig, config);
}

/* A teardown; a test may have ended it itself. */
static inline int pair_end(void **state)
{
    (void)state;
    if (rig.flow)
        rig_end(&rig);
    return 0;
}

#endif
