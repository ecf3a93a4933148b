/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_RPC_ITEMS_H
#define RPCRDMA_TESTS_UNIT_FLOW_RPC_ITEMS_H

/* An RPC message of which any part may travel by RDMA. */

#include "rpc_fixture.h"

enum { OTHER = 200123 };

/* An RPC Call of an unknown program with two items, of n and m bytes, in `whole`. */
static inline void two_items(uint32_t xid, uint32_t n, uint32_t m, uint32_t *first,
                             uint32_t *second)
{
    rpc_call_header(&whole, xid, OTHER, 1, 1);
    rpc_put(&whole, n);
    *first = whole.n;
    rpc_fill(&whole, n, 1);
    rpc_pad(&whole);
    rpc_put(&whole, 99);
    rpc_put(&whole, m);
    *second = whole.n;
    rpc_fill(&whole, m, 50);
    rpc_pad(&whole);
    rpc_put(&whole, 77);
}

/* What stays when [from, to) is taken out. */
static inline void take_out(struct rpc_bytes *b, uint32_t from, uint32_t to)
{
    memmove(b->data + from, b->data + to, b->n - to);
    b->n -= to - from;
}

#endif
