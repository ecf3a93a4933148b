/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/check.h"

/* RDMA to what is not open: what it was to. Memory that a Call offered is the Requester's own again
 * with the Reply (RFC 8166 section 8.1): the last regions whose time is over are remembered, so
 * that RDMA to them is not taken for RDMA to what was never seen. */

enum { LOOKED_AT = 4096, ASTRAY_MOST = 64 };
enum { PAD = 4 }; /* what clients offer for XDR padding, under a handle that several Calls share */

void rpc_retire(struct flow_rpcs *rpcs, const struct rpc_transaction *t)
{
    struct rpc_conn *c = rpc_of(t->conn);
    const struct rpc_chunk_map *map = t->chunk_map;

    if (!c || !map || !t->has_call || t->pub.reply_frame == 0)
        return;
    for (uint32_t i = 0; i < map->n_regions; i++) {
        const struct flow_region *r = &map->regions[i];

        if (r->length <= PAD)
            continue;
        if (!c->retired)
            c->retired = flow_alloc(&rpcs->context->memory, RPC_RETIRED * sizeof(*c->retired));
        if (!c->retired)
            return;
        c->retired[c->n_retired++ % RPC_RETIRED] = (struct rpc_retired){.offset = r->offset,
                                                                        .frame = t->pub.reply_frame,
                                                                        .handle = r->handle,
                                                                        .length = r->length,
                                                                        .xid = t->pub.xid,
                                                                        .end = r->end};
    }
}

static void report(struct flow_rpcs *rpcs, struct flow_conn *conn, enum rpcrdma_rule_id rule,
                   uint64_t frame, const char *what, uint64_t a, uint64_t b, uint64_t c)
{
    flow_report(rpcs->context, flow_conn_public_const(conn),
                &(struct rpcrdma_finding){
                    .rule = rule, .frame = frame, .offset = -1, .arg = {a, b, c}, .what = what});
}

static bool retired(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct rpc_astray *astray)
{
    const struct rpc_conn *c = rpc_of(conn);

    for (uint32_t i = 0; c->retired && i < RPC_RETIRED; i++) {
        const struct rpc_retired *r = &c->retired[i];

        if (r->handle != astray->handle || r->end != astray->end ||
            astray->address - r->offset >= r->length)
            continue;
        report(rpcs, conn,
               flow_conn_saw_all(conn) ? RPCRDMA_RULE_RDMA_AFTER_REPLY : RPCRDMA_RULE_RDMA_LATE,
               astray->frame, astray->what, astray->handle, r->xid, r->frame);
        return true;
    }
    return false;
}

/* All of the Call was read: its regions are not followed any more, and still open. */
static bool was_read(const struct rpc_transaction *t, const struct flow_region *r)
{
    return t->call_emitted && r->use == RPC_CALL_READ;
}

/* What an outstanding Call offered under the handle: elsewhere, or it was invalidated since. */
static bool offered(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct rpc_astray *astray)
{
    const struct flow_region *near = NULL;
    const struct rpc_transaction *owner = NULL, *t;
    const struct rpc_list *calls = &rpc_of(conn)->transactions[astray->end];
    uint32_t looked = 0;

    for (t = TAILQ_LAST(calls, rpc_list); t && looked < LOOKED_AT;
         t = TAILQ_PREV(t, rpc_list, by_age)) {
        uint32_t n = t->chunk_map ? t->chunk_map->n_regions : 0;

        for (uint32_t i = 0; i < n && looked < LOOKED_AT; i++, looked++) {
            const struct flow_region *r = &t->chunk_map->regions[i];

            if (r->handle != astray->handle || r->end != astray->end ||
                (r->length == 0 ? r->offset != astray->address : r->length <= PAD))
                continue;
            if (astray->address - r->offset >= r->length) {
                near = near ? near : r;
                owner = near == r ? t : owner;
                continue;
            }
            if (r->open || was_read(t, r))
                return false; /* there is no such way to use it; or it is read once more */
            report(rpcs, conn, RPCRDMA_RULE_RDMA_AFTER_INVALIDATE, astray->frame, astray->what,
                   astray->handle, t->pub.xid, 0);
            return true;
        }
    }
    if (near && flow_conn_saw_all(conn))
        report(rpcs, conn, RPCRDMA_RULE_RPC_OUTSIDE_ALL, astray->frame, astray->what,
               astray->handle, astray->length, owner->pub.xid);
    return near != NULL;
}

bool rpc_check_astray(struct flow_rpcs *rpcs, struct flow_conn *conn,
                      const struct rpc_astray *astray)
{
    struct rpc_conn *c = rpc_of(conn);

    if (!c)
        return false;
    if (c->n_astray > 0 && c->astray.handle == astray->handle && c->astray.end == astray->end)
        return c->astray_reported; /* said once */
    if (c->n_astray >= ASTRAY_MOST)
        return false;
    c->n_astray++;
    c->astray = *astray;
    c->astray_reported = retired(rpcs, conn, astray) || offered(rpcs, conn, astray);
    return c->astray_reported;
}

void rpc_check_before_call(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                           const struct flow_region *region)
{
    struct rpc_conn *c = rpc_of(t->conn);

    /* the Call that offered it before may be what is missing */
    if (c->n_astray == 0 || c->astray_reported || !flow_conn_saw_all(t->conn) ||
        c->astray.handle != region->handle || c->astray.end != region->end ||
        c->astray.address - region->offset >= region->length)
        return;
    c->astray_reported = true;
    rpc_add_finding(rpcs, t, RPCRDMA_RULE_RDMA_BEFORE_CALL, c->astray.frame, c->astray.what,
                    region->handle, 0, 0);
}
