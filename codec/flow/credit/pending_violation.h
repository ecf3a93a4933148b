/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_PENDING_VIOLATION_H
#define RPCRDMA_FLOW_CREDIT_PENDING_VIOLATION_H

/*
 * Violations that wait for their proof. Whether more was sent than was granted depends on what the
 * other end sent before, and that a capture lacks one of its messages shows only in its next
 * packet: it comes in order, or after a gap.
 */

#include "base/memory.h"
#include "finding.h"
#include "flow/credit/gauge.h"

enum { RPCRDMA_PENDING_VIOLATIONS_MAX = 16 };

struct rpcrdma_pending_violations {
    struct rpcrdma_finding
        *finding; /* the first RPCRDMA_PENDING_VIOLATIONS_MAX; NULL: none, or no memory */
    uint64_t count;
};

/* False: counted, but there was no memory to keep it. */
bool rpcrdma_pending_violations_add(struct rpcrdma_pending_violations *pending_violations,
                                    struct flow_memory *memory,
                                    const struct rpcrdma_finding *finding);
/* They were: reports them, and returns how many. */
uint64_t rpcrdma_pending_violations_confirm(struct rpcrdma_pending_violations *pending_violations,
                                            const struct rpcrdma_credit_sink *sink);
void rpcrdma_pending_violations_free(struct rpcrdma_pending_violations *pending_violations,
                                     struct flow_memory *memory);

#endif
