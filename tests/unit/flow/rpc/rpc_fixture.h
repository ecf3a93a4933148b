/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_RPC_FIXTURE_H
#define RPCRDMA_TESTS_UNIT_FLOW_RPC_FIXTURE_H

/* What tests of RPCs share: one connection, and an RPC message with what of it travels inline. */

#include "rpc_rig.h"

enum { MSG = 0, NFS = 100003, WRITE = 7, READ = 6 };

static struct rpc_rig rig;
static struct rpc_bytes whole, part;

static inline int setup(void **state)
{
    (void)state;
    rpc_rig_begin(&rig, NULL, true);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    rpc_rig_free(&rig);
    return 0;
}

/* An NFSv3 WRITE of n bytes in `whole`, less its data in `part`. Returns where the data is. */
static inline uint32_t put_write_call(uint32_t xid, uint32_t n)
{
    rpc_call_header(&whole, xid, NFS, 3, WRITE);
    rpc_put(&whole, 4); /* file handle */
    rpc_put(&whole, 0);
    rpc_put(&whole, 0); /* offset, count, stable_how */
    rpc_put(&whole, 0);
    rpc_put(&whole, n);
    rpc_put(&whole, 0);
    rpc_put(&whole, n);
    part = whole;
    rpc_fill(&whole, n, (uint8_t)xid);
    return part.n;
}

/* Likewise the Reply to an NFSv3 READ. */
static inline uint32_t put_read_reply(uint32_t xid, uint32_t n, uint8_t seed)
{
    rpc_read_reply_header(&whole, xid, n);
    part = whole;
    rpc_fill(&whole, n, seed);
    return part.n;
}

/* Likewise in b, with the data's XDR padding. */
static inline uint32_t put_padded_read_reply(struct rpc_bytes *b, uint32_t xid, uint32_t n)
{
    uint32_t data;

    rpc_read_reply_header(b, xid, n);
    data = b->n;
    rpc_fill(b, n, 9);
    rpc_pad(b);
    return data;
}

#endif
