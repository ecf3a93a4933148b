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
#include "flow/memory.h"

enum { RPCRDMA_CREDIT_SUSPECTS = 16 };

struct rpcrdma_credit_suspects {
    struct rpcrdma_finding
        *finding; /* the first RPCRDMA_CREDIT_SUSPECTS; NULL: none, or no memory */
    uint64_t count;
};

/* False: counted, but there was no memory to keep it. */
bool rpcrdma_credit_suspects_add(struct rpcrdma_credit_suspects *suspects,
                                 struct flow_memory *memory, const struct rpcrdma_finding *finding);
/* They were: tells the sink, and returns how many. */
uint64_t rpcrdma_credit_suspects_confirm(struct rpcrdma_credit_suspects *suspects,
                                         const struct rpcrdma_credit_sink *sink);
void rpcrdma_credit_suspects_free(struct rpcrdma_credit_suspects *suspects,
                                  struct flow_memory *memory);

#endif
