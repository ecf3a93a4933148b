/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/delivery.h"
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
        c->retired[c->n_retired++ % RPC_RETIRED] =
            (struct rpc_retired){.offset = r->offset,
                                 .frame = t->pub.reply_frame,
                                 .handle = r->handle,
                                 .length = r->length,
                                 .xid = t->pub.xid,
                                 .end = r->end,
                                 .write = r->use == RPC_WRITE};
    }
}

static const char *what(const struct rpc_astray *astray)
{
    return astray->write ? "Write" : "Read";
}

static void report(struct flow_rpcs *rpcs, struct flow_conn *conn, enum rpcrdma_rule_id rule,
                   const struct rpc_astray *astray, uint64_t b, uint64_t c)
{
    flow_report(rpcs->context, flow_conn_public_const(conn),
                &(struct rpcrdma_finding){.rule = rule,
                                          .frame = astray->frame,
                                          .offset = -1,
                                          .arg = {astray->handle, b, c},
                                          .what = what(astray)});
}

/* offered: an outstanding Call offers it, and what was offered before for the other direction says
 * nothing. */
static bool retired(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct rpc_astray *astray,
                    bool offered)
{
    const struct rpc_conn *c = rpc_of(conn);

    for (uint32_t i = 0; c->retired && i < RPC_RETIRED; i++) {
        const struct rpc_retired *r = &c->retired[i];

        if (r->handle != astray->handle || r->end != astray->end ||
            astray->address - r->offset >= r->length || (offered && r->write != astray->write))
            continue;
        report(rpcs, conn,
               flow_conn_saw_all(conn) ? RPCRDMA_RULE_RDMA_AFTER_REPLY : RPCRDMA_RULE_RDMA_LATE,
               astray, r->xid, r->frame);
        return true;
    }
    return false;
}

/* What an outstanding Call offers, or offered, under the handle: NULL is nothing. */
struct offer {
    const struct flow_region *region;
    const struct rpc_transaction *owner;
    bool there; /* the address lies in it, not elsewhere */
};

static struct offer offer_of(const struct flow_conn *conn, const struct rpc_astray *astray)
{
    const struct rpc_list *calls = &rpc_of(conn)->transactions[astray->end];
    const struct rpc_transaction *t;
    struct offer near = {0};
    uint32_t looked = 0;

    for (t = TAILQ_LAST(calls, rpc_list); t && looked < LOOKED_AT;
         t = TAILQ_PREV(t, rpc_list, by_age)) {
        uint32_t n = t->chunk_map ? t->chunk_map->n_regions : 0;

        for (uint32_t i = 0; i < n && looked < LOOKED_AT; i++, looked++) {
            const struct flow_region *r = &t->chunk_map->regions[i];

            if (r->handle != astray->handle || r->end != astray->end ||
                (r->length == 0 ? r->offset != astray->address : r->length <= PAD))
                continue;
            if (astray->address - r->offset < r->length)
                return (struct offer){r, t, true};
            if (!near.region)
                near = (struct offer){r, t, false};
        }
    }
    return near;
}

/* All of the Call was read: its Read chunks are not followed any more, and still open. */
static bool was_read(const struct offer *o)
{
    return o->region->use == RPC_CALL_READ && o->owner->call_emitted;
}

/* To memory that an outstanding Call offers for the other direction, or elsewhere, or offered until
 * it was invalidated. */
static bool not_so(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct rpc_astray *astray,
                   const struct offer *o)
{
    const bool sure = flow_conn_saw_all(conn); /* else another Call may offer it as well */

    if (!o->region)
        return false;
    if (!o->there) {
        if (sure)
            report(rpcs, conn, RPCRDMA_RULE_RPC_OUTSIDE_ALL, astray, astray->length,
                   o->owner->pub.xid);
    } else if (!o->region->open && !was_read(o)) {
        report(rpcs, conn, RPCRDMA_RULE_RDMA_AFTER_INVALIDATE, astray, o->owner->pub.xid, 0);
    } else if (sure) {
        report(rpcs, conn,
               astray->write ? RPCRDMA_RULE_READ_CHUNK_WRITTEN : RPCRDMA_RULE_WRITE_CHUNK_READ,
               astray, o->owner->pub.xid, 0);
    }
    return true;
}

bool rpc_check_astray(struct flow_rpcs *rpcs, struct flow_conn *conn,
                      const struct rpc_astray *astray)
{
    struct rpc_conn *c = rpc_of(conn);
    struct offer o;

    if (!c)
        return false;
    if (c->astray.length != 0 && c->astray.handle == astray->handle && c->astray.end == astray->end)
        return c->astray_reported; /* said once */
    if (c->n_astray >= ASTRAY_MOST)
        return false;
    c->n_astray++;
    o = offer_of(conn, astray);
    if (o.there && !astray->write && was_read(&o))
        return true; /* a Read once more, as the Responder may until it replies */
    c->astray = *astray;
    c->astray_reported = retired(rpcs, conn, astray, o.there) || not_so(rpcs, conn, astray, &o);
    return c->astray_reported;
}

void rpc_check_before_call(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                           const struct flow_region *region)
{
    const struct flow_delivery *calls = rpc_delivery_towards(t->conn, 1 - t->pub.caller_end);
    struct rpc_conn *c = rpc_of(t->conn);
    int64_t offered_ns = region->use == RPC_REPLY_READ ? t->pub.reply_time_ns : t->pub.call_time_ns;

    if (calls && flow_delivery_acked_early(calls))
        return; /* the directions' times do not fit: the Call was there before */
    if (c->astray.time_ns >= offered_ns)
        return; /* the capture's order contradicts its times, by which the Call was there before */
    /* the Call that offered it before may be what is missing */
    if (c->astray.length == 0 || c->astray_reported || !flow_conn_saw_all(t->conn) ||
        c->astray.handle != region->handle || c->astray.end != region->end ||
        c->astray.address - region->offset >= region->length)
        return;
    c->astray_reported = true;
    rpc_add_finding(rpcs, t,
                    (struct rpc_finding){.rule = RPCRDMA_RULE_RDMA_BEFORE_CALL,
                                         .frame = c->astray.frame,
                                         .a = region->handle,
                                         .what = what(&c->astray)});
}
