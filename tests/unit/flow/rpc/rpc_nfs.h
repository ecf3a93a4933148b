/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_RPC_NFS_H
#define RPCRDMA_TESTS_UNIT_FLOW_RPC_NFS_H

/* READs and WRITEs of SIZE bytes, in parts that a test may lose, delay or cut. */

#include "rpc_fixture.h"

enum { HANDLE = 51, SIZE = 5000 };
#define ADDRESS UINT64_C(0x10000ff8)

static uint32_t at; /* of the data in `whole` */

static inline void read_call(uint32_t xid, uint32_t handle, uint64_t address)
{
    struct rpc_header h;
    struct rpc_bytes call;

    rpc_call_header(&call, xid, NFS, 3, READ);
    rpc_header_init(&h, xid, MSG);
    rpc_add_write(&h, true, handle, address, 8192);
    rpc_send(&rig, true, &h, call.data, call.n);
}

/* Puts the Reply of a READ in `whole`, what travels inline in `part`. */
static inline void prepare_reply(uint32_t xid, uint8_t seed)
{
    at = put_read_reply(xid, SIZE, seed);
}

static inline void read_reply(uint32_t xid, uint32_t handle, uint64_t address)
{
    struct rpc_header h;

    rpc_header_init(&h, xid, MSG);
    rpc_add_write(&h, true, handle, address, SIZE);
    rpc_send(&rig, false, &h, part.data, part.n);
}

static inline void write_call(uint32_t xid, uint32_t handle, uint64_t address)
{
    struct rpc_header h;

    at = put_write_call(xid, SIZE);
    rpc_header_init(&h, xid, MSG);
    rpc_add_read(&h, at, handle, address, SIZE);
    rpc_send(&rig, true, &h, part.data, part.n);
}

static inline void plain_reply(uint32_t xid)
{
    rig_send_reply(&rig.rig, &rig.b, &rig.a, xid);
}

static inline void run_on(int64_t ns)
{
    rig.rig.time_ns += ns;
}

/* Something else happens on the connection, so that what waits is looked at. */
static inline void nudge(uint32_t xid)
{
    struct rpc_header h;
    struct rpc_bytes call;

    rpc_call_header(&call, xid, NFS, 3, 0);
    rpc_header_init(&h, xid, MSG);
    rpc_send(&rig, true, &h, call.data, call.n);
    plain_reply(xid);
}

#endif
