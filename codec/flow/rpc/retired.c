/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/check.h"

/* Memory that a Call offered is the Requester's own again with the Reply (RFC 8166 section 8.1):
 * the last regions whose time is over are remembered, so that RDMA to them can be told from RDMA to
 * what was never seen. */

enum { PAD = 4 }; /* what clients offer for XDR padding, under a handle that several Calls share */

void rpc_retire(const struct rpc_transaction *t)
{
    struct rpc_conn *c = rpc_of(t->conn);
    const struct rpc_chunk_map *map = t->chunk_map;

    if (!c || !map || !t->has_call || t->pub.reply_frame == 0)
        return;
    for (uint32_t i = 0; i < map->n_regions; i++) {
        const struct flow_region *r = &map->regions[i];

        if (r->length <= PAD)
            continue;
        c->retired[c->n_retired++ % RPC_RETIRED] = (struct rpc_retired){.offset = r->offset,
                                                                        .frame = t->pub.reply_frame,
                                                                        .handle = r->handle,
                                                                        .length = r->length,
                                                                        .xid = t->pub.xid,
                                                                        .end = r->end};
    }
}

bool rpc_check_retired(struct flow_rpcs *rpcs, struct flow_conn *conn, int end, uint32_t handle,
                       uint64_t address, uint64_t frame, const char *what)
{
    const struct rpc_conn *c = rpc_of(conn);

    if (!c || !flow_conn_saw_all(conn))
        return false;
    for (uint32_t i = 0; i < RPC_RETIRED; i++) {
        const struct rpc_retired *r = &c->retired[i];

        if (r->handle != handle || r->end != end || address - r->offset >= r->length)
            continue;
        flow_report(rpcs->context, flow_conn_public_const(conn),
                    &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_RDMA_AFTER_REPLY,
                                              .frame = frame,
                                              .offset = -1,
                                              .arg = {handle, r->xid, r->frame},
                                              .what = what});
        return true;
    }
    return false;
}
