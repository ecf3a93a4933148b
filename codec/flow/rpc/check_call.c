/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/check.h"

#include "upper/names.h"

/* A Call against what its program allows in chunks. */

#define STUCK_NS INT64_C(30000000000) /* no server is that slow while it answers others */

static uint32_t offered_writes(const struct rpc_chunk_map *map)
{
    uint32_t n = 0;

    for (uint32_t i = 0; map && i < map->n_writes; i++)
        n += map->writes[i].count > 0;
    return n;
}

int64_t rpc_call_place(const struct rpc_transaction *t, uint32_t off)
{
    const struct rpc_part *part = t->parts.first;
    bool whole = part && !part->next && part->at == 0;

    return whole && off < part->len && !t->msgp && !(t->chunk_map && t->chunk_map->has_base)
               ? (int64_t)t->header_length + off
               : -1;
}

/* Of the first Write chunk with segments that is one too many. */
static int64_t surplus_write(const struct rpc_chunk_map *map, uint32_t allowed)
{
    for (uint32_t i = 0; map && i < map->n_writes; i++)
        if (map->writes[i].count > 0 && allowed-- == 0)
            return map->writes[i].off;
    return -1;
}

static int64_t first_chunk(const struct rpc_chunk_map *map)
{
    return map->n_reads > 0 ? map->reads[0].off : surplus_write(map, 0);
}

/* What its results may come to that no Write chunk takes. Those go to them in order. */
static uint64_t without_chunk(const struct rpc_transaction *t)
{
    const struct rpc_chunk_map *map = t->chunk_map;
    uint64_t rest = t->ddp.read_bytes;

    for (uint32_t i = 0; map && i < map->n_writes && i < t->ddp.n_wants; i++)
        rest -= map->writes[i].length < t->ddp.wants[i] ? map->writes[i].length : t->ddp.wants[i];
    return rest;
}

/* Room for what is returned: inline beside the two headers at least, or in a Reply chunk. Version 2
 * continues what does not fit in further messages. */
static void check_room(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    enum { TRANSPORT_HEADER = 28, RPC_HEADER = 24 };
    const struct rpcrdma_connection *pub = flow_conn_public_const(t->conn);
    const struct rpc_chunk_map *map = t->chunk_map;
    uint64_t rest = without_chunk(t);
    uint32_t inline_room =
        pub->threshold_reply - TRANSPORT_HEADER - RPC_HEADER; /* of 1024 at least */

    if (pub->version != 1 || rest == 0 || rest <= inline_room ||
        (map && map->has_reply && map->reply.length >= rest + RPC_HEADER) ||
        rpcrdma_threshold_assumed(pub, 0) || rpcrdma_threshold_assumed(pub, 1))
        return;
    rpc_add_call_finding(
        rpcs, t, rpc_call_place(t, t->ddp.count_off),
        (struct rpc_finding){.rule = RPCRDMA_RULE_REPLY_UNPROVIDED, .a = rest, .b = inline_room});
}

static void check_chunks(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpcrdma_ddp *ddp = &t->ddp;
    uint32_t writes = offered_writes(t->chunk_map), items = ddp->results + ddp->tolerated;

    if (t->chunk_map && t->rpc.gss_service >= RPCRDMA_GSS_INTEGRITY && t->rpc.gss_procedure == 0 &&
        (t->chunk_map->n_reads > 0 || writes > 0))
        rpc_add_call_finding(
            rpcs, t, first_chunk(t->chunk_map),
            (struct rpc_finding){.rule = RPCRDMA_RULE_REDUCED_PROTECTED, .a = t->rpc.gss_service});
    if (!ddp->known)
        return;
    if (ddp->ineligible && t->chunk_map && ddp->which < t->chunk_map->n_reads)
        rpc_add_call_finding(rpcs, t, t->chunk_map->reads[ddp->which].off,
                             (struct rpc_finding){.rule = RPCRDMA_RULE_ARG_NOT_ELIGIBLE,
                                                  .a = t->chunk_map->reads[ddp->which].position});
    if (writes > items && items == 0)
        rpc_add_call_finding(
            rpcs, t, surplus_write(t->chunk_map, 0),
            (struct rpc_finding){.rule = RPCRDMA_RULE_WRITE_CHUNK_UNNEEDED, .a = writes});
    else if (writes > items)
        rpc_add_call_finding(rpcs, t, surplus_write(t->chunk_map, items),
                             (struct rpc_finding){.rule = RPCRDMA_RULE_WRITE_CHUNKS_BEYOND,
                                                  .a = writes,
                                                  .b = items});
    check_room(rpcs, t);
}

void rpc_check_call(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpcrdma_ddp *ddp = &t->ddp;

    if (t->chunk_map || t->ddp.read_bytes > 0)
        check_chunks(rpcs, t);
    if (t->ddp.no_sequence)
        rpc_add_call_finding(rpcs, t, rpc_call_place(t, ddp->first_off),
                             (struct rpc_finding){.rule = RPCRDMA_RULE_COMPOUND_NO_SEQUENCE,
                                                  .a = t->pub.operations[0]});
    if (ddp->undefined)
        rpc_add_call_finding(rpcs, t, rpc_call_place(t, ddp->undefined_off),
                             (struct rpc_finding){.rule = RPCRDMA_RULE_COMPOUND_OPERATION,
                                                  .a = t->pub.operations[t->pub.n_operations - 1],
                                                  .b = t->pub.n_operations,
                                                  .c = ddp->operations});
    rpc_slot_call(rpcs, t);
}

static const struct flow_region *offers(const struct rpc_chunk_map *map, uint32_t handle)
{
    for (uint32_t i = 0; map && i < map->n_regions; i++)
        if (map->regions[i].handle == handle)
            return &map->regions[i];
    return NULL;
}

void rpc_check_invalidate(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                          const struct flow_send *send)
{
    if (t->has_call && !t->malformed && !t->no_length && !(t->chunk_map && t->chunk_map->cut) &&
        !offers(t->chunk_map, send->invalidate))
        rpc_add_finding(rpcs, t,
                        (struct rpc_finding){.rule = RPCRDMA_RULE_INVALIDATE_UNOFFERED,
                                             .frame = send->frame,
                                             .a = send->invalidate});
}

void rpc_check_unanswered(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpc_conn *c = rpc_of(t->conn);

    if (!t->has_call || !flow_conn_saw_all(t->conn))
        return;
    if (t->malformed && !t->too_short)
        rpc_add_call_finding(rpcs, t, -1,
                             (struct rpc_finding){.rule = RPCRDMA_RULE_MALFORMED_UNANSWERED});
    else if (!t->malformed && c &&
             c->replied_ns[t->pub.caller_end] - t->pub.call_time_ns > STUCK_NS)
        rpc_add_call_finding(rpcs, t, -1,
                             (struct rpc_finding){.rule = RPCRDMA_RULE_RPC_STUCK,
                                                  .a = (uint64_t)(c->replied_ns[t->pub.caller_end] -
                                                                  t->pub.call_time_ns) /
                                                       1000000000});
}
