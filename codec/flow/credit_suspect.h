/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_SUSPECT_H
#define RPCRDMA_FLOW_CREDIT_SUSPECT_H

/*
 * Violations that wait for their proof. Whether more was sent than was granted depends on what the
 * other end sent before, and that a capture lacks one of its messages shows only in its next
 * packet: it comes in order, or after a gap.
 */

#include "finding.h"
#include "flow/credit_gauge.h"

enum { RPCRDMA_CREDIT_SUSPECTS = 16 };

struct rpcrdma_credit_suspects {
    struct rpcrdma_finding finding[RPCRDMA_CREDIT_SUSPECTS];
    uint64_t count; /* the first ones are kept */
};

void rpcrdma_credit_suspects_add(struct rpcrdma_credit_suspects *suspects,
                                 const struct rpcrdma_finding *finding);
/* They were: tells the sink, and returns how many. */
uint64_t rpcrdma_credit_suspects_confirm(struct rpcrdma_credit_suspects *suspects,
                                         const struct rpcrdma_credit_sink *sink);

#endif
