/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CONTEXT_CONTEXT_H
#define RPCRDMA_FLOW_CONTEXT_CONTEXT_H

/*
 * What every stage of flow/ is given: where memory comes from, the packet in hand, and the user's
 * sink. Functions that keep something may fail to: memory.failed is sticky, and rpcrdma_flow_op
 * returns it; nothing else is said about it on the way.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "finding.h"
#include "flow/flow.h"

/* The reordering window: what a capture shows in the wrong order is not further apart. */
#define FLOW_REORDER_NS INT64_C(20000000)

struct flow_context {
    struct flow_memory memory;
    struct rpcrdma_flow_sink sink;
    uint64_t frame; /* of the operation in hand */
    int64_t time_ns;
    bool passes;               /* time was seen to pass without an operation: */
    int64_t passed_ns;         /* until when, lately */
    uint8_t tap;               /* where the packet in hand was captured; 0: not known */
    bool tapped, several_taps; /* that was said; and another one than before */
    bool delivery;             /* what arrives is followed: flow/delivery.h */
    uint64_t ids; /* the last one given: ids of directions and connections are never used again */
};

/* Whether the sink is given a message or transaction with so many findings. */
static inline bool flow_context_tells(const struct flow_context *context, size_t n_findings)
{
    return n_findings > 0 || !context->sink.without_findings;
}

/* Gives the sink a finding of a connection, or of none (NULL), that belongs to no message: as a
 * rule of the connection's version. */
void flow_report(const struct flow_context *context, const struct rpcrdma_connection *connection,
                 const struct rpcrdma_finding *finding);

/* The findings of one message or transaction. */
enum { FLOW_FINDINGS = 24 };
struct flow_findings {
    struct rpcrdma_finding at[FLOW_FINDINGS];
    size_t count;
    uint32_t version; /* of RPC-over-RDMA, of that message or transaction; 0: not known */
};

/* Adds one, as a rule of their version; what there is no room for goes. */
void flow_finding_add(struct flow_findings *findings, const struct rpcrdma_finding *finding);

#endif
